"""All processes below one, wherever they have gone: their end, and the adoption of those whose parent has
ended."""

import ctypes
import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_PR_SET_CHILD_SUBREAPER = 36


def adopt() -> None:
    """Makes this process the parent of what loses its own below it."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def children(pid: int) -> list[int]:
    """Of all its threads; none where it has ended."""
    found: list[int] = []
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            found += map(int, (task / "children").read_text().split())
    return found


def end(pid: int) -> None:
    """Ends a process and all below it. They are stopped first, so that none forks while others end."""
    for one in list(_stopped(pid)):
        with suppress(ProcessLookupError, PermissionError):
            os.kill(one, signal.SIGKILL)


def _stopped(pid: int) -> Iterator[int]:
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGSTOP)
    yield pid
    for child in children(pid):
        yield from _stopped(child)
