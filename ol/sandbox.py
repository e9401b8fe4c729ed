"""Where other people's code runs: bubblewrap where this machine lets it start, else Landlock, and limits
in any case.

Found by trying, once in a run of ol. Nothing of the user's is seen inside but what a command names: the
system's own folders, a private /tmp, /proc and /dev, no network, processes of its own that end with it.
Real root is left first, for the host's files stay root's to read and to change inside.
"""

import os
import resource
import shutil
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from pathlib import Path

from ol import cgroup, landlock, process, slots
from ol.errors import ToolError
from ol.exits import Exit
from ol.toolchain import environment
from ol.user import NOBODY, fresh, has_own, is_root, leave_root, tasks_of

_SYSTEM = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/usr", "/nix/store", "/gnu/store")
_ETC = ("/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives")
_ALONE = ("--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try")
_BESIDE_MB, _BESIDE = 256, 16
"""What a run's watch, its small files and the sandbox may take beside the unit: wherever the watch is quick
enough it is to come first, for it can tell more than the kernel."""
_TMP_BYTES = str(64 << 20)
_PACKAGE = Path(__file__).resolve().parent


class Kind(StrEnum):
    NONE = "none"
    BUBBLEWRAP = "bubblewrap"
    LANDLOCK = "landlock"


class Wish(StrEnum):
    """What a command asks for."""

    AUTO = "auto"
    REQUIRED = "required"
    OFF = "off"


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What no process of a command may pass; 0 sets no limit."""

    cpu_seconds: int = 0
    address_mb: int = 0
    file_mb: int = 0
    processes: int = 0

    def prefix(self) -> list[str]:
        """The words that go before a command, where this machine has the program for it."""
        program = shutil.which("prlimit")
        each = (
            ("--cpu", self.cpu_seconds, resource.RLIMIT_CPU),
            ("--as", self.address_mb << 20, resource.RLIMIT_AS),
            ("--fsize", self.file_mb << 20, resource.RLIMIT_FSIZE),
            ("--nproc", self.processes, resource.RLIMIT_NPROC),
        )
        asked = [f"{option}={_lowered(value, which)}" for option, value, which in each if value]
        return [program, "--core=0", *asked, "--"] if program and asked else []

    def shared(self, uid: int) -> "Limits":
        """The same where the system counts what a user runs elsewhere too, such as in other runs."""
        allowed = self.processes and tasks_of(uid) + self.processes * slots.jobs()
        return replace(self, processes=allowed)


COMPILING = Limits(cpu_seconds=10, address_mb=2048, file_mb=64)
RUNNING = Limits(processes=128)


@dataclass(frozen=True, kw_only=True)
class Sandbox:
    kind: Kind = Kind.NONE
    program: str = ""
    user: int = NOBODY
    """Who runs the command where root is left, user and group."""
    leaves_root: bool = False
    """Root runs units as nobody without a sandbox; what they need is copied to where nobody can read."""
    hidden: tuple[Path, ...] = ()
    """Folders that no command may see, also where the system's own contain them; a file that is named
    alone is seen nevertheless."""
    groups: Path | None = None
    """The group of processes in which each command gets its own, where they may be made."""

    def command(
        self,
        argv: Sequence[str],
        *,
        readable: Sequence[Path] = (),
        writable: Sequence[Path] = (),
        cwd: Path,
        proc: bool = True,
        limits: Limits | None = None,
    ) -> list[str]:
        """`argv` as it is started inside."""
        # Root sets the limits and is confined before it is left: who runs units need not be able to start
        # what that takes.
        inside = [*self._counted(limits or Limits()).prefix(), *self._leaving(), *argv]
        if self.kind is Kind.NONE:
            return inside
        if self.kind is Kind.LANDLOCK:
            hidden = (_PACKAGE, *self.hidden)
            return landlock.confined(inside, readable=readable, writable=writable, hidden=hidden)
        return [
            *(self.program, "--die-with-parent", *_ALONE, *_own_users()),
            *_system(),
            *(["--proc", "/proc"] if proc else []),
            *("--dev", "/dev", "--size", "1048576", "--tmpfs", "/dev/shm", "--remount-ro", "/dev"),
            *("--perms", "1777", "--size", _TMP_BYTES, "--tmpfs", "/tmp"),
            *_bound(readable, writable, (_PACKAGE, *self.hidden), cwd),
            *("--remount-ro", "/", "--chdir", str(cwd), "--"),
            *inside,
        ]

    def alone(self) -> "Sandbox":
        """The same for one run, as a user of its own where that can be."""
        return replace(self, user=fresh())

    def group(self, memory_mb: int) -> AbstractContextManager[cgroup.Group]:
        """The group of one command, which may take so much memory."""
        processes = RUNNING.processes + _BESIDE
        return cgroup.of_run(self.groups, memory_mb=memory_mb + _BESIDE_MB, processes=processes)

    def _leaving(self) -> list[str]:
        return leave_root(self.user) if self._is_left() else []

    def _is_left(self) -> bool:
        return is_root() and (self.kind is Kind.BUBBLEWRAP or self.leaves_root)

    def _counted(self, limits: Limits) -> Limits:
        if self.kind is Kind.BUBBLEWRAP or (self.leaves_root and has_own()):
            return limits
        return limits.shared(self.user if self.leaves_root else os.geteuid())

    def give(self, *paths: Path) -> None:
        """Lets the command inside write to what this process has made."""
        if self._is_left():
            for path in paths:
                os.chown(path, -1, self.user)  # it stays root's own: not every root may override that
                path.chmod(0o770 if path.is_dir() else 0o640)


def _lowered(value: int, which: int) -> int:
    """A limit that this process may set: none above its own."""
    _, most = resource.getrlimit(which)
    return value if most == resource.RLIM_INFINITY else min(value, most)


OUTSIDE = Sandbox()
"""No sandbox: for the course's own code, or where it was asked for."""


def _own_users() -> tuple[str, ...]:
    """Root needs no namespace of users, and files would be root's in one."""
    return () if is_root() else ("--unshare-user", "--disable-userns")


@cache
def _system() -> tuple[str, ...]:
    words: list[str] = []
    for path in map(Path, _SYSTEM):
        if path.is_symlink():
            words += ["--symlink", str(path.readlink()), str(path)]
        elif path.is_dir():
            words += ["--ro-bind", str(path), str(path)]
    words += ["--perms", "0755", "--dir", "/etc"]
    for name in _ETC:
        words += ["--ro-bind-try", name, name]
    return tuple(words)


def _bound(
    readable: Sequence[Path], writable: Sequence[Path], hidden: Sequence[Path], cwd: Path
) -> Iterator[str]:
    """Folders before what lies in them, and what is hidden before what is named alone under it."""
    roots = [Path(name) for name in _SYSTEM if name not in ("/bin", "/lib")]
    wide = [p for p in readable if any(h != p and h.is_relative_to(p) for h in hidden)]
    for path in sorted({a for p in (*readable, *writable, cwd) for a in p.parents} | {cwd}):
        if path not in (Path("/"), Path("/tmp")) and not any(
            path.is_relative_to(r) for r in (*roots, *wide)
        ):
            yield from ("--perms", "0755", "--dir", str(path))
    for path in sorted(wide):
        yield from ("--ro-bind", str(path), str(path))
    for path in hidden:
        if path.is_dir() and any(path.is_relative_to(r) for r in (*wide, *roots)):
            yield from ("--tmpfs", str(path))
    for path in sorted(set(readable) - set(wide)):
        if not any(path.is_relative_to(r) for r in roots) or any(path.is_relative_to(h) for h in hidden):
            yield from ("--ro-bind", str(path), str(path))
    for path in writable:
        yield from ("--bind", str(path), str(path))


@cache
def find(wish: Wish) -> Sandbox:
    """The sandbox of this run. Raises ToolError (exit 69) where one is required and none starts."""
    bare = Sandbox(leaves_root=is_root(), groups=cgroup.find().parent)
    if wish is Wish.OFF:
        return bare
    why = "bubblewrap is not installed"
    if program := shutil.which("bwrap"):
        found = Sandbox(kind=Kind.BUBBLEWRAP, program=program, groups=bare.groups)
        if not (why := refusal(found)):
            return found
    if landlock.version():
        found = replace(bare, kind=Kind.LANDLOCK)
        if not refusal(found):
            return found
    if wish is Wish.AUTO:
        return bare
    raise ToolError(
        "no sandbox can be started on this machine",
        where=why,
        next_step="install bubblewrap and allow user namespaces (`ol doctor` says what is missing),"
        " or choose --sandbox auto",
        code=Exit.NO_TOOLCHAIN,
    )


def refusal(sandbox: Sandbox) -> str:
    """Why a sandbox does not start here; empty where it does."""
    try:
        argv = sandbox.command(["true"], cwd=Path("/"), limits=RUNNING)
        done = process.run(argv, cwd=Path("/"), env=environment(), timeout=20, cap=8192)
    except OSError as error:
        return f"{error.strerror}: {sandbox.program}"
    except ToolError as error:
        return f"{error.what}: {error.where}"
    if done.code == 0:
        return ""
    return done.err.decode("utf-8", "replace").strip() or f"it ended with status {done.code}"
