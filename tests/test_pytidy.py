"""What a Python unit leaves changed in its process fails the test, in words; what it puts back does not."""

import platform
from pathlib import Path

import pytest
from pyworld import World

from ol.verdict import Failure

TEST = """
def test_{0}(ol):
    if ol.unit:
        import tinyllm.{0}
"""
HEAD = """
import ctypes, locale, os, signal, threading, time
import numpy as np
libc = ctypes.CDLL(None)
def mxcsr(bits):
    env = (ctypes.c_uint32 * 16)()
    libc.fegetenv(env)
    env[7] |= bits
    libc.fesetenv(env)
def x87(bits):
    env = (ctypes.c_uint32 * 16)()
    libc.fegetenv(env)
    env[0] ^= bits
    libc.fesetenv(env)
"""
MODES = "the floating-point modes"
LEFT = {
    "rounding": ("libc.fesetround(0x800)", MODES),
    "mxcsr": ("mxcsr(0x8040)", MODES),
    "rounding_of_sse_alone": ("mxcsr(0x2000)", MODES),
    "x87": ("x87(0x300)", MODES),
    "handler": ("signal.signal(signal.SIGUSR1, lambda *a: None)", "the handler of signal 10"),
    "ignored": ("signal.signal(signal.SIGUSR2, signal.SIG_IGN)", "the handler of signal 12"),
    "behind": ("libc.signal(10, ctypes.c_void_p(1))", "the handler of signal 10"),
    "stack": (
        "b = ctypes.create_string_buffer(65536); s = (ctypes.c_uint64 * 3)(ctypes.addressof(b), 0, 65536)\n"
        "assert libc.sigaltstack(s, None) == 0",
        "the alternate stack for signals",
    ),
    "mask": ("signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])", "the mask of blocked signals"),
    "thread": (
        "threading.Thread(target=time.sleep, args=[9], daemon=True).start()",
        "the number of threads",
    ),
    "umask": ("os.umask(0)", "the umask"),
    "folder": ("os.chdir('/')", "the working directory"),
    "errstate": ("np.seterr(all='ignore')", "what numpy does about floating-point errors (numpy.seterr)"),
    "errcall": ("np.seterrcall(print)", "what numpy does about floating-point errors (numpy.seterr)"),
}
KEPT = {
    "nothing": "",
    "overflows": "np.float32(1e30) * np.float32(1e30); np.exp(np.float32(-100)) / np.float32(3)",
    "joins": "t = threading.Thread(target=int); t.start(); t.join()",
    "ends_soon": "threading.Thread(target=time.sleep, args=[0.1], daemon=True).start()",
    "with_errstate": "with np.errstate(all='ignore'): np.float32(1) / np.float32(0)",
    "puts_back": "now = libc.fegetround(); libc.fesetround(0x800); libc.fesetround(now)",
}
ONLY_X86 = ("rounding", "rounding_of_sse_alone", "mxcsr", "x87")


@pytest.fixture(scope="module")
def failures(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Failure, ...]]:
    deeds = {name: deed for name, (deed, _) in LEFT.items()} | KEPT
    world = World(tmp_path_factory.mktemp("world")).write("\n".join(map(TEST.format, deeds)))
    unit = world.unit(**{name: f"{HEAD}\n{deed}\n" for name, deed in deeds.items()})
    return dict(world.failures(list(deeds), unit))


@pytest.mark.parametrize("name", LEFT)
def test_what_is_left_changed_is_said(failures: dict[str, tuple[Failure, ...]], name: str) -> None:
    if name in ONLY_X86 and platform.machine() != "x86_64":
        pytest.skip("the bits are those of x86")
    (failure,) = failures[name]
    assert failure.check == "leaves the process as it was"
    assert LEFT[name][1] in failure.got


@pytest.mark.parametrize("name", KEPT)
def test_what_is_put_back_is_no_failure(failures: dict[str, tuple[Failure, ...]], name: str) -> None:
    assert failures[name] == ()


def test_the_locale(tmp_path: Path) -> None:
    world = World(tmp_path).write(TEST.format("named"))
    other = "locale.setlocale(locale.LC_ALL, 'C' if locale.setlocale(locale.LC_ALL) != 'C' else 'C.UTF-8')"
    (failure,) = world.failures(["named"], world.unit(named=f"{HEAD}\n{other}\n"))["named"]
    assert "the locale" in failure.got
