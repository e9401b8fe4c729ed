"""A probe says why a mutant survived: never reached, never different there, or different and unnoticed."""

import ctypes
from collections.abc import Callable
from pathlib import Path

from mutation import compile_c, each_compiler, needs_compiler, small

from ol.schemata import UNKNOWN, Probe


def records(
    compiler: str, folder: Path, text: str, call: Callable[[ctypes.CDLL], object]
) -> dict[str, tuple[int, int]]:
    source, found = small(text)
    probe = Probe(source, found)
    library = folder / f"{compiler}.so"
    assert (
        compile_c(
            compiler,
            folder,
            "small.c",
            probe.text,
            "-shared",
            "-fPIC",
            "-O1",
            "-fwrapv",
            "-o",
            str(library),
        )
        == ""
    )
    opened = ctypes.CDLL(str(library))
    call(opened)
    arrays = [(ctypes.c_ubyte * (len(found) + 1)).in_dll(opened, n) for n in ("ol_reached", "ol_differed")]
    return {e.action: (arrays[0][n], arrays[1][n]) for n, e in enumerate(found, 1)}


@needs_compiler
@each_compiler
def test_a_probe_tells_never_reached_from_never_different_from_different(
    compiler: str, tmp_path: Path
) -> None:
    text = (
        "static int g(int x) { return x; }\n"
        "int f(int a, int b) {\n    int n = 0;\n    n = a + b;\n    if (a > 100) { n -= b; n++; }\n"
        "    if (a < b) n++;\n    n += g(a) * 2;\n    float z = 0.0f / (float)(a - a);\n"
        "    return z < 1.0f || g(n) || b != 2;\n}\n"
    )
    seen = records(compiler, tmp_path, text, lambda lib: lib.f(1, 2))
    assert seen["replace < with <="] == (1, 0)
    assert seen["replace + with -"] == (1, 1)
    assert seen["replace a + b with b"] == (1, 1)
    assert seen["replace -= with +="] == (0, 0)
    assert seen["delete n -= b;"] == (0, 0)
    assert seen["replace a > 100 with 1"] == (1, 1)
    assert seen["delete n = a + b;"] == (1, 1)
    assert seen["replace g(a) * 2 with g(a)"] == (1, UNKNOWN)
    assert seen["replace z < 1.0f with !(z >= 1.0f)"] == (1, 1)


@needs_compiler
@each_compiler
def test_a_probe_compares_floats_by_value_and_knows_short_circuits(compiler: str, tmp_path: Path) -> None:
    text = (
        "float h(float x, int a, int *p) {\n    int n = 0;\n"
        "    if (a && *p) n += 1;\n    if (!a || p == 0) n += 2;\n"
        "    float nan = x - x, same = nan / nan * 3.0f;\n    return x * 1.0f + (float)n * same;\n}\n"
    )

    def call(library: ctypes.CDLL) -> object:
        return library.h(ctypes.c_float(2.5), 1, ctypes.byref(ctypes.c_int(7)))

    seen = records(compiler, tmp_path, text, call)
    assert seen["replace x * 1.0f with x"] == (1, 0)
    assert seen["replace x * 1.0f with 1.0f"] == (1, 1)
    assert seen["replace nan / nan * 3.0f with nan / nan"] == (1, 0)
    assert seen["replace a && *p with !!a"] == (1, 0)
    assert seen["replace a && *p with !!(*p)"] == (1, 0)
    assert seen["replace a && *p with 0"] == (1, 1)
    assert seen["replace !a || p == 0 with !a"] == (1, 0)
    assert seen["replace || with &&"] == (1, 0)


@needs_compiler
@each_compiler
def test_a_probe_does_not_evaluate_what_the_original_guards(compiler: str, tmp_path: Path) -> None:
    text = "int k(int a, int *p) {\n    return a && *p;\n}\n"
    seen = records(compiler, tmp_path, text, lambda library: library.k(0, None))
    assert seen["replace && with ||"] == (1, UNKNOWN)
    assert seen["replace a && *p with !!a"] == (1, 0)


@needs_compiler
@each_compiler
def test_a_probe_tells_conditions_apart_by_their_truth_alone(compiler: str, tmp_path: Path) -> None:
    text = (
        "#include <stdbool.h>\n"
        "int t(int flags, int *p, unsigned char k, int (*get)(void)) {\n    int n = 0;\n"
        "    if (flags & 4) n++;\n    if (p != 0) n++;\n    while (!(k % 16)) k++;\n"
        "    bool b = flags << 1;\n    b = k * 2;\n    n = k * 3;\n    return n ? b : 0;\n}\n"
    )
    seen = records(compiler, tmp_path, text, lambda lib: lib.t(6, ctypes.byref(ctypes.c_int()), 16, None))
    assert seen["replace flags & 4 with flags"] == (1, 0)
    assert seen["replace & with ^"] == (1, 0)
    assert seen["replace p != 0 with 1"] == (1, 0)
    assert seen["replace p != 0 with 0"] == (1, 1)
    assert seen["replace k % 16 with k"] == (1, 1)
    assert seen["replace % with *"] == (1, 1)
    assert seen["replace flags << 1 with flags"] == (1, 0)
    assert seen["replace flags << 1 with 0"] == (1, 1)
    assert seen["replace k * 2 with k"] == (1, 0)
    assert seen["replace k * 3 with k"] == (1, 1)


@needs_compiler
@each_compiler
def test_a_probe_knows_results_of_which_nobody_asks_more_than_whether_they_are_0(
    compiler: str, tmp_path: Path
) -> None:
    text = (
        "static int small(int n) { return n & 6; }\n"
        "static int both(int n) { if (n == 9) return 8; return small(n); }\n"
        "static int counted(int n) { return n & 5; }\n"
        "static int kept(int n) { return n & 3; }\nint (*const way)(int) = kept;\n"
        "int f(int n) {\n    int sum = counted(n);\n    if (both(n) && counted(n)) sum++;\n"
        "    both(n);\n    return !kept(n) ? 0 : sum;\n}\n"
    )
    seen = records(compiler, tmp_path, text, lambda library: (library.f(7), library.f(9)))
    assert seen["replace n & 6 with n"] == (1, 0)
    assert seen["replace 8 with 7"] == (1, 0)
    assert seen["replace 8 with 0"] == (1, 1)
    assert seen["replace small(n) with small(n) + 1"] == (1, 0)
    assert seen["replace n & 5 with n"] == (1, 1)
    assert seen["replace n & 3 with n"] == (1, 1)


@needs_compiler
@each_compiler
def test_a_probe_holds_nan_for_nan_and_signs_of_zero_apart_in_assignments_and_arguments(
    compiler: str, tmp_path: Path
) -> None:
    text = (
        "float two(float, float);\nfloat two(float a, float b) { return a; }\n"
        "float f(float x, float zero) {\n    float nan = zero / zero, minus = -zero;\n"
        "    nan += x;\n    minus *= 1.0f;\n    nan = nan;\n    x = two(nan, zero / zero);\n"
        "    x = two(zero, minus);\n    return x;\n}\n"
    )
    seen = records(
        compiler, tmp_path, text, lambda library: library.f(ctypes.c_float(2.0), ctypes.c_float(0.0))
    )
    assert seen["delete nan += x;"] == (1, 0)
    assert seen["replace += with -="] == (1, 0)
    assert seen["replace += with ="] == (1, 1)
    assert seen["delete minus *= 1.0f;"] == (1, 0)
    assert seen["replace *= with ="] == (1, 1)
    assert seen["delete nan = nan;"] == (1, 0)
    assert seen["replace nan, zero / zero with zero / zero, nan"] == (1, 0)
    assert seen["replace zero, minus with minus, zero"] == (1, 1)


@needs_compiler
@each_compiler
def test_a_compared_constant_differs_where_the_comparison_comes_out_differently(
    compiler: str, tmp_path: Path
) -> None:
    text = "int f(int a) { return 3 > a || a + 7 == 9; }\n"
    folders = [tmp_path / name for name in ("below", "at")]
    for folder in folders:
        folder.mkdir()
    below = records(compiler, folders[0], text, lambda lib: lib.f(1))
    at = records(compiler, folders[1], text, lambda lib: lib.f(3))
    assert below["replace 3 with 4"] == (1, 0)
    assert at["replace 3 with 4"] == (1, 1)
    assert (below["replace 9 with 10"], at["replace 9 with 10"]) == ((0, 0), (1, 1))
