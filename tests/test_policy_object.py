"""The policy on objects: what honest units compile to passes, and each rule refuses what it names."""

from pathlib import Path

import attack_units
import pytest
from compiling import BUILDS, COMPILERS, OBJECT, ROOT, SHARED, DoesNotCompile, made

from ol.manifest import Language, Module, parse_module
from ol.policy import Rule, check_source
from ol.policy.object import check_object

MODULES = {
    p.stem: parse_module(p.read_text(), p.name) for p in (ROOT / "course" / "modules").glob("*.toml")
}
C_MODULES = sorted(m.id for m in MODULES.values() if m.language is Language.C)
KERNEL = MODULES["L9.4"]
INCLUDE = ROOT / "course" / "contracts" / "c" / "include"
HEADERS = tuple(p.relative_to(INCLUDE).as_posix() for p in INCLUDE.rglob("*.h"))
HONEST = sorted((Path(__file__).parent / "attacks" / "honest").glob("*.c"))
FAIR = sorted((Path(__file__).parent / "fair").rglob("*.c"))


def linked(module: Module) -> frozenset[str]:
    return frozenset(name for m in module.links for name in MODULES[m].defines)


def toy(**changes) -> Module:
    """A module whose unit defines `tl_f` and may call `tl_help`."""
    given = {
        "id": "T.1",
        "title": "toy",
        "language": Language.C,
        "units": ("c/src/toy.c",),
        "may_call": ("tl_help",),
    }
    return Module(**({**given, "contract": ("tinyllm/toy.h",), "defines": ("tl_f",)} | changes))


def refusals(folder, compiler, text, build="plain", module=None, kind=SHARED):
    data = made(folder, compiler, (*BUILDS[build], *kind), text.encode())
    return check_object(data, module or toy(), frozenset({"tl_help", "tl_other"}))


@pytest.mark.parametrize("build", BUILDS)
@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("module_id", C_MODULES)
def test_the_references_pass(tmp_path, module_id, compiler, build):
    module = MODULES[module_id]
    sources = [(ROOT / "reference" / unit).read_bytes() for unit in module.units]
    data = made(tmp_path, compiler, (*BUILDS[build], *SHARED), *sources)
    assert check_object(data, module, linked(module)) == ()
    for source in sources:
        data = made(tmp_path, compiler, (*BUILDS[build], *OBJECT), source)
        assert check_object(data, module, linked(module)) == ()


@pytest.mark.parametrize("build", BUILDS)
@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("path", HONEST, ids=lambda p: p.stem)
def test_honest_styles_pass(tmp_path, path, compiler, build):
    for kind in (SHARED, OBJECT):
        data = made(tmp_path, compiler, (*BUILDS[build], *kind), path.read_bytes())
        assert check_object(data, KERNEL, linked(KERNEL)) == ()


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("path", FAIR, ids=lambda p: f"{p.parent.name}-{p.stem}")
def test_fair_solutions_pass(tmp_path, path, compiler):
    (module,) = [m for m in MODULES.values() if m.id in path.parts]
    kind = SHARED if len(module.units) == 1 else OBJECT
    for build in ("asan", "plain"):
        data = made(tmp_path, compiler, (*BUILDS[build], *kind), path.read_bytes())
        assert check_object(data, module, linked(module)) == ()


F = "int tl_help(int); int tl_f(int x) { return tl_help(x); }\n"
TWINS = [
    # name, rule, refused, the honest twin
    ("missing", Rule.MISSING, "static int tl_f(int x) { return x; } int tl_g;", F),
    ("extra function", Rule.EXTRA, F + "int helper(int x) { return x; }", F + "static int helper(int x);"),
    ("extra table", Rule.EXTRA,
     F + "const int table[3] = {1, 2, 3};", F + "static const int table[3] = {1};"),
    ("tentative", Rule.EXTRA, F + "int counter;", F + "static int counter;"),
    ("not a function", Rule.EXTRA, "int tl_f = 1;", F),
    ("weak", Rule.EXTRA, "__attribute__((weak)) int tl_f(int x) { return x; }", F),
    ("alias", Rule.EXTRA, F + 'int tl_g(int) __attribute__((alias("tl_f")));', F),
    ("libc's name", Rule.EXTRA,
     F + "int memcmp(const void *a, const void *b, unsigned long n) { return 0; }", F),
    ("sanitizer's hook", Rule.EXTRA, F + "void __asan_on_error(void) {}", F),
    ("linker's name", Rule.EXTRA, F + "int _edata = 3;", F),
    ("unlisted course function", Rule.CALL,
     "int tl_other(int); int tl_f(int x) { return tl_other(x); }", F),
    ("unlisted libc function", Rule.CALL, "#include <stdlib.h>\nint tl_f(int x) { return system(\"\"); }",
     "#include <stdlib.h>\nint tl_f(int x) { return abs(x); }"),
    ("output", Rule.CALL, '#include <stdio.h>\nint tl_f(int x) { return printf("%d", x); }',
     '#include <stdio.h>\nint tl_f(int x) { char s[9]; return snprintf(s, 9, "%d", x) + s[0]; }'),
    ("weak reference", Rule.CALL,
     "int ol_x(void) __attribute__((weak)); int tl_f(int x) { return ol_x ? 1 : 0; }", F),
    ("modes", Rule.CALL, "#include <fenv.h>\nint tl_f(int x) { return fesetround(x); }",
     "#include <fenv.h>\nint tl_f(int x) { return fegetround() + x; }"),
    ("asan's user calls", Rule.CALL,
     "void __asan_unpoison_memory_region(void *, long);"
     " int tl_f(int x) { __asan_unpoison_memory_region(0, x); return 0; }",
     F),
    ("tsan's annotations", Rule.CALL,
     "void AnnotateIgnoreWritesBegin(char *, int);"
     " int tl_f(int x) { AnnotateIgnoreWritesBegin(0, x); return 0; }",
     F),
    ("plain inline", Rule.CALL, 
     "inline __attribute__((noinline)) int help(int x) { return x; } int tl_f(int x) { return help(x); }",
     "static inline int help(int x) { return x; } int tl_f(int x) { return help(x); }"),
    ("strong runtime names", Rule.CALL,
     "void __cxa_finalize(void *); int tl_f(int x) { __cxa_finalize(0); return x; }", F),
    ("constructor", Rule.LOAD_TIME, F + "__attribute__((constructor)) static void early(void) { tl_f(1); }",
     F + "static void early(void) {}"),
    ("destructor", Rule.LOAD_TIME,
     F + "__attribute__((destructor)) static void late(void) { tl_f(1); }", F),
    ("init section", Rule.LOAD_TIME,
     F + '__attribute__((used, section(".init_array"))) static int (*const hook)(int) = tl_f;', F),
    ("fini section", Rule.LOAD_TIME,
     F + '__attribute__((used, section(".fini_array"))) static int (*const hook)(int) = tl_f;', F),
    ("sanitizer's name", Rule.LOAD_TIME,
     F + '__attribute__((constructor)) static void _sub_I_00099_0(void) { tl_f(1); }', F),
    ("code in .init", Rule.LOAD_TIME,
     F + '__attribute__((used, section(".init"))) static int more(int x) { '
     + "".join(f"x = tl_help(x + {k});" for k in range(20)) + "return x; }", F),
    ("ifunc", Rule.LOAD_TIME, 'static int r(int x) { return x; } static void *p(void) { return (void *)r; }'
     ' int tl_f(int) __attribute__((ifunc("p")));', F),
    ("local ifunc", Rule.LOAD_TIME,
     'static int r(int x) { return x; } static void *p(void) { return (void *)r; }'
     ' static int g(int) __attribute__((ifunc("p"))); int tl_f(int x) { return g(x); }', F),
    ("code elsewhere", Rule.LAYOUT,
     F + '__attribute__((used, section("mine"))) static int g(int x) { return x; }',
     F + '__attribute__((used, section(".text.mine"))) static int g(int x) { return x; }'),
    ("data elsewhere", Rule.LAYOUT, F + '__attribute__((used, section("mine"))) static int g = 3;', F),
    ("executable stack", Rule.LAYOUT,
     F + '__asm__(".section .note.GNU-stack,\\"x\\",@progbits\\n.text");', F),
    ("writable code", Rule.LAYOUT,
     F + '__asm__(".section mine,\\"awx\\",@progbits\\n nop\\n.text");', F),
    ("versioned", Rule.LAYOUT,
     F + '__asm__(".symver tl_f, tl_f@@V1");', F),
    ("unique", Rule.LAYOUT,
     F + '__asm__(".globl u\\n.type u, @gnu_unique_object\\n.data\\nu: .long 1\\n.text");', F),
]  # fmt: skip
ONLY = {"versioned": OBJECT, "code in .init": SHARED, "linker's name": OBJECT}


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("twin", TWINS, ids=lambda t: t[0])
def test_each_rule_refuses_and_lets_the_twin_pass(tmp_path, twin, compiler):
    name, rule, bad, good = twin
    for kind in (SHARED, OBJECT):
        if ONLY.get(name, kind) == kind:
            assert rule in {r.rule for r in refusals(tmp_path, compiler, bad, kind=kind)}, kind
        assert refusals(tmp_path, compiler, good, kind=kind) == ()


@pytest.mark.parametrize("build", ("asan", "tsan"))
@pytest.mark.parametrize("compiler", COMPILERS)
def test_sanitizers_own_load_time_code_passes_and_one_more_does_not(tmp_path, compiler, build):
    honest = F + "static int table[64]; int tl_g(int i) { return table[i]; }"
    module = toy(defines=("tl_f", "tl_g"))
    early = "__attribute__((constructor)) static void early(void) { tl_f(1); }"
    for kind in (SHARED, OBJECT):
        assert refusals(tmp_path, compiler, honest, build, module, kind) == ()
        found = refusals(tmp_path, compiler, honest + early, build, module, kind)
        assert [(r.rule, r.symbol) for r in found] == [(Rule.LOAD_TIME, "early")]


@pytest.mark.parametrize("compiler", COMPILERS)
def test_choosing_by_processor_feature_passes(tmp_path, compiler):
    body = 'return __builtin_cpu_supports("avx2") + (int)(x * x / 3);'
    text = f"#include <complex.h>\nint tl_f(double complex x) {{ {body} }}"
    for build in BUILDS:
        for kind in (SHARED, OBJECT):
            assert refusals(tmp_path, compiler, text, build, kind=kind) == ()


def test_an_explicit_list_of_course_functions_is_the_whole_list(tmp_path):
    text = "int tl_other(int); int tl_f(int x) { return tl_other(x); }"
    assert refusals(tmp_path, COMPILERS[0], text, module=toy(may_call=("malloc",))) == ()
    (refusal,) = refusals(tmp_path, COMPILERS[0], text)
    assert refusal.symbol == "tl_other"
    assert "tl_help" in refusal.instead


@pytest.mark.parametrize(
    ("call", "advice"),
    [
        ("malloc(9)", "allocates nothing"),
        ("tl_alloc(9)", "allocates nothing"),
        ("printf(9)", "ol debug"),
        ("pthread_create(9)", "tl_parallel_for"),
        ("pthread_exit(9)", "tl_parallel_for"),
        ("exit(9)", "return a status"),
        ("tl_flash_attn_fwd_f32(9)", "tl_kv_block_ptr"),
        ("dequantise(9)", "static"),
        ("fopen(9)", "arguments"),
        ("__errno_location(9)", "status"),
    ],
)
def test_the_advice_fits_the_module(tmp_path, call, advice):
    name = call.partition("(")[0]
    text = f"int {name}(long); int tl_paged_attn_decode_f32(void) {{ return {call}; }}"
    data = made(tmp_path, COMPILERS[0], (*BUILDS["plain"], "-fno-builtin", *SHARED), text.encode())
    (refusal,) = check_object(data, KERNEL, linked(KERNEL))
    assert refusal.symbol == name
    assert advice in refusal.instead


def test_what_is_no_object_is_refused_and_never_a_traceback(tmp_path):
    whole = made(tmp_path, COMPILERS[0], (*BUILDS["plain"], *SHARED), F.encode())
    assert check_object(whole, toy(), {"tl_help"}) == ()
    for data in (b"", b"\x7fELF", b"#!/bin/sh\n", whole[:100], whole[: len(whole) // 2]):
        assert [r.rule for r in check_object(data, toy(), {"tl_help"})] == [Rule.LAYOUT]
    for at in range(16, len(whole), 97):
        spoilt = whole[:at] + bytes((whole[at] ^ 0xFF,)) + whole[at + 1 :]
        assert isinstance(check_object(spoilt, toy(), {"tl_help"}), tuple)


# One row per attack: the source policy stops it (S) or not; then what the object policy says of the ASan
# build of gcc and of clang: O stops it, - does not, ! it need not compile, x it is not compiled (a bomb).
TABLE = """
abort_handler               S O O
address_arithmetic          - - -
alias                       S O O
alloca_by_builtin           S - -
allocate_by_tl_alloc        - O O
asan_on_error               S O O
asan_options                S O O
asan_unpoison               S O O
asm_after_lone_cr           S - -
asm_at_top                  S - -
asm_behind_if_zero          S ! -
asm_in_dead_branch          S - -
asm_in_raw_string           S ! !
asm_in_section_name         S - -
asm_label                   S O O
asm_label_by_libc           S O O
asm_pasted                  S - -
asm_spliced                 S - -
asm_syscall                 S - -
atexit_hides_leak           - O O
call_flash_attention        - O O
code_in_const               S - O
code_in_immediate           - - -
compiled_when               S - -
const_cast                  - - -
constructor                 S O O
constructor_by_macro        S O O
control_honest              - - -
control_oob                 - - -
control_wrong               - - -
ctors_section               S O !
daemon_holds_pipe           - O O
death_callback              S O O
define_abort                - O O
define_expf                 - O O
define_kit                  - O O
define_main                 - O O
define_malloc               - O O
define_memcmp               - O O
destructor                  S O O
dynamic_section             S - -
errno                       - O O
executable_stack            - O !
exit_zero                   - O O
fd_scan                     - O O
fini_array_section          S O O
flush_by_builtin            S - -
flush_to_zero               S - -
forge_stdout                - O O
fork_chain                  - O O
giant_stdout                - O O
grope_heap                  - - -
has_include                 S ! !
huge_malloc                 - O O
huge_static                 - x x
ifunc                       S O O
immediate_exit              - O O
include_devzero             S x x
include_itself              S ! !
include_next                S - -
include_passwd              S ! !
include_reference           S - -
infinite_loop               - - -
init_array_section          S O O
jit                         - O O
key_destructor              - O O
kill_group                  - O O
kill_parent                 - O O
ld_preload                  - O O
line_marker                 S - -
link_map                    - O O
locale                      - O O
longjmp_hides_fault         S O O
lookalike                   S - -
loopback                    - O O
lsan_disable                S O O
macro_bomb                  - x x
no_sanitize                 S - -
no_sanitize_by_digraph      S ! !
no_sanitize_by_injection    S - -
no_sanitize_by_operator     S - -
no_sanitize_by_pasting      S ! !
no_sanitize_by_pragma       S - -
optimize_level              S - -
optimize_pragma             S - -
overwrite_return            - - -
poke_pool                   - - -
pragma_tricks               S O O
proc_self_mem               S O O
ptrace_parent               - O O
quick_exit                  S O O
raise_stop                  - O O
raw_syscall                 - O O
read_environment            - O O
read_reference              - O O
remember_calls              - - -
reversed_text               S - -
rounding_mode               - O O
sanitize_feature            S - -
sanitize_ifdef              S - -
sanitizer_like_constructor  S ! O
signal_without_header       - O O
sleep                       - O O
stack_overflow              - - -
switch_bomb                 - x x
system_by_dlsym             - O O
target_clones               S O O
thread_exit                 - O O
thread_left                 - O O
utf16                       S x x
weak_define                 S O O
write_files                 - O O
"""
ROWS = [row.split() for row in TABLE.strip().splitlines()]
# What neither policy sees is stopped by what comes after: limits, sandbox or judge.
LEFT = {
    "address_arithmetic": "sandbox",
    "code_in_immediate": "sandbox",
    "const_cast": "judge",
    "grope_heap": "sanitizer",
    "huge_static": "limits on the compiler",
    "infinite_loop": "limits",
    "macro_bomb": "limits on the compiler",
    "overwrite_return": "judge",
    "poke_pool": "judge",
    "remember_calls": "judge",
    "stack_overflow": "sanitizer",
    "switch_bomb": "limits on the compiler",
}


def test_the_table_has_every_attack_and_names_who_stops_the_rest():
    assert [row[0] for row in ROWS] == sorted(attack_units.NAMES)
    missed = {row[0] for row in ROWS if "S" not in row and "O" not in row}
    assert missed == set(LEFT) | {"control_honest", "control_oob", "control_wrong"}
    for name in attack_units.NAMES:
        first = (attack_units.FOLDER / f"{name}.c").read_bytes().replace(b"\0", b"")
        assert b"/* attack: " in first[:40], name


@pytest.mark.parametrize("row", ROWS, ids=lambda r: r[0])
def test_each_attack_is_stopped_where_the_table_says(tmp_path, row):
    name, in_source, *in_object = row
    text = attack_units.source(name)
    assert ("S" if check_source(text, f"{name}.c", headers=HEADERS) else "-") == in_source
    for compiler, expected in zip(("gcc", "clang"), in_object, strict=True):
        if expected == "x" or compiler not in COMPILERS:
            continue
        try:
            data = made(tmp_path, compiler, (*BUILDS["asan"], *SHARED), text)
        except DoesNotCompile:
            assert expected == "!", compiler
            continue
        found = check_object(data, KERNEL, linked(KERNEL))
        assert expected == ("O" if found else "-") or (expected == "!" and in_source == "S"), compiler
