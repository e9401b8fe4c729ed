"""The audit of the course's own L9.4: each of its mutants dies by the test that names it, by what that test
checks and by nothing else."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tinycourse import ROOT, TinyCourse

ALL = [f"s{k:02}" for k in range(1, 16)]
CHECK = re.compile(r"\b(OL_STATUS|OL_HOLDS|ol_saw_\w+|ol_want_\w+)\(")


@pytest.fixture
def real(
    shared_cache: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> TinyCourse:
    return TinyCourse(root=ROOT, cache=shared_cache, monkeypatch=monkeypatch, capsys=capsys)


def fates(course: TinyCourse, *arguments: str) -> dict[str, tuple[str, list[str]]]:
    found = course.ol("audit", "L9.4", "--json", *arguments).json
    assert {r["outcome"] for r in found["baseline"]} == {"passed"}
    return {m["entry"]["id"]: (m["fate"], m["ways"]) for m in found["mutants"]}


def test_fifteen_of_fifteen_are_killed(real: TinyCourse, compiler: str) -> None:
    ran = real.ol("audit", "L9.4", "--compiler", compiler)
    assert (ran.code, ran.err) == (0, "")
    assert "L9.4: 15 of 15 mutants killed by their named tests" in ran.out
    assert [line[:3] for line in ran.out.splitlines() if re.match(r"s\d\d ", line)] == ALL


def test_a_variant_among_others_fares_as_it_does_alone(
    real: TinyCourse, any_compiler: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    together = fates(real, "--compiler", any_compiler)
    calls: list[int] = []

    def none_fits(reference: object, mutants: list[object]) -> tuple[object, list[int]]:
        calls.append(len(mutants))
        return reference, [0] * len(mutants)

    monkeypatch.setattr("ol.audit.combined_sources", none_fits)
    assert fates(real, "--compiler", any_compiler) == together
    assert calls == [15]


def test_with_every_check_removed_every_mutant_survives_but_the_one_that_crashes(
    real: TinyCourse, any_compiler: str, tmp_path: Path
) -> None:
    blind = copied(tmp_path)
    for path in (blind / "course" / "tests" / "L9.4").glob("*.c"):
        path.write_text("".join(without_checks(path.read_text())))
    course = TinyCourse(root=blind, cache=real.cache, monkeypatch=real.monkeypatch, capsys=real.capsys)
    found = fates(course, "--compiler", any_compiler)
    assert [m for m in ALL if found[m] != ("survived", [])] == ["s15"]
    assert "crash" in found["s15"][1]


@pytest.mark.parametrize(
    ("function", "mutants"),
    [("OL_TEST(hand_example)", "s03 s07 s08"), ("static void is_close_to_naive", "s01 s02 s04 s05 s06")],
)
def test_with_one_tests_checks_removed_its_own_mutants_survive(
    real: TinyCourse, any_compiler: str, tmp_path: Path, function: str, mutants: str
) -> None:
    blind = copied(tmp_path)
    path = blind / "course" / "tests" / "L9.4" / "test_paged_attn.c"
    before, found, rest = path.read_text().partition(function)
    body, end, after = rest.partition("\n}\n")
    path.write_text(before + found + "".join(without_checks(body)) + end + after)
    course = TinyCourse(root=blind, cache=real.cache, monkeypatch=real.monkeypatch, capsys=real.capsys)
    came = fates(course, "--compiler", any_compiler)
    assert [m for m in ALL if came[m][0] == "survived"] == mutants.split()


def copied(folder: Path) -> Path:
    for part in ("course", "reference", "mutants"):
        shutil.copytree(ROOT / part, folder / part)
    return folder


def without_checks(text: str) -> Iterator[str]:
    """C source whose calls are made and whose checks are gone."""
    at = 0
    for head in CHECK.finditer(text):
        if head.start() < at:
            continue
        arguments, end = parsed(text, head.end())
        yield text[at : head.start()]
        name = head.group(1)
        if name == "OL_STATUS":
            yield f"OL_UNIT (void)({','.join(arguments[1:])})"
        elif name == "ol_saw_status":
            yield f"(void)({','.join(arguments[1:])})"
        else:
            yield "(void)0"
        at = end
    yield text[at:]


def parsed(text: str, start: int) -> tuple[list[str], int]:
    """The arguments of a call whose opening parenthesis ends at `start`, and where it ends."""
    arguments, depth, at = [""], 0, start
    for token in re.compile(r'"(?:[^"\\]|\\.)*"|.', re.DOTALL).finditer(text, start):
        mark = token.group()
        at = token.end()
        if depth == 0 and mark == ")":
            break
        if depth == 0 and mark == ",":
            arguments.append("")
            continue
        depth += (mark in "([{") - (mark in ")]}") if len(mark) == 1 else 0
        arguments[-1] += mark
    return arguments, at
