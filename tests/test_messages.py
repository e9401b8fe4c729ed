"""What a student reads who made one of the planted mistakes of L9.4: enough to act on, and nothing that
gives the solution away."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import pytest
from student import Student
from tinycourse import ROOT, Ran, TinyCourse

from ol import patch
from ol.course import find_course
from ol.manifest import Way
from ol.report.check import text
from ol.report.failures import failure_lines
from ol.verdict import Failure, Grade, Outcome, TestResult, Verdict

UNIT = "c/src/kernels/paged_attn.c"
MODULE = find_course(ROOT / "ol").module("L9.4")
ENTRY = {m.id: m for m in MODULE.mutants}
MUTANTS = list(ENTRY)
AS_TELLING = {"s09": "c:matches_naive_over_the_gathered_cache"}
"""Tests before the named one that say as much: junk from before the window came through as NaN."""


@dataclass(frozen=True)
class Shown:
    """Patterns of what the report on a mutant must hold."""

    call: str
    """What was called, with its sizes."""
    where: str
    expected: str
    got: str
    hint: str = ""

    @property
    def pattern(self) -> str:
        lines = [f"    with      .*{self.call}.*"]
        lines += [f"    at        {self.where}"] if self.where else []
        lines += [f"    expected  {self.expected}.*"] if self.expected else []
        lines += [f"    got       {self.got}.*"]
        lines += [f"    hint      {self.hint}.*"] if self.hint else []
        return "\n".join(lines)


NUMBER = r"-?\d[\d.e-]*"
CLOSE = rf"{NUMBER} ± {NUMBER}"
OFF = rf"{NUMBER} \(off by {NUMBER}\)"
JUNK = "unused slots hold 65504, -65504 or NaN"
ROUNDING = "right but for rounding: the operations or their order are not the contract's"
GQA = r"B=3, H=6, Hkv=2, D=32, block 16, layer 0 of 2, window {}, .*lens 1 37 70; " + JUNK
ALL, WINDOWED = GQA.format(0), GQA.format(20)
BY_HAND = r"section 3, table \[3, 1\]: B=1, H=1, Hkv=1, D=2, block 2, .*lens 3; " + JUNK
SHOWN = {
    "s01": Shown(ALL, r"sequence 1, head \d, d 0", CLOSE, OFF),
    "s02": Shown(ALL, r"sequence 1, head \d, d 0", CLOSE, OFF),
    "s03": Shown(BY_HAND, "sequence 0, head 0, d 0", "3 ± 1e-06", "(nan|-?65504)"),
    "s04": Shown(ALL, "sequence 0, head 3, d 0", CLOSE, OFF),
    "s05": Shown(ALL, "sequence 0, head 1, d 0", CLOSE, OFF),
    "s06": Shown(WINDOWED, "sequence 1, head 0, d 0", CLOSE, "nan"),
    "s07": Shown(BY_HAND, "sequence 0, head 0, d 0", "3 ± 1e-06", "65504 "),
    "s08": Shown(BY_HAND, "sequence 0, head 0, d 0", "3 ± 1e-06", OFF),
    "s09": Shown(WINDOWED, "sequence 1, head 0, d 0", CLOSE, "nan"),
    "s10": Shown("L9.3 with Bc = 16: B=6, H=4", r"sequence 1, head \d, d \d+", NUMBER, NUMBER, ROUNDING),
    "s11": Shown(
        r"each of the 16 sequences alone \(B=1\), block 16", r"sequence 0, .*", NUMBER, NUMBER, ROUNDING
    ),
    "s12": Shown("7 rows on 4 threads", r"sequence 0, head \d, d 0", NUMBER, "untouched, as it was"),
    "s13": Shown("refused: an empty context, first sequence", "", "TL_EINVAL", "TL_OK"),
    "s14": Shown("refused: 5 positions need 3 blocks of 2, the tables have 2", "", "TL_EINVAL", "TL_OK"),
    "s15": Shown(
        "refused: block 9 of 4, first of the first sequence",
        rf"{UNIT}:\d+",
        "",
        r"SEGV: a read through a NULL pointer\n +\d+ \| .*\n +\^\n        in \w+  ",
    ),
}


def test_every_mutant_of_the_module_is_read_here() -> None:
    assert list(SHOWN) == MUTANTS
    assert len(MUTANTS) == 15


def planted(mutant: str) -> str:
    read = patch.read((ROOT / "mutants" / "L9.4" / f"{mutant}.patch").read_text(), (UNIT,), mutant)
    return patch.apply(read, (ROOT / "reference" / UNIT).read_text())


@pytest.fixture(scope="module")
def said(
    tmp_path_factory: pytest.TempPathFactory, shared_cache: Path, any_compiler: str
) -> Callable[[str], Ran]:
    """What `ol check` says to a student who wrote the mutant; each is checked once."""
    with pytest.MonkeyPatch.context() as patched:
        nothing: pytest.CaptureFixture[str] = None  # type: ignore[assignment]
        course = TinyCourse(root=ROOT, cache=shared_cache, monkeypatch=patched, capsys=nothing)

    @cache
    def check(mutant: str) -> Ran:
        student = Student(course=course, root=tmp_path_factory.mktemp(mutant))
        (student.root / ".ol-workspace").touch()
        unit = student.root / UNIT
        unit.parent.mkdir(parents=True)
        unit.write_text(planted(mutant))
        ran = student.spawn("check", "L9.4", "--ref-deps", "--compiler", any_compiler)
        assert unit.read_text() == planted(mutant)
        return ran

    return check


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_mistake_is_shown_with_the_call_the_place_and_the_next_command(
    said: Callable[[str], Ran], mutant: str
) -> None:
    ran = said(mutant)
    assert (ran.code, ran.err) == (1, "")
    first = re.match(r"FAILED (\S+)\n  checks    .+\n  why       .+\n\n", ran.out)
    assert first, ran.out
    assert first[1] == AS_TELLING.get(mutant, ENTRY[mutant].test)
    assert re.search(SHOWN[mutant].pattern, ran.out), ran.out
    assert re.search(
        r"^L9\.4: FAIL, \d+ of 27 tests fail over the reference's dependencies \(seed 0, ", ran.out, re.M
    )
    again = re.search(
        r"^next: `ol check L9\.4 -k (\S+) --ref-deps` runs it alone; `ol debug L9\.4 \w+", ran.out, re.M
    )
    assert again
    assert again[1] == first[1]


@pytest.mark.parametrize("mutant", MUTANTS)
def test_no_line_that_the_student_lacks_is_given_away(said: Callable[[str], Ran], mutant: str) -> None:
    out = " ".join(said(mutant).out.split())
    mine = {" ".join(line.split()) for line in planted(mutant).splitlines()}
    reference = (ROOT / "reference" / UNIT).read_text().splitlines()
    missing = {" ".join(line.split()) for line in reference} - mine
    missing = {line for line in missing if len(line) > 3}
    assert missing or mutant == "s09"  # which has a line too many
    for line in missing:
        assert line not in out
    pitfall = ENTRY[mutant].pitfall
    assert pitfall not in out


def test_all_that_failed_is_named_in_a_line_each(said: Callable[[str], Ran]) -> None:
    ran = said("s01")
    failed = re.search(r"FAIL, (\d+) of 27", ran.out)
    assert failed
    others = re.findall(
        r"^also failed: (\S+) \(\w+ at sequence \d+, head \d+, d \d+: got .+\)$", ran.out, re.M
    )
    assert len(others) == int(failed[1]) - 1
    assert len(set(others)) == len(others)


# ---- The parts of a report ----------------------------------------------------------------------------


def failed(name: str, **how: object) -> TestResult:
    failure = Failure(way=Way.CHECK, check="out", expected="1", got="2", where="d 3")
    return TestResult(test=name, outcome=Outcome.FAILED, failures=(replace(failure, **how),))  # type: ignore[arg-type]


def report(*results: TestResult, width: int | None = None, seed: int = 0) -> str:
    verdict = Verdict(
        module="L9.4",
        grade=Grade.FAIL,
        compiler="gcc 1",
        seed=seed,
        reference_dependencies=True,
        partial=False,
        results=results,
    )
    return text(verdict, MODULE, {UNIT: b"one\ntwo\n"}, width)


NAMES = [t.id for t in MODULE.tests]


def test_on_a_narrow_terminal_a_further_failure_keeps_to_its_line() -> None:
    results = [failed(name) for name in NAMES[:4]]
    for line in report(*results, width=40).splitlines():
        if line.startswith("also failed"):
            assert line == "also failed: " + line.split()[2]
    assert "(check at d 3: got 2)" in report(*results, width=200)
    assert "(check at d 3: got 2)" in report(*results)


def test_the_seed_is_in_the_command_that_repeats_a_failure() -> None:
    assert f"`ol check L9.4 -k {NAMES[0]} --seed 9 --ref-deps` runs it alone" in report(
        failed(NAMES[0]), seed=9
    )
    assert "seed 9" in report(failed(NAMES[0]), seed=9)


def test_one_test_that_was_not_run_is_one_test() -> None:
    idle = [TestResult(test=name, outcome=Outcome.NOT_RUN) for name in NAMES[1:3]]
    assert "not run after the time-out: 1 test\n" in report(failed(NAMES[0]), idle[0])
    assert "not run after the time-out: 2 tests\n" in report(failed(NAMES[0]), *idle)


@pytest.mark.parametrize(
    ("expected", "got", "hinted"),
    [
        ("1 (0x3f800000)", "1.00000012 (0x3f800001) (off by 1.19e-07)", True),
        ("-1 (0xbf800000)", "-0.99999994 (0xbf7fffff) (off by 5.96e-08)", True),
        ("1 (0x3f800000)", "1.00000203 (0x3f800011) (off by 2.03e-06)", False),
        ("1 (0x3f800000)", "-1 (0xbf800001) (off by 2)", False),
        ("0 (0x00000000)", "1e-45 (0x00000001) (off by 1e-45)", False),
        ("inf (0x7f800000)", "3.4e38 (0x7f7fffff)", False),
        ("1 (0x3f800000)", "untouched, as it was before the call", False),
        ("1 ± 1e-06", "1.1 (off by 0.1)", False),
    ],
)
def test_bits_that_differ_in_the_last_places_are_told_from_wrong_values(
    expected: str, got: str, hinted: bool
) -> None:
    lines = failure_lines(Failure(way=Way.CHECK, check="out", expected=expected, got=got))
    assert any(f"hint      {ROUNDING}" in line for line in lines) == hinted


def test_a_report_of_any_length_is_cut() -> None:
    long = report(failed(NAMES[0], detail="\x1b" * 200_000 + "\n" * 5000, got="x" * 9000, way=Way.EXIT))
    assert len(long) < 5000
    assert "\x1b" not in long
    assert max(map(len, long.splitlines())) < 500


def test_the_line_of_a_failure_is_shown_with_a_caret() -> None:
    assert "        2 | two\n             ^\n" in report(failed(NAMES[0], where=f"{UNIT}:2:2"))
    assert " | " not in report(failed(NAMES[0], where=f"{UNIT}:7:1"))
