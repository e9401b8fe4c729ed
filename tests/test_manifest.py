"""The catalogue: every complaint names the file, the line and what was expected."""

from pathlib import Path

import pytest

from ol.errors import ToolError
from ol.manifest import Language, Module, Way, parse_course, parse_module

ROOT = Path(__file__).resolve().parents[1]
WHERE = "course/modules/M1.toml"
GOOD = """\
id = "M1"
title = "One"
language = "c"
units = ["c/src/m.c"]
contract = ["m.h"]
defines = ["m"]
depends = ["M0"]
links = ["M0"]

[[tests]]
id = "c:works"
kind = ["unit"]
checks = "that it works"
why = "it must"
threads = true

[[tests]]
id = "py:works_too"
kind = ["unit"]
checks = "that it works"
why = "it must"
seconds = 2.5

[[mutants]]
id = "s01"
pitfall = "forgetting"
symptom = "nothing happens"
test = "c:works"
how = "time-out"
"""


def test_a_good_manifest_is_read_whole() -> None:
    module = parse_module(GOOD, WHERE)
    assert (module.id, module.language, module.depends, module.may_call) == ("M1", Language.C, ("M0",), ())
    first, second = module.tests
    assert (first.name, first.language, first.threads, first.seconds) == ("works", Language.C, True, 10.0)
    assert (second.name, second.language, second.threads) == ("works_too", Language.PYTHON, False)
    assert second.seconds == 2.5
    assert module.mutants[0].how is Way.TIMEOUT
    assert module.test("py:works_too") is second


WRONG = [
    ('title = "One"\n', "", "missing required field `title`", 1),
    ("title", "titel", "unknown key 'titel'; expected one of contract, defines, depends, id", 2),
    ('language = "c"', 'language = "rust"', "Invalid enum value 'rust'", 3),
    ('units = ["c/src/m.c"]', 'units = "c/src/m.c"', "Expected `array`, got `str`", 4),
    ('units = ["c/src/m.c"]', 'units = ["/etc/m.c"]', "a unit's path stays inside the tree: '/etc/m.c'", 4),
    ('units = ["c/src/m.c"]', 'units = ["c/../../m.c"]', "a unit's path stays inside the tree", 4),
    ('depends = ["M0"]', "depends = []", "'M0' is linked but is no dependency", 8),
    ('id = "M1"', 'id = "M2"', "the id is 'M2' but the file is named 'M1'", 1),
    ('id = "c:works"', 'id = "works"', "a test's id is c:name or py:name, not 'works'", 11),
    ('id = "c:works"', 'id = "c:Works"', "a test's id is c:name or py:name", 11),
    ('id = "py:works_too"', 'id = "c:works"', "two tests are called 'c:works'", 11),
    ("threads = true", "threads = 1", "Expected `bool`, got `int`", 15),
    ("seconds = 2.5", 'seconds = "2.5"', "Expected `float`, got `str`", 22),
    ('id = "s01"', 'id = "m01"', "a mutant's id is s01 to s99, not 'm01'", 25),
    ('test = "c:works"', 'test = "c:work"', "names the test 'c:work', which is not in the catalogue", 28),
    ('how = "time-out"', 'how = "memory limit"', "how is one of check, sanitizer, crash, time-out", 29),
    ('how = "time-out"', 'how = "timeout"', "Invalid enum value 'timeout'", 29),
    ('kind = ["unit"]', "kind = [1]", "Expected `str`, got `int`", 12),
]


@pytest.mark.parametrize(("old", "new", "said", "line"), WRONG)
def test_a_complaint_names_file_line_and_what_was_expected(
    old: str, new: str, said: str, line: int
) -> None:
    assert old in GOOD
    with pytest.raises(ToolError) as caught:
        parse_module(GOOD.replace(old, new, 1), WHERE)
    assert said in caught.value.what
    assert caught.value.where == f"{WHERE}:{line}"
    assert caught.value.next_step


def test_what_is_no_toml_is_told_with_its_line() -> None:
    with pytest.raises(ToolError) as caught:
        parse_module(GOOD.replace('"One"', "One"), WHERE)
    assert "not valid TOML" in caught.value.what
    assert "line 2" in caught.value.what
    assert caught.value.where == WHERE


def test_a_course_is_held_to_its_keys_too() -> None:
    text = 'name = "x"\ninclude = "i"\nc_flags = []\nstatuses = []\n\n[milestones]\nM = ["a"]\n'
    assert parse_course(text, "course.toml").milestones == {"M": ("a",)}
    with pytest.raises(ToolError, match="unknown key 'flags'"):
        parse_course(text.replace("c_flags", "flags"), "course.toml")


@pytest.mark.parametrize("path", sorted((ROOT / "course" / "modules").glob("*.toml")), ids=lambda p: p.stem)
def test_every_manifest_of_the_course_holds(path: Path) -> None:
    module: Module = parse_module(path.read_text(encoding="utf-8"), f"course/modules/{path.name}")
    patches = {p.stem for p in (ROOT / "mutants" / module.id).glob("*.patch")}
    assert patches == {m.id for m in module.mutants}
    for unit in module.units:
        assert (ROOT / "reference" / unit).is_file()
