/* Whether a test waits for ever: each of its threads waits for another, and none is left to wake them. The
 * kernel says so of each thread, so this holds on a busy machine as well as on an idle one. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <linux/futex.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "supervisor.h"

struct waiting {
    int all;
    uint64_t digest;
};

/* FNV-1a over whole numbers. */
static void add(struct waiting *w, unsigned long long x) { w->digest = (w->digest ^ x) * UINT64_C(0x100000001b3); }

/* Where a thread stands in the kernel. */
struct call {
    unsigned long long number, operation, until, from;
};

static int read_call(pid_t pid, pid_t thread, struct call *c) {
    char path[96], text[256];
    snprintf(path, sizeof path, "/proc/%d/task/%d/syscall", (int)pid, (int)thread);
    return read_text(path, text, sizeof text) > 0 &&
           sscanf(text, "%llu 0x%*x 0x%llx 0x%*x 0x%llx 0x%*x 0x%*x 0x%*x 0x%llx", &c->number, &c->operation,
                  &c->until, &c->from) == 4;
}

/* A wait without an end of its own; one that is not for another thread, such as for a pipe, is none. */
static int is_endless(const struct call *c) {
    const int what = (int)c->operation & FUTEX_CMD_MASK;
    return c->number == SYS_futex && (what == FUTEX_WAIT || what == FUTEX_WAIT_BITSET) && c->until == 0;
}

/* TSan has a thread that sleeps and wakes, and wakes nobody else. Any other thread may wait within TSan too,
 * in other calls and for a while: such a one may go on. */
static int is_the_sanitizers(const struct call *c) {
    Dl_info own, there;
    const int sleeps = c->number == SYS_nanosleep || c->number == SYS_clock_nanosleep;
    return sleeps && __tsan_init && dladdr((void *)(uintptr_t)__tsan_init, &own) &&
           dladdr((void *)(uintptr_t)c->from, &there) && own.dli_fbase == there.dli_fbase;
}

static void look(pid_t pid, pid_t thread, void *with) {
    struct waiting *w = with;
    struct call c;
    char path[96], text[128];
    unsigned long long turns;
    if (!w->all || !(w->all = read_call(pid, thread, &c)) || (thread != pid && is_the_sanitizers(&c))) return;
    snprintf(path, sizeof path, "/proc/%d/task/%d/schedstat", (int)pid, (int)thread);
    w->all = is_endless(&c) && read_text(path, text, sizeof text) > 0 &&
             sscanf(text, "%*u %*u %llu", &turns) == 1;
    if (w->all) add(w, (unsigned long long)thread), add(w, turns);
}

uint64_t who_waits(pid_t pid) {
    struct waiting w = {.all = 1, .digest = UINT64_C(0xcbf29ce484222325)};
    of_threads(pid, look, &w);
    return w.all ? w.digest : 0;
}
