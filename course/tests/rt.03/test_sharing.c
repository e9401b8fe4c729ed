/* The tests of pool.h in which threads share one loop: numbers, waiting, memory. */
#include <pthread.h>

#include "ledger.h"

/* ---- Workers ---------------------------------------------------------------------------------------- */

enum { MOST_WORKERS = 8, ITEMS = 200 };

typedef struct {
    int n_threads;
    _Atomic uintptr_t owner[MOST_WORKERS]; /* the thread that has this number in this call; 0: none yet */
    _Atomic int busy[MOST_WORKERS];
    int64_t scratch[MOST_WORKERS]; /* not atomic: that numbers are exclusive must suffice */
    _Atomic int64_t out_of_range, at_once, moved;
} registry;

static void use_scratch(void *registry_, int64_t lo, int64_t hi, int worker) {
    registry *g = registry_;
    if (worker < 0 || worker >= g->n_threads) {
        g->out_of_range++;
        return;
    }
    uintptr_t self = (uintptr_t)pthread_self(), nobody = 0;
    if (!atomic_compare_exchange_strong(&g->owner[worker], &nobody, self) && nobody != self) g->moved++;
    if (atomic_exchange(&g->busy[worker], 1)) g->at_once++;
    int64_t sum = g->scratch[worker];
    rest(lo % 8 == 0 ? 50 : 0);
    g->scratch[worker] = sum + (hi - lo);
    atomic_store(&g->busy[worker], 0);
}

OL_TEST(worker_numbers_index_scratch) {
    for (int n_threads = 1; n_threads <= MOST_WORKERS; n_threads++) {
        tl_pool *pool = NULL;
        ol_note("%d items one by one on %d threads, counted in scratch[worker]", ITEMS, n_threads);
        OL_STATUS(TL_OK, tl_pool_create(n_threads, &pool));
        OL_UNIT {
            registry *g = ol_new(1, sizeof *g);
            int64_t sum = 0;
            g->n_threads = n_threads;
            ol_saw_status("status", tl_parallel_for(pool, ITEMS, 1, use_scratch, g));
            for (int k = 0; k < MOST_WORKERS; k++) sum += g->scratch[k];
            ol_saw_int("items counted", sum);
            ol_saw_int("numbers out of range", g->out_of_range);
            ol_saw_int("two threads with one number", g->moved);
            ol_saw_int("two ranges at once with one number", g->at_once);
            tl_pool_destroy(pool);
        }
        OL_ORACLE {
            ol_want_status("status", TL_OK);
            ol_want_int("items counted", ITEMS);
            ol_want_int("numbers out of range", 0);
            ol_want_int("two threads with one number", 0);
            ol_want_int("two ranges at once with one number", 0);
        }
    }
}

/* A million items in 64 ranges of at least a millisecond: no short loop. The others are still at work when the
 * caller has nothing left to do, also on a busy machine: each of their ranges takes until 30 ms after the
 * caller's latest. */
typedef struct {
    pthread_t caller;
    _Atomic int64_t caller_ms; /* when the caller finished its latest */
    _Atomic int64_t finished;
    _Atomic int workers; /* bit w: worker w was here */
} slow;

static int64_t now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void work_slowly(void *slow_, int64_t lo, int64_t hi, int worker) {
    slow *s = slow_;
    (void)lo, (void)hi;
    atomic_fetch_or(&s->workers, 1 << worker);
    rest(1000);
    if (pthread_equal(pthread_self(), s->caller)) s->caller_ms = now_ms();
    else
        while (now_ms() - s->caller_ms < 30) rest(1000);
    s->finished++;
}

OL_TEST(threads_share_slow_work) {
    tl_pool *pool = NULL;
    OL_STATUS(TL_OK, tl_pool_create(4, &pool));
    ol_note("64 ranges on 4 threads; each takes the caller 1 ms, and another thread until 30 ms after that");
    OL_UNIT {
        slow *s = ol_new(1, sizeof *s);
        s->caller = pthread_self();
        s->caller_ms = now_ms();
        ol_saw_status("status", tl_parallel_for(pool, 1 << 20, 1 << 14, work_slowly, s));
        ol_saw_int("ranges finished at the return", s->finished);
        OL_HOLDS("more than one thread worked", (s->workers & (s->workers - 1)) != 0);
        tl_pool_destroy(pool);
    }
    OL_ORACLE {
        ol_want_status("status", TL_OK);
        ol_want_int("ranges finished at the return", 64);
        ol_want_fact("more than one thread worked");
    }
}

/* ---- Memory ----------------------------------------------------------------------------------------- */

enum { CELLS = 1000, STAGES = 40 };

typedef struct {
    const uint32_t *from;
    uint32_t *to;
} stage;

/* Each cell takes from one that another worker may have written a stage ago. Nothing here is atomic. */
static void mix(void *stage_, int64_t lo, int64_t hi, int worker) {
    stage *s = stage_;
    (void)worker;
    for (int64_t i = lo; i < hi; i++) s->to[i] = 3u * s->from[i] + s->from[CELLS - 1 - i] + (uint32_t)i;
}

OL_TEST(stages_see_each_other) {
    ol_rng r = ol_rng_at(ol_seed());
    tl_pool *pool = NULL;
    uint32_t *x = ol_new(CELLS, sizeof *x), *y = ol_new(CELLS, sizeof *y);
    for (int i = 0; i < CELLS; i++) x[i] = (uint32_t)ol_next(&r);
    OL_STATUS(TL_OK, tl_pool_create(4, &pool));
    ol_note("%d loops over %d cells, each from what the last one wrote; the caller writes between them", STAGES, CELLS);
    for (int k = 0; k < STAGES; k++) {
        stage s = {x, y};
        OL_UNIT { tl_parallel_for(pool, CELLS, 1 + k, mix, &s); }
        OL_ORACLE { mix(&s, 0, CELLS, 0); }
        y[k] += x[k]; /* between two calls all cells are the caller's */
        x = s.to;
        y = (uint32_t *)(uintptr_t)s.from;
    }
    OL_UNIT {
        ol_saw_u32("cells", x, OL_DIMS({"cell", CELLS}));
        tl_pool_destroy(pool);
    }
    OL_ORACLE { ol_want_u32("cells", x, CELLS); }
}

/* Pauses of several lengths, so that helpers are met awake, asleep and on their way to sleep. */
OL_TEST(many_short_loops) {
    ol_rng r = ol_rng_at(ol_seed());
    tl_pool *pool = NULL;
    OL_STATUS(TL_OK, tl_pool_create(4, &pool));
    ol_note("2000 loops of 0 to 8 items");
    int64_t items = 0, counted = 0, failed = 0;
    for (int k = 0; k < 2000; k++) {
        int64_t n = ol_below(&r, 9), pause = ol_below(&r, 8) == 0 ? ol_below(&r, 200) : 0;
        items += n;
        OL_UNIT {
            _Atomic int64_t calls = 0;
            ledger l = {.n = n, .grain = 1, .n_ranges = n, .n_threads = 4};
            _Atomic int64_t seen[8];
            int64_t ends[8][2];
            for (int i = 0; i < 8; i++) seen[i] = 0;
            l.calls = seen, l.ends = ends;
            failed += tl_parallel_for(pool, n, 1, sign, &l) != TL_OK;
            for (int i = 0; i < 8; i++) calls += seen[i];
            counted += calls - l.strays;
            rest(pause);
        }
    }
    OL_UNIT {
        ol_saw_i64("items counted, loops failed", (int64_t[]){counted, failed}, OL_DIMS({"field", 2}));
        tl_pool_destroy(pool);
    }
    OL_ORACLE { ol_want_i64("items counted, loops failed", (int64_t[]){items, 0}, 2); }
}
