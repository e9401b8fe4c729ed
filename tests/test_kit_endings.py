"""What a C unit may do to escape its verdict, and what the limits on it do, on both compilers."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from cworld import CWorld

from ol.build import Built
from ol.judge import judge
from ol.manifest import Way
from ol.stream import Ending
from ol.suite import Request
from ol.toolchain import Sanitizer
from ol.verdict import Failure

FUNCTIONS = {
    "honest": "return 42;",
    "wrong": "return 41;",
    "reads_null": "return *(volatile int *)zero;",
    "divides": "return 42 / (int)(intptr_t)zero;",
    "overflows_the_stack": "return deep(1);",
    "aborts": "abort();",
    "exits": "exit(0);",
    "exits_at_once": "_exit(0);",
    "exits_quickly": "quick_exit(0);",
    "exits_in_atexit": "atexit(leave); return 42;",
    "loops": "for (volatile int k = 1; k;) {} return 42;",
    "sleeps": "sleep(60); return 42;",
    "prints": """
        static char x[1 << 20];
        memset(x, 'x', sizeof x);
        fputs("first ", stdout);
        for (int k = 0; k < 50; k++) fwrite(x, 1, sizeof x, stdout);
        fputs(" last", stdout);
        return 42;""",
    "prints_bytes": 'fputs("\\xff\\xfe\\x80", stdout); fputs("\\xc3", stderr); return 42;',
    "prints_bytes_and_aborts": 'fputs("\\xff\\xfe\\x80 here", stderr); abort();',
    "writes_to_a_file": """
        static char x[1 << 20];
        int fd = memfd_create("m", 0);
        for (int k = 0; k < 70; k++)
            if (write(fd, x, sizeof x) < 0) return 1;
        return 42;""",
    "eats": """
        for (int k = 0; k < 64; k++) kept[k] = memset(malloc(16 << 20), 1, 16 << 20);
        return 42;""",
    "forks": "if (fork() == 0) _exit(0); wait(NULL); return 42;",
    "forks_and_answers_twice": "if (fork() == 0) return 42; wait(NULL); return 42;",
    "breeds": "for (int k = 0; k < 6; k++) if (fork() == 0) { setsid(); for (;;) pause(); } return 42;",
    "lingers": """
        int ready[2];
        if (pipe(ready) != 0) return 1;
        if (fork() == 0) {
            setsid();
            if (fork()) _exit(0);
            printf("%d", (int)getpid());
            fflush(stdout);
            if (write(ready[1], "x", 1) != 1) _exit(1);
            for (;;) pause();
        }
        char byte;
        return read(ready[0], &byte, 1) == 1 ? 42 : 1;""",
    "leaks": "*(void *volatile *)kept = malloc(100); *(void *volatile *)kept = NULL; return 42;",
    "has_undefined_behaviour": "volatile int x = INT32_MAX; volatile int y = x + 1; (void)y; return 42;",
    "shifts_too_far": "volatile int k = 40; volatile int y = 1 << k; (void)y; return 42;",
    "uses_after_free": "char *volatile x = malloc(8); free(x); volatile char y = x[0]; (void)y; return 42;",
    "forges_an_end": 'every_fd("\\5\\0\\0\\0\\5\\0\\0\\0\\0", 9); _exit(0);',
    "forges_nonsense": 'every_fd("\\1\\0\\0\\0\\377", 5); return 42;',
    "forges_a_size": 'every_fd("\\377\\377\\377\\177", 4); return 42;',
    "cuts_the_stream": 'every_fd("\\40\\0", 2); _exit(0);',
    "closes_everything": "for (int fd = 0; fd < 256; fd++) close(fd); return 42;",
    "kills_itself": "raise(SIGKILL); return 42;",
    "kills_its_group": "kill(0, SIGKILL); return 42;",
    "stops": "raise(SIGSTOP); return 42;",
    "shouts_a_signal": "raise(SIGUSR1); return 42;",
    "jumps_out": "longjmp(nowhere, 1);",
}
UNIT = """
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
int memfd_create(const char *, unsigned);
static void *volatile zero;
static void *kept[64];
static jmp_buf nowhere;
static int deep(volatile int k) { volatile char x[4096]; x[0] = (char)k; return deep(k + 1) + x[0]; }
static void leave(void) { _exit(0); }
static void every_fd(const char *bytes, size_t n) {
    for (int fd = 3; fd < 64; fd++)
        if (write(fd, bytes, n) < 0) continue;
}
void keep_used(void) { (void)zero; (void)kept; (void)nowhere; deep(0); leave(); every_fd("", 0); }
"""
TEST = """
int64_t unit_{0}(void);
OL_TEST({0}) {{
    OL_UNIT {{ ol_saw_int("answer", unit_{0}()); }}
    OL_ORACLE {{ ol_want_int("answer", 42); }}
}}
"""
RACE = """
#include <pthread.h>
static int count;
static void *add(void *locked) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    for (int k = 0; k < 1000; k++) {
        if (locked) pthread_mutex_lock(&lock);
        count++;
        if (locked) pthread_mutex_unlock(&lock);
    }
    return 0;
}
static int both(void *locked) {
    pthread_t t[2];
    for (int k = 0; k < 2; k++) pthread_create(&t[k], 0, add, locked);
    for (int k = 0; k < 2; k++) pthread_join(t[k], 0);
    return 42;
}
long unit_races(void) { return both(0); }
long unit_locks(void) { return both(&count); }
"""
OTHERS = ("answers", "races", "locks")


@pytest.fixture(scope="session")
def trap(compiler: str, c_world: Callable[[str, str], CWorld]) -> CWorld:
    return c_world(compiler, "".join(TEST.format(name) for name in (*FUNCTIONS, *OTHERS)))


@pytest.fixture(scope="session")
def unit(trap: CWorld) -> Built:
    """All the functions in one unit."""
    bodies = [f"int64_t unit_{name}(void) {{ {body} }}" for name, body in FUNCTIONS.items()]
    return trap.unit(UNIT + "\n".join(bodies))


ENDS = {
    "wrong": (Way.CHECK, "41"),
    "reads_null": (Way.CRASH, "SEGV: a read through a NULL pointer"),
    "overflows_the_stack": (Way.CRASH, "stack-overflow"),
    "aborts": (Way.CRASH, "SIGABRT, abort()"),
    "exits": (Way.EXIT, "the process left with status 0 before the end"),
    "exits_at_once": (Way.EXIT, "the process left with status 0 before the end"),
    "exits_quickly": (Way.EXIT, "the process left with status 0 before the end"),
    "uses_after_free": (Way.SANITIZER, "heap-use-after-free"),
    "forges_an_end": (Way.CHECK, "none"),
    "forges_nonsense": (Way.EXIT, "the stream of observations is broken: a record of no known kind"),
    "forges_a_size": (Way.EXIT, "the stream of observations is broken: a record is cut short"),
    "cuts_the_stream": (Way.EXIT, "the stream of observations is broken: a record is cut short"),
    "kills_itself": (Way.EXIT, "SIGKILL"),
    "kills_its_group": (Way.EXIT, "SIGKILL"),
    "shouts_a_signal": (Way.EXIT, "signal 10"),
}


@pytest.fixture(scope="session")
def ended(trap: CWorld, unit: Built) -> Mapping[str, tuple[Failure, ...]]:
    return trap.failures(list(ENDS), unit)


@pytest.mark.parametrize("name", ENDS)
def test_a_unit_that_ends_the_test_has_failed(ended: Mapping[str, tuple[Failure, ...]], name: str) -> None:
    assert (ended[name][0].way, ended[name][0].got) == ENDS[name]


def test_a_unit_that_behaves_passes_and_may_talk(trap: CWorld, unit: Built) -> None:
    names = ["honest", "prints", "prints_bytes", "exits_in_atexit", "forks"]
    assert trap.failures(names, unit) == dict.fromkeys(names, ())


def test_nothing_passes_by_odd_means(trap: CWorld, unit: Built) -> None:
    names = ["closes_everything", "jumps_out", "forks_and_answers_twice", "divides"]
    assert [n for n, failures in trap.failures(names, unit, seconds=2).items() if not failures] == []


@pytest.mark.parametrize("name", ["loops", "sleeps", "stops"])
def test_a_unit_that_does_not_end_is_ended(trap: CWorld, unit: Built, name: str) -> None:
    start = time.monotonic()
    (failure,) = trap.failures([name], unit, seconds=0.5)[name]
    assert failure.way is Way.TIMEOUT
    assert failure.got.startswith("still running after ")
    assert time.monotonic() - start < 20


def test_output_is_kept_at_both_ends_and_told_of(trap: CWorld, unit: Built) -> None:
    (frame,) = trap.frames(["prints"], unit)
    assert len(frame.out) + frame.dropped == (50 << 20) + 11
    assert len(frame.out) == 32 << 10
    assert frame.out.startswith(b"first xxx")
    assert frame.out.endswith(b"xxx last")


def test_bytes_that_are_not_utf8_are_shown_as_well_as_they_can_be(trap: CWorld, unit: Built) -> None:
    (failure,) = trap.failures(["prints_bytes_and_aborts"], unit)["prints_bytes_and_aborts"]
    assert failure.detail == "\ufffd\ufffd\ufffd here"


def test_memory_is_limited(trap: CWorld, unit: Built, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ol.suite.RSS_MB", 200)
    (failure,) = trap.failures(["eats"], unit)["eats"]
    assert failure.way is Way.MEMORY
    assert failure.got.startswith("used ")


def test_files_are_limited(trap: CWorld, unit: Built) -> None:
    (failure,) = trap.failures(["writes_to_a_file"], unit)["writes_to_a_file"]
    assert (failure.way, failure.got) == (Way.EXIT, "SIGXFSZ, the limit on file size")


def test_a_flood_of_observations_is_stopped(compiler: str, c_world: Callable[[str, str], CWorld]) -> None:
    flood = """
    OL_TEST(flood) {
        static uint8_t x[1 << 20];
        OL_UNIT { for (;;) ol_saw_u8("x", x, OL_DIMS({"i", 1 << 20})); }
    }
    """
    (failure,) = c_world(compiler, flood).failures(["flood"])["flood"]
    assert (failure.way, failure.got) == (Way.OUTPUT, "wrote more than 64 MB of observations")


def test_a_grandchild_that_holds_the_pipes_is_ended_at_once(trap: CWorld, unit: Built) -> None:
    start = time.monotonic()
    (frame,) = trap.frames(["lingers"], unit, seconds=20)
    assert time.monotonic() - start < 2
    assert frame.wall < 1
    assert frame.ending is Ending.EXITED
    assert not Path(f"/proc/{int(frame.out)}").exists()


def test_children_in_sessions_of_their_own_do_not_outlive_the_test(trap: CWorld, unit: Built) -> None:
    def mine() -> list[str]:
        supervisor = str(trap.builder.supervisor(Sanitizer.ASAN).path).encode()
        return [p.parent.name for p in Path("/proc").glob("[0-9]*/cmdline") if supervisor in _read(p)]

    start = time.monotonic()
    assert trap.failures(["breeds"], unit)["breeds"] == ()
    assert time.monotonic() - start < 3
    assert mine() == []


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def test_leak_detection_costs_nothing_where_nothing_is_left(trap: CWorld) -> None:
    """What the loader keeps on the heap, a function's binding and a thread-local variable, is not left by
    the test."""
    unit = trap.unit("""
        #include <stdlib.h>
        static _Thread_local char last[300];
        static void *volatile kept;
        long unit_answers(void) { last[1]++; free(malloc(100)); return 42; }
        long unit_honest(void) { last[1]++; kept = malloc(100); return 42; }
    """)
    runs = [trap.frames(["answers", "honest"], unit, leaks=True) for _ in range(15)]
    nothing_left, something_left = (
        min(frame.wall for frame in frames) for frames in zip(*runs, strict=True)
    )
    assert 2 * nothing_left < something_left


THREADED = """
    #define _GNU_SOURCE
    #include <errno.h>
    #include <linux/filter.h>
    #include <linux/seccomp.h>
    #include <pthread.h>
    #include <stddef.h>
    #include <stdlib.h>
    #include <sys/prctl.h>
    #include <sys/syscall.h>
    static void *volatile kept;
    static _Thread_local char last[300];
    static void *hold(void *p) { last[1]++; return p; }
    /* The leak detector traces the process, and says so where it cannot. */
    static void forbid_tracing(void) {
        struct sock_filter rule[] = {
            BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ptrace, 0, 1),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        };
        struct sock_fprog all = {sizeof rule / sizeof *rule, rule};
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) abort();
        if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &all) != 0) abort();
    }
    void unit_threads(int how) {
        pthread_t some[2];
        for (int k = 0; k < 2; k++) pthread_create(&some[k], NULL, hold, NULL);
        for (int k = 0; k < 2; k++) pthread_join(some[k], NULL);
        if (how & 1) { kept = malloc(10); kept = NULL; }
        if (how & 2) forbid_tracing();
    }
"""
LEAVES, IS_NOT_TRACED = 1, 2


def test_what_is_kept_of_threads_is_no_leak_and_hides_none(
    c_world: Callable[[str, str], CWorld], compiler: str
) -> None:
    """Nobody even looks for one where the heap is as it was, apart from that."""
    suite = """
        void unit_threads(int how);
        OL_TEST(threads) { OL_UNIT { unit_threads((int)ol_seed()); } }
    """
    world = c_world(compiler, suite)
    unit = world.unit(THREADED)
    hows = [*[IS_NOT_TRACED] * 20, *[LEAVES] * 3, LEAVES | IS_NOT_TRACED]
    requests = [Request(test="threads", units=(unit,), seconds=5, seed=how) for how in hows]
    *frames, last = replace(world.runner(leaks=True), warm=True).run(requests)
    fine, leaking = frames[:20], frames[20:]
    assert {(frame.ending, frame.code, frame.report) for frame in fine} == {(Ending.EXITED, 0, b"")}
    assert all(b"detected memory leaks" in frame.report for frame in leaking)
    assert (last.ending, last.code) != (Ending.EXITED, 0) or last.report


def test_a_leak_is_found_where_no_thread_can_be_made_any_more(
    c_world: Callable[[str, str], CWorld], compiler: str
) -> None:
    """Some are made after a test that leaves something, so that the C library gives back what it keeps."""
    suite = """
        void unit_threads(int leaves);
        OL_TEST(leaks) { OL_UNIT { unit_threads(1); ol_threads_fail_at(2); } }
    """
    world = c_world(compiler, suite)
    request = Request(test="leaks", units=(world.unit(THREADED),), seconds=5)
    (frame,) = replace(world.runner(leaks=True), warm=True).run([request])
    assert frame.ending is Ending.EXITED
    assert b"detected memory leaks" in frame.report


def test_a_leak_is_found_in_a_careful_run_alone(trap: CWorld, unit: Built) -> None:
    assert trap.failures(["leaks"], unit) == {"leaks": ()}
    (failure,) = trap.failures(["leaks", "honest"], unit, leaks=True)["leaks"]
    assert (failure.way, failure.got) == (Way.SANITIZER, "detected memory leaks")
    assert trap.failures(["honest"], unit, leaks=True) == {"honest": ()}


@pytest.mark.parametrize("name", ["has_undefined_behaviour", "shifts_too_far"])
def test_a_report_fails_a_run_that_otherwise_passes(trap: CWorld, unit: Built, name: str) -> None:
    failures = trap.failures([name], unit)[name]
    assert failures[0].way is Way.SANITIZER
    assert failures[0].where.startswith("k.c:")


def test_a_data_race_is_found_and_a_lock_is_not_one(trap: CWorld) -> None:
    unit = trap.unit(RACE, Sanitizer.TSAN)
    found = trap.failures(["races", "locks"], unit, sanitizer=Sanitizer.TSAN)
    assert {f.way for f in found["races"]} == {Way.SANITIZER}
    assert found["races"][0].got == "data race"
    assert found["locks"] == ()


@pytest.mark.parametrize("call", ["exit(0)", "_exit(0)", "quick_exit(0)"])
def test_a_unit_whose_constructor_leaves_has_failed(trap: CWorld, call: str) -> None:
    unit = trap.unit(f"""
        #include <stdlib.h>
        #include <unistd.h>
        __attribute__((constructor)) static void early(void) {{ {call}; }}
        long unit_answers(void) {{ return 42; }}
    """)
    (failure,) = trap.failures(["answers"], unit)["answers"]
    assert (failure.way, failure.got) == (Way.EXIT, "the process left with status 0 before the end")


def test_a_unit_that_cannot_be_opened_says_why(trap: CWorld) -> None:
    unit = trap.unit("extern int nobody(void); long unit_answers(void) { return nobody(); }")
    (failure,) = trap.failures(["answers"], unit)["answers"]
    assert failure.way is Way.EXIT
    assert "nobody" in failure.detail


def test_the_selector_reaches_the_unit(trap: CWorld) -> None:
    unit = trap.unit("volatile int ol_mutant; long unit_answers(void) { return 42 + ol_mutant; }")
    wanted = trap.wanted(["answers"])
    frames = [trap.frames(["answers"], unit, mutant=n)[0] for n in (0, 3)]
    results = [judge("answers", f, wanted["answers"], ()) for f in frames]
    assert [f.got for r in results for f in r.failures] == ["45"]


def told_against(
    folder: Path, world: CWorld, unit: Built, mutants: Sequence[int], *, stops: bool
) -> list[Ending]:
    """How the runs of one test end that are compared with what it wrote of the unit itself."""
    (itself,) = world.frames(["answers"], unit)
    (folder / "answers").write_bytes(itself.stream)
    runner = replace(world.runner(), baseline=folder, stops=stops)
    asked = [Request(test="answers", units=(unit,), seconds=5, mutant=n) for n in mutants]
    frames = runner.run(asked)
    assert all(f.stream == b"" for f in frames if f.ending in (Ending.SAME, Ending.NOT_RUN))
    return [f.ending for f in frames]


SWITCHED = """
volatile int ol_mutant;
long unit_answers(void) {
    if (ol_mutant == 4) { volatile int big = 2147483647; big = big + 1; }
    if (ol_mutant == 5) __builtin_trap();
    return 42 + (ol_mutant == 3);
}
"""


def test_what_goes_as_the_baseline_is_told_in_a_word(tmp_path: Path, trap: CWorld) -> None:
    ran = told_against(tmp_path, trap, trap.unit(SWITCHED), [0, 1, 3, 4, 5, 1], stops=False)
    same, other, died = Ending.SAME, Ending.EXITED, Ending.SIGNALLED
    assert ran[:4] == [same, same, other, other]  # the report alone makes a run another
    assert ran[4] in (died, other)  # clang's UBSan handles the trap
    assert ran[5] == same


def test_a_mutant_that_shows_itself_meets_no_more_tests_when_it_is_to_stop(
    tmp_path: Path, trap: CWorld
) -> None:
    ran = told_against(tmp_path, trap, trap.unit(SWITCHED), [1, 1, 3, 3, 1, 4, 4, 3], stops=True)
    same, other, left = Ending.SAME, Ending.EXITED, Ending.NOT_RUN
    assert ran == [same, same, other, left, same, other, left, other]


def test_a_child_gets_limits_no_input_and_a_scrubbed_environment(
    compiler: str, c_world: Callable[[str, str], CWorld]
) -> None:
    world = c_world(
        compiler,
        """
        #include <sys/resource.h>
        OL_TEST(limits) {
            OL_UNIT {
                struct rlimit core, cpu, stack;
                getrlimit(RLIMIT_CORE, &core);
                getrlimit(RLIMIT_CPU, &cpu);
                getrlimit(RLIMIT_STACK, &stack);
                char byte;
                printf("%d %d %d ", (int)core.rlim_cur, (int)cpu.rlim_cur, (int)(stack.rlim_cur >> 20));
                printf("%d %d %d", (int)read(0, &byte, 1), getsid(0) == getpid(), getenv("HOME") == NULL);
            }
        }
        """,
    )
    (frame,) = world.frames(["limits"], seconds=3)
    assert frame.out == b"0 16 8 0 1 1"
