/* Whether a test waits for ever: each of its threads waits for another, and none is left to wake them. The
 * kernel says so of each thread, so this holds on a busy machine as well as on an idle one. */
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

/* A wait without an end of its own; one that is not for another thread, such as for a pipe, is none. */
static int is_endless(pid_t pid, pid_t thread) {
    char path[96], text[256];
    unsigned long long call, operation, until;
    snprintf(path, sizeof path, "/proc/%d/task/%d/syscall", (int)pid, (int)thread);
    if (read_text(path, text, sizeof text) == 0) return 0;
    if (sscanf(text, "%llu 0x%*x 0x%llx 0x%*x 0x%llx", &call, &operation, &until) != 3) return 0;
    const int what = (int)operation & FUTEX_CMD_MASK;
    return call == SYS_futex && (what == FUTEX_WAIT || what == FUTEX_WAIT_BITSET) && until == 0;
}

static void look(pid_t pid, pid_t thread, void *with) {
    struct waiting *w = with;
    char path[96], text[128];
    unsigned long long turns;
    snprintf(path, sizeof path, "/proc/%d/task/%d/schedstat", (int)pid, (int)thread);
    w->all = w->all && is_endless(pid, thread) && read_text(path, text, sizeof text) > 0;
    w->all = w->all && sscanf(text, "%*u %*u %llu", &turns) == 1;
    if (w->all) add(w, (unsigned long long)thread), add(w, turns);
}

uint64_t who_waits(pid_t pid) {
    struct waiting w = {.all = 1, .digest = UINT64_C(0xcbf29ce484222325)};
    of_threads(pid, look, &w);
    return w.all ? w.digest : 0;
}
