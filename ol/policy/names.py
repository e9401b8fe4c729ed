"""The words that a unit's source may use: reserved names, attributes, headers and pragmas. Tables only."""

import re

RESERVED = re.compile(r"_[_A-Z]")
"""How a name begins that C keeps for the compiler and its library."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


KEYWORDS = _words(
    "_Alignas _Alignof _Atomic _Bool _Complex _Generic _Imaginary _Noreturn _Static_assert _Thread_local"
    " _Float16 _Float32 _Float64 _Float128 _Float32x _Float64x _BitInt _Complex_I _Imaginary_I"
    " __func__ __FUNCTION__ __PRETTY_FUNCTION__ __FILE__ __LINE__ __COUNTER__ __VA_ARGS__ __VA_OPT__"
    " __inline __inline__ __restrict __restrict__ __const __const__ __volatile __volatile__ __signed__"
    " __extension__ __typeof __typeof__ __alignof __alignof__ __real __real__ __imag __imag__ __complex__"
    " __thread __auto_type __label__ __int128 __int128_t __uint128_t __float128 __bf16 __fp16"
    " __has_attribute __has_builtin __has_c_attribute __cplusplus __clang__ __FAST_MATH__"
)
FEATURE_TESTS = _words(
    "_GNU_SOURCE _DEFAULT_SOURCE _POSIX_C_SOURCE _XOPEN_SOURCE _ISOC11_SOURCE _POSIX_SOURCE"
)
PREDEFINED = re.compile(
    r"__STDC_\w+__|__STDC__|__STDC_\w+|__GNUC(_MINOR|_PATCHLEVEL)?__|__clang_\w+__|__linux__|__unix__"
    r"|__x86_64(__)?|__amd64(__)?|__i386__|__aarch64__|__arm__|__riscv|__powerpc64__|__ARM_[A-Z0-9_]+"
    r"|__(SSE|SSSE|AVX|AVX512)[0-9A-Z_]*__|__(FMA|FMA4|F16C|BMI2?|POPCNT|LZCNT)__|__FP_FAST_FMA[FL]?"
    r"|__(BYTE|FLOAT_WORD)_ORDER__|__ORDER_(LITTLE|BIG|PDP)_ENDIAN__|__SIZEOF_\w+__|__CHAR_BIT__"
    r"|__(FLT|DBL|LDBL)(16|32|64|128)?_\w+__|__(SCHAR|SHRT|INT|LONG|LONG_LONG|SIZE|PTRDIFF|U?INT\d+)_MAX__"
    r"|__LP64__|_LP64|__U?INT\d+_(MAX|TYPE)__|__GCC_ATOMIC_\w+|__CLANG_ATOMIC_\w+|__ATOMIC_[A-Z_]+"
    r"|_SC_\w+|_POSIX_\w+|_XOPEN_\w+"
)
INTRINSICS = re.compile(
    r"__m(64|128|256|512)(i|d|h|bh)?(_u)?|__mmask\d+|_MM_(SHUFFLE2?|HINT_\w+|TRANSPOSE4_PS|FROUND_\w+|CMPINT_\w+"
    r"|MANT_\w+|PERM_\w+|ENUM_\w+)|_CMP_\w+|_MM_ROUND_NEAREST"
)
BUILTINS = re.compile(
    r"__builtin_(expect(_with_probability)?|prefetch|assume_aligned|assume|unreachable|constant_p|choose_expr"
    r"|types_compatible_p|offsetof|complex|trap|cpu_supports|cpu_is|cpu_init|shuffle|shufflevector"
    r"|convertvector|bit_cast|(popcount|parity|clz|ctz|ffs|clrsb)(l|ll|g)?|bswap(16|32|64)|bitreverse(8|16|32|64)"
    r"|rotate(left|right)(8|16|32|64)|[su]?(add|sub|mul)l?l?_overflow(_p)?|is_aligned|align_up|align_down"
    r"|mem(cpy|move|set|cmp|chr)|strlen|strcmp|strncmp|abs|labs|llabs|object_size"
    r"|(huge_val|inf|nan|nans|fabs|sqrt|exp|exp2|expm1|log|log2|log10|log1p|pow|floor|ceil|trunc|round|rint"
    r"|nearbyint|fma|fmin|fmax|fmod|copysign|ldexp|frexp|scalbn|tanh?|sinh?|cosh?|erf|roundeven|powi"
    r"|lrint|llrint|lround|llround)[fl]?"
    r"|is(nan|inf|inf_sign|finite|normal|greater|greaterequal|less|lessequal|lessgreater|unordered)|signbit[fl]?"
    r"|fpclassify|elementwise_\w+|reduce_\w+|nontemporal_(load|store)|classify_type)"
    r"|__(sync|atomic)_\w+|__c11_atomic_\w+"
)
MODE_INTRINSICS = re.compile(
    r"_mm_setcsr|_mm_getcsr|_MM_(SET|GET)_\w+|_MM_(FLUSH_ZERO|DENORMALS_ZERO|MASK|EXCEPT)_\w+"
    r"|_(write|read)[fg]sbase_u(32|64)|_fx(save|rstor)(64)?|_x(save|rstor)\w*|_(wr|rd)pkru(_u32)?"
    r"|_(xbegin|xend|xabort|xtest|rdpmc)"
)
SANITIZER = re.compile(
    r"__SANITIZE_\w+|__has_feature|__has_extension|_*no_sanitize\w*|_*disable_sanitizer_\w+"
    r"|_*no_address_safety_analysis(__)?|__(asan|lsan|ubsan|tsan|msan|hwasan|sanitizer|odr_asan|start_asan)\w*"
)
COMPILE_TIME = re.compile(r"__(DATE|TIME|TIMESTAMP)__|__(OPTIMIZE|NO_INLINE|PIC|pic|PIE|pie)\w*")
ASSEMBLY = re.compile(r"asm|_*asm_*")

# What stands in an attribute's parentheses: nothing, plain values, or the names of processor features.
PLAIN = _words(
    "unused used always_inline noinline noclone const pure hot cold fallthrough noreturn nothrow leaf"
    " flatten artificial may_alias packed malloc returns_nonnull warn_unused_result nonnull"
    " aligned vector_size"
    " ext_vector_type assume_aligned alloc_size alloc_align format format_arg access mode deprecated"
    " maybe_unused nonstring transparent_union no_icf noescape gnu_printf"
)
TARGETS = _words("target")
FEATURES = re.compile(
    r'"\s*(?:(?:avx|sse|ssse|fma|f16c|bmi|popcnt|lzcnt|mmx|movbe|sse4|avx512|avx10|avxvnni|amx|adx'
    r"|prfchw|gfni|vaes|vpclmulqdq|sha|pclmul|aes)[\w.-]*|arch=[\w.+-]+|tune=[\w.+-]+"
    r'|prefer-vector-width=\d+|\+(?:simd|fp|fp16|sve2?|dotprod|bf16|i8mm)|\s*,\s*)+\s*"'
)

STANDARD_HEADERS = _words(
    "assert complex ctype errno fenv float inttypes iso646 limits locale math stdalign stdarg stdatomic"
    " stdbool stddef stdint stdio stdlib stdnoreturn string tgmath threads time uchar wchar wctype"
)
SYSTEM_HEADERS = _words("pthread.h unistd.h sched.h semaphore.h strings.h endian.h sys/types.h")
INTRINSIC_HEADERS = re.compile(
    r"(?:[a-z]mm|imm|x86|x86gpr|avx\w*|fma|f16c|bmi2?)intrin\.h|arm_(neon|fp16|sve|acle)\.h"
)

PRAGMA = re.compile(
    r"STDC (FENV_ACCESS|CX_LIMITED_RANGE) (ON|OFF|DEFAULT)|STDC FP_CONTRACT (OFF|DEFAULT)"
    r"|GCC (unroll .+|ivdep|novector|push_options|pop_options|diagnostic .+)|clang (diagnostic .+|loop .+)"
    r"|(no)?unroll(_and_jam)?( .*)?|once|pack \(.*|(region|endregion|mark)( .*)?"
)
TARGET_PRAGMA = re.compile(
    rf"(?:GCC target) \(? ?(?P<what>{FEATURES.pattern})(?: ?, ?{FEATURES.pattern})* ?\)?"
)
