/* The supervisor runs tests: one child each, under limits, with what came of it passed on. */
#ifndef OL_SUPERVISOR_H
#define OL_SUPERVISOR_H

#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "ol_suite.h"

/* To the libraries, which then call it instead of their own. */
#define SHOWN __attribute__((visibility("default")))

enum { MAX_OBJECTS = 32 };

/* Ends a mutant that has taken all its steps. */
enum { SPENT_SIGNAL = SIGXCPU };

struct limits {
    long wall_ms, rss_mb;
    long file_mb;
};

/* One request: run one test over the units in `object`, opened in this order. */
struct request {
    uint32_t number;
    int test; /* index in the suite; -1 when the suite has no test of that name */
    uint64_t seed;
    int unless_late; /* not to be run once a test has timed out */
    int alone;  /* in a namespace of processes that holds nothing else */
    int warm;   /* its objects are open already, and the suite is bound to them */
    int mutant; /* value for the unit's selector; 0 leaves it alone */
    long long steps; /* that a mutant may take; 0: any number */
    struct limits limits;
    const char *fixtures;
    const char *brief_log; /* prefix of the log that takes of a report of ASan its first line alone; NULL: the sanitizer's own log takes all */
    int n_objects;
    const char *object[MAX_OBJECTS];
};

/* How a child ended; the numbers are part of the protocol with ol/stream.py. */
enum ending { EXITED = 0, SIGNALLED = 1, TIMED_OUT = 2, OUT_OF_MEMORY = 3, FLOODED = 4, NO_SUCH_TEST = 5, NOT_RUN = 6, SAME = 7, SPENT = 8, STUCK = 9 };

/* Bytes kept from a descriptor: all up to `cap`, or the first and last half of it. */
struct capture {
    int fd;
    unsigned char *at;
    size_t n, room, cap, dropped;
    int whole; /* beyond cap the child is ended instead of its output being cut */
};

struct outcome {
    enum ending ending;
    int code; /* exit status or signal */
    pid_t pid;
    uint64_t wall_us;
    uint64_t peak_kb;
    struct capture stream, out, err;
};

/* child.c: opens a request's objects; NULL, or why it could not. */
const char *open_units(const struct request *q);

/* Present in a build with a leak detector, and in one with TSan. */
extern int __lsan_do_recoverable_leak_check(void) __attribute__((weak));
extern void __tsan_init(void) __attribute__((weak));

/* child.c: in the forked child; does not return. */
_Noreturn void child_main(const struct ol_suite *suite, const struct request *q, int stream, pid_t supervisor);

/* watch.c: reads, limits, ends and reaps the child and all that it started. Does not return where nobody
 * is left to read the results. */
void watch(pid_t pid, const struct request *q, struct outcome *o);
void capture_free(struct capture *c);

/* baseline.c: whether a test wrote byte for byte what FOLDER/<its name> holds. */
int is_baseline(const char *folder, const struct ol_suite *suite, int test, const struct capture *stream);

/* bind.c: to be called once the units are open. */
void bind_all(const struct ol_suite *suite);

/* child.c: what the heap holds; 0 where nobody counts. */
size_t held_bytes(void);

/* threads.c: the k-th pthread_create from now on fails. */
void fail_thread_at(int64_t k);

/* threads.c: from the first pthread_create on, the C library has places for threads to be in, with nothing of
 * their own there; what these hold is added to `held`. */
void warm_threads(size_t *held);

/* threads.c: the last owners of such places leave something there till others come. Returns 0 where there are no
 * places. While no other thread runs. */
int clear_places(void);

/* tree.c: what /proc says, without the heap. A text ends with 0 and is cut to `room`. */
size_t read_text(const char *path, char *into, size_t room);
void of_threads(pid_t pid, void (*visit)(pid_t pid, pid_t thread, void *with), void *with);

/* tree.c: all processes below the supervisor. */
uint64_t tree_kb(void);
uint64_t tree_cpu_ms(void);
uint64_t tree_size(void);
void end_tree(int alone);

/* stuck.c: a number for how the threads of a process wait for one another; 0 where one may go on, or nobody
 * can tell. Where it is the same twice none has run in between: they all wait for ever. */
uint64_t who_waits(pid_t pid);

/* tidy.c: in the supervisor before any unit is opened, and in the child before and after the test.
 * `own_threads` is how many a sanitizer may yet make for itself. */
void tidy_before(void);
void tidy_child(int own_threads);
void tidy_after(int stream);

#endif
