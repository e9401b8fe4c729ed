"""Landlock: where user namespaces are refused, the kernel may still keep a process from files, TCP and
signals that are none of its business. A short program confines itself and becomes the command.
"""

import ctypes
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

_SYSTEM = (
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/nix/store",
    "/gnu/store",
    "/proc",
)
_FILES = ("/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives")
_DEVICES = ("/dev/null", "/dev/zero", "/dev/urandom")
# Python has set signals aside that the command must find as they were: the limit on files is one.
_PROGRAM = """
import ctypes, os, signal, sys
call = ctypes.CDLL(None, use_errno=True).syscall
call.restype = ctypes.c_long
u64 = ctypes.c_uint64
def must(n):
    if n < 0: sys.exit("Landlock: " + os.strerror(ctypes.get_errno()))
    return n
version = must(call(444, None, ctypes.c_size_t(0), ctypes.c_uint32(1)))
files = (1 << (13 + (version > 1) + (version > 2) + (version > 4))) - 1
rules = [files, 3, 3][: 1 + (version > 3) + (version > 5)]
ruleset = must(call(444, (u64 * len(rules))(*rules), ctypes.c_size_t(8 * len(rules)), 0))
class Beneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = [("allowed", u64), ("fd", ctypes.c_int32)]
words = sys.argv[1:]
while words[0] != "--":
    how, path = words[0], words[1]
    words = words[2:]
    try: fd = os.open(path, os.O_PATH)
    except OSError: continue
    allowed = {"r": 0b1101, "l": 0b1000, "w": files}[how]
    if not os.path.isdir(path): allowed &= 0b111 | 1 << 14
    must(call(445, ruleset, 1, ctypes.byref(Beneath(allowed & files, fd)), 0))
    os.close(fd)
ctypes.CDLL(None).prctl(38, 1, 0, 0, 0)
must(call(446, ruleset, 0))
os.close(ruleset)
for number in signal.SIGPIPE, signal.SIGXFSZ: signal.signal(number, signal.SIG_DFL)
os.execvp(words[1], words[1:])
"""


def version() -> int:
    """Of the kernel's Landlock; 0 where there is none."""
    call = ctypes.CDLL(None).syscall
    call.restype = ctypes.c_long
    return max(0, int(call(444, None, ctypes.c_size_t(0), ctypes.c_uint32(1))))


def confined(
    argv: Sequence[str],
    *,
    readable: Sequence[Path],
    writable: Sequence[Path],
    hidden: Sequence[Path],
) -> list[str]:
    """`argv` as it is started with these files and those of the system alone."""
    words = [sys.executable, "-I", "-S", "-c", _PROGRAM]
    python = (Path(sys.prefix), Path(sys.base_prefix), Path(sys.executable).resolve().parents[1])
    for path in dict.fromkeys((*map(Path, _SYSTEM), *map(Path, _FILES), *python, *readable)):
        words += _shown(path, hidden)
    for folder in {path.parent for path in readable if path.suffix == ".py"}:
        words += ["l", str(folder)]  # Python looks for modules by listing
    for path in (*map(Path, _DEVICES), *writable):
        words += ["w", str(path)]
    return [*words, "--", *argv]


def _shown(path: Path, hidden: Sequence[Path]) -> Iterator[str]:
    """What is hidden cannot be taken out of a folder, so that its neighbours are named one by one."""
    if path in hidden:
        return
    if not any(h.is_relative_to(path) for h in hidden):
        yield from ("r", str(path))
        return
    yield from ("l", str(path))
    for child in sorted(path.iterdir()):
        yield from _shown(child, hidden)
