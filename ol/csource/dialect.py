"""Words of C and of its dialects, by what the reader does with them."""

from ol.csource.macros import TYPE_WORDS

DROPPED = frozenset(
    [
        "__extension__",
        "__restrict",
        "__restrict__",
        "__inline",
        "__inline__",
        "__volatile",
        "__volatile__",
        "__const",
        "__const__",
        "__signed__",
        "_Noreturn",
        "_Thread_local",
        "__thread",
        "thread_local",
        "__forceinline",
        "__cdecl",
        "__real__",
        "__imag__",
        "__stdcall",
    ]
)
DROPPED_WITH_ARGUMENTS = frozenset(
    [
        "__attribute__",
        "__attribute",
        "__declspec",
        "_Alignas",
        "alignas",
        "_Pragma",
        "__asm__",
        "__asm",
        "asm",
        "_Static_assert",
        "static_assert",
    ]
)
SHOWN_AS = {
    "__int128": "int",
    "__int128_t": "int",
    "__uint128_t": "int",
    "__float128": "float",
    "_Float16": "float",
    "_Float32": "float",
    "_Float64": "float",
    "_Float128": "float",
    "__auto_type": "int",
    "constexpr": "static",
    "__alignof__": "sizeof",
    "_Alignof": "sizeof",
    "alignof": "sizeof",
}
TYPEOF = frozenset(("typeof", "__typeof__", "__typeof", "typeof_unqual", "_BitInt"))
OPAQUE_CALLS = frozenset(
    [
        "va_arg",
        "__builtin_va_arg",
        "offsetof",
        "__builtin_offsetof",
        "_Generic",
        "__builtin_types_compatible_p",
        "__builtin_choose_expr",
    ]
)
CHOOSING_CALLS = frozenset(("_Generic", "__builtin_choose_expr"))
LITERAL_CALLS = frozenset(f"{sign}INT{width}_C" for sign in ("", "U") for width in (8, 16, 32, 64, "MAX"))
KEYWORDS = TYPE_WORDS | frozenset(
    [
        "break",
        "case",
        "continue",
        "default",
        "do",
        "else",
        "for",
        "goto",
        "if",
        "return",
        "sizeof",
        "switch",
        "typedef",
        "while",
    ]
)
JUMPS_AND_TESTS = frozenset(("if", "for", "while", "do", "return", "switch", "break", "continue", "goto"))
