/* pool.h (rt.03): a fixed set of threads that share out the ranges of a loop.
 *
 * The thread that calls tl_parallel_for works too, so a pool of n threads starts n - 1. Results must not depend on who
 * runs what: give every range outputs of its own, and index scratch by worker.
 */
#ifndef TINYLLM_POOL_H
#define TINYLLM_POOL_H

#include <stdint.h>

#include "tinyllm/abi.h"

typedef struct tl_pool tl_pool;

/* One range of a loop: indices lo .. hi - 1.
 *
 * worker is at least 0 and below tl_pool_threads(pool). While a call lasts, a worker's number belongs to one thread, so
 * two ranges that run at the same time never see the same number.
 */
typedef void (*tl_range_fn)(void *ctx, int64_t lo, int64_t hi, int worker);

/* A pool of n_threads threads, the calling one counted; 0 takes as many as the machine has processors online.
 *
 * On TL_OK *out is the caller's, to be given to tl_pool_destroy; after a failure it is NULL.
 * Threads are made with pthread_create.
 * TL_EINVAL: out is NULL or n_threads negative. TL_ENOMEM: no memory.
 * TL_EIO: the system refused a thread; those already started have ended, and nothing is left allocated.
 */
tl_status tl_pool_create(int n_threads, tl_pool **out);

/* Cuts 0 .. n - 1 into ranges [k * grain, min((k + 1) * grain, n)) and calls fn exactly once for each.
 *
 * Returns when every range is done; what fn wrote is then visible to the caller. n 0 calls nothing. ctx is passed on
 * and never looked at. With a NULL pool the caller runs the ranges in increasing order as worker 0.
 * Calls from different threads on one pool take turns. Inside fn a call on another pool is allowed, a call on the same
 * pool is TL_EBUSY, at once and without calling anything. Where pools are nested, every thread nests them in one order.
 * TL_EINVAL: n < 0, grain < 1 or fn NULL; nothing has been called.
 * Left open: which worker runs which range, in which order with a pool, and whether a short loop uses the pool at all.
 */
tl_status tl_parallel_for(tl_pool *pool, int64_t n, int64_t grain, tl_range_fn fn, void *ctx);

/* The number of workers, the caller counted; 1 for NULL. */
int tl_pool_threads(const tl_pool *pool);

/* Ends and joins the threads and frees the pool. NULL is ignored. No call may be running on it. */
void tl_pool_destroy(tl_pool *pool);

#endif
