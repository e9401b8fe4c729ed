"""How many processes work at a time, whoever starts them, and who is next."""

import os
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager


class _Slots:
    """A semaphore that serves in the order of asking: one who gives a slot back and asks again at once
    comes after those who wait."""

    def __init__(self, number: int):
        self._free = number
        self._turns: deque[threading.Lock] = deque()
        self._lock = threading.Lock()

    def acquire(self) -> None:
        turn = threading.Lock()
        with self._lock:
            if self._free > 0:
                self._free -= 1
                return
            turn.acquire()
            self._turns.append(turn)
        try:
            turn.acquire()
        except BaseException:
            self._leave(turn)
            raise

    def _leave(self, turn: threading.Lock) -> None:
        with self._lock:
            still_waits = turn in self._turns
            if still_waits:
                self._turns.remove(turn)
        if not still_waits:
            self.release()

    def release(self) -> None:
        with self._lock:
            if self._turns:
                self._turns.popleft().release()
            else:
                self._free += 1


_jobs = os.cpu_count() or 1
_slots = _Slots(_jobs)
_exclusive = threading.Lock()


def set_jobs(number: int) -> None:
    """How many processes work at a time from now on. Not while any does."""
    global _jobs, _slots
    _jobs = number
    _slots = _Slots(number)


def jobs() -> int:
    return _jobs


@contextmanager
def one() -> Iterator[None]:
    """Within it one process may work."""
    slots = _slots
    slots.acquire()
    try:
        yield
    finally:
        slots.release()


@contextmanager
def alone() -> Iterator[None]:
    """Within it one process works at a time, whoever starts it."""
    with _exclusive:
        held = 0
        try:
            for _ in range(_jobs - 1):
                _slots.acquire()
                held += 1
            yield
        finally:
            for _ in range(held):
                _slots.release()
