"""The student's tree: where it is, and its files read and written without losing anything."""

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from ol.errors import ToolError
from ol.exits import Exit
from ol.lane import Sources
from ol.manifest import Module

MARKER = ".ol-workspace"
LARGEST = 1 << 20
"""Bytes of one source file. The longest reference has under a twentieth of that."""


class Unreadable(Exception):
    """A unit that cannot be graded as it lies there: what is wrong, and what to do."""

    def __init__(self, unit: str, what: str, next_step: str, code: Exit):
        super().__init__(f"{unit}: {what}")
        self.unit = unit
        self.what = what
        self.next_step = next_step
        self.code = code


@dataclass(frozen=True)
class Workspace:
    root: Path

    def path(self, unit: str) -> Path:
        return self.root / unit

    def started(self, module: Module) -> bool:
        return all(os.path.lexists(self.path(unit)) for unit in module.units)

    def submission(self, module: Module) -> Sources:
        """The unit as the student left it. Raises Unreadable."""
        return {unit: self._read(module, unit) for unit in module.units}

    def _read(self, module: Module, unit: str) -> bytes:
        start = f"ol start {module.id}"
        try:
            # Neither follows a link nor waits for the other end of a pipe.
            fd = os.open(self.path(unit), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except FileNotFoundError:
            raise Unreadable(unit, "it is not started yet", f"run `{start}`", Exit.NOT_READY) from None
        except OSError as error:
            what = "it is a symbolic link" if self.path(unit).is_symlink() else str(error.strerror)
            raise _refused(unit, what) from None
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode):
            os.close(fd)
            kind = "a directory" if stat.S_ISDIR(found.st_mode) else "no regular file"
            raise _refused(unit, f"it is {kind}")
        with os.fdopen(fd, "rb") as file:
            if found.st_size > LARGEST:
                raise _refused(unit, f"it has {found.st_size} bytes; the most is {LARGEST}")
            text = file.read(LARGEST + 1)
        if len(text) > LARGEST:
            raise _refused(unit, f"it has more than {LARGEST} bytes")
        if text.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in text:
            step = "save it as UTF-8; compilers cannot read UTF-16"
            raise Unreadable(unit, "it is UTF-16, or holds NUL bytes", step, Exit.UNBUILDABLE)
        if not text.removeprefix(b"\xef\xbb\xbf").strip():
            step = f"write it, or get the stub back with `{start} --force`"
            raise Unreadable(unit, "it is empty", step, Exit.UNBUILDABLE)
        return text


def _refused(unit: str, what: str) -> Unreadable:
    return Unreadable(unit, what, "put the source itself, a regular file, in its place", Exit.UNBUILDABLE)


def find_workspace(here: Path, clone: Path, named: Path | None) -> Workspace:
    """The workspace: the folder `named`, else the nearest one around `here`, which is a folder that
    `ol init` made, or the clone of the course at `clone`. Raises ToolError when there is none."""
    if named is not None:
        if named.is_dir():
            return Workspace(named.absolute())
        raise ToolError(
            "there is no such workspace",
            where=str(named),
            next_step=f"make it with `ol init {named}`, or name another with --workspace",
            code=Exit.USAGE,
        )
    for folder in (here, *here.parents):
        if (folder / MARKER).is_file() or (folder == clone and (folder / "c").is_dir()):
            return Workspace(folder)
    raise ToolError(
        "this folder is not in a workspace",
        where=str(here),
        next_step="`ol init DIR` makes one; or name it with --workspace DIR or OL_WORKSPACE",
        code=Exit.USAGE,
    )
