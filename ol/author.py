"""Authoring: modules laid out, mutants made from an edit, patches re-anchored when the reference moved."""

import difflib
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ol import patch
from ol.course import Course
from ol.errors import ToolError
from ol.exits import Exit
from ol.manifest import Module, MutantEntry

Editor = Callable[[Path], None]
"""Lets a person edit a file and returns when the person is done."""


@contextmanager
def writing() -> Iterator[None]:
    """Turns a course that cannot be written to into a ToolError."""
    try:
        yield
    except OSError as error:
        raise ToolError(
            f"cannot write to the course: {error.strerror}",
            where=str(error.filename),
            next_step="work in a clone of the course that you may write to",
        ) from None


def difference(unit: str, reference: str, mutated: str) -> str:
    """The unified diff that `ol audit` applies; empty when nothing differs."""
    before, after = (text.splitlines(keepends=True) for text in (reference, mutated))
    return "".join(difflib.unified_diff(before, after, f"a/{unit}", f"b/{unit}"))


def next_mutant(course: Course, module: Module) -> str:
    """The first free id, s01 to s99."""
    taken = {m.id for m in module.mutants}
    taken |= {p.stem for p in course.patch(module, "s01").parent.glob("s*.patch")}
    free = [f"s{n:02}" for n in range(1, 100) if f"s{n:02}" not in taken]
    if not free:
        raise ToolError(f"{module.id} has ninety-nine mutants already", code=Exit.USAGE)
    return free[0]


def new_mutant(course: Course, module: Module, unit: str | None, edit: Editor) -> tuple[Path, str]:
    """Has a copy of the reference edited and keeps the difference as the next patch.

    Returns the patch's path and the lines that the catalogue needs. Raises ToolError when nothing was
    changed.
    """
    chosen = unit or module.units[0]
    if chosen not in module.units:
        raise ToolError(
            f"{chosen} is no unit of {module.id}",
            next_step=f"its units are {', '.join(module.units)}",
            code=Exit.USAGE,
        )
    reference = course.reference(chosen).read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory(prefix="ol-mutant-") as folder:
        copy = Path(folder) / Path(chosen).name
        copy.write_text(reference, encoding="utf-8")
        edit(copy)
        text = difference(chosen, reference, copy.read_text(encoding="utf-8"))
    if not text:
        raise ToolError("nothing was changed, so there is no mutant", code=Exit.USAGE)
    mutant = next_mutant(course, module)
    path = course.patch(module, mutant)
    with writing():
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    return path, _entry(module, mutant)


def _entry(module: Module, mutant: str) -> str:
    test = module.tests[0].id if module.tests else "c:hand_example"
    return (
        f'[[mutants]]\nid = "{mutant}"\npitfall = "what people get wrong"\n'
        f'symptom = "what they would see"\ntest = "{test}"\nhow = "check"\n'
    )


@dataclass(frozen=True, kw_only=True)
class Refreshed:
    mutant: str
    state: str
    """"as it was", "moved" or why it no longer makes sense."""
    lost: bool = False


def refresh(course: Course, module: Module) -> list[Refreshed]:
    """Re-anchors every patch of a module. One whose lines are gone is left as it is, and told."""
    return [_refresh(course, module, entry) for entry in module.mutants]


def _refresh(course: Course, module: Module, entry: MutantEntry) -> Refreshed:
    path = course.patch(module, entry.id)
    text = path.read_bytes().decode("utf-8")
    read = patch.read(text, module.units, str(path.relative_to(course.root)))
    original = course.reference(read.path).read_bytes().decode("utf-8")
    try:
        patch.apply(read, original)
    except patch.StalePatch as stale:
        moved = patch.reanchored(read, original)
        if moved is None:
            return Refreshed(mutant=entry.id, state=str(stale), lost=True)
        with writing():
            path.write_text(difference(read.path, original, moved), encoding="utf-8")
        return Refreshed(mutant=entry.id, state="moved")
    return Refreshed(mutant=entry.id, state="as it was")
