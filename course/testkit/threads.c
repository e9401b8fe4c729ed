/* The threads that a test makes: one of them may be refused, and what the C library keeps of those that have
 * ended is not taken for a leak. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>

#include "supervisor.h"

enum { WARM_THREADS = 4 };

typedef int create_fn(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

/* A sanitizer's own: linked into the program with clang, in a library with gcc, absent from a plain build. */
extern create_fn __interceptor_pthread_create __attribute__((weak));
static _Atomic int64_t fails_in;
static int to_warm, were_warmed;
static size_t *held_by_places;

void fail_thread_at(int64_t k) { fails_in = k; }

static int create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *), void *arg) {
    create_fn *next = __interceptor_pthread_create;
    if (!next) *(void **)&next = dlsym(RTLD_NEXT, "pthread_create");
    return next(thread, attr, start, arg);
}

static void *pass(void *gate) {
    pthread_mutex_lock(gate);
    pthread_mutex_unlock(gate);
    return NULL;
}

/* The C library keeps the place of a thread that has ended, with what the thread had there on the heap, for the
 * next one. There are fewer where no more can be made; all are there at once, for none passes the gate before. */
static void make_places(void) {
    pthread_t thread[WARM_THREADS];
    pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
    int n = 0;
    pthread_mutex_lock(&gate);
    while (n < WARM_THREADS && create(&thread[n], NULL, pass, &gate) == 0) n++;
    pthread_mutex_unlock(&gate);
    while (n > 0) pthread_join(thread[--n], NULL);
}

void warm_threads(size_t *held) {
    to_warm = 1;
    held_by_places = held;
}

int clear_places(void) {
    if (were_warmed) make_places();
    return were_warmed;
}

/* The program comes first in every look-up, so a unit's pthread_create is this one. Before the first there is
 * one thread, which may count what the places take. */
SHOWN int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *), void *arg) {
    if (to_warm) {
        const size_t before = held_bytes();
        to_warm = 0, were_warmed = 1;
        make_places();
        *held_by_places += held_bytes() - before;
    }
    if (fails_in > 0 && --fails_in == 0) return EAGAIN;
    return create(thread, attr, start, arg);
}
