"""Where other people's code runs: bubblewrap where this machine lets it start, else Landlock, and limits
in any case.

Found by trying, once in a run of ol. Nothing of the user's is seen inside but what a command names: the
system's own folders, a private /tmp, /proc and /dev, no network, processes of its own that end with it.
Real root is left first, for the host's files stay root's to read and to change inside.
"""

import itertools
import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from pathlib import Path

from ol import landlock, process
from ol.errors import ToolError
from ol.exits import Exit
from ol.toolchain import environment

_SYSTEM = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/usr", "/nix/store", "/gnu/store")
_ETC = ("/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives")
_ALONE = ("--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try")
_TMP_BYTES = str(64 << 20)
_DROPPED = ("--clear-groups", "--no-new-privs", "--inh-caps=-all", "--bounding-set=-all")
NOBODY = 65534
_FIRST_UID, _UIDS = 1_879_048_192, 1 << 27
_turns = itertools.count()
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
            ("--cpu", self.cpu_seconds, 1),
            ("--as", self.address_mb, 1 << 20),
            ("--fsize", self.file_mb, 1 << 20),
            ("--nproc", self.processes, 1),
        )
        asked = [f"{option}={value * unit}" for option, value, unit in each if value]
        return [program, "--core=0", *asked, "--"] if program and asked else []


COMPILING = Limits(cpu_seconds=10, address_mb=2048, file_mb=64)
RUNNING = Limits(processes=128)


@dataclass(frozen=True, kw_only=True)
class Sandbox:
    kind: Kind = Kind.NONE
    program: str = ""
    leaves_root: bool = False
    """Root runs units as nobody without a sandbox; what they need is copied to where nobody can read."""
    hidden: tuple[Path, ...] = ()
    """Folders that no command may see, also where the system's own contain them; a file that is named
    alone is seen nevertheless."""

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
        limited = [*(limits or Limits()).prefix(), *argv]
        if self.kind is Kind.NONE:
            return [*replace(limits or Limits(), processes=0).prefix(), *argv]
        if self.kind is Kind.LANDLOCK:
            hidden = (_PACKAGE, *self.hidden)
            inside = landlock.confined(argv, readable=readable, writable=writable, hidden=hidden)
            return [*replace(limits or Limits(), processes=0).prefix(), *inside]
        return [
            *(self.program, "--die-with-parent", *_ALONE, *_own_users()),
            *_system(),
            *(["--proc", "/proc"] if proc else []),
            *("--dev", "/dev", "--size", "1048576", "--tmpfs", "/dev/shm", "--remount-ro", "/dev"),
            *("--perms", "1777", "--size", _TMP_BYTES, "--tmpfs", "/tmp"),
            *_bound(readable, writable, (_PACKAGE, *self.hidden), cwd),
            *("--remount-ro", "/", "--chdir", str(cwd), "--"),
            *leave_root(),
            *limited,
        ]

    def give(self, *paths: Path) -> None:
        """Lets the command inside write to what this process has made."""
        if is_root() and (self.kind is Kind.BUBBLEWRAP or self.leaves_root):
            for path in paths:
                os.chown(path, -1, NOBODY)  # it stays root's own: not every root may override that
                path.chmod(0o770 if path.is_dir() else 0o640)

    def take(self, path: Path) -> None:
        """Makes what the command has made this process's own."""
        if self.kind is Kind.BUBBLEWRAP and is_root():
            os.chown(path, os.geteuid(), os.getegid(), follow_symlinks=False)


OUTSIDE = Sandbox()
"""No sandbox: for the course's own code, or where it was asked for."""


def is_root() -> bool:
    return os.geteuid() == 0


def leave_root() -> list[str]:
    """The words that start a command as nobody, where this process is root: as a user of its own, for the
    system counts the processes of each."""
    if not is_root():
        return []
    program = shutil.which("setpriv") or "setpriv"
    return [program, "--reuid", str(_own_uid()), "--regid", str(NOBODY), *_DROPPED, "--"]


def _own_uid() -> int:
    """A number that no user has; nobody's where this root may not take any."""
    uid = _FIRST_UID + (os.getpid() * 1009 + next(_turns)) % _UIDS
    try:
        lines = Path("/proc/self/uid_map").read_text().splitlines()
    except OSError:
        return NOBODY
    ranges = [tuple(map(int, line.split())) for line in lines]
    return uid if any(first <= uid < first + n for first, _, n in ranges) else NOBODY


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
    bare = Sandbox(leaves_root=is_root())
    if wish is Wish.OFF:
        return bare
    why = "bubblewrap is not installed"
    if program := shutil.which("bwrap"):
        found = Sandbox(kind=Kind.BUBBLEWRAP, program=program)
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
    argv = sandbox.command(["true"], cwd=Path("/"), limits=RUNNING)
    try:
        done = process.run(argv, cwd=Path("/"), env=environment(), timeout=20, cap=8192)
    except OSError as error:
        return f"{error.strerror}: {sandbox.program}"
    if done.code == 0:
        return ""
    return done.err.decode("utf-8", "replace").strip() or f"it ended with status {done.code}"
