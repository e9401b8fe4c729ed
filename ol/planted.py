"""Planted mutants: entries of a catalogue, each with a patch of the reference."""

from collections.abc import Sequence
from dataclasses import dataclass

from ol import patch
from ol.course import Course
from ol.errors import ToolError, unknown
from ol.lane import Sources
from ol.manifest import Module, MutantEntry


@dataclass(frozen=True, kw_only=True)
class Planted:
    """A mutant ready to be built, or the reason why it cannot be."""

    entry: MutantEntry
    sources: Sources
    stale: str = ""


def chosen(module: Module, names: Sequence[str]) -> list[MutantEntry]:
    """The mutants asked for, all when none is named."""
    if not module.mutants:
        raise ToolError(
            f"{module.id} has no mutants",
            where=f"course/modules/{module.id}.toml",
            next_step="add one patch to mutants/ and an entry to the catalogue",
        )
    by_id = {m.id: m for m in module.mutants}
    for name in names:
        if name not in by_id:
            hint = f"`ol audit {module.id}` runs all of them: {', '.join(by_id)}"
            raise unknown(f"mutant of {module.id}", name, by_id, next_step=hint)
    return [m for m in module.mutants if not names or m.id in names]


def shown(course: Course, module: Module, entry: MutantEntry) -> str:
    """What the fault is: its pitfall, and the difference from the reference."""
    text = _patch_text(course, module, entry)
    head = f"# {module.id} {entry.id}: {entry.pitfall} ({entry.test} must kill it by {entry.how})"
    return f"{head}\n{text.rstrip()}"


def _patch_text(course: Course, module: Module, entry: MutantEntry) -> str:
    path = course.patch(module, entry.id)
    try:
        return path.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ToolError(
            f"the patch of mutant {entry.id} cannot be read: {error}",
            where=str(path.relative_to(course.root)),
            next_step="restore it, or take the mutant out of the catalogue",
        ) from None


def planted(course: Course, module: Module, entry: MutantEntry, reference: Sources) -> Planted:
    """The mutant's sources. Raises ToolError for a patch that is missing or is no patch."""
    where = str(course.patch(module, entry.id).relative_to(course.root))
    text = _patch_text(course, module, entry)
    read = patch.read(text, module.units, where)
    try:
        mutated = patch.apply(read, reference[read.path].decode("utf-8"))
    except UnicodeDecodeError as error:
        raise ToolError(
            f"the reference of {module.id} is not UTF-8: {error.reason} at byte {error.start}",
            where=str(course.reference(read.path).relative_to(course.root)),
            next_step="save the file as UTF-8",
        ) from None
    except patch.StalePatch as stale:
        return Planted(entry=entry, sources={}, stale=f"{where}: {stale}")
    return Planted(entry=entry, sources={**reference, read.path: mutated.encode("utf-8")})
