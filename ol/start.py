"""`ol start`: a stub for a unit, without ever losing what is there; and `ol init`, a place to start in."""

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from ol.course import Course
from ol.errors import ToolError
from ol.exits import Exit
from ol.manifest import Language, Module
from ol.workspace import MARKER, Workspace

_GITIGNORE = "compile_commands.json\n.cache/\n__pycache__/\n*.backup-*\n"
_WELCOME = """This folder is a workspace of ol: your own units of the course {name}.

contracts/   the course's headers, for reading; a copy, so changes to it have no effect
c/src/       your units in C appear here:   ol start ID
python/      your units in Python appear here

ol tests     the modules;  ol tests ID  what a module tests
ol check ID  the verdict on your unit
"""


@dataclass(frozen=True, kw_only=True)
class Started:
    written: tuple[Path, ...]
    kept: tuple[Path, ...]
    """Files that were there already and were left alone."""
    backups: tuple[Path, ...]


@contextmanager
def _writing(where: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ToolError(
            f"cannot write to the workspace: {error.strerror}",
            where=str(error.filename or where),
            next_step="make the folder writable, or choose another with --workspace DIR",
            code=Exit.USAGE,
        ) from None


def init(course: Course, folder: Path) -> Started:
    """Lays out a student's repo in `folder`. What is there already stays as it is."""
    workspace = Workspace(folder.absolute())
    files = {
        MARKER: f"course = {course.entry.name}\n",
        ".gitignore": _GITIGNORE,
        "README.md": _WELCOME.format(name=course.entry.name),
        "c/src/.gitkeep": "",
    }
    rules = course.root / "c" / "ABI.md"
    if rules.is_file():
        files["c/ABI.md"] = rules.read_text(encoding="utf-8")
    written: list[Path] = []
    kept: list[Path] = []
    with _writing(folder):
        for name, text in files.items():
            path = workspace.path(name)
            path.parent.mkdir(parents=True, exist_ok=True)
            (written if _create(path, text) else kept).append(path)
        refresh(course, workspace)
    return Started(written=tuple(written), kept=tuple(kept), backups=())


def start(course: Course, workspace: Workspace, module: Module, *, force: bool) -> Started:
    """Writes the stubs of a module. A file that exists stays, or with `force` becomes a backup."""
    written: list[Path] = []
    kept: list[Path] = []
    backups: list[Path] = []
    with _writing(workspace.root):
        for unit in module.units:
            path = workspace.path(unit)
            text = stub(course, module, unit)
            path.parent.mkdir(parents=True, exist_ok=True)
            if os.path.lexists(path) and not force:
                kept.append(path)
                continue
            if os.path.lexists(path):
                backups.append(_set_aside(path))
            if not _create(path, text):
                raise ToolError("another program made the file just now", where=str(path))
            written.append(path)
        refresh(course, workspace)
    return Started(written=tuple(written), kept=tuple(kept), backups=tuple(backups))


def stub(course: Course, module: Module, unit: str) -> str:
    """The text of the stub of one unit."""
    from ol.stub import c_stub, python_stub  # here, for checks need no parser of C

    if module.language is Language.PYTHON:
        return python_stub(module, course.python_contract(module).read_text(encoding="utf-8"))
    return c_stub(module, unit, headers(course), course.entry.stub)


def headers(course: Course) -> dict[str, str]:
    """The course's headers by include name."""
    paths = sorted(course.include.rglob("*.h"))
    return {str(p.relative_to(course.include)): p.read_text(encoding="utf-8") for p in paths}


def refresh(course: Course, workspace: Workspace) -> None:
    """Brings the copies of the contracts and compile_commands.json up to date, where they can be."""
    include = course.include
    if workspace.root != course.root:
        contracts = course.root / "course" / "contracts"
        for path in sorted(p for p in contracts.rglob("*") if p.suffix in (".h", ".pyi")):
            target = workspace.root / "contracts" / path.relative_to(contracts)
            _replace(target, path.read_text(encoding="utf-8"))
        include = workspace.root / "contracts" / "c" / "include"
    _replace(workspace.root / "compile_commands.json", _compile_commands(course, workspace, include))


def refresh_quietly(course: Course, workspace: Workspace) -> None:
    """`refresh` where a read-only workspace must not stop the command."""
    with suppress(OSError):
        refresh(course, workspace)


def _compile_commands(course: Course, workspace: Workspace, include: Path) -> str:
    units = [u for m in course.modules.values() if m.language is Language.C for u in m.units]
    flags = [*course.entry.c_flags, "-Wall", "-Wextra", f"-I{include}"]
    commands = [
        {
            "directory": str(workspace.root),
            "file": str(workspace.path(unit)),
            "arguments": ["cc", *flags, "-c", str(workspace.path(unit))],
        }
        for unit in units
        if workspace.path(unit).is_file()
    ]
    return json.dumps(commands, indent=2, ensure_ascii=False) + "\n"


def _create(path: Path, text: str) -> bool:
    """Writes a new file; False, and nothing done, when there is something of that name."""
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        return False
    return True


def _set_aside(path: Path) -> Path:
    """Renames what is there to the first free backup name."""
    for k in range(1, 10_000):
        backup = path.with_name(f"{path.name}.backup-{k}")
        if not os.path.lexists(backup):
            path.rename(backup)
            return backup
    raise ToolError("there are too many backups", where=str(path), next_step="delete some of them")


def _replace(path: Path, text: str) -> None:
    """Sets a file that ol owns, in one step, and only when it differs. A path in `text` that is not
    UTF-8 is written as the bytes that it is."""
    data = text.encode("utf-8", "surrogateescape")
    with suppress(OSError):
        if path.read_bytes() == data:
            return
    path.parent.mkdir(parents=True, exist_ok=True)
    fd, temporary = tempfile.mkstemp(dir=path.parent, prefix=".ol-")
    with os.fdopen(fd, "wb") as file:
        file.write(data)
    Path(temporary).chmod(0o644)
    Path(temporary).replace(path)
