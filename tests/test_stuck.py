"""A test whose threads all wait for one another is ended at once; one in which any may go on is not."""

import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from enum import IntEnum
from pathlib import Path

import pytest
from cworld import TESTKIT, CWorld

from ol.judge import judge
from ol.manifest import Way
from ol.stream import Ending, Frame
from ol.toolchain import Sanitizer

SUITE = """
    void act(int how);
    OL_TEST(acts) { OL_UNIT { act((int)ol_seed()); } }
"""
UNIT = """
    #include <pthread.h>
    #include <semaphore.h>
    #include <stdlib.h>
    #include <time.h>
    #include <unistd.h>
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
    static int turn;
    static void *wait_for_a_turn(void *p) {
        pthread_mutex_lock(&lock);
        while (!turn) pthread_cond_wait(&changed, &lock);
        pthread_mutex_unlock(&lock);
        return p;
    }
    static void *wake_later(void *p) {
        usleep(400000);
        pthread_mutex_lock(&lock);
        turn = 1;
        pthread_cond_broadcast(&changed);
        pthread_mutex_unlock(&lock);
        return p;
    }
    static void *spin(void *p) { for (volatile int k = 1; k;) {} return p; }
    static void *pass_on(void *p) {
        const int mine = p != NULL;
        for (int k = 0; k < 20000; k++) {
            pthread_mutex_lock(&lock);
            while (turn != mine) pthread_cond_wait(&changed, &lock);
            turn = !mine;
            pthread_cond_broadcast(&changed);
            pthread_mutex_unlock(&lock);
        }
        return p;
    }
    static void beside(void *(*other)(void *), void *(*own)(void *)) {
        pthread_t t;
        pthread_create(&t, NULL, other, NULL);
        own(&t);
        pthread_join(t, NULL);
    }
    static void *lock_twice(void *p) { pthread_mutex_lock(&lock); pthread_mutex_lock(&lock); return p; }
    static void *wait_for_a_while(void *p) {
        struct timespec end;
        sem_t none;
        sem_init(&none, 0, 0);
        clock_gettime(CLOCK_REALTIME, &end);
        end.tv_nsec += 400000000;
        if (end.tv_nsec >= 1000000000) end.tv_sec++, end.tv_nsec -= 1000000000;
        sem_timedwait(&none, &end);
        return p;
    }
    static void *read_nothing(void *p) {
        int end[2];
        char byte;
        if (pipe(end) == 0 && read(end[0], &byte, 1) < 0) p = NULL;
        return p;
    }
    static void *leave(void *p) { (void)p; exit(3); }
    static void *nothing(void *p) { return p; }
    static void *wait_for_a_child(void *p) {
        if (fork() == 0) usleep(400000), _exit(0);
        return lock_twice(p);
    }
    void act(int how) {
        switch (how) {
        case 0: lock_twice(NULL); break;
        case 1: beside(wait_for_a_turn, wait_for_a_turn); break;
        case 2: beside(wait_for_a_turn, nothing); break;
        case 3: beside(wake_later, wait_for_a_turn); break;
        case 4: wait_for_a_while(NULL); break;
        case 5: read_nothing(NULL); break;
        case 6: beside(spin, nothing); break;
        case 7: beside(pass_on, pass_on); break;
        case 8: wait_for_a_child(NULL); break;
        case 9: beside(wait_for_a_turn, leave); break;
        }
    }
"""


class How(IntEnum):
    """What the unit does."""

    LOCKS_TWICE = 0
    WAITS_ON_TWO_THREADS = 1
    JOINS_ONE_THAT_WAITS = 2
    IS_WOKEN_LATER = 3
    WAITS_FOR_A_WHILE = 4
    READS_NOTHING = 5
    SPINS = 6
    TAKES_TURNS = 7
    HAS_A_CHILD = 8
    LEAVES = 9


@pytest.fixture(scope="module")
def world(c_world: Callable[[str, str], CWorld], compiler: str) -> CWorld:
    return c_world(compiler, SUITE)


def ran(world: CWorld, how: How, *, seconds: float = 20, kind: Sanitizer = Sanitizer.ASAN) -> Frame:
    return world.frames(["acts"], world.unit(UNIT, kind), sanitizer=kind, seconds=seconds, seed=how)[0]


@pytest.mark.parametrize("kind", [Sanitizer.ASAN, Sanitizer.TSAN])
@pytest.mark.parametrize("how", [How.LOCKS_TWICE, How.WAITS_ON_TWO_THREADS, How.JOINS_ONE_THAT_WAITS])
def test_a_deadlock_ends_long_before_its_time_and_is_told(world: CWorld, how: How, kind: Sanitizer) -> None:
    frame = ran(world, how, kind=kind)
    assert frame.ending is Ending.STUCK
    assert frame.wall < 5
    *_, failure = judge("acts", frame, (), ()).failures  # TSan may have said so as well
    assert failure.way is Way.TIMEOUT
    assert failure.got == ("a deadlock: its threads wait for one another, for ever")


@pytest.mark.parametrize("kind", [Sanitizer.ASAN, Sanitizer.TSAN])
@pytest.mark.parametrize("how", [How.IS_WOKEN_LATER, How.WAITS_FOR_A_WHILE])
def test_who_will_go_on_is_waited_for(world: CWorld, how: How, kind: Sanitizer) -> None:
    frame = ran(world, how, kind=kind)
    assert (frame.ending, frame.code) == (Ending.EXITED, 0)
    assert frame.wall > 0.3


@pytest.mark.parametrize("how", [How.READS_NOTHING, How.SPINS, How.HAS_A_CHILD])
def test_what_something_else_could_still_end_has_its_time(world: CWorld, how: How) -> None:
    frame = ran(world, how, seconds=0.3)
    assert frame.ending is Ending.TIMED_OUT
    assert frame.wall > 0.25


def test_a_main_thread_that_sleeps_in_the_sanitizer_is_none_of_its_own(world: CWorld) -> None:
    """TSan waits a second at the exit of a program that has threads."""
    frame = ran(world, How.LEAVES, kind=Sanitizer.TSAN)
    assert (frame.ending, frame.code) == (Ending.EXITED, 3)


def test_threads_that_take_turns_are_never_taken_for_stuck(world: CWorld) -> None:
    world.unit(UNIT)
    with ThreadPoolExecutor(4) as pool:
        frames = list(pool.map(lambda _: ran(world, How.TAKES_TURNS), range(8)))
    assert [f.ending for f in frames] == [Ending.EXITED] * 8


LOOKS = """
    #include <pthread.h>
    #include <signal.h>
    #include <stdio.h>
    #include <unistd.h>
    #include "supervisor.h"
    static void wake_up(int signal) { (void)signal; }
    int main(void) {
        pid_t child = fork();
        if (child == 0) {
            pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
            sigaction(SIGUSR1, &(struct sigaction){.sa_handler = wake_up, .sa_flags = SA_RESTART}, NULL);
            pthread_mutex_lock(&lock);
            pthread_mutex_lock(&lock);
        }
        usleep(200000);
        uint64_t first = who_waits(child), second = who_waits(child);
        kill(child, SIGUSR1);
        usleep(200000);
        uint64_t third = who_waits(child);
        kill(child, SIGKILL);
        printf("%d %d %d\\n", first != 0, second == first, third != 0 && third != second);
    }
"""


def test_two_looks_agree_only_where_no_thread_has_run_in_between(tmp_path: Path, compiler: str) -> None:
    (tmp_path / "looks.c").write_text(LOOKS)
    sources = [str(TESTKIT / name) for name in ("stuck.c", "tree.c")]
    made = [
        compiler,
        "-D_GNU_SOURCE",
        f"-I{TESTKIT}",
        "-pthread",
        "-o",
        "looks",
        "looks.c",
        *sources,
        "-ldl",
    ]
    subprocess.run(made, cwd=tmp_path, check=True)
    assert subprocess.check_output(["./looks"], cwd=tmp_path, text=True) == "1 1 1\n"
