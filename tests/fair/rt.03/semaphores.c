/* One semaphore per helper to start it and one to say that it is done; ranges are drawn under a mutex, and a loop of
 * a single range stays on the caller. */
#include "tinyllm/pool.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include <unistd.h>

typedef struct place {
    const tl_pool *pool;
    const struct place *outer;
} place;

typedef struct {
    tl_pool *pool;
    pthread_t thread;
    sem_t go;
    int worker;
} helper;

struct tl_pool {
    pthread_mutex_t turn, draw;
    sem_t done;
    int n_helpers, ending;
    int64_t n, grain, next;
    tl_range_fn fn;
    void *ctx;
    const place *outer;
    helper *helpers;
};

static _Thread_local const place *where;

static void down(sem_t *s) {
    while (sem_wait(s) != 0 && errno == EINTR) continue;
}

static int draw(tl_pool *p, int64_t *lo, int64_t *hi) {
    pthread_mutex_lock(&p->draw);
    *lo = p->next;
    *hi = p->n - *lo < p->grain ? p->n : *lo + p->grain;
    p->next = *hi;
    pthread_mutex_unlock(&p->draw);
    return *lo < *hi;
}

static void serve(tl_pool *p, int worker) {
    const place here = {p, p->outer}, *const back = where;
    int64_t lo, hi;
    where = &here;
    while (draw(p, &lo, &hi)) p->fn(p->ctx, lo, hi, worker);
    where = back;
}

static void *run(void *helper_) {
    helper *h = helper_;
    for (down(&h->go); !h->pool->ending; down(&h->go)) {
        serve(h->pool, h->worker);
        sem_post(&h->pool->done);
    }
    return NULL;
}

void tl_pool_destroy(tl_pool *p) {
    if (!p) return;
    p->ending = 1;
    for (int i = 0; i < p->n_helpers; i++) {
        sem_post(&p->helpers[i].go);
        pthread_join(p->helpers[i].thread, NULL);
        sem_destroy(&p->helpers[i].go);
    }
    sem_destroy(&p->done);
    pthread_mutex_destroy(&p->draw);
    pthread_mutex_destroy(&p->turn);
    tl_free(p->helpers);
    tl_free(p);
}

tl_status tl_pool_create(int n_threads, tl_pool **out) {
    tl_status status = TL_OK;
    if (out) *out = NULL;
    if (!out || n_threads < 0) {
        tl_set_last_error("tl_pool_create: out is NULL or n_threads negative");
        return TL_EINVAL;
    }
    if (!n_threads && (n_threads = (int)sysconf(_SC_NPROCESSORS_ONLN)) < 1) n_threads = 1;
    tl_pool *p = tl_alloc(sizeof *p, 16);
    helper *helpers = tl_alloc(sizeof *helpers * (size_t)n_threads, 16);
    if (!p || !helpers) {
        tl_free(p);
        tl_free(helpers);
        tl_set_last_error("tl_pool_create: no memory");
        return TL_ENOMEM;
    }
    memset(p, 0, sizeof *p);
    p->helpers = helpers;
    pthread_mutex_init(&p->turn, NULL);
    pthread_mutex_init(&p->draw, NULL);
    sem_init(&p->done, 0, 0);
    while (status == TL_OK && p->n_helpers < n_threads - 1) {
        helper *h = &helpers[p->n_helpers];
        h->pool = p;
        h->worker = n_threads - 1 - p->n_helpers;
        sem_init(&h->go, 0, 0);
        if (pthread_create(&h->thread, NULL, run, h) != 0) {
            sem_destroy(&h->go);
            status = TL_EIO;
        } else p->n_helpers++;
    }
    if (status != TL_OK) {
        tl_pool_destroy(p);
        tl_set_last_error("tl_pool_create: no thread");
    } else *out = p;
    return status;
}

tl_status tl_parallel_for(tl_pool *pool, int64_t n, int64_t grain, tl_range_fn fn, void *ctx) {
    if (!fn || n < 0 || grain <= 0) {
        tl_set_last_error("tl_parallel_for: n, grain or fn");
        return TL_EINVAL;
    }
    for (const place *p = where; pool && p; p = p->outer)
        if (p->pool == pool) {
            tl_set_last_error("tl_parallel_for: inside a loop of this pool");
            return TL_EBUSY;
        }
    if (!pool || n <= grain) {
        for (int64_t lo = 0; lo < n; lo = n - lo > grain ? lo + grain : n) fn(ctx, lo, n - lo > grain ? lo + grain : n, 0);
        return TL_OK;
    }
    pthread_mutex_lock(&pool->turn);
    pool->n = n, pool->grain = grain, pool->next = 0, pool->fn = fn, pool->ctx = ctx, pool->outer = where;
    for (int i = 0; i < pool->n_helpers; i++) sem_post(&pool->helpers[i].go);
    serve(pool, 0);
    for (int i = 0; i < pool->n_helpers; i++) down(&pool->done);
    pthread_mutex_unlock(&pool->turn);
    return TL_OK;
}

int tl_pool_threads(const tl_pool *pool) { return pool == NULL ? 1 : 1 + pool->n_helpers; }
