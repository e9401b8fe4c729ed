/* What the tests of rt.03 share: a ledger that ranges sign, and ways to wait and to count threads. */
#ifndef RT03_LEDGER_H
#define RT03_LEDGER_H

#include <stdatomic.h>
#include <stdint.h>

#include "ol_test.h"
#include "tinyllm/pool.h"

/* One row for each range that a loop of n by grain has: how often it was called, and its ends. */
enum { RANGE_FIELDS = 3 };
typedef struct {
    int64_t n, grain, n_ranges;
    int n_threads;           /* workers must be below it */
    _Atomic int64_t *calls;  /* [n_ranges] */
    int64_t (*ends)[2];      /* [n_ranges]: lo, hi */
    _Atomic int64_t strays;  /* calls that begin at no range of the loop */
    _Atomic int64_t misnumbered;
    int64_t rest_us;         /* how long each range takes */
} ledger;

ledger *new_ledger(int64_t n, int64_t grain, int n_threads);
void sign(void *ledger_, int64_t lo, int64_t hi, int worker); /* a tl_range_fn */

/* In the unit role: one call that signs a ledger of its own, and what came of it. In the oracle role: the
 * ranges of the contract, each once. */
void loop_is_complete(tl_pool *pool, int n_threads, int64_t n, int64_t grain);

void rest(int64_t us);

/* Threads of this process. With `expected` above 0 it waits up to a second for that number, for a thread
 * that was joined may take a moment to go. */
int64_t threads_now(int64_t expected);

/* Starts and joins one thread, for a sanitizer begins a thread of its own beside the first. */
void settle_threads(void);


#endif
