"""Which tests are spared a mutant, because they would run just as on the unit itself."""

from dataclasses import replace

import pytest
from mutation import ROOT, small

from ol.course import find_course
from ol.generated.model import Mutant, Why
from ol.generated.reach import Reach, Table
from ol.manifest import TestEntry
from ol.schemata import UNKNOWN

DIFFERED = 1
CODE = """
int f(const int *p, int a, int b) {
    if (a < b || !p) return 1;
    if (a > 3 || a + b > 9) return 2;
    return a * 4;
}
"""


def mutants() -> list[Mutant]:
    _, found = small(CODE)
    return [Mutant(number=n, file="small.c", edit=e) for n, e in enumerate(found, start=1)]


def mutant(operator: str, place: str = "") -> Mutant:
    return next(m for m in mutants() if m.edit.operator == operator and place in m.edit.context)


def entry(*, threads: bool = False) -> TestEntry:
    first = find_course(ROOT / "ol").module("L9.2").tests[0]
    return replace(first, id="c:own", threads=threads)


def table(number: int, *, reached: int, differed: int, steps: int = 5, whole: bool = True) -> Table:
    size = number + 1
    at = [bytes(number) + bytes([bits]) for bits in (reached, differed)]
    assert all(len(a) == size for a in at)
    return Table(reached=at[0], differed=at[1], steps=steps, whole=whole)


@pytest.mark.parametrize(
    ("reached", "differed", "operator", "noticed"),
    [
        (0, 0, "relational", False),
        (1, 0, "relational", False),
        (1, UNKNOWN, "relational", True),
        (1, DIFFERED, "relational", True),
        (0, 0, "arithmetic", False),
        (1, 0, "arithmetic", True),
        (1, 0, "logical", False),
        (1, UNKNOWN, "logical", True),
    ],
)
def test_a_place_that_is_not_reached_or_never_differs_is_not_run(
    reached: int, differed: int, operator: str, noticed: bool
) -> None:
    chosen = mutant(operator)
    own = table(chosen.number, reached=reached, differed=differed)
    assert Reach(tables={"c:own": own}).may_notice(entry(), chosen) is noticed


def test_an_operand_that_might_overflow_is_run_though_no_value_differs() -> None:
    risky = [m for m in mutants() if m.edit.operator == "logical" and "a + b" in m.edit.change]
    assert risky
    for chosen in risky:
        own = table(chosen.number, reached=1, differed=0)
        assert Reach(tables={"c:own": own}).may_notice(entry(), chosen)


def test_a_test_without_a_whole_table_may_notice_anything() -> None:
    chosen = mutant("relational")
    cut = table(chosen.number, reached=0, differed=0, whole=False)
    assert Reach(tables={}).may_notice(entry(), chosen)
    assert Reach(tables={"c:own": cut}).may_notice(entry(), chosen)


def test_a_threaded_test_is_spared_only_what_no_test_meets() -> None:
    chosen, threaded = mutant("relational"), entry(threads=True)
    never = table(chosen.number, reached=1, differed=0)
    once = table(chosen.number, reached=1, differed=DIFFERED)
    cut = table(chosen.number, reached=1, differed=0, whole=False)
    assert not Reach(tables={"c:own": never, "c:other": never}).may_notice(threaded, chosen)
    assert Reach(tables={"c:own": never, "c:other": once}).may_notice(threaded, chosen)
    assert Reach(tables={"c:own": never, "c:other": cut}).may_notice(threaded, chosen)
    assert not Reach(tables={"c:own": never, "c:other": once}).may_notice(entry(), chosen)


def test_steps_are_known_of_whole_runs_without_threads() -> None:
    own, cut = table(1, reached=1, differed=0), table(1, reached=1, differed=0, whole=False)
    assert Reach(tables={"c:own": own}).steps(entry()) == 5
    assert Reach(tables={"c:own": own}).steps(entry(threads=True)) is None
    assert Reach(tables={"c:own": cut}).steps(entry()) is None
    assert Reach(tables={}).steps(entry()) is None


def test_why_is_told_over_all_tests() -> None:
    tables = {"c:own": table(1, reached=1, differed=0), "c:other": table(1, reached=1, differed=UNKNOWN)}
    assert Reach(tables={"c:own": tables["c:own"]}).why(1) is Why.NEVER_DIFFERENT
    assert Reach(tables=tables).why(1) is Why.UNKNOWN
    assert Reach(tables={"c:own": table(1, reached=0, differed=0)}).why(1) is Why.NEVER_REACHED


@pytest.mark.parametrize(("constant", "noticed"), [("3", False), ("9", False), ("4", True), ("1", True)])
def test_a_constant_that_is_compared_makes_a_difference_where_the_comparison_does(
    constant: str, noticed: bool
) -> None:
    chosen = next(m for m in mutants() if m.edit.operator == "constant" and m.edit.original == constant)
    same, other = (table(chosen.number, reached=1, differed=bits) for bits in (0, DIFFERED))
    assert Reach(tables={"c:own": same}).may_notice(entry(), chosen) is noticed
    assert Reach(tables={"c:own": other}).may_notice(entry(), chosen)
