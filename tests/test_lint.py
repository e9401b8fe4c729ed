"""`ol lint` says nothing of a course that holds, and names each thing that does not."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tinycourse import TinyCourse, edit

from ol import chapter
from ol.manifest import parse_module


def linted(tiny: TinyCourse, any_compiler: str) -> tuple[int, str]:
    ran = tiny.ol("lint", "T1", "--compiler", any_compiler)
    return ran.code, ran.out


def test_a_course_that_holds_is_one_line(tiny: TinyCourse, any_compiler: str) -> None:
    code, said = linted(tiny, any_compiler)
    assert (code, said.count("\n")) == (0, 1)
    assert said.startswith(f"1 modules with {any_compiler}: every stub fails")


def chapter_of(tiny: TinyCourse) -> Path:
    return tiny.root / "course/chapters/T1.md"


def no_chapter(tiny: TinyCourse) -> None:
    chapter_of(tiny).unlink()


def another_word(tiny: TinyCourse) -> None:
    edit(chapter_of(tiny), "values too small", "values too large")


def a_row_too_few(tiny: TinyCourse) -> None:
    row = "| forgetting the square | values too small | `sums` (mutant `s01`) |\n"
    edit(chapter_of(tiny), row, "")


def a_row_too_many(tiny: TinyCourse) -> None:
    row = "| `sums` | unit |"
    edit(chapter_of(tiny), row, f"| `made_up` | unit | x | y |\n{row}")


def a_stray_patch(tiny: TinyCourse) -> None:
    (tiny.root / "mutants/T1/s09.patch").write_text("nobody speaks of me\n")


def stray_tests(tiny: TinyCourse) -> None:
    (tiny.root / "course/tests/T7").mkdir()


def a_test_that_is_not_listed(tiny: TinyCourse) -> None:
    source = tiny.test_source.read_text()
    more = """
OL_TEST(unlisted) {
    OL_UNIT { ol_saw_int("x", 1); }
    OL_ORACLE { ol_want_int("x", 1); }
}
"""
    tiny.test_source.write_text(source + more)


def a_test_that_is_not_there(tiny: TinyCourse) -> None:
    edit(tiny.test_source, "OL_TEST(refuses_a_negative_size)", "OL_TEST(renamed)")


def a_test_that_kills_nothing(tiny: TinyCourse) -> None:
    edit(tiny.manifest, 'test = "c:refuses_a_negative_size"', 'test = "c:sums"')
    (tiny.root / "mutants/T1/s03.patch").write_text((tiny.root / "mutants/T1/s01.patch").read_text())


def a_survivor(tiny: TinyCourse) -> None:
    edit(tiny.manifest, 'test = "c:refuses_a_negative_size"', 'test = "c:sums"')


def a_reference_that_fails(tiny: TinyCourse) -> None:
    edit(tiny.reference, "2.0f * x", "3.0f * x")


def a_test_that_waits_for_the_stub(tiny: TinyCourse) -> None:
    call = "OL_STATUS(0, tiny_sum_f32(x, y, 7));"
    edit(tiny.test_source, call, f"OL_UNIT {{ while (!y[0]) tiny_sum_f32(x, y, 7); }}\n    {call}")
    edit(tiny.manifest, 'id = "c:sums"', 'id = "c:sums"\nseconds = 1.0')


BREAKS: dict[Callable[[TinyCourse], None], str] = {
    no_chapter: "course/chapters/T1.md: the module has no chapter",
    another_word: "course/chapters/T1.md:14: s01: 'Symptom' is not what the catalogue says",
    a_row_too_few: "course/chapters/T1.md: no row for s01",
    a_row_too_many: "course/chapters/T1.md:7: a row for `made_up`, which is not in the catalogue",
    a_stray_patch: "mutants/T1/s09.patch: no catalogue of tiny speaks of it",
    stray_tests: "course/tests/T7: no catalogue of tiny speaks of it",
    a_test_that_is_not_listed: "c:unlisted is defined but not listed",
    a_test_that_is_not_there: "c:refuses_a_negative_size is listed but not defined",
    a_test_that_kills_nothing: "c:refuses_a_negative_size kills no mutant",
    a_survivor: "s03: survived",
    a_reference_that_fails: "the reference fails c:sums",
    a_test_that_waits_for_the_stub: "c:sums times out on the stub",
}


@pytest.mark.parametrize("broken", BREAKS, ids=lambda b: b.__name__)
def test_what_does_not_hold_is_named(
    broken: Callable[[TinyCourse], None], tiny: TinyCourse, any_compiler: str
) -> None:
    broken(tiny)
    code, said = linted(tiny, any_compiler)
    assert (code, BREAKS[broken] in said) == (1, True), said


def test_a_bar_inside_a_cell_is_written_with_a_backslash(tiny: TinyCourse) -> None:
    edit(chapter_of(tiny), "values too small", r"\|y\| too small")
    manifest = tiny.manifest.read_text().replace("values too small", "|y| too small")
    module = parse_module(manifest, "T1.toml")
    assert list(chapter.disagreements(chapter_of(tiny).read_text(), module)) == []


def test_a_dependency_that_is_no_module_is_told(tiny: TinyCourse) -> None:
    edit(tiny.manifest, 'depends = ["T0"]', 'depends = ["T0", "T5"]')
    ran = tiny.ol("lint", "T1")
    assert ran.code == 70
    assert "T1 depends on 'T5', which is not a module" in ran.err
