"""What to write instead of a call that the module may not make. Texts only."""

import re
from collections.abc import Collection

_GROUPS: tuple[tuple[str, str], ...] = (
    (
        r"(__)?(v|f|d|vf|w|vw)?printf(_chk)?|puts|putchar|fputs|fputc|putc|_IO_putc|perror|fwrite|fflush|write"
        r"|std(out|err)|psignal",
        "take the output out once you are done with it: a unit prints nothing. While you look for a fault,"
        " `ol debug` runs a test in a debugger",
    ),
    (r"std(in)|fopen(64)?|fread|fclose|fgets|getc|getchar|__isoc\w+_\w*scanf|open(64)?|openat\w*|read|pread\w*|pwrite\w*"
     r"|close|lseek\w*|unlink|rename|stat\w*|opendir|mmap(64)?|mprotect|munmap|shm_open|socket|connect|send|recv",
     "work on the arguments only: a unit opens no files, descriptors or connections"),
    (r"_?_?exit|_Exit|quick_exit|(__cxa_)?at(_quick_)?exit|__cxa_\w*exit|__register_atfork|pthread_atfork|on_exit",
     "return a status instead: a unit neither ends the process nor leaves work for its end"),
    (r"(__)?(sig)?(set|long)jmp\w*|_setjmp|__sigsetjmp|signal|sigaction|sig\w+|raise|kill|killpg|alarm|setitimer"
     r"|pthread_kill|pthread_sigmask|tgkill|__(sysv|bsd)_signal|bsd_signal",
     "take it out: a unit neither handles nor sends signals; a fault that you meet is worth mending"),
    (r"v?fork|exec\w+|posix_spawn\w*|system|popen|clone|wait\w*|ptrace|process_vm_\w+|syscall|prctl|dl(open|sym|vsym"
     r"|close|addr|_iterate_phdr|error)|get(env|pid|ppid)|(set|put|un)env|secure_getenv|environ|__environ|chdir"
     r"|gethostname|auxv|getauxval|personality|setrlimit\w*",
     "take it out: a unit deals with its arguments, not with the process or the system around it"),
    (r"fe(set|hold|update|enable|disable|clear|raise)\w+|__fe\w+",
     "leave the floating-point modes as they are: the contract's bits assume the default ones"),
    (r"rand(_r)?|s?random(_r)?|srand|[djlmn]rand48|getrandom|getentropy|arc4random\w*|time|clock\w*|gettimeofday"
     r"|timespec_get|localtime\w*|gmtime\w*|sleep|usleep|nanosleep",
     "take it out: the result depends on the arguments alone"),
    (r"setlocale|localeconv|uselocale|newlocale|tzset|strto\w+|ato[fil]l?|toupper|tolower|__ctype_\w+|strerror\w*",
     "write it out for what you need: these depend on the process's locale"),
    (r"thrd_\w+|mtx_\w+|cnd_\w+|tss_\w+|call_once",
     "use POSIX threads: ThreadSanitizer does not follow those of C11"),
    (r"pthread_(detach|cancel|setcancel\w+|testcancel)",
     "let threads return, and join them in tl_pool_destroy"),
    (r"__errno_location|errno", "return a status: callers do not look at errno"),
)  # fmt: skip
_MEMORY = re.compile(
    r"malloc|calloc|realloc(array)?|free|posix_memalign|aligned_alloc|p?valloc|memalign|strn?dup|asprintf|vasprintf"
    r"|__(v?asprintf|strn?dup|libc_\w+)\w*|sbrk|brk|tl_alloc|tl_free|tl_arena_\w+"
)
_THREADS = re.compile(r"pthread_\w+|sem_\w+|sched_\w+|sysconf|get_nprocs\w*")


def call(symbol: str, allowed: Collection[str], course: Collection[str]) -> str:
    """`allowed` is what the module may call, `course` the functions that other modules define."""
    if _MEMORY.fullmatch(symbol):
        return _memory(symbol, allowed)
    for pattern, text in _GROUPS:
        if re.fullmatch(pattern, symbol):
            return text
    if _THREADS.fullmatch(symbol):
        if "tl_parallel_for" in allowed:
            return "share the work out with tl_parallel_for: it brings the threads"
        return "take it out: this unit runs on the thread of its caller"
    if symbol in course or symbol.startswith("tl_"):
        usable = (
            ", ".join(sorted(n for n in allowed if n.startswith("tl_"))) or "no function of another module"
        )
        return f"compute it in this unit; of the course it may call: {usable}"
    return (
        f"if {symbol} is a helper of yours, define it in the unit as `static` (`static inline`,"
        f" not `inline`"
        " alone); if it is a library's, write out what you need of it"
    )


def _memory(symbol: str, allowed: Collection[str]) -> str:
    if symbol in ("tl_free", "free") and "tl_free" in allowed:
        return "give memory back with tl_free"
    if "tl_alloc" in allowed:
        return "take memory with tl_alloc and give it back with tl_free: it goes through the caller's hook"
    if "malloc" in allowed:
        return "use malloc, posix_memalign and free, and those in the default hook only"
    return (
        "this unit allocates nothing, by any name: keep the running output in the caller's out,"
        " and scores in an"
        " array of fixed size on the stack"
    )


def extra(symbol: str) -> str:
    if symbol == "main":
        return "take main out: the tests have their own"
    if re.match(r"__(asan|lsan|ubsan|tsan|sanitizer)", symbol):
        return "take it out: the tool sets the sanitizers' options"
    return f"write `static` before {symbol}: the contract lists what a unit shows to others"
