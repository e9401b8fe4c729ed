"""Many mutants in one source: what is split, what fits, and that each number behaves as its own source."""

import subprocess
from pathlib import Path
from shutil import which

import pytest

from ol.variants import changed, combine, combined_sources, split

SOURCE = """\
/* a brace in a comment { and a word f(x) */
#include <stdio.h>
#define BODY(x) { \\
    x; }
struct pair { int a, b; };
static const char *const text = "f() { }";
static int table[2] = {1, 2};
enum { N = 3 };

static int twice(int x) {
    if (x > '{') { return 0; }
    return 2 * x; // }
}

/* out[i] = twice(i) */
void fill(int *out, const int n[static 1]) {
    for (int i = 0; i < *n; i++) { out[i] = twice(i); }
}

unsigned long
long_head(
    unsigned a,
    const char b[])
{
    return a + (unsigned long)b[0];
}
int last(void) { struct pair p = {1, 2}; return p.a + table[0] + N + (text != 0); }
"""


def test_functions_and_what_lies_between_are_the_whole_text() -> None:
    parts, functions = split(SOURCE)
    assert [f.name for f in functions] == ["twice", "fill", "long_head", "last"]
    whole = "".join(p + f.head + f.body for p, f in zip(parts, functions, strict=False)) + parts[-1]
    assert whole == SOURCE


def test_the_line_of_a_body_is_that_of_its_brace() -> None:
    _, functions = split(SOURCE)
    lines = SOURCE.splitlines()
    assert all("{" in lines[f.line - 1] for f in functions)
    assert lines[functions[2].line - 1] == "{"


@pytest.mark.parametrize(
    ("old", "new", "names"),
    [
        ("2 * x", "3 * x", ["twice"]),
        ("i < *n", "i <= *n", ["fill"]),
        ("a + (unsigned long)b[0]", "a", ["long_head"]),
        ("return 0; }\n    return 2", "return 1; }\n    return 3", ["twice"]),
    ],
)
def test_a_change_inside_a_body_fits(old: str, new: str, names: list[str]) -> None:
    assert old in SOURCE
    found = changed(SOURCE, SOURCE.replace(old, new))
    assert found is not None
    assert list(found) == names


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("N = 3", "N = 4"),
        ("{1, 2};\nenum", "{1, 3};\nenum"),
        ("static int twice(int x)", "static int twice(long x)"),
        ("unsigned a", "unsigned z"),
        ("int last(void)", "int latest(void)"),
        ("enum { N = 3 };\n", ""),
        ("#define BODY(x)", "#define BODY(y)"),
        ("int last(void) {", "int more(void) { return 1; }\nint last(void) {"),
        ("twice(i); }", "twice(i);"),
        ("N = 3 };\n\nstatic int twice(int x) {", "N = 4 };\n\nstatic int twice(int x) { x++;"),
    ],
)
def test_a_change_outside_a_body_does_not_fit(old: str, new: str) -> None:
    assert old in SOURCE
    assert changed(SOURCE, SOURCE.replace(old, new)) is None


@pytest.mark.parametrize("head", ["int f(int x, ...)", "int f(int (*g)(int))", "int f(int x /* why */)"])
def test_a_head_whose_arguments_cannot_be_told_does_not_fit(head: str) -> None:
    source = head + " { return 1; }\n"
    assert changed(source, source.replace("return 1", "return 2")) is None


def test_no_change_does_not_fit() -> None:
    assert changed(SOURCE, SOURCE) is None


MUTANTS = [
    SOURCE.replace("2 * x", "3 * x"),
    SOURCE.replace("i < *n", "i < *n - 1"),
    SOURCE.replace("N = 3", "N = 4"),
    SOURCE.replace("2 * x", "5 * x").replace("return p.a", "return p.b"),
]
MAIN = """
#include <stdlib.h>
extern volatile int ol_mutant;
int main(int argc, char **argv) {
    ol_mutant = argc > 1 ? atoi(argv[1]) : 0;
    int out[3] = {-1, -1, -1};
    fill(out, (int[]){3});
    printf("%d %d %d %lu %d %d", out[0], out[1], out[2], long_head(1, "a"), last(), __LINE__);
    return 0;
}
"""


def says(folder: Path, source: str, *arguments: str, compiler: str) -> str:
    (folder / "p.c").write_text(source)
    argv = [which(compiler) or compiler, "-std=c11", "-Wall", "-Werror", "p.c", "-o", "p"]
    done = subprocess.run(argv, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return subprocess.run(
        [str(folder / "p"), *arguments], capture_output=True, text=True
    ).stdout.rpartition(" ")[0]


def test_each_number_behaves_as_its_own_source(tmp_path: Path, compiler: str) -> None:
    whole, numbers = combined_sources({"u.c": SOURCE.encode()}, [{"u.c": m.encode()} for m in MUTANTS])
    assert numbers == [1, 2, 0, 4]
    together = whole["u.c"].decode() + MAIN
    own = MAIN.replace("extern ", "")
    assert says(tmp_path, together, compiler=compiler) == says(tmp_path, SOURCE + own, compiler=compiler)
    for mutant, number in zip(MUTANTS, numbers, strict=True):
        if number:
            alone = says(tmp_path, mutant + own, compiler=compiler)
            assert says(tmp_path, together, str(number), compiler=compiler) == alone
            assert alone != says(tmp_path, SOURCE + own, compiler=compiler)


def test_diagnostics_name_the_mutants_own_lines(tmp_path: Path, any_compiler: str) -> None:
    broken = SOURCE.replace("return a + (unsigned long)b[0];", "return nobody;")
    whole, numbers = combined_sources({"u.c": SOURCE.encode()}, [{"u.c": broken.encode()}])
    assert numbers == [1]
    (tmp_path / "u.c").write_bytes(whole["u.c"])
    argv = [which(any_compiler) or "cc", "-c", "u.c"]
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True)
    line = SOURCE.splitlines().index("    return a + (unsigned long)b[0];") + 1
    assert f"u.c:{line}:" in done.stderr


def test_a_unit_of_two_files_has_one_selector(tmp_path: Path) -> None:
    other = "int other(void) { return 1; }\n"
    reference = {"a.c": other.replace("other", "one").encode(), "b.c": other.encode()}
    first = {**reference, "a.c": reference["a.c"].replace(b"1", b"2")}
    second = {**reference, "b.c": reference["b.c"].replace(b"1", b"2")}
    whole, numbers = combined_sources(reference, [first, second])
    assert numbers == [1, 2]
    defined = [
        b" volatile int ol_mutant;\n#line" in text.replace(b"extern volatile", b"")
        for text in whole.values()
    ]
    assert defined == [True, False]


def test_without_mutants_that_fit_the_sources_stay_as_they_are() -> None:
    reference = {"u.c": SOURCE.encode()}
    assert combined_sources(reference, [{"u.c": MUTANTS[2].encode()}]) == (reference, [0])
    assert combined_sources(reference, []) == (reference, [])


def test_a_function_that_nothing_changes_is_not_touched() -> None:
    found = changed(SOURCE, MUTANTS[0])
    assert found
    text = combine(SOURCE, {1: found}, "u.c", defines=True)
    assert text.count("fill") == SOURCE.count("fill")
    assert "twice_ol1" in text
