"""What pycparser refuses is read all the same, or named with its line: no function is passed over."""

import re
from pathlib import Path

import pytest
from mutation import COMPILERS, OWN, compile_c, needs_compiler, small, viable

from ol.schemata import Schemata


def snippets(name: str) -> dict[str, str]:
    """By the title that stands above each."""
    _, *parts = re.split(r"^//// (.*)\n", (OWN / name).read_text(), flags=re.MULTILINE)
    return dict(zip(parts[::2], parts[1::2], strict=True))


READ, NEWER = snippets("dialects.c"), snippets("newer.c")


@needs_compiler
@pytest.mark.parametrize("name", READ)
def test_what_the_parser_refuses_is_neutralised_and_compiles_with_its_mutants(
    name: str, tmp_path: Path
) -> None:
    source, found = small(READ[name])
    assert [s for s in source.skipped if "cannot" in s.reason] == []
    assert {e.function for e in found} == {f.name for f in source.functions} >= {"f"}
    accepted = [c for c in COMPILERS if compile_c(c, tmp_path, "small.c", READ[name], *GNU) == ""]
    assert accepted
    for compiler in accepted:
        left = viable(compiler, tmp_path, Schemata(source, found), "-std=gnu17")
        assert len(left.excluded) <= len(found) // 4


@pytest.mark.parametrize("name", NEWER)
def test_words_of_newer_standards_and_of_headers_that_nobody_read_stop_nothing(name: str) -> None:
    source, found = small(NEWER[name])
    assert source.skipped == []
    assert len([e for e in found if e.function == "f"]) >= 3


GNU = ("-fsyntax-only", "-std=gnu17")
MADE = "code that the macro BODY makes"
REFUSED = "pycparser cannot read it"


@pytest.mark.parametrize(
    ("text", "line", "function", "reason"),
    [
        ("int f(int a) {\n    return ({ int b = a; b * 2; }) + a;\n}", 2, "f", "a statement expression"),
        ("int f(int a) {\n    return a +\n        _Generic(a, int: a + 1, default: 0);\n}", 3, "f",
         "what _Generic chooses from"),
        ("int f(int a) {\n    void *t[] = {&&x};\n    goto *t[a];\nx:  return a;\n}", 3, "f",
         "the target of a computed goto"),
        ("int f(int a) {\n    return a +\n    64 KB;\n}", 3, "f",
         "what the macro KB does to the operand before it"),
        ("int f(int a) {\n    int g(int b) { return b + a; }\n    return g(a) + 1;\n}", 2, "f", REFUSED),
        ("struct s { int a; };\nint f(int a) {\n    struct s x = {a: a + 1};\n}", 3, "f", REFUSED),
        ("int f(int a) {\n    __try { a++; }\n    __except (1) { a--; }\n}", 2, "f", REFUSED),
        ("#define BODY { return a + 1; }\nint f(int a)\nBODY\n", 3, "", MADE),
        ("#define BODY(x) { return x + 1; }\nint f(int a)\nBODY(a)\n", 3, "", MADE),
        ("#define EACH(n) for (int i = 0; i < n; i++)\nint f(int n) {\n    EACH(n) { n--; }\n}",
         3, "f", "the loop that the macro EACH makes"),
        ("int f(int a) {\n#ifdef NO\na++;\n#endif\n    a++;\n}", 2, "f", "not compiled: #ifdef NO"),
        ("\nvoid f(void) {\n}\n", 2, "f", "no operator finds anything to change"),
    ],
)  # fmt: skip
def test_what_is_not_mutated_is_named_with_its_line(
    text: str, line: int, function: str, reason: str
) -> None:
    source, _ = small(text)
    assert [(s.line, s.function) for s in source.skipped if s.reason.startswith(reason)] == [
        (line, function)
    ]


def test_data_that_a_macro_makes_is_no_code() -> None:
    source, _ = small("#define ZERO {0}\nstruct s { int a; } x = ZERO;\nint f(int a) { return a; }\n")
    assert source.skipped == []


def test_places_stay_true_where_tokens_are_rewritten() -> None:
    text = "int f(a, b)\n  int a; int b;\n{ goto *x[a]; auto k = 1'000; return a <: b :> + __real__ k; }\n"
    source, found = small(text)
    for edit in found:
        assert source.text[edit.start : edit.end] == edit.original
    assert {"1'000 -> 999", "b -> b + 1", "+ -> -"} <= {f"{e.original} -> {e.replacement}" for e in found}
    assert re.sub(r"\s", "", text) == re.sub(r"\s", "", source.text)


def test_a_type_on_the_line_of_its_variable_is_no_statement_of_its_own() -> None:
    _, found = small("int f(int a) { UINT k = a; return k; }")
    assert [e.action for e in found if e.is_deletion] == []
