"""Groups of processes (cgroup v2): where the system lets this user make them, each command runs in one of
its own. The kernel bounds its memory, whatever holds it, and its processes, and ends them all at once.

Found by trying, once in a run of ol. A short program enters the group and becomes the command, so that all
that the command starts is in the group from its first moment.
"""

import errno
import fcntl
import os
import re
import secrets
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ol import process
from ol.errors import ToolError
from ol.toolchain import environment

_CONTROLLERS = ("memory", "pids")
_RUN = re.compile(r"ol-run-[0-9a-f]{16}")
_END_SECONDS = 2.0
# Python has set signals aside that the command must find as they were.
_ENTER = """
import os, signal, sys
with open(sys.argv[1], "w") as group: group.write("0")
for number in signal.SIGPIPE, signal.SIGXFSZ: signal.signal(number, signal.SIG_DFL)
try: os.execvp(sys.argv[2], sys.argv[2:])
except OSError as error: sys.exit(f"{sys.argv[2]}: {error.strerror}")
"""
_PROBE_MB = 32
_EATS = f"""
import os
try: os.fork()
except OSError: b"x" * ({_PROBE_MB} << 22)
"""


@dataclass(frozen=True, kw_only=True)
class Found:
    parent: Path | None = None
    """The group in which others may be made."""
    why: str = ""
    """What was tried, where there is none."""


@dataclass(frozen=True, kw_only=True)
class Group:
    folder: Path | None = None
    """None where a command runs in no group of its own."""
    memory_mb: int = 0

    def command(self, argv: Sequence[str]) -> list[str]:
        """`argv` as it is started inside."""
        if self.folder is None:
            return list(argv)
        return [sys.executable, "-I", "-S", "-c", _ENTER, str(self.folder / "cgroup.procs"), *argv]

    def ran_out(self) -> bool:
        """Whether the kernel has ended the group, for it wanted more memory than its own limit."""
        if self.folder is None:
            return False
        try:
            lines = (self.folder / "memory.events").read_text().splitlines()
        except OSError:
            return False  # without a sandbox a unit may remove what is its user's
        events = {name: int(count) for name, count in map(str.split, lines)}
        return events["oom"] > 0 and events["oom_kill"] > 0


NO_GROUP = Group()


@contextmanager
def of_run(parent: Path | None, *, memory_mb: int, processes: int) -> Iterator[Group]:
    """The group of one run; none where there is no parent for it. Raises ToolError where it cannot be made
    any more."""
    if parent is None:
        yield NO_GROUP
        return
    with ExitStack() as stack:
        try:
            group = stack.enter_context(made(parent, memory_mb=memory_mb, processes=processes))
        except OSError as error:
            raise ToolError(
                f"no group of processes can be made for a run: {error.strerror}",
                where=str(parent),
                next_step="run the command again; `ol doctor` says where groups may be made",
            ) from None
        yield group


@contextmanager
def made(parent: Path, *, memory_mb: int, processes: int) -> Iterator[Group]:
    """A new group within another. At the end all processes in it are ended, and it is gone."""
    folder, lock = _new(parent)
    try:
        _limit(folder, memory_mb, processes)
        yield Group(folder=folder, memory_mb=memory_mb)
    finally:
        _end(folder)
        os.close(lock)


def _new(parent: Path) -> tuple[Path, int]:
    """Its lock is let go when this process ends, however it ends: what nobody holds is left over."""
    while True:
        folder = parent / f"ol-run-{secrets.token_hex(8)}"
        folder.mkdir()
        with suppress(FileNotFoundError):
            if (lock := _locked(folder)) is not None:
                if folder.is_dir():
                    return folder, lock
                os.close(lock)  # taken for left over between the two steps


def _locked(folder: Path) -> int | None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor


def _limit(folder: Path, memory_mb: int, processes: int) -> None:
    (folder / "memory.max").write_text(str(memory_mb << 20))
    (folder / "memory.oom.group").write_text("1")
    (folder / "pids.max").write_text(str(processes))
    swap = folder / "memory.swap.max"
    if swap.exists():  # not where the kernel has no swap
        swap.write_text("0")


def _end(folder: Path) -> None:
    """Ends all that is in a group, and removes it and what was made in it."""
    deadline = time.monotonic() + _END_SECONDS
    while folder.is_dir():
        with suppress(OSError):
            (folder / "cgroup.kill").write_text("1")
            for path, _, _ in os.walk(folder, topdown=False):
                Path(path).rmdir()
        if time.monotonic() > deadline:
            return
        time.sleep(0.001)


@cache
def find() -> Found:
    """Where groups may be made. Removes those that an ol that was killed has left there."""
    try:
        mounts, own = (Path(f"/proc/self/{name}").read_text() for name in ("mountinfo", "cgroup"))
    except OSError as error:  # a kernel without groups, or no /proc
        return Found(why=f"{error.filename}: {error.strerror}")
    tried = []
    for parent in places(mounts, own):
        if not (why := refusal(parent)):
            sweep(parent)
            return Found(parent=parent)
        tried.append(f"{parent}: {why}")
    return Found(why="; ".join(tried) or "not mounted")


def places(mounts: str, own: str) -> list[Path]:
    """This process's group and the one that holds it, as far as they are shown to it."""
    path = Path(next((line[3:] for line in own.splitlines() if line.startswith("0::")), ""))
    for line in mounts.splitlines():
        fields, _, kind = line.partition(" - ")
        root, mount = map(Path, fields.split()[3:5])
        if kind.startswith("cgroup2 ") and path.is_relative_to(root):
            group = mount / path.relative_to(root)
            return [group] if group == mount else [group, group.parent]
    return []


def refusal(parent: Path) -> str:
    """Why groups in this one hold nothing; empty where a process in one could neither start another nor
    take more memory than it was given."""
    argv = [sys.executable, "-I", "-S", "-c", _EATS]
    try:
        known = (parent / "cgroup.controllers").read_text().split()
        if not set(_CONTROLLERS) <= set(known):
            return f"no controllers for memory and pids, only: {' '.join(known) or 'none'}"
        _enable(parent)
        with made(parent, memory_mb=_PROBE_MB, processes=1) as group:
            done = process.run(group.command(argv), cwd=Path("/"), env=environment(), timeout=20, cap=8192)
            if group.ran_out():
                return ""
    except OSError as error:
        return "other processes are in it" if error.errno == errno.EBUSY else str(error.strerror)
    return done.err.decode("utf-8", "replace").strip() or "a process in a group passed its limits"


def _enable(parent: Path) -> None:
    """Lets groups in this one have limits. A group that does so may hold no process itself, but for the
    system's first: where this process is the only one it steps aside."""
    control, processes = parent / "cgroup.subtree_control", parent / "cgroup.procs"
    if set(_CONTROLLERS) <= set(control.read_text().split()):
        return
    words = " ".join(f"+{name}" for name in _CONTROLLERS)
    try:
        control.write_text(words)
    except OSError as error:
        if error.errno != errno.EBUSY or processes.read_text().split() != [str(os.getpid())]:
            raise
        aside = parent / f"ol-self-{secrets.token_hex(8)}"
        aside.mkdir()
        (aside / "cgroup.procs").write_text(str(os.getpid()))
        control.write_text(words)


def sweep(parent: Path) -> None:
    """Ends and removes the groups that nobody holds any more."""
    for folder in parent.iterdir():
        with suppress(OSError):
            if folder.name.startswith("ol-self-"):
                folder.rmdir()
            elif _RUN.fullmatch(folder.name) and (lock := _locked(folder)) is not None:
                _end(folder)
                os.close(lock)
