/* The child: takes its limits, opens the units, runs one test. All code of a student runs in here. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "supervisor.h"

/* Present in a build with a sanitizer that has a heap of its own. */
extern size_t __sanitizer_get_current_allocated_bytes(void) __attribute__((weak));

/* Present in a build with ASan, which calls the second before it writes a report. */
extern const char *__asan_get_report_description(void) __attribute__((weak));
SHOWN void __asan_on_error(void);
static const char *brief_log;

/* The whole report takes longer than most tests; who only asks whether there is one gets its first line. */
void __asan_on_error(void) {
    if (!brief_log || !__asan_get_report_description) return;
    char path[4096], text[256];
    snprintf(path, sizeof path, "%s.asan.%d", brief_log, (int)getpid());
    int n = snprintf(text, sizeof text, "==%d==ERROR: AddressSanitizer: %s\n", (int)getpid(), __asan_get_report_description());
    int log = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (log >= 0 && write(log, text, (size_t)n) == n) _exit(86);
}

static void limit(int resource, rlim_t soft, rlim_t hard) {
    struct rlimit now;
    if (getrlimit(resource, &now) != 0) return;
    if (now.rlim_max != RLIM_INFINITY && hard > now.rlim_max) hard = now.rlim_max;
    if (soft > hard) soft = hard;
    setrlimit(resource, &(struct rlimit){soft, hard});
}

static void take_limits(const struct limits *l) {
    rlim_t seconds = (rlim_t)(l->wall_ms / 1000 + 1);
    limit(RLIMIT_CPU, seconds * 4, seconds * 4 + 1); /* a pool's threads add up their CPU time */
    limit(RLIMIT_CORE, 0, 0);
    limit(RLIMIT_FSIZE, (rlim_t)l->file_mb << 20, (rlim_t)l->file_mb << 20);
    limit(RLIMIT_STACK, 8u << 20, 8u << 20);
}

static void fail(const char *what, const char *why) {
    fprintf(stderr, "ol: %s: %s\n", what, why);
    fflush(stderr);
    _exit(97);
}

/* The variables of an object with mutants; the last two only where it counts its steps. */
static struct {
    int *mutant;
    long long *steps_left;
    void (**spent)(void);
} switches[MAX_OBJECTS];
static int n_switches;

const char *open_units(const struct request *q) {
    n_switches = 0;
    for (int k = 0; k < q->n_objects; k++) {
        void *unit = dlopen(q->object[k], RTLD_NOW | RTLD_GLOBAL);
        if (!unit) return dlerror();
        switches[n_switches].mutant = dlsym(unit, "ol_mutant");
        switches[n_switches].steps_left = dlsym(unit, "ol_steps_left");
        *(void **)&switches[n_switches].spent = dlsym(unit, "ol_spent");
        if (switches[n_switches].mutant) n_switches++;
    }
    return NULL;
}

static void end_spent(void) { kill(getpid(), SPENT_SIGNAL); }

static void switch_to(const struct request *q) {
    for (int k = 0; k < n_switches; k++) {
        *switches[k].mutant = q->mutant;
        if (q->steps == 0 || !switches[k].steps_left || !switches[k].spent) continue;
        *switches[k].steps_left = q->steps;
        *switches[k].spent = end_spent;
    }
}

size_t held_bytes(void) {
    return __sanitizer_get_current_allocated_bytes ? __sanitizer_get_current_allocated_bytes() : 0;
}

/* A test that ends with what it began with, `held`, has no leak: of all that it took nothing is left. To look
 * for one costs more than most tests. */
static int may_leak(size_t held) {
    if (held > 0 && held_bytes() == held) return 0;
    return held == 0 || !clear_places() || held_bytes() != held;
}

_Noreturn void child_main(const struct ol_suite *suite, const struct request *q, int stream, pid_t supervisor) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != supervisor) _exit(1); /* it ended before it could be followed */
    setsid();
    prctl(PR_SET_DUMPABLE, 1); /* the leak detector traces this process */
    take_limits(&q->limits);
    tidy_child(__tsan_init != NULL);
    if (!q->warm) {
        const char *why = open_units(q);
        if (why) fail("cannot open a unit", why);
        bind_all(suite);
    }
    if (q->mutant) switch_to(q);
    brief_log = q->brief_log;
    size_t held = held_bytes();
    if (q->warm && held > 0 && __lsan_do_recoverable_leak_check) warm_threads(&held);
    suite->run(q->test, &(struct ol_context){q->seed, stream, q->fixtures, fail_thread_at});
    fflush(NULL);
    if (!q->fixtures) tidy_after(stream);
    if (__lsan_do_recoverable_leak_check && may_leak(held)) __lsan_do_recoverable_leak_check();
    suite->finish();
    _exit(0); /* no destructor or atexit handler of a unit has a say after the end */
}
