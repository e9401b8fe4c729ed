"""Whose processes they are that run units: never root's, and a user's of its own where root may choose."""

import itertools
import os
import re
import shutil
from contextlib import suppress
from functools import cache
from pathlib import Path

from ol import process
from ol.errors import ToolError
from ol.exits import Exit
from ol.toolchain import environment

NOBODY = 65534
_DROPPED = ("--clear-groups", "--no-new-privs", "--inh-caps=-all", "--bounding-set=-all")
_FIRST_UID, _UIDS = 1_879_048_192, 1 << 27
_turns = itertools.count()


def is_root() -> bool:
    return os.geteuid() == 0


def leave_root(user: int) -> list[str]:
    """The words that start a command as another user, for root. Raises ToolError (exit 69) where this root
    cannot become one, for no unit is ever root's."""
    if why := stays_root():
        raise ToolError(
            "units are not run as root, and this root cannot become another user",
            where=why,
            next_step="install util-linux, give the container more users, or run ol as an ordinary user",
            code=Exit.NO_TOOLCHAIN,
        )
    return _words(user)


def _words(user: int) -> list[str]:
    program = shutil.which("setpriv") or "setpriv"
    return [program, "--reuid", str(user), "--regid", str(user), *_DROPPED, "--"]


@cache
def stays_root() -> str:
    """Why this root cannot become another user; empty where it can."""
    try:
        done = process.run([*_words(fresh()), "true"], cwd=Path("/"), env=environment(), timeout=20)
    except OSError:
        return "setpriv is not installed"
    return "" if done.code == 0 else done.err.decode("utf-8", "replace").strip() or f"status {done.code}"


def fresh() -> int:
    """A number that no user has, so that the system counts the processes of one run alone and keeps its
    files from the others; nobody's where this process may not take any."""
    if not (is_root() and has_own()):
        return NOBODY
    return _FIRST_UID + (os.getpid() * 1009 + next(_turns)) % _UIDS


_OWNER = re.compile(rb"^Uid:\t(\d+)", re.MULTILINE)
_THREADS = re.compile(rb"^Threads:\t(\d+)", re.MULTILINE)


@cache
def has_own() -> bool:
    """Whether there are such numbers here: a container may have few."""
    return all(map(_mapped, ("uid_map", "gid_map")))


def _mapped(name: str) -> bool:
    try:
        lines = Path("/proc/self", name).read_text().splitlines()
    except OSError:
        return False
    ranges = [tuple(map(int, line.split())) for line in lines]
    return any(first <= _FIRST_UID and first + n >= _FIRST_UID + _UIDS for first, _, n in ranges)


def tasks_of(uid: int) -> int:
    """How many processes and threads the system counts for a user."""
    found = 0
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        with suppress(OSError):  # it has ended
            if folder.stat().st_uid not in (uid, 0):  # one that nobody may look into is shown as root's
                continue
            status = (folder / "status").read_bytes()
            owner, threads = _OWNER.search(status), _THREADS.search(status)
            found += int(threads[1]) if owner and threads and int(owner[1]) == uid else 0
    return found
