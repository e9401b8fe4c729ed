"""How a unit is compiled: the compiler sees the unit and the contracts, is bounded, and is never root's."""

import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from ol import process
from ol.errors import ToolError
from ol.exits import Exit
from ol.sandbox import COMPILING, Sandbox
from ol.toolchain import environment
from ol.user import fresh, leave_root


@contextmanager
def work_folder(sandbox: Sandbox, cache: Path) -> Iterator[Path]:
    """A folder to compile in that is gone afterwards; outside of homes where others must reach it."""
    work = Path(tempfile.mkdtemp(prefix="build-", dir=None if sandbox.leaves_root else cache))
    try:
        yield work
    finally:
        shutil.rmtree(work, ignore_errors=True)


def confined(sandbox: Sandbox, argv: Sequence[str], work: Path, include: Path) -> list[str]:
    """`argv`, a compiler over the sources in `work` and the headers in `include`, as it is started."""
    place, compiler = sandbox.alone(), argv[0]
    if place.leaves_root:
        _must_be_reachable(compiler)
        shutil.copytree(include, work / "include")
        argv = [word.replace(f"-I{include}", "-Iinclude") for word in argv]
    place.give(work, *work.rglob("*"))
    readable = [include, Path(compiler).resolve().parents[1]]
    return place.command(argv, readable=readable, writable=[work], cwd=work, proc=False, limits=COMPILING)


def keep(made: Path, path: Path) -> None:
    """Puts what was made at `path`, on whatever disk that is, in one step."""
    copy = path.with_name(f"{path.name}.{os.getpid()}.{made.parent.name}")
    shutil.copyfile(made, copy)
    copy.chmod(0o755)
    copy.replace(path)


@cache
def _must_be_reachable(compiler: str) -> None:
    """Raises ToolError where nobody cannot start this compiler: no unit is compiled as root."""
    argv = [*leave_root(fresh()), compiler, "-x", "c", "-E", os.devnull]
    done = process.run(argv, cwd=Path("/"), env=environment(compiler), timeout=20)
    if done.code != 0:
        raise ToolError(
            "units are not compiled as root, and an ordinary user cannot start this compiler",
            where=compiler,
            next_step="install a compiler for all users, or run ol as an ordinary user",
            code=Exit.NO_TOOLCHAIN,
        )
