/* The tests of pool.h in which calls meet: inside each other, and from several threads. */
#include <pthread.h>
#include <string.h>

#include "ledger.h"

/* All loops here are long, for a short one may do without the pool. */
enum { LONG = 1 << 14 };

/* ---- Nested calls ----------------------------------------------------------------------------------- */

typedef struct {
    tl_pool *outer, *inner; /* inner may be NULL */
    _Atomic int64_t statuses[3][TL_EIO + 1]; /* of calls on outer, of calls on inner, of calls on outer in these */
    _Atomic int64_t slots_without_name, calls_of_refused, calls_of_inner;
    _Atomic int arrived; /* workers of the present inner call, one bit each */
} nest;

static void must_not_run(void *nest_, int64_t lo, int64_t hi, int worker) {
    nest *t = nest_;
    (void)lo, (void)hi, (void)worker;
    t->calls_of_refused++;
}

static void count_status(nest *t, int row, tl_status status) {
    if (status >= 0 && status <= TL_EIO) t->statuses[row][status]++;
}

static void call_outer(nest *t, int row) {
    tl_set_last_error(NULL);
    count_status(t, row, tl_parallel_for(t->outer, 5 * LONG, LONG, must_not_run, t));
    t->slots_without_name += strstr(tl_last_error(), "tl_parallel_for") == NULL;
}

/* Waits a moment for the other worker of a pool of two, so that both make the call. */
static void inner_range(void *nest_, int64_t lo, int64_t hi, int worker) {
    nest *t = nest_;
    (void)lo, (void)hi;
    t->calls_of_inner++;
    atomic_fetch_or(&t->arrived, 1 << worker);
    for (int k = 0; k < 100 && t->inner && t->arrived != 3; k++) rest(200);
    call_outer(t, 2);
}

static void outer_range(void *nest_, int64_t lo, int64_t hi, int worker) {
    nest *t = nest_;
    (void)lo, (void)hi, (void)worker;
    rest(200);
    call_outer(t, 0);
    count_status(t, 1, tl_parallel_for(t->inner, 4 * LONG, LONG, inner_range, t));
    call_outer(t, 0); /* still inside */
}

enum { OUTER = 6 };

static void nested_calls(const char *what, int outer_threads, int inner_threads) {
    nest *t = ol_new(1, sizeof *t);
    ol_note("%s", what);
    OL_STATUS(TL_OK, tl_pool_create(outer_threads, &t->outer));
    if (inner_threads) OL_STATUS(TL_OK, tl_pool_create(inner_threads, &t->inner));
    OL_STATUS(TL_OK, tl_parallel_for(t->outer, OUTER * LONG, LONG, outer_range, t));
    OL_UNIT {
        int64_t seen[3][TL_EIO + 1];
        for (int row = 0; row < 3; row++)
            for (int k = 0; k <= TL_EIO; k++) seen[row][k] = t->statuses[row][k];
        ol_saw_i64("statuses", seen[0], OL_DIMS({"on the same, on another, on the first from there", 3},
                                                {"status", TL_EIO + 1}));
        ol_saw_int("calls of a refused fn", t->calls_of_refused);
        ol_saw_int("calls of the other pool's fn", t->calls_of_inner);
        ol_saw_int("refusals without the function's name", t->slots_without_name);
    }
    OL_ORACLE {
        int64_t want[3][TL_EIO + 1] = {{0}};
        want[0][TL_EBUSY] = 2 * OUTER;
        want[1][TL_OK] = OUTER;
        want[2][TL_EBUSY] = 4 * OUTER;
        ol_want_i64("statuses", want[0], 3 * (TL_EIO + 1));
        ol_want_int("calls of a refused fn", 0);
        ol_want_int("calls of the other pool's fn", 4 * OUTER);
        ol_want_int("refusals without the function's name", 0);
    }
    loop_is_complete(t->outer, outer_threads, 20, 3); /* the caller is outside again */
    OL_UNIT {
        tl_pool_destroy(t->inner);
        tl_pool_destroy(t->outer);
    }
}

OL_TEST(nested_calls_are_refused) {
    nested_calls("inside a pool of one thread, and in a loop without a pool there", 1, 0);
    nested_calls("inside a pool of 3 threads, and in a loop without a pool there", 3, 0);
}

OL_TEST(pools_nest) {
    nested_calls("a pool of 2 inside a pool of one thread", 1, 2);
    nested_calls("a pool of 2 inside a pool of 3", 3, 2);
}

/* ---- Several callers -------------------------------------------------------------------------------- */

enum { CALLERS = 4, CALLS = 40, WIDTH = 16 };

typedef struct caller caller;
typedef struct {
    tl_pool *pool;
    _Atomic int inside[CALLERS]; /* ranges of each caller that are running */
    _Atomic int64_t overlaps;
} meeting;

struct caller {
    meeting *place;
    int number;
    _Atomic int64_t count[WIDTH];
    int64_t failed;
};

static void meet(void *caller_, int64_t lo, int64_t hi, int worker) {
    caller *c = caller_;
    (void)hi, (void)worker;
    c->place->inside[c->number]++;
    for (int k = 0; k < CALLERS; k++)
        if (k != c->number && c->place->inside[k] > 0) c->place->overlaps++;
    c->count[lo / LONG]++;
    rest(lo / LONG % 8 == 0 ? 20 : 0);
    c->place->inside[c->number]--;
}

static void *call_often(void *caller_) {
    caller *c = caller_;
    for (int k = 0; k < CALLS; k++) c->failed += tl_parallel_for(c->place->pool, WIDTH * LONG, LONG, meet, c) != TL_OK;
    return NULL;
}

OL_TEST(callers_take_turns) {
    meeting *place = ol_new(1, sizeof *place);
    OL_STATUS(TL_OK, tl_pool_create(3, &place->pool));
    ol_note("%d threads make %d calls each on one pool of 3", CALLERS, CALLS);
    OL_UNIT {
        caller *c = ol_new(CALLERS, sizeof *c);
        pthread_t thread[CALLERS];
        int64_t count[CALLERS][WIDTH], failed = 0;
        for (int k = 0; k < CALLERS; k++) {
            c[k].place = place;
            c[k].number = k;
            pthread_create(&thread[k], NULL, call_often, &c[k]);
        }
        for (int k = 0; k < CALLERS; k++) {
            pthread_join(thread[k], NULL);
            for (int i = 0; i < WIDTH; i++) count[k][i] = c[k].count[i];
            failed += c[k].failed;
        }
        ol_saw_i64("calls of each range", count[0], OL_DIMS({"caller", CALLERS}, {"range", WIDTH}));
        ol_saw_int("calls that failed", failed);
        ol_saw_int("ranges that met those of another caller", place->overlaps);
        tl_pool_destroy(place->pool);
    }
    OL_ORACLE {
        int64_t count[CALLERS * WIDTH];
        for (int k = 0; k < CALLERS * WIDTH; k++) count[k] = CALLS;
        ol_want_i64("calls of each range", count, CALLERS * WIDTH);
        ol_want_int("calls that failed", 0);
        ol_want_int("ranges that met those of another caller", 0);
    }
}
