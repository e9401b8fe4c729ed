"""The policy on sources refuses each thing that it names, says where, and lets the honest twin pass."""

from pathlib import Path

import attack_units
import pytest

from ol.policy import Refusal, Rule, check_source, placed
from ol.policy.lexer import Kind, lines

HERE = Path(__file__).parent
ROOT = HERE.parent
HEADERS = ("tinyllm.h", "tinyllm/abi.h", "tinyllm/arena.h", "tinyllm/attention.h")
INCLUDE = ROOT / "course" / "contracts" / "c" / "include"
ALL_HEADERS = tuple(p.relative_to(INCLUDE).as_posix() for p in INCLUDE.rglob("*.h"))
CORRECT = [
    *sorted((ROOT / "reference" / "c" / "src").rglob("*.c")),
    *sorted((HERE / "attacks" / "honest").glob("*.c")),
    *sorted((HERE / "fair").rglob("*.c")),
]


@pytest.mark.parametrize("path", CORRECT, ids=lambda p: str(p.relative_to(ROOT)))
def test_correct_units_are_not_refused(path):
    assert check_source(path.read_bytes(), path.name, headers=ALL_HEADERS) == ()


def test_long_and_unusual_texts_are_read():
    for text in (
        b"",
        b"\n",
        b"int x;",
        b'\xef\xbb\xbfint x;\r\n/* caf\xe9 */ char *s = "\xe4";\r\n',
        b"#define X don't /* still one line\nint y;\n",
        b"#\n#if 0\n#if 1\nasm\n#else\nasm\n#endif\nasm\n#else\nint x;\n#endif\n",
        b"/* never closed",
        b'"never closed',
        b"int a = 1; // \\\n asm\n",
        b"x" * 99_999 + b"\n",
    ):
        assert check_source(text, "u.c") == (), text


TWINS = [
    # rule, refused, the honest twin
    (Rule.ASSEMBLY, 'void f(void) { asm("nop"); }', 'const char *f = "asm(nop)"; // asm'),
    (Rule.ASSEMBLY, 'void f(void) { __asm("nop"); }', "/* __asm */ int asmetric;"),
    (Rule.ASSEMBLY, 'void f(void) { __asm__("nop"); }', "int assembly(int x);"),
    (Rule.ASSEMBLY, '__a\\\nsm__("nop");', "int a\\\nsmall;"),
    (Rule.ASSEMBLY, '__a??/\nsm__("nop");', 'char *s = "what??/n";'),
    (Rule.ASSEMBLY, '__a\\ \t\nsm__("nop");', "// a comment \\ \nasm still in it\nint x;"),
    (Rule.ASSEMBLY, "#ifdef NEVER\nasm\n#endif", "#if 0\nasm\n#endif"),
    (Rule.ASSEMBLY, "#if 0\n#elif 1\nasm\n#endif", "#if 0\nasm\n#elif 1\n#endif"),
    (Rule.ASSEMBLY, "#if 00\nasm\n#endif", "#if 0 // off\nasm\n#endif"),
    (Rule.ASSEMBLY, '#define A(x) x ## asm__\nint y;\n#define B __asm__', "#define A(x) x##_f32"),
    (Rule.ASSEMBLY, 'char *s = R"(x)";', '#define R 1\nint s = R;'),
    (Rule.RESERVED, "int __mine;", "int mine_;"),
    (Rule.RESERVED, "int _Mine;", "int _mine;"),
    (Rule.RESERVED, "extern long _DYNAMIC[];", "_Static_assert(1, \"\");"),
    (Rule.RESERVED, "int x = __builtin_alloca(3);", "int x = __builtin_clz(3);"),
    (Rule.RESERVED, "void f(void) { __builtin_exit(0); }", "void f(void) { __builtin_unreachable(); }"),
    (Rule.RESERVED, "void *p = __builtin_return_address(0);", "int p = __builtin_expect(1, 1);"),
    (Rule.RESERVED, "#if __has_include(<x.h>)\n#endif", "#ifdef __AVX2__\n#endif"),
    (Rule.RESERVED, "char *s = __DATE__;", "char *s = __FILE__;"),
    (Rule.RESERVED, "#ifdef __OPTIMIZE__\n#endif", "#ifdef __FMA__\n#endif"),
    (Rule.RESERVED, "int __REDIRECT(a, (int), b);", "__extension__ typedef __int128 wide;"),
    (Rule.RESERVED, "#define __attribute__(x)", "#define UNUSED __attribute__((unused))"),
    (Rule.RESERVED, "#define _Pragma(x)", "#define _GNU_SOURCE"),
    (Rule.RESERVED, "#undef __AVX2__", "#undef AVX2"),
    (Rule.RESERVED, "#define f(__unused__) 1", "#define f(unused) 1"),
    (Rule.RESERVED, "void f(void) { _mm_setcsr(0); }", "__m256 f(void) { return _mm256_setzero_ps(); }"),
    (Rule.RESERVED, "void f(void) { _MM_SET_FLUSH_ZERO_MODE(1); }", "int i = _MM_SHUFFLE(3, 2, 1, 0);"),
    (Rule.SANITIZER, "#ifdef __SANITIZE_THREAD__\n#endif", "#ifdef __GNUC__\n#endif"),
    (Rule.SANITIZER,
     "#if __has_feature(thread_sanitizer)\n#endif", "#if __has_builtin(__builtin_clz)\n#endif"),
    (Rule.SANITIZER, "void __lsan_disable(void);", "void lsan_disable_not(void);"),
    (Rule.SANITIZER, '__attribute__((no_sanitize("address"))) int f(void);', "int sanitize;"),
    (Rule.SANITIZER, "__attribute__((__no_sanitize_address__)) int f(void);", "int no_sanity;"),
    (Rule.SANITIZER, "#define X no_sanitize_thread", "// no_sanitize_thread"),
    (Rule.ATTRIBUTE, "__attribute__((constructor)) void f(void);", "int constructor;"),
    (Rule.ATTRIBUTE, "__attribute__((unused, destructor(101))) void f(void);",
     "__attribute__((unused, aligned(16))) int x;"),
    (Rule.ATTRIBUTE,
     '__attribute((section("x"))) int x;', "__attribute((aligned(4 * sizeof(int)))) int x;"),
    (Rule.ATTRIBUTE, "__attribute__((weak)) int f(void);", "__attribute__((__hot__)) int f(void);"),
    (Rule.ATTRIBUTE, '__attribute__((visibility("hidden"))) int f(void);', "static int f(void);"),
    (Rule.ATTRIBUTE,
     '__attribute__((alias("g"))) int f(void);', "__attribute__((vector_size(32))) float v;"),
    (Rule.ATTRIBUTE, '__attribute__((target("default"))) int f(void);',
     '__attribute__((target("avx2,fma"))) int f(void);'),
    (Rule.ATTRIBUTE, '__attribute__((target_clones("avx2", "default"))) int f(void);',
     '__attribute__((__target__("arch=haswell"))) int f(void);'),
    (Rule.ATTRIBUTE, '__attribute__((optimize("O0"))) int f(void);', "__attribute__((const)) int f(int);"),
    (Rule.ATTRIBUTE, "void f(void) { __attribute__((cleanup(g))) int x; }",
     "void f(int x) { switch (x) { case 1: __attribute__((fallthrough)); case 2:; } }"),
    (Rule.ATTRIBUTE, "#define A(x) __attribute__((x))", "#define A(n) __attribute__((aligned(n)))"),
    (Rule.ATTRIBUTE, "#define A(unused) __attribute__((unused))", "#define A __attribute__((unused))"),
    (Rule.ATTRIBUTE, "#define hot constructor\n__attribute__((hot)) void f(void);",
     "#define hot __attribute__((hot))"),
    (Rule.ATTRIBUTE, "#define A __attribute__", "#define A __attribute__((pure, nonnull(1, 2)))"),
    (Rule.ATTRIBUTE, "#define A(...) __attribute__((aligned __VA_ARGS__))",
     "#define A(f, a) __attribute__((format(__printf__, f, a)))"),
    (Rule.ATTRIBUTE, "#define A(a, b) __attribute__((a##b))", "#define A(a, b) a##b"),
    (Rule.ATTRIBUTE, "__attribute__((aligned(16)", "__attribute__((aligned(16))) int x;"),
    (Rule.ATTRIBUTE, "[[noreturn]] void f(void);", "_Noreturn void f(void);"),
    (Rule.ATTRIBUTE, "<:<:noreturn:>:> void f(void);", "int a<:3:>;"),
    (Rule.ATTRIBUTE, "??(??(noreturn]] void f(void);", "int a??(3??);"),
    (Rule.ATTRIBUTE, "[B(gnu::constructor)] void f(void);", "int x = a[b[0]] ? 1 : 2;"),
    (Rule.MACRO, "#define X 16), no_such(1", "#define X (16)"),
    (Rule.MACRO, "#define OPEN [", "#define AT(i) [(i) + 1]"),
    (Rule.MACRO, "#define C(a, b) a##b\nint C(_, x);", "#define C(a, b) a##b\nint C(my, x);"),
    (Rule.MACRO, "#define C(_) _%:%:x", "#define P(x) printed(#x, x)"),
    (Rule.INCLUDE, "#include <signal.h>", "#include <stdint.h>"),
    (Rule.INCLUDE, "#include <setjmp.h>", "#include <stdio.h>"),
    (Rule.INCLUDE, "#include <dlfcn.h>", "#include <pthread.h>"),
    (Rule.INCLUDE, "#include <sys/mman.h>", "#include <immintrin.h>"),
    (Rule.INCLUDE, '#include "/etc/passwd"', '#include "tinyllm/abi.h"'),
    (Rule.INCLUDE, '#include "tinyllm/../../../../reference/c/src/kernels/paged_attn.c"',
     "#include <tinyllm/abi.h>"),
    (Rule.INCLUDE, "#include H", "#define H 1\n#include <math.h>"),
    (Rule.INCLUDE, "#include __FILE__", '#include "tinyllm.h"'),
    (Rule.INCLUDE, "%: include <spawn.h>", "%: include <iso646.h>"),
    (Rule.INCLUDE, "??=include <spawn.h>", "/* x */ # /* y */ include /* z */ <math.h> // w"),
    (Rule.INCLUDE, "#inc\\\nlude <spawn.h>", "#inc\\\nlude <math.h>"),
    (Rule.INCLUDE, "#if 0\n#include <a/*b>\n#endif", "#if 0\n#include <spawn.h>\n#endif"),
    (Rule.DIRECTIVE, '# 1 "x.h" 3', "#"),
    (Rule.DIRECTIVE, "#line 7", "int x = __LINE__;"),
    (Rule.DIRECTIVE, "#include_next <math.h>", "#include <math.h>"),
    (Rule.DIRECTIVE, "#import <math.h>", "#warning don't __mind asm"),
    (Rule.DIRECTIVE, '#ident "x"', "#error it's __wrong"),
    (Rule.DIRECTIVE, "#embed </dev/zero>", "#else __x\n#endif __x"),
    (Rule.DIRECTIVE, "#assert machine(x)", "#ifndef X\n#endif"),
    (Rule.PRAGMA, '#pragma GCC optimize("O0")', "#pragma GCC unroll 8"),
    (Rule.PRAGMA, "#pragma redefine_extname a system", "#pragma STDC FP_CONTRACT OFF"),
    (Rule.PRAGMA, "#pragma STDC FP_CONTRACT ON", "#pragma STDC FENV_ACCESS ON"),
    (Rule.PRAGMA, "#pragma weak f", "#pragma GCC ivdep"),
    (Rule.PRAGMA, '#pragma comment(lib, "dl")', "#pragma once"),
    (Rule.PRAGMA, "#pragma omp parallel for", "#pragma clang loop unroll_count(4)"),
    (Rule.PRAGMA, "#pragma clang fp contract(fast)", '#pragma GCC target("avx2", "fma")'),
    (Rule.PRAGMA, '_Pragma("weak f") int x;', '_Pragma("GCC unroll 4") int x;'),
    (Rule.PRAGMA, '_Pragma(L"GCC \\"x\\"") int x;', '_Pragma("GCC diagnostic ignored \\"-Wall\\"") int x;'),
    (Rule.PRAGMA, "#define P(x) _Pragma(#x)", '#define P _Pragma("GCC ivdep")'),
    (Rule.PRAGMA, "#define GCC clang\n#pragma GCC diagnostic push", "#pragma pack(push, 1)"),
    (Rule.BYTES, "int tl_\u0435xpf;", "int gr\u00f6\u00dfe, \u03b1\u03b2, \u0394t;"),
    (Rule.BYTES, "int \uff41\uff53\uff4d;", 'char *s = "\uff41\uff53\uff4d";'),
    (Rule.BYTES, "int \\u0435x;", "int \\u00e9t\\u00e9;"),
    (Rule.BYTES, "/* \u202e */", "/* \u200f\u05d0 */"),
    (Rule.BYTES, "int x; // a \r int y;", "int x;\r\n"),
    (Rule.BYTES, "int x;\0", 'char x = \'\\0\';'),
    (Rule.SIZE, "/*" + "x" * 100_000 + "*/", "/*" + "x\n" * 60_000 + "*/"),
    (Rule.SIZE, "x\n" * 140_000, "x\n" * 2_000),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "bad", "good"), TWINS, ids=[f"{r.name}-{b[:40]!r}" for r, b, _ in TWINS])
def test_each_rule_refuses_and_lets_the_twin_pass(rule, bad, good):
    assert rule in {r.rule for r in check_source(bad.encode(), "u.c", headers=HEADERS)}
    assert check_source(good.encode(), "u.c", headers=HEADERS) == ()


def test_utf16_is_said_clearly():
    for codec in ("utf-16", "utf-16-be", "utf-16-le"):
        (refusal,) = check_source("int x;\n".encode(codec), "u.c")
        assert refusal.rule is Rule.BYTES
        assert "UTF-8" in refusal.instead


def test_a_refusal_says_where_what_and_what_to_write():
    text = '/* größe \\\n */\n\n  int größe; __asm__("nop");\n'.encode()
    (refusal,) = check_source(text, "c/src/kernels/softmax.c")
    assert refusal == Refusal(
        rule=Rule.ASSEMBLY,
        found="__asm__",
        instead="write it in C: the intrinsics of <immintrin.h> give the same instructions",
        line=4,
        column=14,
        file="c/src/kernels/softmax.c",
    )


def test_one_finding_is_told_once_and_the_list_stays_short():
    assert len(check_source(b"int __x, __x;\n" * 50, "u.c")) == 1
    many = b"".join(b"int __x%d;\n" % k for k in range(500))
    assert len(check_source(many, "u.c")) == 20


def test_every_refusal_of_an_attack_has_a_place_and_advice():
    for name in attack_units.NAMES:
        for refusal in check_source(attack_units.source(name), f"{name}.c", headers=ALL_HEADERS):
            assert refusal.line >= 1, name
            assert refusal.column >= 1, name
            assert refusal.found, name
            assert len(refusal.instead) > 10, name


def test_a_finding_in_an_object_gets_the_line_of_its_call():
    text = (
        b'/* printf( */ char *s = "printf(";\n#if 0\nprintf(1);\n#endif\n\nint f(void) {\n  printf(s);\n}\n'
    )
    found = Refusal(rule=Rule.CALL, found="the unit uses printf", instead="…", symbol="printf")
    (at,) = placed((found,), {"u.c": text})
    assert (at.file, at.line, at.column) == ("u.c", 7, 3)
    assert placed((found,), {"u.c": b"int x;"}) == (found,)


def test_tokens_are_those_of_the_compilers():
    text = b'%:define X(a) a??!??!L"\\"??/"" \'\\\'\' 1.e+3f\\\n4 u8"x" // \\\n y\na<:1:>...'
    got = [[(t.kind, t.text) for t in line] for line in lines(text)]
    assert got == [
        [
            (Kind.PUNCT, "#"),
            (Kind.NAME, "define"),
            (Kind.NAME, "X"),
            (Kind.PUNCT, "("),
            (Kind.NAME, "a"),
            (Kind.PUNCT, ")"),
            (Kind.NAME, "a"),
            (Kind.PUNCT, "|"),
            (Kind.PUNCT, "|"),
            (Kind.STRING, 'L"\\"\\""'),
            (Kind.CHAR, "'\\''"),
            (Kind.NUMBER, "1.e+3f4"),
            (Kind.STRING, 'u8"x"'),
        ],
        [
            (Kind.NAME, "a"),
            (Kind.PUNCT, "["),
            (Kind.NUMBER, "1"),
            (Kind.PUNCT, "]"),
            (Kind.PUNCT, "..."),
        ],
    ]
