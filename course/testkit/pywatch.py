"""The watch over a child, the twin of watch.c: what it writes is read without ever blocking on it, its
limits are kept, and when it is over nothing that it started is left.
"""

import os
import resource
import select
import signal
import time
from contextlib import suppress
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path

TICK = 0.010
AFTER_END = 0.300
STREAM_CAP = 64 << 20
OUTPUT_CAP = 32 << 10
PAGE_KB = resource.getpagesize() // 1024


class Ending(IntEnum):
    """How a child ended; the numbers are part of the protocol with ol/stream.py."""

    EXITED = 0
    SIGNALLED = 1
    TIMED_OUT = 2
    OUT_OF_MEMORY = 3
    FLOODED = 4
    NO_SUCH_TEST = 5
    NOT_RUN = 6


@dataclass
class Capture:
    """Bytes kept from a descriptor: the first and the last half of `cap`, or, where `whole`, all of
    them; then passing the cap ends the child."""

    fd: int
    cap: int = OUTPUT_CAP
    whole: bool = False
    kept: bytearray = field(default_factory=bytearray)
    dropped: int = 0

    def drain(self) -> bool:
        """Read what is there; False when the cap is passed."""
        for _ in range(16):
            try:
                data = os.read(self.fd, 65536)
            except BlockingIOError:
                return True
            if not data:
                self.close()
                return True
            self.kept += data
            excess = len(self.kept) - self.cap
            if excess > 0 and self.whole:
                return False
            if excess > 0:
                head = self.cap // 2
                del self.kept[head : head + excess]
                self.dropped += excess
        return True

    def close(self) -> None:
        """Stop reading; a second call does nothing."""
        if self.fd >= 0:
            os.close(self.fd)
        self.fd = -1


@dataclass
class Outcome:
    """What came of a child."""

    stream: Capture
    out: Capture
    err: Capture
    ending: Ending = Ending.EXITED
    code: int = 0
    wall_us: int = 0
    peak_kb: int = 0

    def read(self, wait: float) -> bool | None:
        """Read what comes within `wait`; False when all is closed, None when a cap is passed."""
        by_fd = {c.fd: c for c in (self.stream, self.out, self.err) if c.fd >= 0}
        if not by_fd:
            return False
        poll = select.poll()
        for fd in by_fd:
            poll.register(fd, select.POLLIN)
        drained = [by_fd[fd].drain() for fd, _ in poll.poll(wait * 1000)]
        return None if not all(drained) else True

    def close(self) -> None:
        """Close what is still open."""
        for capture in (self.stream, self.out, self.err):
            capture.close()


def _end_group(pid: int) -> None:
    for target in (-pid, pid):
        with suppress(ProcessLookupError, PermissionError):
            os.kill(target, signal.SIGKILL)


def _end_orphans() -> None:
    """End what the child left behind. The supervisor is a subreaper, so orphans become its children; a
    child that forks while it is being ended is met on the next round."""
    me = os.getpid()
    for _ in range(100):
        try:
            found = Path(f"/proc/self/task/{me}/children").read_text().split()
        except OSError:
            return
        for pid in map(int, found):
            _end_group(pid)
            with suppress(ChildProcessError):
                os.waitpid(pid, 0)
        if not found:
            return


def nobody_reads(results: int) -> bool:
    """Whether `ol` is gone: this process is then the last that can end what the unit started."""
    poll = select.poll()
    poll.register(results, 0)
    return any(events & select.POLLERR for _, events in poll.poll(0))


def _tree_kb(pid: int) -> int:
    """Of a process and of all that it started and that has not left it."""
    try:
        kb = int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE_KB
        lists = [(task / "children").read_text() for task in Path(f"/proc/{pid}/task").iterdir()]
    except (OSError, IndexError):
        return 0
    return kb + sum(_tree_kb(int(child)) for text in lists for child in text.split())


def _waited(pid: int) -> float:
    """The longest that one of the child's threads has waited for a processor, in seconds."""
    longest = 0
    for stat in Path(f"/proc/{pid}/task").glob("*/schedstat"):
        with suppress(OSError, IndexError, ValueError):
            longest = max(longest, int(stat.read_text().split()[1]))
    return longest / 1e9


def _used(pid: int) -> float:
    """The processor time of a process and of all that it started, in seconds."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        lists = [(task / "children").read_text() for task in Path(f"/proc/{pid}/task").iterdir()]
    except OSError:
        return 0
    own = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    return own + sum(_used(int(child)) for text in lists for child in text.split())


def _is_late(pid: int, seconds: float, start: float) -> bool:
    """Whether it is over: after the limit a unit goes on only where the machine was too busy for it, see
    watch.c."""
    wall = time.monotonic() - start
    if wall <= seconds:
        return False
    return wall > 3 * seconds or wall > seconds + _waited(pid) or _used(pid) > seconds


def _over_limit(o: Outcome, pid: int, seconds: float, rss_mb: int, start: float) -> bool:
    kb = _tree_kb(pid)
    o.peak_kb = max(o.peak_kb, kb)
    if kb > rss_mb * 1024:
        o.ending = Ending.OUT_OF_MEMORY
    elif _is_late(pid, seconds, start):
        o.ending = Ending.TIMED_OUT
    return o.ending is not Ending.EXITED


def watch(pid: int, o: Outcome, *, seconds: float, rss_mb: int, results: int) -> None:
    """Read, limit, end and reap the child and all that it started. Does not return where nobody is left to
    read the results."""
    start = time.monotonic()
    done = 0
    while not done:
        is_open = o.read(TICK)
        if nobody_reads(results):
            _end_group(pid)
            _end_orphans()
            os._exit(1)
        if is_open is None:
            o.ending = Ending.FLOODED
        if is_open is None or _over_limit(o, pid, seconds, rss_mb, start):
            _end_group(pid)
            done, status, used = os.wait4(pid, 0)
            break
        if not is_open:
            time.sleep(0.001)
        done, status, used = os.wait4(pid, os.WNOHANG)
    o.wall_us = round((time.monotonic() - start) * 1e6)
    o.peak_kb = max(o.peak_kb, used.ru_maxrss)
    _end_group(pid)
    _end_orphans()
    end = time.monotonic() + AFTER_END
    while time.monotonic() < end and o.read(TICK):
        pass
    signalled = os.WIFSIGNALED(status)
    if o.ending is Ending.EXITED and signalled:
        o.ending = Ending.SIGNALLED
    o.code = os.WTERMSIG(status) if signalled else os.WEXITSTATUS(status)
