"""Schemata choose exactly the mutant that compiling it alone gives, and compile wherever the unit does."""

import subprocess
from collections import Counter
from pathlib import Path

import pytest
from mutation import (
    OWN,
    ROOT,
    alone,
    compile_c,
    each_compiler,
    each_unit,
    mutated,
    needs_compiler,
    small,
    viable,
)

from ol.schemata import Probe, Schemata, blame
from ol.toolchain import find


@needs_compiler
@each_compiler
@each_unit
def test_schemata_of_every_reference_unit_compile_without_blaming_a_mutant_that_compiles_alone(
    unit: Path, compiler: str, tmp_path: Path
) -> None:
    source, found = mutated(unit)
    schemata = Schemata(source, found)
    left = viable(compiler, tmp_path, schemata)
    together = source.text + "".join(alone(source, e, n) for n, e in schemata.mutants.items())
    said = compile_c(compiler, tmp_path, "together.c", together, "-fsyntax-only")
    refused = {n for n in schemata.mutants if f"mutant_{n}:" in said}
    assert len(found) > 100
    assert left.excluded == refused


@needs_compiler
@each_compiler
@each_unit
def test_probes_of_every_reference_unit_compile(unit: Path, compiler: str, tmp_path: Path) -> None:
    source, found = mutated(unit)
    assert compile_c(compiler, tmp_path, unit.name, Probe(source, found).text, "-fsyntax-only") == ""


def digests(compiler: str, folder: Path, text: str, count: int, name: str) -> list[str]:
    driver = (OWN / "bits_driver.c").read_text()
    keep = ["-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    keep.append("-ftrivial-auto-var-init=pattern")
    said = compile_c(compiler, folder, f"{name}.c", driver_joined(text, driver), *keep, "-o", name, "-lm")
    assert said == ""
    argv = [*find(compiler).launch, folder / name, str(count)]
    env = {"ASAN_OPTIONS": "detect_leaks=0:symbolize=0"}
    done = subprocess.run(argv, env=env, capture_output=True, text=True, timeout=300)
    return done.stdout.splitlines()


def driver_joined(text: str, driver: str) -> str:
    unit, marker, choice = text.partition("/* DRIVER */")
    assert marker
    return f"#define _GNU_SOURCE\n{unit}\n{driver}\n{choice}"


@needs_compiler
@each_compiler
def test_every_mutant_of_a_pure_unit_does_what_it_does_when_compiled_alone(
    compiler: str, tmp_path: Path
) -> None:
    source, found = mutated(OWN / "bits.c")
    schemata = viable(compiler, tmp_path, Schemata(source, found))
    by_number = schemata.mutants
    cases = "".join(f"case {n}: on_{e.function}({e.function}); break;" for n, e in by_number.items())
    everything = "".join(f"on_{f.name}({f.name});" for f in source.functions) + "break;"
    switch = f"static void call(int n) {{ ol_mutant = n; switch (n) {{ default: {everything} {cases} }} }}"
    together = digests(compiler, tmp_path, f"{schemata.text}/* DRIVER */{switch}", len(found), "schemata")

    bodies = "".join(alone(source, e, n) for n, e in by_number.items())
    cases = "".join(f"case {n}: on_{e.function}({e.function}_{n}); break;" for n, e in by_number.items())
    switch = f"static void call(int n) {{ switch (n) {{ default: {everything} {cases} }} }}"
    apart = digests(compiler, tmp_path, f"{source.text}{bodies}/* DRIVER */{switch}", len(found), "alone")

    assert len(together) == len(found) + 1
    assert [f"{a}   alone: {b}" for a, b in zip(together, apart, strict=True) if a != b] == []
    assert len({line.partition(" ")[2] for line in together}) > len(found) / 3
    assert not schemata.excluded


@needs_compiler
@pytest.mark.parametrize("name", ["strings", "bits", "machine"])
@each_compiler
def test_source_of_other_people_compiles_with_nearly_all_mutants(
    name: str, compiler: str, tmp_path: Path
) -> None:
    source, found = mutated(OWN / f"{name}.c")
    left = viable(compiler, tmp_path, Schemata(source, found))
    per_function = Counter(edit.function for edit in left.mutants.values())
    assert [f.name for f in source.functions if per_function[f.name] < 2] == []
    assert len(left.excluded) <= 2


def test_lines_stay_true_and_the_text_grows_with_the_mutants_only() -> None:
    source, found = mutated(ROOT / "reference/c/src/kernels/paged_attn.c")
    schemata = Schemata(source, found)
    lines = schemata.text.split("\n#line 1\n", 1)[1].splitlines()
    assert len(lines) == len(source.text.splitlines())
    for number, line in enumerate(source.text.splitlines()):
        assert (
            line.split("(")[0].split()[:1] == lines[number].split("(")[0].split()[:1]
            or "ol_mutant" in lines[number]
        )
    grown = [len(Schemata(source, found[:n]).text) - len(source.text) for n in (150, 300, 600)]
    assert grown[2] < 2.5 * grown[1] < 6.25 * grown[0]


def test_sites_nest_within_the_originals_branch_only() -> None:
    source, found = small("int f(int a) { return a + 1 < 9; }")
    text = Schemata(source, found).text
    for number in range(1, len(found) + 1):
        tests = text.count(f"ol_mutant == {number} ") + text.count(f"ol_mutant - {number}u")
        assert tests <= 2, text
    assert "volatile int ol_mutant;" in text


def test_a_unit_that_shares_an_object_does_not_define_the_selector_again() -> None:
    source, found = small("int f(int a) { return a + 1; }")
    second = Schemata(source, found, first=100, defines=False)
    assert "extern volatile int ol_mutant;" in second.text
    assert min(second.mutants) == 100
    assert "ol_mutant == 1 " not in second.text


@needs_compiler
@each_compiler
def test_blame_finds_the_mutants_whose_schema_does_not_compile(compiler: str, tmp_path: Path) -> None:
    source, found = small(
        "struct s { int a; };\n#define TWICE(x) ((x) + (x))\n"
        "int f(int n, const char *p) {\n    /* ééééééé\t\t\tüüüüüüüüüüüü */ int k = n * 2 + TWICE(n - 1);\n"
        "    return k < 3 && p[0] == 'x';\n}\n"
    )
    wrong = {3: "n.a", 7: "p * p", len(found): "&1"}
    broken = [
        edit
        if number not in wrong
        else type(edit)(
            **{**vars(edit), "start": edit.site.start, "end": edit.site.end, "replacement": wrong[number]}
        )
        for number, edit in enumerate(found, 1)
    ]
    schemata = Schemata(source, broken)
    assert viable(compiler, tmp_path, schemata).excluded == set(wrong)


def test_blame_takes_an_error_inside_a_macro_to_its_use_and_errors_of_other_files_to_nobody() -> None:
    source, found = small("int f(int a) { return a + 1; }")
    schemata = Schemata(source, found)
    start, _, number = schemata.layout.alternatives[0]
    column = start - schemata.layout.line_starts[0] + 1
    note = f"small.c:1:{column}: note: in expansion of macro 'M'\n"
    assert blame(f"x.h:1:1: error: no\n{note}", schemata.layout) == {number}
    assert blame("x.h:1:20: error: no\n", schemata.layout) == set()
    assert blame("small.c:900:1: error: no\n", schemata.layout) == set()


def test_blame_takes_an_error_in_a_macro_of_the_unit_to_the_line_of_its_use() -> None:
    source, found = small("#define M(x) x\nint f(int a) {\n    a = a * 2;\n    return M(a + 1);\n}")
    schemata = Schemata(source, found)
    said = "small.c:1:14: error: no\nsmall.c:4:2: note: in expansion of macro 'M'\n"
    assert blame(said, schemata.layout) == {n for n, e in schemata.mutants.items() if e.line == 4} != set()
