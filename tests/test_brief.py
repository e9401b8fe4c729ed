"""A run that is asked only whether a sanitizer reports: its first finding ends it, told in a line."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from cworld import CWorld

from ol.judge import first_failure
from ol.manifest import Way
from ol.stream import Ending, Frame
from ol.suite import Request
from ol.toolchain import Sanitizer

SUITE = """
    void act(int how);
    OL_TEST(acts) { OL_UNIT { act((int)ol_seed()); } }
"""
UNIT = """
    #include <limits.h>
    #include <pthread.h>
    #include <stdio.h>
    #include <stdlib.h>
    #include <string.h>
    static volatile int size = 4, most = INT_MAX, zero;
    static int *volatile nowhere;
    static char *volatile held;
    static void overflow(void) { held = malloc(size); held[size] = 1; }
    void act(int how) {
        if (how == 1) overflow();
        if (how == 2) *nowhere = 1;
        if (how == 3) { most++; most = INT_MAX; most++; puts("went on"); }
        if (how == 4) abort();
        if (how == 5) { overflow(); puts("went on"); }
        if (how == 6) { held = malloc(10); held = strdup("of the unit's caller"); held = NULL; }
    }
"""
RACE = """
    #include <pthread.h>
    #include <stdio.h>
    static int shared;
    static void *add(void *p) { for (int n = 0; n < 1000; n++) shared++; return p; }
    void act(int how) {
        pthread_t t;
        pthread_create(&t, NULL, add, NULL);
        add(&how);
        pthread_join(t, NULL);
        puts("went on");
    }
"""


@pytest.fixture(scope="module")
def world(c_world: Callable[[str, str], CWorld], compiler: str) -> CWorld:
    return c_world(compiler, SUITE)


def ran(
    world: CWorld, how: int, *, brief: bool = True, source: str = UNIT, kind: Sanitizer = Sanitizer.ASAN
) -> Frame:
    request = Request(test="acts", units=(world.unit(source, kind),), seconds=10, seed=how)
    return replace(world.runner(kind, leaks=True), brief=brief).run([request])[0]


def way(frame: Frame) -> Way | None:
    failure = first_failure(frame, (), ())
    return failure.way if failure else None


def test_a_report_of_memory_is_one_line(world: CWorld) -> None:
    brief, whole = ran(world, 1), ran(world, 1, brief=False)
    said = [line for line in brief.report.decode().splitlines() if line.strip("=")]
    assert len(said) == 1 and said[0].endswith("ERROR: AddressSanitizer: heap-buffer-overflow")
    assert b"#0" in whole.report and b"#0" not in brief.report
    assert way(brief) is way(whole) is Way.SANITIZER


@pytest.mark.parametrize("how", [2, 4])
def test_a_crash_is_a_signal(world: CWorld, how: int) -> None:
    frame = ran(world, how)
    assert way(frame) in (Way.CRASH, Way.SANITIZER)
    assert frame.ending is Ending.SIGNALLED or b"runtime error" in frame.report
    assert b"AddressSanitizer" not in frame.report


@pytest.mark.parametrize("how", [3, 5])
def test_the_first_finding_ends_the_run(world: CWorld, how: int) -> None:
    frame = ran(world, how)
    assert b"went on" not in frame.out
    assert frame.report.count(b"runtime error") + frame.report.count(b"ERROR") == 1
    assert way(frame) is Way.SANITIZER
    assert how == 5 or b"went on" in ran(world, how, brief=False).out


def test_the_first_race_ends_the_run(world: CWorld) -> None:
    frame = ran(world, 0, source=RACE, kind=Sanitizer.TSAN)
    assert frame.report.count(b"WARNING: ThreadSanitizer") == 1
    assert way(frame) is Way.SANITIZER
    assert b"went on" not in frame.out
    assert b"went on" in ran(world, 0, brief=False, source=RACE, kind=Sanitizer.TSAN).out


def test_leaks_are_seen_with_few_frames_kept(world: CWorld) -> None:
    frame, whole = ran(world, 6), ran(world, 6, brief=False)
    assert way(frame) is way(whole) is Way.SANITIZER
    for leaking in (frame, whole):
        assert b"in 2 allocation(s)" in leaking.report


def test_a_fine_run_says_nothing(world: CWorld) -> None:
    frame = ran(world, 0)
    assert (frame.ending, frame.code, frame.report, way(frame)) == (Ending.EXITED, 0, b"", None)
