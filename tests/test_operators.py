"""Operators make the small faults that they promise, where they promise, and nowhere else."""

import time
import tomllib
from collections import Counter
from pathlib import Path

import pytest
from mutation import OWN, ROOT, UNITS, mutated, small

from ol.csource import read
from ol.operators import OPERATORS, apply_edit, edits


def made(body: str, operator: str) -> set[str]:
    """`original -> replacement` of one operator over the body of a function."""
    parameters = "int a, int b, unsigned u, float x, float y, int *p, int *q, int64_t n"
    _, found = small(f"int f({parameters}) {{\n{body}\n}}\n")
    return {f"{e.original} -> {e.replacement}" for e in found if e.operator == operator}


@pytest.mark.parametrize(
    ("operator", "body", "wanted"),
    [
        ("relational", "return a < b;", {"< -> <=", "< -> !=", "a < b -> 0"}),
        ("relational", "return a == b;", {"a == b -> 0", "== -> <=", "== -> >="}),
        ("relational", "return a >= b;", {">= -> >", ">= -> ==", "a >= b -> 1"}),
        ("relational", "return a <= b;", {"<= -> <", "<= -> ==", "a <= b -> 1"}),
        ("relational", "return a > b;", {"> -> >=", "> -> !=", "a > b -> 0"}),
        ("relational", "return a != b;", {"!= -> <", "!= -> >", "a != b -> 1"}),
        ("relational", "while (a != b) a++; return 0;", {"!= -> <", "!= -> >"}),
        ("relational", "return x == y;", {"x == y -> 0", "== -> <=", "== -> >="}),
        ("relational", "return p != q;", {"!= -> ==", "p != q -> 1"}),
        ("relational", "return u > 0;", {"> -> >=", "u > 0 -> 0"}),
        ("relational", "return a & b == 1;", {"== -> <=", "== -> >=", "b == 1 -> 0"}),
        ("unordered", "return x < y;", {"x < y -> !(x >= y)"}),
        ("unordered", "if (x >= 1) return 2; return x > y || a;",
         {"x >= 1 -> !(x < 1)", "x > y -> !(x <= y)"}),
        ("unordered", "return a < b;", set()),
        ("unordered", "return x == y;", set()),
        ("logical", "return a && b > 1;", {"&& -> ||", "a && b > 1 -> !!a", "a && b > 1 -> b > 1"}),
        ("logical", "return a && b || u;", {"|| -> &&", "a && b || u -> a && b", "a && b || u -> !!u",
                                            "a && b -> (a || b)", "a && b -> !!a", "a && b -> !!b"}),
        ("condition", "if (a) b = 1; return b;", {"a -> 0", "a -> 1"}),
        ("condition", "while (a) a--; return a;", {"a -> 0"}),
        ("condition", "return a ? b : 2;", {"a -> 0", "a -> 1"}),
        ("condition", "do a--; while (a && b); return 0;", {"a && b -> 0"}),
        ("condition", "for (;; a++) if (b) return 1;", {"b -> 0", "b -> 1"}),
        ("negation", "if (!a) return 1; return 0;", {"! -> !!"}),
        ("negation", "if (p && a > 0) return 1; return 0;", {"p -> !p"}),
        ("arithmetic", "return a - b * 2;", {"- -> +", "* -> /"}),
        ("arithmetic", "return *(p + a);", {"+ -> -"}),
        ("arithmetic", "return (int)(x / y);", {"/ -> *"}),
        ("arithmetic", "return (int)(p - q);", set()),
        ("arithmetic", "return a % b;", {"% -> /", "% -> *"}),
        ("operand", "return a + b;", {"a + b -> a", "a + b -> b"}),
        ("operand", "return a << b;", {"a << b -> a"}),
        ("operand", "q = p + a; return 0;", {"p + a -> p"}),
        ("bitwise", "return a & b << 1;", {"& -> |", "& -> ^", "<< -> >>"}),
        ("bitwise", "return a ^ b | u;",
         {"a ^ b | u -> ((a ^ b) & u)", "| -> ^", "^ -> &", "a ^ b -> (a | b)"}),
        ("assignment", "x += y * 2; return 0;", {"+= -> -=", "+= -> ="}),
        ("assignment", "p += a; return 0;", {"+= -> -="}),
        ("assignment", "u <<= 1; return 0;", {"<<= -> >>=", "<<= -> ="}),
        ("increment", "b = a++; return b;", {"++ -> --", "a++ -> ++a"}),
        ("increment", "--a; return a;", {"-- -> ++"}),
        ("unary", "x = -y; return 0;", {"-y -> y"}),
        ("unary", "a = ~b; return 0;", {"~b -> b"}),
        ("unary", "x = y; u = u + 1; return 0;", {"y -> -y", "u + 1 -> ~(u + 1)"}),
        ("constant", "return a * 3;", {"3 -> 0", "3 -> 2", "3 -> 4"}),
        ("constant", "u = 0x0Fu;", {"0x0Fu -> 0u", "0x0Fu -> 0x0Eu", "0x0Fu -> 0x10u"}),
        ("constant", "n = 017ul; n = 0XffLL;",
         {"017ul -> 0ul", "017ul -> 16ul", "017ul -> 14ul",
          "0XffLL -> 0LL", "0XffLL -> 0XfeLL", "0XffLL -> 0X100LL"}),
        ("constant", "x = 2.5; x = 1e3L; x = 0x1p3f; x = 3.f;",
         {"2.5 -> 0.0", "2.5 -> (2.5 + 1.0)", "2.5 -> (2.5 - 1.0)",
          "1e3L -> 0.0L", "1e3L -> 1001.0L", "1e3L -> 999.0L",
          "0x1p3f -> 0.0f", "0x1p3f -> (0x1p3f + 1.0f)", "0x1p3f -> (0x1p3f - 1.0f)",
          "3.f -> 0.0f", "3.f -> 4.0f", "3.f -> 2.0f"}),
        ("constant", "a = b ? 5 : f(7, b, u, x, y, p, q, n); return 9;",
         {"5 -> 0", "5 -> 4", "5 -> 6", "7 -> 0", "7 -> 6", "7 -> 8", "9 -> 0", "9 -> 8", "9 -> 10"}),
        ("constant", "n = 1LL;", {"1LL -> 0LL", "1LL -> 2LL"}),
        ("constant", "a = 2147483647;", {"2147483647 -> 0", "2147483647 -> 2147483646"}),
        ("constant", "x = 1.0f;", {"1.0f -> 0.0f", "1.0f -> 2.0f"}),
        ("constant", "x = 0.5f;", 
         {"0.5f -> 0.0f", "0.5f -> (0.5f + 1.0f)", "0.5f -> (0.5f - 1.0f)"}),
        ("constant", "a = 'x';", {r"'x' -> '\0'", "'x' -> ('x' + 1)", "'x' -> ('x' - 1)"}),
        ("constant", "n = INT64_MAX;",
         {"INT64_MAX -> INT64_MIN", "INT64_MAX -> 0", "INT64_MAX -> (INT64_MAX - 1)"}),
        ("constant", "p = 0; if (p == 0) q = p ? p : 0; return a;", set()),
        ("index", "return p[a];", {"a -> a + 1", "a -> a - 1"}),
        ("index", "p[a ? b : 1] = 3; return 0;",
         {"a ? b : 1 -> (a ? b : 1) + 1", "a ? b : 1 -> (a ? b : 1) - 1"}),
        ("pointer offset", "return *p;", {"p -> (p + 1)", "p -> (p - 1)"}),
        ("index", "q = &p[a]; p[b]++; return 0;", {"a -> a + 1", "a -> a - 1", "b -> b + 1", "b -> b - 1"}),
        ("pointer offset", "*p++ = 1; return *(int *)q;",
         {"(int *)q -> ((int *)q + 1)", "(int *)q -> ((int *)q - 1)", "p++ -> (p++ + 1)",
          "p++ -> (p++ - 1)"}),
        ("pointer offset", "q = p + a; return 0;", {"p + a -> p + a + 1", "p + a -> p + a - 1"}),
        ("loop bound", "for (int i = a; i < b; i++) p[i] = 0; return 0;",
         {"a -> a + 1", "a -> a - 1", "b -> (b - 1)"}),
        ("loop bound", "for (n = a; n >= b; n--) a++; while (a != b) a++; return 0;",
         {"a -> a + 1", "a -> a - 1", "b -> (b - 1)", "b -> (b + 1)"}),
        ("loop bound", "for (int i = 0; i < 10; i++) a++; return 0;", set()),
        ("argument", "return f(a, 1, u, y, 2.0f, 0, q, n);", {"a, 1 -> 1, a", "y, 2.0f -> 2.0f, y"}),
        ("argument", "return f(a, b, u, x, y, p, q, n);", {"a, b -> b, a", "x, y -> y, x", "p, q -> q, p"}),
        ("result", "return a * b;", {"a * b -> 0", "a * b -> a * b + 1"}),
        ("result", "return a < b;", {"a < b -> 1"}),
        ("result", "return x;", {"x -> 0"}),
        ("result", "return 3;", set()),
        ("initializer", "int c = a * 2; return c;", {"a * 2 -> 0"}),
        ("jump", "while (a) { if (b) break; if (u) continue; a--; } return 0;",
         {"break; -> continue;", "continue; -> break;"}),
        ("deletion", "a = 1; f(a, b, u, x, y, p, q, n); if (b) { a++; return 2; } (void)a; return a;",
         {"a = 1; -> ;", "f(a, b, u, x, y, p, q, n); -> ;", "a++; -> ;", "return 2; -> ;"}),
        ("deletion", "if (f(a, b, u, x, y, p, q, n)) a = 1; if (a) b = 1; else b = 2; goto e; e: return a;",
         {"a = 1; -> ;", "b = 1; -> ;", "b = 2; -> ;", "goto e; -> ;"}),
        ("deletion", "switch (a) { case 1: b = 2; break; case 2: b = 3; break; } return b;",
         {"b = 2; -> ;", "break; -> ;", "b = 3; -> ;"}),
    ],
)  # fmt: skip
def test_an_operator_makes_exactly_these_faults(operator: str, body: str, wanted: set[str]) -> None:
    assert made(body, operator) == wanted


@pytest.mark.parametrize(
    ("body", "operator", "repeated"),
    [
        ("return a < 4;", "constant", "4 -> 5"),
        ("return a >= 4;", "constant", "4 -> 5"),
        ("return a > 4;", "constant", "4 -> 3"),
        ("return a + 1;", "constant", "1 -> 0"),
        ("return a * 2;", "constant", "2 -> 1"),
        ("return p[a - 1];", "index", "a - 1 -> a - 1 + 1"),
        ("return *(p + 1);", "pointer offset", "p + 1 -> p + 1 + 1"),
        ("for (int i = a + 1; i < b; i++) n++; return 0;", "loop bound", "a + 1 -> a + 1 + 1"),
        ("return a + 1;", "result", "a + 1 -> a + 1 + 1"),
        ("enum { ONE = 1 }; return ONE;", "result", "ONE -> 0"),
        ("return a < b || u;", "relational", "a < b -> 0"),
        ("return u && a != b;", "relational", "a != b -> 1"),
        ("a += b; return 0;", "unary", "b -> -b"),
        ("if (a) b = 1; return 0;", "deletion", "b = 1; -> ;"),
        ("for (int i = 0; i < a; i++) { b += i; } return b;", "deletion", "b += i; -> ;"),
    ],
)
def test_what_another_operator_does_already_is_left_out(body: str, operator: str, repeated: str) -> None:
    assert repeated not in made(body, operator)


@pytest.mark.parametrize(
    ("body", "operator", "kept"),
    [
        ("return u > 0;", "constant", "0 -> (-1)"),
        ("return a < b && u;", "relational", "a < b -> 0"),
        ("u += u; return 0;", "unary", "u -> ~u"),
        ("if (a++) b = 1; return 0;", "deletion", "b = 1; -> ;"),
        ("for (int i = 0; i < a;) i++; return b;", "deletion", "i++; -> ;"),
        ("while (a < b) a++; return b;", "deletion", "a++; -> ;"),
        ("int i; for (i = 0; i < a; i++) b += i; return i;", "deletion", "b += i; -> ;"),
    ],
)
def test_what_only_looks_like_a_repeat_is_made(body: str, operator: str, kept: str) -> None:
    assert kept in made(body, operator)


def test_every_operator_is_in_use_on_the_reference_units() -> None:
    used = Counter(edit.operator for unit in UNITS for edit in mutated(unit)[1])
    assert set(used) == set(OPERATORS)


@pytest.mark.parametrize(
    "body",
    [
        "int v[3 + 1]; (void)v; switch (a) { case 1 + 2: ; } return (int)sizeof(a + 1);",
        "static int table[] = {1 + 2, 3}; extern int z; enum { A = 1 << 2, B }; return (int)sizeof table;",
        "struct { int k : 3 + 1; } s; (void)s; _Static_assert(1 == 2, \"\"); return (int)_Alignof(int);",
        "return (int)__builtin_offsetof(struct { int v[1 + 1]; }, v[1]);",
    ],
)  # fmt: skip
def test_nothing_is_mutated_where_c_wants_a_constant(body: str) -> None:
    _, found = small(f"int f(int a) {{ {body} }}\n")
    inside = [e for e in found if e.site.start < e.site.end and any(c in e.context for c in "123")]
    assert [e.action for e in inside if e.operator != "result" and e.operator != "unary"] == []


def test_no_mutant_repeats_another_and_each_is_the_edit_that_it_says() -> None:
    for path in [*UNITS, *sorted(OWN.glob("*.c"))]:
        source, found = mutated(path)
        texts = [apply_edit(source.text, edit) for edit in found]
        assert len(set(texts)) == len(texts)
        assert source.text not in texts
        for edit in found:
            assert source.text[edit.start : edit.end] == edit.original
            assert edit.site.start <= edit.start <= edit.end <= edit.site.end
            assert source.lines.position(edit.start) == (edit.line, edit.column)


def test_ids_are_readable() -> None:
    _, found = small("int f(int a, int b) {\n    return a < b;\n}\n")
    assert "small.c:2:14 replace < with <=" in [e.id("small.c") for e in found]
    assert len({e.key for e in found}) == len(found)


LONG = """int f(int a, int b, int *p) {
    int n = 0, m[2] = {0, [1] = 0};
    if (a < 0) return 0;
    if (b < 0) { return 0; }
    else return 1;
    for (int i = 0; i < b; i++)
        n += p[i];
    switch (a) {
        case 1: n = 0;
        case 2: n = 0; break;
    }
    do n++; while (n < 0);
    return n > 0 ? 0 : m[1];
}
"""


@pytest.mark.parametrize(
    ("before", "new"),
    [
        ("int f(", "int e(int a) { return a < 0 ? 0 : 1; }\n/* new */ "),
        ("    int n = 0", "    if (!p) return 0;\n    int k = 0;\n    k = 0;\n    (void)k;\n"),
        ("    for (int i", "    for (int i = 0; i < a; i++) n += p[0];\n    while (n < 9) n++;\n"),
        ("        case 1:", "        case 0: n = 0;\n"),
        ("    int n = 0", "    int q[] = {0, 0, 1}; (void)q;\n"),
    ],
)
def test_a_key_outlasts_statements_that_are_inserted_before_it(before: str, new: str) -> None:
    moved = LONG.replace(before, new + before).replace("b < 0", "b  <\t0")
    first, added = LONG[: LONG.index(before)].count("\n") + 1, new.count("\n")
    lines = {e.key: e.line + added * (e.line >= first) for e in small(LONG)[1]}
    later = {e.key: e.line for e in small(moved)[1]}
    assert len(lines) > 50
    assert {key: later.get(key) for key in lines} == lines


def test_a_key_tells_statements_apart_by_what_controls_them() -> None:
    where = [e.where for e in small(LONG)[1] if e.original in ("return 0;", "return 1;", "n = 0;", "0")]
    assert set(where) == {
        "n = 0", "m 0", "m [1] = 0", "if (a < 0)", "if (a < 0) return 0;", "if (b < 0)",
        "if (b < 0) { return 0; }", "else return 1;", "for (int i = 0; i < b; i++)", "case 1: n = 0;",
        "case 2: n = 0;", "while (n < 0)", "return n > 0 ? 0 : m[1];",
    }  # fmt: skip


@pytest.mark.parametrize("path", sorted(ROOT.glob("mutants/*/accepted.toml")), ids=lambda p: p.parent.name)
def test_every_accepted_mutant_of_the_course_is_there(path: Path) -> None:
    keys = {f"{unit.name} | {edit.key}" for unit in UNITS for edit in mutated(unit)[1]}
    entries = tomllib.loads(path.read_text())["accepted"]
    assert [key for entry in entries for key in entry["mutants"] if key not in keys] == []


def functions_of(text: str) -> Counter[str]:
    _, found = small(text)
    return Counter(edit.function for edit in found)


def test_one_function_that_cannot_be_parsed_is_named_and_costs_only_itself() -> None:
    source, found = small(
        "int one(int a) { return a + 1; }\n"
        "int two(int a) {\n    int in(int b) { return b; }\n    return in(a) + 1;\n}\n"
        "int three(int a) { return a - 1; }\n"
    )
    assert {edit.function for edit in found} == {"one", "three"}
    assert [s.function for s in source.skipped] == ["two"]
    assert source.skipped[0].line in (2, 3)
    assert "cannot read" in source.skipped[0].reason


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_places_are_those_of_the_file_with_any_line_ends_marks_and_letters(ending: str) -> None:
    lines = [
        "\ufeff/* schön: ∑ */ #define no",
        "int f(int a) {",
        '\tconst char *s = "é" /* ü */ "→";',
        "\treturn s[0] + a; }",
    ]
    source, found = small(ending.join(lines))
    plus = next(e for e in found if e.original == "+")
    assert (plus.line, plus.column) == (4, 14)
    assert apply_edit(source.text, plus).endswith("\treturn s[0] - a; }")


def test_macros_are_mutated_once_at_their_use() -> None:
    text = (
        "#define SIZE 256\n#define HALF (SIZE / 2)\n#define LOOSE 1 + 2\n"
        '#define NAME "f: "\n#define SQ(x) x * x\n'
        "#define MAX(a, b) ((a) > (b) ? (a) : (b))\n#define CAT(a, b) a##b\n"
        'int g(const char *);\nint f(int a) { g(NAME "wrong"); a = LOOSE * 3; a = SQ(a + 1); '
        "return CAT(a, a) + MAX(a + 1, SIZE) + HALF; }\n"
    )
    source, found = small(text)
    changes = {f"{e.original} -> {e.replacement}" for e in found}
    assert {"SIZE -> (SIZE + 1)", "SIZE -> 0", "a + 1 -> a", "3 -> 4"} <= changes
    assert not any(e.line < 9 for e in found)
    assert not any("LOOSE *" in e.context and e.operator != "deletion" for e in found)
    assert sum(e.original == "a + 1" for e in found if e.operator == "operand") == 2
    assert {s.reason for s in source.skipped} >= {
        "the macro LOOSE is more than one operand",
        "the arguments of the macro SQ",
        "the arguments of the macro CAT",
    }


def test_every_function_of_source_that_others_wrote_has_mutants() -> None:
    for name in ("strings", "bits", "machine"):
        source, found = mutated(OWN / f"{name}.c")
        mutants = Counter(edit.function for edit in found)
        assert min(mutants[f.name] for f in source.functions) >= 3
        assert not [s for s in source.skipped if "cannot" in s.reason]
    assert len(source.functions) == 11


@pytest.mark.parametrize(
    "text",
    ["", "\n", "/* nothing", "#define X 1\n", "int x = 1 + 2;\n", "}}}", "int f(", "'", '"', "\\", "#"],
)
def test_text_without_functions_gives_no_mutants_and_no_crash(text: str) -> None:
    source, found = small(text)
    assert (source.functions, found) == ([], [])


def test_five_thousand_lines_take_time_in_proportion() -> None:
    one = (OWN / "bits.c").read_text().split("int popcount", 1)[1]
    head = (OWN / "bits.c").read_text().split("int popcount", 1)[0]

    def seconds(copies: int) -> float:
        parts = [
            f"int popcount{one}".replace("(uint32_t x) {", f"_{n}(uint32_t x) {{") for n in range(copies)
        ]
        text = head + "\n".join(parts)
        start = time.process_time()
        found = edits(read(text, name="long.c"))
        assert len(found) > 400 * copies
        return time.process_time() - start

    seconds(2)
    assert min(seconds(40) for _ in range(2)) < 6 * max(seconds(10) for _ in range(3))
