"""A unit gets its limit of processor time, and a correct one does not pay for a busy machine."""

import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from cworld import CWorld
from pyworld import World

from ol.stream import Ending, Frame

C_SUITE = """
    void act(int how);
    OL_TEST(acts) { OL_UNIT { act((int)ol_seed()); } }
"""
C_UNIT = """
    #include <pthread.h>
    #include <time.h>
    #include <unistd.h>
    static void *spin(void *p) { for (volatile int k = 1; k;) {} return p; }
    static double used(void) {
        struct timespec t;
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
        return t.tv_sec + t.tv_nsec / 1e9;
    }
    void act(int how) {
        pthread_t t;
        if (how == 1) for (int k = 0; k < 8; k++) pthread_create(&t, 0, spin, 0);
        if (how == 2) for (int k = 0; k < 3; k++) fork();
        if (how && how != 4) spin(0);
        for (double end = used() + (how == 4 ? 0 : 0.4); used() < end;) {}
    }
"""
PYTHON_SUITE = """
    def test_acts(ol):
        if ol.unit:
            import tinyllm.acts
            tinyllm.acts.act(ol.seed)
"""
PYTHON_UNIT = """
    import os, time
    def act(how):
        for _ in range(3 if how == 2 else 0):
            os.fork()
        while how and how != 4:
            pass
        end = time.process_time() + (0 if how == 4 else 0.4)
        while time.process_time() < end:
            pass
"""
LIMIT = 1.5
WORK, THREADS, PROCESSES, LOOP, NOTHING = range(5)
GREEDY = [("c", THREADS), ("c", PROCESSES), ("python", PROCESSES)]


@pytest.fixture(scope="module")
def run_c(c_world: Callable[[str, str], CWorld], any_compiler: str) -> Callable[[int], Frame]:
    world = c_world(any_compiler, C_SUITE)
    unit = world.unit(C_UNIT)
    return lambda how: world.frames(["acts"], unit, seconds=LIMIT, seed=how)[0]


@pytest.fixture(scope="module")
def run_python(tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], Frame]:
    world = World(tmp_path_factory.mktemp("world")).write(PYTHON_SUITE)
    unit = world.unit(acts=PYTHON_UNIT)
    return lambda how: world.frames(["acts"], unit, seconds=LIMIT, seed=how)[0]


@pytest.fixture(params=["c", "python"])
def run(request: pytest.FixtureRequest) -> Callable[[int], Frame]:
    found: Callable[[int], Frame] = request.getfixturevalue(f"run_{request.param}")
    return found


@contextmanager
def busy(others: int) -> Iterator[None]:
    """Everything that is started within has one processor, which others use as well.

    Each has a session of its own, for a kernel may share a processor out by session: the parts are equal
    then, whatever the machine's setting.
    """
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    burn = [sys.executable, "-c", "while True: pass"]
    burners = [subprocess.Popen(burn, start_new_session=True) for _ in range(others)]
    try:
        time.sleep(0.3)
        yield
    finally:
        os.sched_setaffinity(0, before)
        for burner in burners:
            burner.kill()
            burner.wait()


def used() -> float:
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def measured(run: Callable[[int], Frame], how: int) -> tuple[Frame, float]:
    """What came of it, and the processor time that it took beside what a start takes."""
    at = [used()]
    run(NOTHING)
    at.append(used())
    frame = run(how)
    at.append(used())
    return frame, (at[2] - at[1]) - (at[1] - at[0])


@pytest.mark.parametrize(("run", "how"), GREEDY, indirect=["run"])
def test_many_that_loop_get_no_more_than_one(run: Callable[[int], Frame], how: int) -> None:
    with busy(0):
        frame, seconds = measured(run, how)
    assert frame.ending is Ending.TIMED_OUT
    assert seconds < LIMIT + 0.5


def test_a_loop_on_a_busy_machine_gets_its_limit_of_processor_time(run: Callable[[int], Frame]) -> None:
    with busy(2):
        frame, seconds = measured(run, LOOP)
    assert frame.ending is Ending.TIMED_OUT
    assert seconds < LIMIT + 0.5
    assert frame.wall > LIMIT + 0.5


def test_a_correct_unit_has_time_on_a_busy_machine(run: Callable[[int], Frame]) -> None:
    with busy(4):
        frame = run(WORK)
    assert frame.wall > LIMIT
    assert frame.ending is Ending.EXITED
    assert frame.code == 0
