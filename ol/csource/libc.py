"""What libc declares that matters to mutation: names of types, and the types of some functions."""

ARITHMETIC = {
    "size_t": "unsigned long",
    "ssize_t": "long",
    "ptrdiff_t": "long",
    "intptr_t": "long",
    "uintptr_t": "unsigned long",
    "intmax_t": "long",
    "uintmax_t": "unsigned long",
    "wchar_t": "int",
    "wint_t": "unsigned int",
    "char16_t": "unsigned short",
    "char32_t": "unsigned int",
    "time_t": "long",
    "clock_t": "long",
    "off_t": "long",
    "pid_t": "int",
    "mode_t": "unsigned int",
    "sig_atomic_t": "int",
    "bool": "_Bool",
    "float_t": "float",
    "double_t": "double",
} | {
    f"{sign}int{kind}{width}_t": ("unsigned " if sign else "") + base
    for sign in ("", "u")
    for kind in ("", "_least", "_fast")
    for width, base in ((8, "char"), (16, "short"), (32, "int"), (64, "long"))
}
ARITHMETIC |= {"int8_t": "signed char"}

TYPEDEFS = frozenset(ARITHMETIC) | frozenset(
    [
        "FILE",
        "va_list",
        "__builtin_va_list",
        "fpos_t",
        "div_t",
        "ldiv_t",
        "lldiv_t",
        "jmp_buf",
        "sigjmp_buf",
        "mbstate_t",
        "max_align_t",
        "lconv",
        "tm",
        "pthread_t",
        "pthread_mutex_t",
        "pthread_cond_t",
        "pthread_attr_t",
        "pthread_key_t",
        "pthread_once_t",
        "pthread_rwlock_t",
        "pthread_barrier_t",
        "pthread_mutexattr_t",
        "pthread_condattr_t",
        "sem_t",
        "once_flag",
        "thrd_t",
        "mtx_t",
        "cnd_t",
        "regex_t",
        "regmatch_t",
        "DIR",
        "socklen_t",
        "clockid_t",
        "sigset_t",
        "atomic_bool",
        "atomic_char",
        "atomic_int",
        "atomic_uint",
        "atomic_long",
        "atomic_ulong",
        "atomic_llong",
        "atomic_ullong",
        "atomic_size_t",
        "atomic_flag",
        "atomic_intptr_t",
        "atomic_uintptr_t",
        "atomic_int_fast32_t",
        "atomic_uint_fast32_t",
        "memory_order",
        "__m128",
        "__m128i",
        "__m128d",
        "__m256",
        "__m256i",
        "__m256d",
        "__m512",
    ]
)

RESULTS = {
    name: kind
    for kind, names in {
        "double": "sqrt exp log log2 log10 pow fabs floor ceil round trunc sin cos tan fmod fmax fmin"
        " hypot",
        "int": "memcmp strcmp strncmp abs printf snprintf isdigit isalpha isspace isalnum toupper tolower"
        " atoi putchar isnan isinf isfinite signbit",
        "unsigned long": "strlen strnlen strspn strcspn fread fwrite",
        "void": "free exit abort qsort assert",
        "void *": "malloc calloc realloc memcpy memmove memset memchr bsearch",
        "char *": "strchr strrchr strstr strcpy strncpy strcat strdup getenv",
        "long": "strtol labs ftell sysconf",
    }.items()
    for name in names.split()
}
RESULTS |= {f"{name}f": "float" for name, kind in list(RESULTS.items()) if kind == "double"}

VALUES = {
    "INFINITY": "float",
    "NAN": "float",
    "HUGE_VALF": "float",
    "FLT_MAX": "float",
    "FLT_MIN": "float",
    "FLT_EPSILON": "float",
    "HUGE_VAL": "double",
    "DBL_MAX": "double",
    "DBL_MIN": "double",
    "DBL_EPSILON": "double",
    "M_PI": "double",
    "INT_MAX": "int",
    "INT_MIN": "int",
    "UINT_MAX": "unsigned int",
    "CHAR_BIT": "int",
    "LONG_MAX": "long",
    "LONG_MIN": "long",
    "ULONG_MAX": "unsigned long",
    "SIZE_MAX": "unsigned long",
    "INT8_MAX": "int",
    "INT16_MAX": "int",
    "INT32_MAX": "int",
    "INT64_MAX": "long",
    "INT8_MIN": "int",
    "INT16_MIN": "int",
    "INT32_MIN": "int",
    "INT64_MIN": "long",
    "UINT8_MAX": "int",
    "UINT16_MAX": "int",
    "UINT32_MAX": "unsigned int",
    "UINT64_MAX": "unsigned long",
    "EOF": "int",
    "true": "int",
    "false": "int",
    "errno": "int",
    "NULL": "void *",
}
OTHER_BOUND = {
    "true": "false",
    "false": "true",
    "INFINITY": "-INFINITY",
    "FLT_MAX": "FLT_MIN",
    "DBL_MAX": "DBL_MIN",
}
OTHER_BOUND |= {n: n[:-3] + "MIN" for n in VALUES if n.endswith("_MAX") and f"{n[:-3]}MIN" in VALUES}
OTHER_BOUND |= {other: n for n, other in OTHER_BOUND.items() if n.endswith("_MAX")}
