"""What a test must find and leave as it was, the twin of tidy.c: modes, handlers, threads. A unit that
changes them would change the answers of whoever runs after it.
"""

import ctypes
import locale
import os
import platform
import signal
import time
from pathlib import Path

import numpy as np

THREADS_END = 0.3
_libc = ctypes.CDLL(None)


class _Stack(ctypes.Structure):
    _fields_ = (("at", ctypes.c_void_p), ("flags", ctypes.c_int), ("size", ctypes.c_size_t))


def _alternate_stack() -> int | None:
    stack = _Stack()
    _libc.sigaltstack(None, ctypes.byref(stack))
    at: int | None = stack.at
    return at


def _handlers() -> dict[str, object]:
    """Python's own and the system's, which C code may set behind Python's back."""
    found: dict[str, object] = {}
    for number in sorted(signal.valid_signals()):
        action = (ctypes.c_uint64 * 32)()  # the handler stands first
        _libc.sigaction(int(number), None, action)
        name = f"the handler of signal {int(number)} ({signal.strsignal(number)})"
        found[name] = (signal.getsignal(number), action[0])
    return found


def _float_modes() -> tuple[int, ...]:
    environment = (ctypes.c_uint32 * 16)()
    _libc.fegetenv(environment)
    if platform.machine() != "x86_64":
        return (_libc.fegetround(),)
    x87, mxcsr = environment[0] & 0xFFFF, environment[7] & ~0x3F  # these bits only tell what has happened
    return (x87, mxcsr)


def _threads() -> int:
    return len(os.listdir("/proc/self/task"))  # noqa: PTH208


def state() -> dict[str, object]:
    """What is compared, by what it is called."""
    with Path("/proc/self/status").open() as status:
        fields = dict(line.rstrip("\n").split(":\t", 1) for line in status if ":\t" in line)
    return {
        "the floating-point modes (rounding, flush to zero, traps, precision)": _float_modes(),
        **_handlers(),
        "the alternate stack for signals": _alternate_stack(),
        "the mask of blocked signals": fields.get("SigBlk"),
        "the locale": locale.setlocale(locale.LC_ALL),
        "the working directory": str(Path.cwd()),
        "the umask": fields.get("Umask"),
        "what numpy does about floating-point errors (numpy.seterr)": (np.geterr(), np.geterrcall()),
        "the number of threads": _threads(),
    }


def changed(before: dict[str, object]) -> list[str]:
    """What differs now. A thread that was joined may stand in the list for a moment."""
    end = time.monotonic() + THREADS_END
    while _threads() > before["the number of threads"] and time.monotonic() < end:  # type: ignore[operator]
        time.sleep(0.005)
    now = state()
    return [what for what in before if before[what] != now[what]]
