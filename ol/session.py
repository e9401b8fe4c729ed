"""Supervisors that are kept from call to call, for starting one takes longer than most tests.

For the course's own code and its mutants only: units of different calls share a supervisor, though never a
process.
"""

import os
import selectors
import struct
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack

from ol import process, slots
from ol.pysuite import PyRunner
from ol.stream import Frame, frames
from ol.suite import RSS_MB, Request, Runner, line_of, patience

_LENGTH = struct.Struct("<I")
_NEW_CALL = b"\n"
"""Ends what a supervisor knows of the requests before: which of them were late, or need no more tests."""


class Session:
    """One supervisor, started by the first call, and by the next one after a call that it did not survive.
    For one thread at a time."""

    def __init__(self, runner: Runner | PyRunner):
        self._runner = runner
        self._child: process.Child | None = None
        self._held = ExitStack()

    def run(self, requests: Sequence[Request]) -> list[Frame]:
        """One frame for each request, in their order; by a supervisor of their own where this one does not
        answer them all."""
        with slots.one():
            answer = self._ask(requests)
        if answer is not None:
            return frames(answer)
        self.close()
        return self._runner.run(requests)

    def close(self) -> None:
        self._child = None
        self._held.close()

    def _ask(self, requests: Sequence[Request]) -> bytes | None:
        if self._child is None:
            self._child = self._start(requests)
        question = _NEW_CALL + "".join(line_of(n, q) for n, q in enumerate(requests)).encode()
        return answered(self._child, question, len(requests), time.monotonic() + patience(requests))

    def _start(self, requests: Sequence[Request]) -> process.Child:
        call = self._held.enter_context(self._runner.ready(requests))
        group = self._held.enter_context(call.place.sandbox.group(RSS_MB))
        argv = group.command(call.argv)
        return self._held.enter_context(process.started(argv, cwd=call.place.cwd, env=call.env))


class Pool:
    """As many sessions of one runner as there are calls at a time."""

    def __init__(self, runner: Runner | PyRunner):
        self._runner = runner
        self._idle: list[Session] = []
        self._lock = threading.Lock()

    def run(self, requests: Sequence[Request]) -> list[Frame]:
        """As a session does, from any thread."""
        with self._lock:
            session = self._idle.pop() if self._idle else Session(self._runner)
        try:
            return session.run(requests)
        finally:
            with self._lock:
                self._idle.append(session)

    def close(self) -> None:
        """Ends the supervisors. While no call is under way."""
        with ExitStack() as stack:
            for session in self._idle:
                stack.callback(session.close)


def answered(child: process.Child, question: bytes, count: int, deadline: float) -> bytes | None:
    """What `child` answers, `count` strings with their lengths in front; None where it ends or takes
    longer. What it says on stderr is let go."""
    assert child.stdin and child.stdout and child.stderr
    pending, got, at = memoryview(question), bytearray(), 0
    with selectors.DefaultSelector() as ready:
        for pipe in (child.stdin, child.stdout, child.stderr):
            os.set_blocking(pipe.fileno(), False)
            ready.register(pipe, selectors.EVENT_WRITE if pipe is child.stdin else selectors.EVENT_READ)
        while count > 0:
            if time.monotonic() > deadline or child.poll() is not None:
                return None
            for key, _ in ready.select(0.1):
                if key.fileobj is child.stdin:
                    pending = process.written(key.fd, pending)
                    if not pending:
                        ready.unregister(child.stdin)
                elif (data := process.received(key.fd)) == b"":
                    return None
                elif key.fileobj is child.stdout:
                    got += data or b""
            while len(got) >= at + 4 and len(got) >= (end := at + 4 + _LENGTH.unpack_from(got, at)[0]):
                count, at = count - 1, end
    return bytes(got)
