/* What a test must find and leave as it was: modes, handlers, threads. A unit that changes them would
 * change the answers of whoever runs after it. */
#define _GNU_SOURCE
#include <fenv.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "supervisor.h"

enum { SIGNALS = 64, SAW_LEFT = 7, THREADS_END_MS = 300 };

/* The kernel's own layouts: sanitizers answer for libc's calls. */
struct kernel_action {
    void *handler;
    unsigned long flags;
    void *restorer;
    uint64_t mask;
};

struct state {
    int rounding;
    unsigned x87, mxcsr;
    struct kernel_action action[SIGNALS + 1];
    uint64_t blocked;
    stack_t alternate;
    mode_t mask;
    char locale[512], folder[4096];
};

static struct state before;
static int expected = 1;

/* The folder's links are itself, its entry, and one for each thread. */
static int threads(void) {
    struct stat folder;
    return stat("/proc/self/task", &folder) == 0 ? (int)folder.st_nlink - 2 : 0;
}

static void look(struct state *s) {
    memset(s, 0, sizeof *s);
    s->rounding = fegetround();
#ifdef __x86_64__
    fenv_t env;
    fegetenv(&env);
    s->x87 = env.__control_word;
    s->mxcsr = env.__mxcsr & ~0x3fu; /* the low bits only tell what has happened */
#endif
    for (int k = 1; k <= SIGNALS; k++)
        if (syscall(SYS_rt_sigaction, k, NULL, &s->action[k], 8) != 0) s->action[k].handler = NULL;
    syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &s->blocked, 8);
    syscall(SYS_sigaltstack, NULL, &s->alternate);
    s->mask = umask(0);
    umask(s->mask);
    snprintf(s->locale, sizeof s->locale, "%s", setlocale(LC_ALL, NULL));
    if (!getcwd(s->folder, sizeof s->folder)) s->folder[0] = 0;
}

void tidy_before(void) { look(&before); }

/* TSan makes a thread in each child, and may make one more with the test's first. */
void tidy_child(int own_threads) {
    if (own_threads) expected = threads() + own_threads;
}

static void say(int stream, const char *what) {
    unsigned char record[256];
    uint32_t n_name = (uint32_t)strlen(what), length = 1 + 4 + n_name;
    memcpy(record, &length, 4);
    record[4] = SAW_LEFT;
    memcpy(record + 5, &n_name, 4);
    memcpy(record + 9, what, n_name);
    if (write(stream, record, 9 + n_name) < 0) _exit(98);
}

/* The C library keeps the signals between 32 and SIGRTMIN for its threads. */
static int handlers_differ(const struct state *now, int *which) {
    for (int k = 1; k <= SIGNALS; k++)
        if ((k < 32 || k >= SIGRTMIN) && now->action[k].handler != before.action[k].handler) {
            *which = k;
            return 1;
        }
    return 0;
}

/* One that was joined may stand in the list for a moment. */
static int left_threads(void) {
    for (int ms = 0; ms < THREADS_END_MS && threads() > expected; ms += 5) poll(NULL, 0, 5);
    return threads() - expected;
}

void tidy_after(int stream) {
    static struct state now;
    char text[128];
    int which = 0;
    look(&now);
    if (now.rounding != before.rounding) say(stream, "the rounding mode of floats");
    else if (now.mxcsr != before.mxcsr) say(stream, "the floating-point modes (MXCSR: flush to zero, traps)");
    else if (now.x87 != before.x87) say(stream, "the floating-point modes (x87 control word)");
    if (handlers_differ(&now, &which)) {
        snprintf(text, sizeof text, "the handler of signal %d (%s)", which, strsignal(which));
        say(stream, text);
    }
    if (now.alternate.ss_sp != before.alternate.ss_sp) say(stream, "the alternate stack for signals");
    if (now.blocked != before.blocked) say(stream, "the mask of blocked signals");
    if (strcmp(now.locale, before.locale) != 0) say(stream, "the locale");
    if (strcmp(now.folder, before.folder) != 0) say(stream, "the working directory");
    if (now.mask != before.mask) say(stream, "the umask");
    int left = left_threads();
    if (left > 0) {
        snprintf(text, sizeof text, "the number of threads: %d more still run", left);
        say(stream, text);
    }
}
