/* What the supervisor and a suite of tests agree on, and nothing else.
 *
 * A suite is a shared object made of kit.c and one or more test sources. The supervisor opens it, asks
 * for its tests, and runs one of them in a child of its own. Nothing here is seen by a unit. */
#ifndef OL_SUITE_H
#define OL_SUITE_H

#include <stdint.h>

struct ol_context {
    uint64_t seed;
    int stream;           /* descriptor that takes the records; private to the child */
    const char *fixtures; /* folder of the fixtures; NULL in the role that runs the unit */
    void (*fail_thread_at)(int64_t k); /* the k-th pthread_create from now fails; 0: none does */
};

struct ol_suite {
    int (*count)(void);
    const char *(*name)(int k);
    /* Runs test k to its end. What it saw or wants is on ctx->stream when this returns. */
    void (*run)(int k, const struct ol_context *ctx);
    /* Writes the record that says the test came to its end. Called after the leak check. */
    void (*finish)(void);
};

/* The one symbol that a suite exports to the supervisor, found by name. */
#define OL_SUITE_SYMBOL "ol_suite_v1"

#endif
