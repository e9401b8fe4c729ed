/* Worker w takes ranges w, w + T, w + 2T …: no shared counter, one lock, one condition for everything. */
#include "tinyllm/pool.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

struct link {
    tl_pool *pool;
    struct link *up;
};

struct tl_pool {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t *threads;
    int n_threads, started, taken, left, ending;
    unsigned long long round;
    int64_t n, grain;
    tl_range_fn fn;
    void *ctx;
    struct link *up;
};

struct seat {
    tl_pool *pool;
    int worker;
};

static _Thread_local struct link *chain;

static tl_status no(tl_status why, const char *text) {
    tl_set_last_error(text);
    return why;
}

static void work(tl_pool *p, int worker) {
    struct link here = {p, p->up}, *before = chain;
    const int64_t n_ranges = p->n / p->grain + (p->n % p->grain != 0);
    chain = &here;
    for (int64_t k = worker; k < n_ranges; k += p->n_threads) {
        int64_t lo = k * p->grain;
        p->fn(p->ctx, lo, p->n - lo < p->grain ? p->n : lo + p->grain, worker);
        if (k > INT64_MAX - p->n_threads) break;
    }
    chain = before;
}

static void *helper(void *arg) {
    struct seat seat = *(struct seat *)arg;
    tl_pool *p = seat.pool;
    unsigned long long seen = 0;
    pthread_mutex_lock(&p->lock);
    p->started++;
    pthread_cond_broadcast(&p->changed);
    for (;;) {
        while (p->round == seen && !p->ending) pthread_cond_wait(&p->changed, &p->lock);
        if (p->ending) break;
        seen = p->round;
        pthread_mutex_unlock(&p->lock);
        work(p, seat.worker);
        pthread_mutex_lock(&p->lock);
        p->left--;
        pthread_cond_broadcast(&p->changed);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

static void end_threads(tl_pool *p, int running) {
    pthread_mutex_lock(&p->lock);
    p->ending = 1;
    pthread_cond_broadcast(&p->changed);
    pthread_mutex_unlock(&p->lock);
    while (running > 0) pthread_join(p->threads[--running], NULL);
    pthread_cond_destroy(&p->changed);
    pthread_mutex_destroy(&p->lock);
    tl_free(p->threads);
    tl_free(p);
}

tl_status tl_pool_create(int n_threads, tl_pool **out) {
    if (!out || n_threads < 0) {
        if (out) *out = NULL;
        return no(TL_EINVAL, "tl_pool_create: bad argument");
    }
    if (n_threads == 0) n_threads = (int)sysconf(_SC_NPROCESSORS_ONLN);
    tl_pool *p = *out = tl_alloc(sizeof *p, 64);
    if (!p) return no(TL_ENOMEM, "tl_pool_create: memory");
    *out = NULL;
    memset(p, 0, sizeof *p);
    p->n_threads = n_threads;
    p->threads = tl_alloc((size_t)n_threads * sizeof *p->threads, 16);
    if (!p->threads) {
        tl_free(p);
        return no(TL_ENOMEM, "tl_pool_create: memory");
    }
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->changed, NULL);
    for (int w = 1; w < n_threads; w++) {
        struct seat seat = {p, w};
        if (pthread_create(&p->threads[w - 1], NULL, helper, &seat) != 0) {
            end_threads(p, w - 1);
            return no(TL_EIO, "tl_pool_create: thread");
        }
        pthread_mutex_lock(&p->lock);
        while (p->started < w) pthread_cond_wait(&p->changed, &p->lock);
        pthread_mutex_unlock(&p->lock);
    }
    *out = p;
    return TL_OK;
}

tl_status tl_parallel_for(tl_pool *p, int64_t n, int64_t grain, tl_range_fn fn, void *ctx) {
    if (n < 0 || grain < 1 || !fn) return no(TL_EINVAL, "tl_parallel_for: bad argument");
    if (!p) {
        for (int64_t lo = 0; lo < n;) {
            int64_t hi = grain > n - lo ? n : lo + grain;
            fn(ctx, lo, hi, 0);
            lo = hi;
        }
        return TL_OK;
    }
    for (struct link *l = chain; l; l = l->up)
        if (l->pool == p) return no(TL_EBUSY, "tl_parallel_for: nested");
    pthread_mutex_lock(&p->lock);
    while (p->taken) pthread_cond_wait(&p->changed, &p->lock);
    p->taken = 1;
    p->n = n, p->grain = grain, p->fn = fn, p->ctx = ctx, p->up = chain;
    p->left = p->n_threads - 1;
    p->round++;
    pthread_cond_broadcast(&p->changed);
    pthread_mutex_unlock(&p->lock);
    work(p, 0);
    pthread_mutex_lock(&p->lock);
    while (p->left) pthread_cond_wait(&p->changed, &p->lock);
    p->taken = 0;
    pthread_cond_broadcast(&p->changed);
    pthread_mutex_unlock(&p->lock);
    return TL_OK;
}

int tl_pool_threads(const tl_pool *p) { return p ? p->n_threads : 1; }

void tl_pool_destroy(tl_pool *p) {
    if (p) end_threads(p, p->n_threads - 1);
}
