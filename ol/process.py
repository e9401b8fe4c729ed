"""The only place that starts a process.

Argument lists, never a shell; the environment is what the caller gives and nothing else; a session of
its own, and an end to all below it; output read without blocking and bounded. As many run at a time
as there are slots. `end_all` ends whatever is running, from any thread, and refuses new processes
from then on.
"""

import os
import selectors
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, NoReturn

from ol import offspring, slots
from ol.errors import ToolError
from ol.exits import Exit
from ol.kept import Kept

_AFTER_END = 0.3
"""Seconds that a pipe may stay open after its process has ended."""

_live: set[int] = set()
_lock = threading.RLock()  # a signal handler may call end_all while its thread holds it
_closed = threading.Event()
_adopts = False


Child = subprocess.Popen[bytes]


class Interrupted(Exception):
    """`end_all` was called: nothing is started any more."""


@dataclass(frozen=True, kw_only=True)
class Finished:
    code: int
    """Exit status; negative for a signal."""
    out: bytes
    err: bytes
    seconds: float
    timed_out: bool = False


def end_all() -> None:
    """Ends every process that `run` started and is waiting for, and all below them."""
    _closed.set()
    with _lock:
        for pid in _live:
            offspring.end(pid)
            _end(pid)


def adopt() -> None:
    """From now on what a command has left behind is this process's child, and is ended after each. Only
    for a program that starts processes by `run` alone."""
    global _adopts
    offspring.adopt()
    _adopts = True


def _end_orphans() -> None:
    with _lock:
        orphans = set(offspring.children(os.getpid())) - _live if _adopts else set()
        for pid in orphans:
            offspring.end(pid)
            with suppress(ChildProcessError):
                os.waitpid(pid, 0)


def become(argv: Sequence[str], folder: Path) -> NoReturn:
    """Replaces this process by a program that talks to the user, in `folder`, with the user's own
    environment. For a debugger; nothing is bounded or watched."""
    os.chdir(folder)
    os.execv(argv[0], list(argv))


def interact(argv: Sequence[str]) -> None:
    """Runs a program that talks to the user, such as an editor, on the user's own terminal and in the
    user's own environment. Raises ToolError when it cannot be started or fails."""
    try:
        code = subprocess.run(argv, check=False).returncode
    except OSError as error:
        raise ToolError(
            f"cannot start {argv[0]}: {error.strerror}",
            next_step="set EDITOR to an editor that is there, as in EDITOR=nano",
            code=Exit.USAGE,
        ) from None
    if code != 0:
        raise ToolError(f"{argv[0]} ended with status {code}; nothing was kept", code=Exit.USAGE)


def _end(pid: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


@contextmanager
def started(argv: Sequence[str], *, cwd: Path, env: Mapping[str, str]) -> Iterator[Child]:
    """A process with pipes, to be fed and read; at the end it is ended, with all below it.

    Raises OSError when the program cannot be started and Interrupted after `end_all`.
    """
    with _lock:
        if _closed.is_set():
            raise Interrupted
        child = subprocess.Popen(
            argv,
            cwd=cwd,
            env=dict(env),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        _live.add(child.pid)
    try:
        with child:
            try:
                yield child
            finally:
                if child.returncode is None:
                    offspring.end(child.pid)
                _end(child.pid)
    finally:
        _end(child.pid)
        with _lock:
            _live.discard(child.pid)
        _end_orphans()
    if _closed.is_set():
        raise Interrupted


def run(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    timeout: float,
    stdin: bytes = b"",
    cap: int = 1 << 20,
) -> Finished:
    """Runs `argv` to its end, or ends it and its group after `timeout` seconds.

    Of each of stdout and stderr the first and last cap/2 bytes are kept. Raises OSError when the
    program cannot be started and Interrupted after `end_all`.
    """
    with slots.one():
        start, out, err = time.monotonic(), Kept(cap), Kept(cap)
        with started(argv, cwd=cwd, env=env) as child:
            timed_out = _converse(child, stdin, out, err, start + timeout)
        return Finished(
            code=child.returncode,
            out=out.bytes(),
            err=err.bytes(),
            seconds=time.monotonic() - start,
            timed_out=timed_out,
        )


def _converse(child: Child, stdin: bytes, out: Kept, err: Kept, deadline: float) -> bool:
    """Feeds and reads until the child and its pipes are done; True when the deadline came first."""
    assert child.stdin and child.stdout and child.stderr
    pending = memoryview(stdin)
    with selectors.DefaultSelector() as ready:
        for pipe, kept in ((child.stdout, out), (child.stderr, err)):
            os.set_blocking(pipe.fileno(), False)
            ready.register(pipe, selectors.EVENT_READ, kept)
        os.set_blocking(child.stdin.fileno(), False)
        ready.register(child.stdin, selectors.EVENT_WRITE)
        while ready.get_map():
            now = time.monotonic()
            if now > deadline:
                return True
            if child.poll() is not None:
                deadline = min(deadline, now + _AFTER_END)
            for key, _ in ready.select(min(0.1, deadline - now)):
                if key.data is None:
                    pending = _feed(ready, child.stdin, pending)
                elif not _drain(key.fd, key.data):
                    ready.unregister(key.fileobj)
        while child.poll() is None:
            if time.monotonic() > deadline:
                return True
            time.sleep(0.001)
    return False


def _feed(ready: selectors.BaseSelector, pipe: IO[bytes], pending: memoryview) -> memoryview:
    pending = written(pipe.fileno(), pending)
    if not pending:
        ready.unregister(pipe)
        pipe.close()
    return pending


def _drain(fd: int, kept: Kept) -> bool:
    """Reads what is there; False at the end of the file."""
    data = received(fd)
    if data:
        kept.add(data)
    return data is None or bool(data)


def written(fd: int, pending: memoryview) -> memoryview:
    """What is left of `pending` after as much as a pipe takes now; nothing where nobody reads any more."""
    try:
        return pending[os.write(fd, pending[:65536]) :] if pending else pending
    except BlockingIOError:
        return pending
    except BrokenPipeError:
        return pending[:0]


def received(fd: int) -> bytes | None:
    """What a pipe holds now, None where that is nothing, and no bytes at its end."""
    try:
        return os.read(fd, 1 << 18)
    except BlockingIOError:
        return None
