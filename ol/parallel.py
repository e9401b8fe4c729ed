"""Independent calls side by side. The work is in child processes, so threads are enough."""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import TypeVar

PARSING = threading.Lock()
"""Python 3.11 counts the depth of a tree that it makes in one place for all threads."""
T = TypeVar("T")


def together(calls: Sequence[Callable[[], T]]) -> list[T]:
    """The results of all calls, in their order. Raises the first error once the others have ended.

    How many processes run at a time is the business of `slots.set_jobs`, not of the threads here.
    """
    if len(calls) <= 1:
        return [call() for call in calls]
    with ThreadPoolExecutor(max_workers=len(calls)) as pool:
        return [future.result() for future in [pool.submit(call) for call in calls]]


def finished(calls: Sequence[Callable[[], T]], *, at_once: int) -> Iterator[T]:
    """Results as they come, in any order; no more than `at_once` are begun before one has ended.

    Raises the first error.
    """
    with ThreadPoolExecutor(max_workers=max(1, min(len(calls), at_once))) as pool:
        futures = [pool.submit(call) for call in calls]
        try:
            for future in as_completed(futures):
                yield future.result()
        except BaseException:
            for future in futures:
                future.cancel()
            raise
