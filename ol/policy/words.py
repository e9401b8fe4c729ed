"""What a student who meant no harm reads under a refusal of the source: what to write instead."""

from collections.abc import Collection

ASSEMBLY = "write it in C: the intrinsics of <immintrin.h> give the same instructions"
RAW_STRING = "write an ordinary string: C has no raw strings"
SANITIZER = (
    "take it out: a unit is the same program with and without sanitizers;"
    " if a sanitizer reports something, correct what it reports"
)
OWN_MACRO = "choose a name that does not begin with an underscore"
MODE = "leave the floating-point modes as they are: the contract's bits assume the default ones"
LOOKALIKE = "type the name again with plain letters"
UNBALANCED = "give each macro whole pairs of brackets; a static inline function often reads better"
PASTE = "give the name _ another spelling, or write the pasted names out"
BRACKETS = "leave the attribute out, or write __attribute__((unused)) and its like: C11 has no [[ ]]"
COMPUTED_PRAGMA = 'write the text itself: _Pragma("GCC unroll 4"), or #pragma GCC unroll 4'
ATTRIBUTE_SHAPE = "write the attribute out in one piece: __attribute__((aligned(64)))"
ATTRIBUTE_MACRO = "write the attribute itself, and give the macro another name, such as UNUSED"
TARGET = (
    'name processor features in one string: __attribute__((target("avx2,fma"))),'
    ' and choose with __builtin_cpu_supports("avx2")'
)

_DIRECTIVES = {
    "line": "delete it: lines keep their own numbers",
    "include_next": "write #include",
    "import": "write #include",
    "embed": "spell small tables out, and compute large ones",
    "ident": "put it in a comment",
    "sccs": "put it in a comment",
    "assert": "use _Static_assert, or assert() from <assert.h>",
}


def directive(word: str) -> str:
    return _DIRECTIVES.get(word, "delete it: a unit needs #include, #define, #if and #pragma only")


_ATTRIBUTES = {
    "constructor": "do the work in the function that needs it: no code of a unit runs before it is called",
    "destructor": "do the work in the function that needs it: no code of a unit runs after the tests",
    "cleanup": "release the object before each return",
    "section": "leave the place to the compiler; static const is enough for a table",
    "alias": "write a static function, and let both functions call it",
    "weak": "write static for a helper; the contract's functions are plain definitions",
    "weakref": "write static for a helper; the contract's functions are plain definitions",
    "visibility": "write static for whatever the contract does not list",
    "ifunc": 'choose inside the function: if (__builtin_cpu_supports("avx2")) …',
    "target_clones": 'choose inside the function: if (__builtin_cpu_supports("avx2")) …',
    "simd": "write the loop, or intrinsics: the compiler vectorises it inside the unit",
    "optimize": "leave it out: the course's flags fix how floats are computed",
    "optnone": "leave it out: the course's flags fix how a unit is compiled",
    "naked": "write the function in C",
    "symver": "leave it out: the contract names the functions",
    "deprecated": "leave it out",
}


def attribute(name: str) -> str:
    return _ATTRIBUTES.get(
        name,
        "leave it out; unused, aligned(64), always_inline, noinline, const, pure, vector_size(32) and"
        ' target("avx2") are among those that may stay',
    )


def computed_include(headers: Collection[str]) -> str:
    return f'write the header\'s name itself: #include "{min(headers, default="math.h")}"'


def include(header: str, headers: Collection[str]) -> str:
    if header in ("signal.h", "setjmp.h"):
        return "leave it out: a unit reports faults by returning a status"
    if header in ("cpuid.h", "sys/auxv.h"):
        return 'ask with __builtin_cpu_supports("avx2")'
    if header in ("sys/sysinfo.h", "sys/sysctl.h"):
        return "ask with sysconf(_SC_NPROCESSORS_ONLN) from <unistd.h>"
    if header in ("malloc.h", "alloca.h", "sys/mman.h"):
        return "take memory as c/ABI.md says, through the contract's headers"
    if header.endswith(".c"):
        return "copy what you need as static functions: a unit is compiled by itself"
    such = f" (such as {min(headers)})" if headers else ""
    return f"include the contract's headers{such}, those of C11 and the intrinsics; others are not needed"


def pragma(said: str) -> str:
    if said.startswith("omp"):
        return "share the work out with tl_parallel_for"
    if "FP_CONTRACT" in said or "optimize" in said or "fp " in said:
        return "leave it out: the course's flags fix how floats are computed"
    if "target" in said:
        return TARGET
    return "leave it out; STDC …, GCC unroll N, GCC ivdep, GCC diagnostic … and pack may stay"


def reserved(name: str) -> str:
    if name.startswith("__has_include"):
        return "include the header: the contract and C11 say which ones there are"
    if name in ("__DATE__", "__TIME__", "__TIMESTAMP__"):
        return "leave it out: the same source must always give the same program"
    if name.startswith("__OPTIMIZE") or name == "__NO_INLINE__":
        return "leave it out: a unit is the same program at every level of optimisation"
    if name.startswith(("__builtin_alloca", "__builtin_alloca_with_align")):
        return "use an array of fixed size: the stack's use does not depend on run-time sizes"
    if name.startswith("__builtin_"):
        return "call the C function of that name; expect, prefetch, clz, popcount and their like may stay"
    return "choose a name that begins with a letter: C keeps __x and _X for the compiler and its library"
