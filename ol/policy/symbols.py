"""Names in object files: what compilers and sanitizers emit, and what an honest unit leaves undefined.

Tables only. The libc names here take and give plain values or bytes and reach nothing but their arguments.
"""

import re


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


BYTES = _words(
    "memcpy memmove memset memcmp memchr memrchr mempcpy memccpy bcmp bzero stpcpy stpncpy"
    " strlen strnlen strcpy"
    " strncpy strcat strncat strcmp strncmp strchr strrchr strstr strspn strcspn strpbrk rawmemchr"
    " __memcpy_chk __memmove_chk __memset_chk __mempcpy_chk __strcpy_chk __strncpy_chk"
    " __strcat_chk __strncat_chk"
    " __stpcpy_chk snprintf vsnprintf sprintf vsprintf __sprintf_chk __vsprintf_chk"
    " __snprintf_chk __vsnprintf_chk"
    " abs labs llabs imaxabs div ldiv lldiv bsearch qsort __assert_fail abort"
)
_MATHS = (
    "acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp2 exp10"
    " expm1 fabs fdim"
    " floor fma fmax fmin fmod frexp hypot ilogb ldexp lgamma llrint llround log log10 log1p"
    " log2 logb lrint"
    " lround modf nan nearbyint nextafter nexttoward pow remainder remquo rint round roundeven"
    " scalb scalbln"
    " scalbn sin sincos sinh sqrt tan tanh tgamma trunc cabs cacos cacosh carg casin casinh"
    " catan catanh ccos"
    " ccosh cexp cimag clog conj cpow cproj creal csin csinh csqrt ctan ctanh"
)
MATHS = frozenset(name + suffix for name in _MATHS.split() for suffix in ("", "f", "l")) | _words(
    "signgam fegetround fetestexcept __fpclassify __fpclassifyf __signbit __signbitf __isnan __isnanf"
    " __isinf __isinff __finite __finitef __powf_finite __expf_finite __exp_finite __log_finite"
)
COMPILER = re.compile(
    r"__(?:mul|div)[shdxtb]c3|__powi[sdxt]f2|__(?:u?div|u?mod|u?divmod)[sdt]i[34]|__mulo?[sdt]i[34]"
    r"|__(?:ashl|ashr|lshr)[dt]i3|__(?:popcount|clz|ctz|parity|ffs|bswap|clrsb)[sdt]i2"
    r"|__(?:add|sub|mul)v[sdt]i3|__neg[vsdt]?[sdt]i2|__u?cmp[sdt]i2"
    r"|__(?:float|floatun)[sdt]i[hsdxtb]f|__(?:fix|fixuns)[hsdxtb]f[sdt]i|__(?:extend|trunc)[hsdxtb]f[hsdxtb]f2"
    r"|__(?:add|sub|mul|div)[xthb]f3|__(?:neg|eq|ne|lt|le|gt|ge|unord)[xthb]f2|__gnu_[fh]2[fh]_ieee"
    r"|__(?:atomic|sync)_\w+|__aarch64_(?:cas|swp|ldadd|ldclr|ldeor|ldset)\d+_\w+|_ZGV[a-zA-Z0-9_]+"
)
RUNTIME = _words(
    "__cpu_model __cpu_features2 __cpu_indicator_init __stack_chk_fail __stack_chk_guard __tls_get_addr"
    " _GLOBAL_OFFSET_TABLE_ _DYNAMIC __dso_handle"
)
WEAK_RUNTIME = _words("_ITM_deregisterTMCloneTable _ITM_registerTMCloneTable __gmon_start__ __cxa_finalize")

SANITIZER = re.compile(
    r"__asan_(?:init|version_mismatch_check_v\d+|handle_no_return|option_detect_stack_use_after_return"
    r"|shadow_memory_dynamic_address|(?:un)?register_(?:elf_|image_)?globals|before_dynamic_init"
    r"|after_dynamic_init|(?:exp_)?(?:load|store)(?:\d+|N)(?:_noabort)?"
    r"|report_(?:exp_)?(?:load|store)(?:\d+|_n|N)(?:_noabort)?|stack_malloc_(?:always_)?\d+|stack_free_\d+"
    r"|set_shadow_[0-9a-f]{2}|(?:un)?poison_stack_memory|allocas?_(?:un)?poison|mem(?:cpy|move|set))"
    r"|__ubsan_handle_\w+"
    r"|__tsan_(?:init|func_entry|func_exit|(?:unaligned_)?(?:volatile_)?(?:read|write|read_write)\d+(?:_pc)?"
    r"|(?:read|write)_range(?:_pc)?|atomic\d+_\w+|atomic_(?:thread|signal)_fence|mem(?:cpy|move|set))"
    r"|__sanitizer_ptr_(?:cmp|sub)|__(?:start|stop)_asan_globals"
)
SANITIZER_DEFINES = re.compile(r"__odr_asan(?:_gen_)?[._]?\w+|___asan_(?:gen_|globals_registered)\w*")
LINKER_DEFINES = _words("_init _fini __bss_start _edata _end")

STARTS = re.compile(r"frame_dummy|__do_init|__cpu_indicator_init|init_have_lse_atomics")
ENDS = re.compile(r"__do_global_dtors_aux|__do_fini")
SANITIZER_INIT = re.compile(r"__[at]san_init")
SANITIZER_ENTRY = re.compile(r"[at]san\.module_[cd]tor|_sub_[ID]_00099_\d")

LIBRARIES = re.compile(
    r"lib(?:c|m|mvec|pthread|asan|ubsan|tsan|lsan|gcc_s|atomic)\.so(?:\.\d+)*|ld-linux[\w.-]*\.so\.\d"
    r"|libc\.musl-\w+\.so\.1|ld-musl-\w+\.so\.1|libclang_rt\.[\w.-]+\.so"
)
CODE_SECTIONS = re.compile(r"\.text(?:\.[\w.$@-]+)?")
LINKER_CODE = re.compile(r"\.init|\.fini|\.plt|\.plt\.(?:got|sec|bnd)|\.iplt")
DATA_SECTIONS = re.compile(
    r"\.l?(?:data|bss|rodata|tdata|tbss)(?:\.[\w.$@-]+)?|\.(?:init|fini)_array(?:\.\d+)?|\.eh_frame(?:_hdr)?"
    r"|\.gcc_except_table[\w.]*|\.note[\w.-]*|\.dynamic|\.dyn(?:sym|str)|\.(?:gnu\.)?hash"
    r"|\.gnu\.version(?:_r)?|\.rela?\.[\w.-]+|\.relr\.dyn|\.got(?:\.plt)?|\.tm_clone_table|\.jcr|\.sframe"
    r"|\.relro_padding|asan_globals|\.ARM\.\w+|\.ctf|\.eh_frame_entry"
)
DYNAMIC_TAGS = _words(
    "DT_NULL DT_NEEDED DT_INIT DT_FINI DT_INIT_ARRAY DT_INIT_ARRAYSZ DT_FINI_ARRAY DT_FINI_ARRAYSZ DT_HASH"
    " DT_GNU_HASH DT_STRTAB DT_SYMTAB DT_STRSZ DT_SYMENT DT_PLTGOT DT_PLTRELSZ DT_PLTREL DT_JMPREL DT_RELA"
    " DT_RELASZ DT_RELAENT DT_REL DT_RELSZ DT_RELENT DT_RELR DT_RELRSZ DT_RELRENT DT_VERNEED DT_VERNEEDNUM"
    " DT_VERSYM DT_RELACOUNT DT_RELCOUNT DT_FLAGS DT_FLAGS_1 DT_BIND_NOW DT_SONAME DT_DEBUG"
    " DT_X86_64_PLT DT_X86_64_PLTSZ DT_X86_64_PLTENT DT_AARCH64_BTI_PLT DT_AARCH64_PAC_PLT"
    " DT_AARCH64_VARIANT_PCS DT_TLSDESC_PLT DT_TLSDESC_GOT"
)
