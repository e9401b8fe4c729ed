"""The policies stand in front of grading, over any course, and cost nothing where nothing changed."""

from dataclasses import replace
from pathlib import Path

import pytest
from tinycourse import ROOT, TinyCourse

from ol import gate
from ol.course import find_course
from ol.policy import check_source
from ol.store import Store

COURSE = find_course(ROOT / "ol")
FAIR = sorted(
    p for folder in ("reference/c/src", "tests/fair", "tests/unfair") for p in (ROOT / folder).rglob("*.c")
)


def started(tiny: TinyCourse, source: str) -> Path:
    """A workspace whose T1 is `source`."""
    folder = tiny.root.parent / "mine"
    assert tiny.ol("init", str(folder)).code == 0
    assert tiny.ol("start", "T1", "--workspace", str(folder)).code == 0
    (folder / "c" / "src" / "sum.c").write_text(source)
    return folder


HONEST = '#include "tiny.h"\nint32_t tiny_sum_f32(const float *x, float *y, int64_t n) {\n'
BODY = "    for (int64_t i = 0; i < n; i++) y[i] = 2.0f * x[i] + tiny_square(x[i]);\n    return n < 0;\n}\n"


@pytest.mark.parametrize(
    ("source", "where", "rule"),
    [
        (HONEST + '    __asm__("nop");\n' + BODY, "c/src/sum.c:3:5", "no inline assembly"),
        ("#include <dlfcn.h>\n" + HONEST + BODY, "c/src/sum.c:1:10", "includes"),
        ("int counter;\n" + HONEST + BODY, "c/src/sum.c:1:5", "defines only what the contract lists"),
        ("#include <stdio.h>\n" + HONEST + '    puts("x");\n' + BODY, "c/src/sum.c:4:5", "calls only"),
    ],
)
def test_a_refusal_says_where_and_by_which_rule(tiny, source, where, rule):
    folder = started(tiny, source)
    ran = tiny.ol("check", "T1", "--ref-deps", "--json", "--workspace", str(folder))
    assert ran.code == 4
    refused = ran.json["refused"][0]
    assert refused["where"] == where
    assert refused["rule"].startswith(rule)
    assert refused["instead"]
    assert ran.json["verdict"] == "refused"


def test_a_python_unit_is_refused_in_the_same_words(tiny, tmp_path, monkeypatch):
    monkeypatch.setenv("OL_WORKSPACE", str(tmp_path))
    unit = tmp_path / COURSE.module("L7.7").units[0]
    unit.parent.mkdir(parents=True)
    honest = (ROOT / "reference" / COURSE.module("L7.7").units[0]).read_text()
    unit.write_text(honest + "import os\n")
    ran = replace(tiny, root=ROOT).ol("check", "L7.7", "--json")
    (refused,) = ran.json["refused"]
    assert ran.code == 4
    assert refused["where"] == f"{COURSE.module('L7.7').units[0]}:{honest.count(chr(10)) + 1}:1"
    assert refused["rule"] == "imports only what the module may import"
    assert refused["instead"].startswith("leave it out")


def test_what_was_decided_of_a_python_source_is_remembered(tmp_path, monkeypatch):
    store, module = Store(tmp_path / "results.sqlite"), COURSE.module("L8.3")
    sources = {"u.py": b"import ctypes\nimport os\n"}
    first = gate.refused_python(store, module, sources)
    assert [r.where for r in first] == ["u.py:2:1"]
    monkeypatch.setattr(gate, "check_python", None)
    assert gate.refused_python(store, module, sources) == first
    assert gate.refused_python(store, module, {"u.c": b"import os"}) == []


def test_a_python_source_that_cannot_be_read_is_left_to_its_tests(tmp_path):
    store, module = Store(tmp_path / "results.sqlite"), COURSE.module("L8.3")
    for text in (b"def f(:\n", b"x = 1\0"):
        assert gate.refused_python(store, module, {"u.py": text}) == []


def test_the_headers_of_any_course_may_be_included(tiny):
    folder = started(tiny, HONEST + BODY)
    ran = tiny.ol("check", "T1", "--ref-deps", "--json", "--workspace", str(folder))
    assert (ran.code, ran.json["refused"]) == (0, []), ran.out


def test_what_was_decided_of_a_source_is_remembered(tmp_path, monkeypatch):
    store = Store(tmp_path / "results.sqlite")
    sources = {"c/src/u.c": b'int x; __asm__("nop");\n'}
    first = gate.refused_sources(COURSE, store, sources)
    assert [r.where for r in first] == ["c/src/u.c:1:8"]
    monkeypatch.setattr(gate, "check_source", None)
    assert gate.refused_sources(COURSE, store, sources) == first


def test_a_huge_source_is_refused_without_reading_it():
    (refusal,) = check_source(b"int x;\n" * 40_000, "u.c")
    assert "262,144" in refusal.found


@pytest.mark.parametrize("path", FAIR, ids=lambda p: f"{p.parent.name}-{p.stem}")
def test_fair_and_unfair_solutions_pass_the_policy_on_sources(path):
    assert check_source(path.read_bytes(), path.name, headers=gate.contract_headers(COURSE)) == ()
