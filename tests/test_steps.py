"""A mutant that loops is told by its steps: where they are counted, and what becomes of one that takes
too many."""

from collections.abc import Callable

import pytest
from cworld import CWorld
from mutation import small

from ol.judge import judge
from ol.manifest import Way
from ol.schemata import Schemata
from ol.schemata.steps import steps
from ol.schemata.writer import Writer
from ol.stream import Ending, Frame
from ol.suite import Request

SUITE = """
    int64_t unit_answers(void);
    OL_TEST(answers) {
        OL_UNIT { ol_saw_int("answer", unit_answers()); }
        OL_ORACLE { ol_want_int("answer", 42); }
    }
"""
UNIT = """
static long down(long n) { return n > 0 ? down(n - 1) : n; }
long unit_answers(void) {
    long sum = 0;
    for (long k = 0; k < 42; k++) sum++;
    while (sum < 42) sum++;
    do sum++; while (sum < 43);
    sum--;
    return sum + down(7);
}
"""


@pytest.mark.parametrize(
    ("code", "counted"),
    [
        ("while (a) a--;", "while (OL_STEP, a) a--;"),
        ("while /* so long */\n(a) a--;", "while /* so long */\n(OL_STEP, a) a--;"),
        ("do a--; while (a);", "do a--; while (OL_STEP, a);"),
        ("for (int k = 0; k < a; k++) {}", "for (int k = 0; OL_STEP, k < a; k++) {}"),
        ("for (;;) break;", "for (; OL_STEP, 1;) break;"),
        ("for (; ;) for (; a; a--) ;", "for (; OL_STEP, 1 ;) for (; OL_STEP, a; a--) ;"),
        ("if (a) return 1;", "if (a) return 1;"),
        ("/* while (a) */ a++;", "/* while (a) */ a++;"),
    ],
)
def test_every_round_of_a_loop_and_every_call_is_a_step(code: str, counted: str) -> None:
    source, _ = small(f"int f(int a) {{ {code} return a; }}")
    writer = Writer(source, steps(source))
    writer.copy(0, len(source.text))
    assert writer.text == f"int f(int a) {{ OL_ENTER; {counted} return a; }}"


def test_a_changed_condition_is_counted_as_the_original() -> None:
    source, found = small("int f(int a) { while (a > 0) a--; return a; }")
    text = Schemata(source, found).text.split("#line 1")[1]
    assert text.count("while (OL_STEP, (") == 1
    assert text.count("OL_STEP") == text.count("OL_ENTER") == 1


def test_a_unit_whose_races_are_looked_for_counts_nothing() -> None:
    source, found = small("int f(int a) { while (a > 0) a--; return a; }")
    assert "--ol_steps_left" in Schemata(source, found).text
    assert "--ol_steps_left" not in Schemata(source, found, counts=False).text


@pytest.fixture(scope="module")
def world(c_world: Callable[[str, str], CWorld], any_compiler: str) -> CWorld:
    return c_world(any_compiler, SUITE)


def ran(world: CWorld, change: tuple[str, str] | None, *, steps: int, seconds: float) -> Frame:
    """What comes of the first mutant that makes this change, or of the unit itself."""
    source, found = small(UNIT)
    made = Schemata(source, found)
    told = [n for n, e in made.mutants.items() if (e.original, e.replacement) == change]
    request = Request(
        test="answers",
        units=(world.unit(made.text),),
        seconds=seconds,
        mutant=told[0] if change else 0,
        steps=steps,
    )
    return world.runner().run([request])[0]


ENDLESS, WRONG = ("++", "--"), ("42", "41")


def test_a_mutant_that_loops_ends_with_its_steps_long_before_its_time(world: CWorld) -> None:
    frame = ran(world, ENDLESS, steps=100_000, seconds=20)
    assert frame.ending is Ending.SPENT
    assert frame.wall < 5
    (failure, *_) = judge("answers", frame, world.wanted(["answers"])["answers"], ()).failures
    assert failure.way is Way.TIMEOUT
    assert "many times the steps" in failure.got


def test_without_a_number_of_steps_it_runs_up_to_its_time(world: CWorld) -> None:
    assert ran(world, ENDLESS, steps=0, seconds=0.3).ending is Ending.TIMED_OUT


def test_the_unit_and_mutants_with_steps_enough_come_to_their_end(world: CWorld) -> None:
    assert ran(world, WRONG, steps=100_000, seconds=20).ending is Ending.EXITED
    assert ran(world, None, steps=3, seconds=20).ending is Ending.EXITED


def test_the_same_signal_from_a_unit_is_its_own_doing(world: CWorld) -> None:
    unit = world.unit("#include <signal.h>\nlong unit_answers(void) { raise(SIGXCPU); return 42; }")
    (frame,) = world.frames(["answers"], unit)
    assert (frame.ending, frame.code) == (Ending.SIGNALLED, 24)
