/* Wrong: each worker gets one contiguous share; ranges are not cut at multiples of grain. */
#include "tinyllm/pool.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

/* Lives on the stack of the thread that entered the pool. */
typedef struct frame {
    const tl_pool *pool;
    const struct frame *outer;
} frame;

typedef struct {
    int64_t n;
    int64_t grain;
    tl_range_fn fn;
    void *ctx;
    const frame *outer;
} job;

typedef struct {
    tl_pool *pool;
    pthread_t thread;
    int number;
} helper;

struct tl_pool {
    pthread_mutex_t turn;  /* held by the caller for a whole call */
    pthread_mutex_t state; /* guards what stands below, `next` and helpers apart */
    pthread_cond_t posted; /* generation or stop has changed */
    pthread_cond_t done;   /* busy has reached 0 */
    uint64_t generation;
    int stop;
    int busy;    /* helpers that have not left the present job */
    int n_helpers;
    job job;     /* fixed while a generation is being served */
    _Atomic int64_t next; /* where the first range that nobody took begins */
    helper helpers[];
};

static _Thread_local const frame *innermost;

static tl_status fail(tl_status status, const char *message) {
    tl_set_last_error(message);
    return status;
}

static int is_inside(const tl_pool *pool) {
    for (const frame *f = innermost; f; f = f->outer)
        if (f->pool == pool) return 1;
    return 0;
}

static int64_t range_end(int64_t lo, const job *j) {
    return j->n - lo > j->grain ? lo + j->grain : j->n; /* lo + grain alone could overflow */
}

/* Takes ranges until none is left. `next` never passes n, so no count of threads can overflow it. */
static void serve(tl_pool *pool, const job *j, int worker) {
    const frame entered = {pool, j->outer};
    const frame *before = innermost;
    innermost = &entered;
    int64_t workers = pool->n_helpers + 1, share = j->n / workers;
    int64_t lo = worker * share, hi = worker == pool->n_helpers ? j->n : lo + share;
    if (lo < hi) j->fn(j->ctx, lo, hi, worker);
    innermost = before;
}

/* Waits for a generation after `served`. False: the pool ends. */
static int await_job(tl_pool *pool, uint64_t *served) {
    pthread_mutex_lock(&pool->state);
    while (!pool->stop && pool->generation == *served) pthread_cond_wait(&pool->posted, &pool->state);
    int go_on = !pool->stop;
    *served = pool->generation;
    pthread_mutex_unlock(&pool->state);
    return go_on;
}

static void leave_job(tl_pool *pool) {
    pthread_mutex_lock(&pool->state);
    if (--pool->busy == 0) pthread_cond_signal(&pool->done);
    pthread_mutex_unlock(&pool->state);
}

static void *helper_main(void *arg) {
    helper *self = arg;
    uint64_t served = 0;
    while (await_job(self->pool, &served)) {
        serve(self->pool, &self->pool->job, self->number);
        leave_job(self->pool);
    }
    return NULL;
}

static void post_job(tl_pool *pool, const job *j) {
    pthread_mutex_lock(&pool->state);
    pool->job = *j;
    atomic_store(&pool->next, 0);
    pool->busy = pool->n_helpers;
    pool->generation++;
    pthread_cond_broadcast(&pool->posted);
    pthread_mutex_unlock(&pool->state);
}

static void await_helpers(tl_pool *pool) {
    pthread_mutex_lock(&pool->state);
    while (pool->busy > 0) pthread_cond_wait(&pool->done, &pool->state);
    pthread_mutex_unlock(&pool->state);
}

static void run_serially(const job *j) {
    for (int64_t lo = 0, hi; lo < j->n; lo = hi) {
        hi = range_end(lo, j);
        j->fn(j->ctx, lo, hi, 0);
    }
}

tl_status tl_parallel_for(tl_pool *pool, int64_t n, int64_t grain, tl_range_fn fn, void *ctx) {
    if (n < 0) return fail(TL_EINVAL, "tl_parallel_for: n is negative");
    if (grain < 1) return fail(TL_EINVAL, "tl_parallel_for: grain is below 1");
    if (!fn) return fail(TL_EINVAL, "tl_parallel_for: fn is NULL");
    if (pool && is_inside(pool)) return fail(TL_EBUSY, "tl_parallel_for: called inside a function of the same pool");

    const job j = {n, grain, fn, ctx, innermost};
    if (!pool) {
        run_serially(&j);
        return TL_OK;
    }
    pthread_mutex_lock(&pool->turn);
    post_job(pool, &j);
    serve(pool, &j, 0);
    await_helpers(pool);
    pthread_mutex_unlock(&pool->turn);
    return TL_OK;
}

int tl_pool_threads(const tl_pool *pool) {
    return pool ? pool->n_helpers + 1 : 1;
}

static int processors_online(void) {
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n < 1 ? 1 : n > 1024 ? 1024 : (int)n;
}

/* All four, or none. */
static int init_sync(tl_pool *pool) {
    if (pthread_mutex_init(&pool->turn, NULL) != 0) return 0;
    if (pthread_mutex_init(&pool->state, NULL) != 0) goto no_state;
    if (pthread_cond_init(&pool->posted, NULL) != 0) goto no_posted;
    if (pthread_cond_init(&pool->done, NULL) != 0) goto no_done;
    return 1;
no_done:
    pthread_cond_destroy(&pool->posted);
no_posted:
    pthread_mutex_destroy(&pool->state);
no_state:
    pthread_mutex_destroy(&pool->turn);
    return 0;
}

/* Counts in n_helpers those that started, so that tl_pool_destroy joins exactly them. */
static int start_helpers(tl_pool *pool, int n_helpers) {
    for (int i = 0; i < n_helpers; i++) {
        helper *h = &pool->helpers[i];
        h->pool = pool;
        h->number = i + 1;
        if (pthread_create(&h->thread, NULL, helper_main, h) != 0) return 0;
        pool->n_helpers++;
    }
    return 1;
}

tl_status tl_pool_create(int n_threads, tl_pool **out) {
    if (!out) return fail(TL_EINVAL, "tl_pool_create: out is NULL");
    *out = NULL;
    if (n_threads < 0) return fail(TL_EINVAL, "tl_pool_create: n_threads is negative");
    size_t n_helpers = (size_t)(n_threads ? n_threads : processors_online()) - 1;
    if (n_helpers > (SIZE_MAX - sizeof(tl_pool)) / sizeof(helper))
        return fail(TL_ENOMEM, "tl_pool_create: too many threads for the address space");

    tl_pool *pool = tl_alloc(sizeof *pool + n_helpers * sizeof(helper), _Alignof(tl_pool));
    if (!pool) return fail(TL_ENOMEM, "tl_pool_create: no memory for the pool");
    pool->generation = 0;
    pool->stop = 0;
    pool->busy = 0;
    pool->n_helpers = 0;
    atomic_init(&pool->next, 0);
    if (!init_sync(pool)) {
        tl_free(pool);
        return fail(TL_EIO, "tl_pool_create: the system refused a mutex or a condition variable");
    }
    if (!start_helpers(pool, (int)n_helpers)) {
        tl_pool_destroy(pool);
        return fail(TL_EIO, "tl_pool_create: the system refused a thread");
    }
    *out = pool;
    return TL_OK;
}

void tl_pool_destroy(tl_pool *pool) {
    if (!pool) return;
    pthread_mutex_lock(&pool->state);
    pool->stop = 1;
    pthread_cond_broadcast(&pool->posted);
    pthread_mutex_unlock(&pool->state);
    for (int i = 0; i < pool->n_helpers; i++) pthread_join(pool->helpers[i].thread, NULL);
    pthread_cond_destroy(&pool->done);
    pthread_cond_destroy(&pool->posted);
    pthread_mutex_destroy(&pool->state);
    pthread_mutex_destroy(&pool->turn);
    tl_free(pool);
}
