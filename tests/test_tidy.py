"""What a unit leaves changed in its process fails the test, in words; what it puts back does not."""

from collections.abc import Callable

import pytest
from cworld import CWorld

SUITE = """
    int act(int how);
    OL_TEST(acts) { OL_UNIT { act((int)ol_seed()); } }
"""
UNIT = """
    #define _GNU_SOURCE
    #include <fenv.h>
    #include <locale.h>
    #include <pthread.h>
    #include <signal.h>
    #include <sys/stat.h>
    #include <unistd.h>
    #ifdef __x86_64__
    #include <xmmintrin.h>
    #endif
    static void on(int s) { (void)s; }
    static void *idle(void *p) { sleep(9); return p; }
    static void *done(void *p) { return p; }
    int act(int how) {
        static char stack[65536];
        pthread_t t;
        sigset_t set;
        switch (how) {
        case 1: fesetround(FE_UPWARD); break;
        case 2: _mm_setcsr(_mm_getcsr() | 0x8040); break;
        case 3: signal(SIGUSR1, on); break;
        case 4: sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = sizeof stack}, 0); break;
        case 5: sigemptyset(&set); sigaddset(&set, SIGUSR1); sigprocmask(SIG_BLOCK, &set, 0); break;
        case 6: pthread_create(&t, 0, idle, 0); break;
        case 7: umask(0); break;
        case 8: return chdir("/");
        case 9: fesetround(FE_UPWARD); fesetround(FE_TONEAREST); break;
        case 10: pthread_create(&t, 0, done, 0); pthread_join(t, 0); break;
        case 11: { volatile float x = 1e-30f; x *= x; x /= 3; break; }
        }
        return 0;
    }
"""
LEFT = {
    1: "rounding mode",
    2: "MXCSR",
    3: "handler of signal 10",
    4: "alternate stack",
    5: "mask of blocked signals",
    6: "number of threads: 1",
    7: "umask",
    8: "working directory",
}


@pytest.fixture(scope="module")
def world(compiler: str, c_world: Callable[[str, str], CWorld]) -> CWorld:
    return c_world(compiler, SUITE)


@pytest.mark.parametrize("how", LEFT)
def test_what_is_left_changed_is_said(world: CWorld, how: int) -> None:
    (failure,) = world.failures(["acts"], world.unit(UNIT), seed=how)["acts"]
    assert failure.check == "leaves the process as it was"
    assert LEFT[how] in failure.got


@pytest.mark.parametrize("how", [0, 9, 10, 11])
def test_what_is_put_back_is_no_failure(world: CWorld, how: int) -> None:
    assert world.failures(["acts"], world.unit(UNIT), seed=how)["acts"] == ()
