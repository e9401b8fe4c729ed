/* The tests of pool.h that one caller makes: ranges, numbers, arguments, what is left behind. */
#include <limits.h>
#include <pthread.h>
#include <unistd.h>

#include "ledger.h"

/* ---- Section 3 -------------------------------------------------------------------------------------- */

/* Squares of lo .. hi - 1, summed into the range's own place. */
static void sum_squares(void *sums, int64_t lo, int64_t hi, int worker) {
    (void)worker;
    for (int64_t i = lo; i < hi; i++) ((int64_t *)sums)[lo / 4] += i * i;
}

OL_TEST(hand_example) {
    tl_pool *pool = NULL;
    OL_STATUS(TL_OK, tl_pool_create(3, &pool));
    loop_is_complete(pool, 3, 10, 4);
    ol_note("the squares of 0 .. 9 in ranges of 4");
    OL_UNIT {
        int64_t sums[3] = {0};
        ol_saw_status("status", tl_parallel_for(pool, 10, 4, sum_squares, sums));
        ol_saw_i64("sums", sums, OL_DIMS({"range", 3}));
        tl_pool_destroy(pool);
    }
    OL_ORACLE {
        ol_want_status("status", TL_OK);
        ol_want_i64("sums", (int64_t[]){0 + 1 + 4 + 9, 16 + 25 + 36 + 49, 64 + 81}, 3);
    }
}

/* ---- Ranges ----------------------------------------------------------------------------------------- */

/* n around each multiple of grain that a partition can get wrong. */
static void loops_are_complete(tl_pool *pool, int n_threads) {
    static const int64_t grain[] = {1, 2, 3, 8, 100};
    for (int g = 0; g < 5; g++)
        for (int64_t multiple = 0; multiple <= 3; multiple++)
            for (int64_t off = -1; off <= 1; off++)
                if (multiple * grain[g] + off >= 0)
                    loop_is_complete(pool, n_threads, multiple * grain[g] + off, grain[g]);
    loop_is_complete(pool, n_threads, 1000, 7);
    loop_is_complete(pool, n_threads, 64, INT64_MAX);
    loop_is_complete(pool, n_threads, INT64_MAX, INT64_MAX);
    loop_is_complete(pool, n_threads, INT64_MAX, INT64_MAX - 1);
    loop_is_complete(pool, n_threads, INT64_MAX, INT64_MAX / 3 + 1);
    loop_is_complete(pool, n_threads, INT64_MAX - 1, INT64_C(1) << 59);
}

OL_TEST(each_range_exactly_once) {
    for (int n_threads = 1; n_threads <= 8; n_threads++) {
        tl_pool *pool = NULL;
        OL_STATUS(TL_OK, tl_pool_create(n_threads, &pool));
        loops_are_complete(pool, n_threads);
        OL_UNIT { tl_pool_destroy(pool); }
    }
}

/* The order of calls on one thread, as lo and hi; and who made them. */
typedef struct {
    pthread_t caller;
    int64_t ends[8][2];
    int64_t n_calls, elsewhere;
} diary;

static void write_diary(void *diary_, int64_t lo, int64_t hi, int worker) {
    diary *d = diary_;
    if (d->n_calls < 8) {
        d->ends[d->n_calls][0] = lo;
        d->ends[d->n_calls][1] = hi;
    }
    d->n_calls++;
    d->elsewhere += worker != 0 || !pthread_equal(pthread_self(), d->caller);
}

OL_TEST(without_a_pool_in_order) {
    loops_are_complete(NULL, 1);
    ol_note("n=29, grain=4 without a pool");
    OL_UNIT {
        diary d = {.caller = pthread_self()};
        ol_saw_status("status", tl_parallel_for(NULL, 29, 4, write_diary, &d));
        ol_saw_int("calls", d.n_calls);
        ol_saw_i64("in this order", d.ends[0], OL_DIMS({"call", 8}, {"lo, hi", 2}));
        ol_saw_int("calls by another worker than 0", d.elsewhere);
    }
    OL_ORACLE {
        ol_want_status("status", TL_OK);
        ol_want_int("calls", 8);
        ol_want_i64("in this order", (int64_t[]){0, 4, 4, 8, 8, 12, 12, 16, 16, 20, 20, 24, 24, 28, 28, 29}, 16);
        ol_want_int("calls by another worker than 0", 0);
    }
}

/* ---- Numbers and arguments -------------------------------------------------------------------------- */

static void create_gives(int n_threads, int64_t workers) {
    tl_pool *pool = NULL;
    ol_note("tl_pool_create(%d)", n_threads);
    OL_STATUS(TL_OK, tl_pool_create(n_threads, &pool));
    OL_UNIT {
        ol_saw_int("tl_pool_threads", tl_pool_threads(pool));
        tl_pool_destroy(pool);
    }
    OL_ORACLE { ol_want_int("tl_pool_threads", workers); }
}

static void create_refuses(int n_threads) {
    tl_pool *pool = (tl_pool *)&pool; /* must become NULL */
    ol_note("tl_pool_create(%d)", n_threads);
    OL_UNIT { tl_set_last_error(NULL); }
    OL_STATUS(TL_EINVAL, tl_pool_create(n_threads, &pool));
    OL_UNIT {
        ol_saw_int("out is NULL", pool == NULL);
        ol_saw_text("slot", tl_last_error());
    }
    OL_ORACLE {
        ol_want_int("out is NULL", 1);
        ol_want_text_with("slot", "tl_pool_create");
    }
}

OL_TEST(threads_are_counted) {
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    for (int n_threads = 1; n_threads <= 8; n_threads++) create_gives(n_threads, n_threads);
    create_gives(33, 33);
    create_gives(0, online < 1 ? 1 : online);
    create_refuses(-1);
    create_refuses(INT_MIN);
    ol_note("tl_pool_threads and tl_pool_destroy of NULL, tl_pool_create without out");
    OL_UNIT {
        ol_saw_int("threads of NULL", tl_pool_threads(NULL));
        tl_pool_destroy(NULL);
    }
    OL_ORACLE { ol_want_int("threads of NULL", 1); }
    OL_STATUS(TL_EINVAL, tl_pool_create(2, NULL));
}

static void loop_is_refused(tl_pool *pool, int64_t n, int64_t grain, int has_fn) {
    ol_note("tl_parallel_for(%s, %lld, %lld, %s)", pool ? "pool" : "NULL", (long long)n, (long long)grain,
            has_fn ? "fn" : "NULL");
    OL_UNIT {
        ledger *l = new_ledger(1, 1, 2);
        tl_set_last_error(NULL);
        ol_saw_status("status", tl_parallel_for(pool, n, grain, has_fn ? sign : NULL, l));
        ol_saw_int("calls", l->calls[0] + l->strays);
        ol_saw_text("slot", tl_last_error());
    }
    OL_ORACLE {
        ol_want_status("status", TL_EINVAL);
        ol_want_int("calls", 0);
        ol_want_text_with("slot", "tl_parallel_for");
    }
}

OL_TEST(bad_arguments) {
    tl_pool *pool = NULL;
    OL_STATUS(TL_OK, tl_pool_create(2, &pool));
    for (int with_pool = 0; with_pool < 2; with_pool++) {
        tl_pool *p = with_pool ? pool : NULL;
        loop_is_refused(p, -1, 1, 1);
        loop_is_refused(p, INT64_MIN, 1, 1);
        loop_is_refused(p, 10, 0, 1);
        loop_is_refused(p, 10, -1, 1);
        loop_is_refused(p, 10, INT64_MIN, 1);
        loop_is_refused(p, 10, 1, 0);
        loop_is_complete(p, 2, 0, 5);
    }
    loop_is_complete(pool, 2, 10, 3);
    OL_UNIT { tl_pool_destroy(pool); }
}

/* ---- What is left ----------------------------------------------------------------------------------- */

static void follow_the_hook(void) {
    OL_UNIT { tl_set_allocator(&(tl_allocator){ol_hook_alloc, ol_hook_free, NULL}); }
}

/* What must be the same before a pool is made and after it is gone. */
static void look_around(const char *when, int64_t expected_threads) {
    ol_saw_i64(when, (int64_t[]){threads_now(expected_threads), ol_hook_live()}, OL_DIMS({"threads, blocks", 2}));
}

enum { ROUNDS = 4 };

OL_TEST(nothing_is_left) {
    follow_the_hook();
    OL_UNIT { settle_threads(); }
    for (int n_threads = 1; n_threads <= 8; n_threads++) {
        ol_note("a pool of %d threads, with and without a loop, four times", n_threads);
        OL_UNIT {
            int64_t threads = threads_now(-1), during = 0, from_hook = 0;
            look_around("before", threads);
            for (int round = 0; round < ROUNDS; round++) {
                tl_pool *pool = NULL;
                int64_t allocs = ol_hook_allocs();
                tl_pool_create(n_threads, &pool);
                from_hook += ol_hook_allocs() > allocs;
                allocs = ol_hook_allocs();
                ledger *l = new_ledger(100, 3, n_threads);
                if (round % 2) tl_parallel_for(pool, 100, 3, sign, l);
                during += ol_hook_allocs() - allocs;
                tl_pool_destroy(pool);
            }
            look_around("after", threads);
            ol_saw_int("pools that come from the hook", from_hook);
            ol_saw_int("allocations during loops", during);
        }
        OL_ORACLE {
            ol_want_same("before", "after");
            ol_want_int("pools that come from the hook", ROUNDS);
            ol_want_int("allocations during loops", 0);
        }
    }
}

/* The k-th of the three threads that a pool of four starts is refused. */
static void create_without_thread(int k) {
    tl_pool *pool = (tl_pool *)&pool;
    ol_note("a pool of 4 threads; the system refuses thread %d of 3", k);
    OL_UNIT {
        int64_t threads = threads_now(-1);
        look_around("before", threads);
        tl_set_last_error(NULL);
        ol_threads_fail_at(k);
        ol_saw_status("status", tl_pool_create(4, &pool));
        ol_threads_fail_at(0);
        ol_saw_int("out is NULL", pool == NULL);
        ol_saw_text("slot", tl_last_error());
        look_around("after", threads);
    }
    OL_ORACLE {
        ol_want_status("status", TL_EIO);
        ol_want_int("out is NULL", 1);
        ol_want_text_with("slot", "tl_pool_create");
        ol_want_same("before", "after");
    }
}

/* The k-th allocation fails; a pool may need fewer. */
static void create_without_memory(int k) {
    tl_pool *pool = (tl_pool *)&pool;
    ol_note("a pool of 4 threads; allocation %d fails", k);
    OL_UNIT {
        int64_t threads = threads_now(-1);
        look_around("before", threads);
        tl_set_last_error(NULL);
        ol_hook_fail_at(k);
        tl_status status = tl_pool_create(4, &pool);
        ol_hook_fail_at(0);
        if (k == 1) ol_saw_status("status", status);
        if (k == 1) ol_saw_text("slot", tl_last_error());
        OL_HOLDS("out tells the same as the status", (status == TL_OK) == (pool != NULL));
        tl_pool_destroy(pool);
        look_around("after", threads);
    }
    OL_ORACLE {
        if (k == 1) ol_want_status("status", TL_ENOMEM);
        if (k == 1) ol_want_text_with("slot", "tl_pool_create");
        ol_want_fact("out tells the same as the status");
        ol_want_same("before", "after");
    }
}

OL_TEST(refused_threads_and_memory) {
    follow_the_hook();
    OL_UNIT { settle_threads(); }
    for (int k = 1; k <= 3; k++) create_without_thread(k);
    for (int k = 1; k <= 4; k++) create_without_memory(k);
    tl_pool *pool = NULL;
    ol_note("a pool of 4 threads afterwards");
    OL_STATUS(TL_OK, tl_pool_create(4, &pool));
    loop_is_complete(pool, 4, 50, 3);
    OL_UNIT { tl_pool_destroy(pool); }
}
