/* How the functions are called: in place, row by row, with sizes and pointers that are wrong, from two threads. */
#define _GNU_SOURCE
#include "rows.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* ---- In place, and each row by itself --------------------------------------------------------------- */

/* Finite ones only: the bits of other rows are left open. */
static matrix scores(int64_t rows, int64_t cols) {
    ol_rng r = ol_rng_at(ol_seed());
    matrix m = new_matrix(rows, cols);
    fill_scaled(&r, &m, 20.0f);
    return m;
}

OL_TEST(in_place_gives_the_same_bits) {
    static const int64_t shapes[][2] = {{1, 1}, {3, 4}, {5, 7}, {8, 33}, {2, 500}};
    for (int k = 0; k < 5; k++)
        for (int online = 0; online < 2; online++) {
            matrix m = scores(shapes[k][0], shapes[k][1]);
            ol_note("%s with y = x, rows=%d, cols=%d", name_of(online), (int)m.rows, (int)m.cols);
            OL_UNIT {
                softmax(online, m.x, m.y, m.rows, m.cols);
                ol_saw_status("status", softmax(online, m.x, m.x, m.rows, m.cols));
                ol_saw_f32("into another array", m.y, dims_of(&m));
                ol_saw_f32("in place", m.x, dims_of(&m));
            }
            OL_ORACLE {
                ol_want_status("status", TL_OK);
                ol_want_same("into another array", "in place");
            }
        }
}

static void row_by_row(int online, const matrix *m, float *alone, float *turned) {
    int64_t n = m->cols;
    float *x = ol_new(size_of(m), sizeof *x);
    for (int64_t r = 0; r < m->rows; r++) {
        softmax(online, m->x + r * n, alone + r * n, 1, n);
        memcpy(x + (m->rows - 1 - r) * n, m->x + r * n, (size_t)n * sizeof *x);
    }
    softmax(online, x, x, m->rows, n);
    for (int64_t r = 0; r < m->rows; r++) memcpy(turned + r * n, x + (m->rows - 1 - r) * n, (size_t)n * sizeof *x);
}

OL_TEST(a_row_does_not_depend_on_the_others) {
    static const int64_t shapes[][2] = {{2, 3}, {9, 8}, {16, 21}, {4, 200}};
    for (int k = 0; k < 4; k++)
        for (int online = 0; online < 2; online++) {
            matrix m = scores(shapes[k][0], shapes[k][1]);
            ol_note("%s: rows=%d, cols=%d at once, each row alone, and in reverse order", name_of(online),
                    (int)m.rows, (int)m.cols);
            OL_UNIT {
                float *alone = ol_new(size_of(&m), sizeof *alone), *turned = ol_new(size_of(&m), sizeof *turned);
                ol_saw_status("status", softmax(online, m.x, m.y, m.rows, m.cols));
                row_by_row(online, &m, alone, turned);
                for (int wish = 0; wish < 2; wish++) ol_saw_f32("at once", m.y, dims_of(&m));
                ol_saw_f32("alone", alone, dims_of(&m));
                ol_saw_f32("in reverse", turned, dims_of(&m));
            }
            OL_ORACLE {
                ol_want_status("status", TL_OK);
                ol_want_same("at once", "alone");
                ol_want_same("at once", "in reverse");
            }
        }
}

/* ---- Memory ----------------------------------------------------------------------------------------- */

/* x in memory that cannot be written; y with floats before and after that must stay. */
OL_TEST(only_y_is_written) {
    enum { ROWS = 6, COLS = 13, MARGIN = 8, N = ROWS * COLS, ALL = MARGIN + N + MARGIN };
    matrix m = scores(ROWS, COLS);
    for (int online = 0; online < 2; online++) {
        float *y = ol_new(ALL, sizeof *y);
        ol_fill_sentinel_f32(y, ALL);
        ol_note("%s: x for reading only, y in the middle of %d floats", name_of(online), ALL);
        OL_UNIT {
            size_t bytes = N * sizeof *m.x;
            void *x = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            if (x == MAP_FAILED) abort();
            memcpy(x, m.x, bytes);
            mprotect(x, bytes, PROT_READ);
            ol_saw_status("status", softmax(online, x, y + MARGIN, ROWS, COLS));
            munmap(x, bytes);
            ol_saw_f32("before y", y, OL_DIMS({"i", MARGIN}));
            ol_saw_f32("after y", y + MARGIN + N, OL_DIMS({"i", MARGIN}));
        }
        OL_ORACLE {
            ol_want_status("status", TL_OK);
            ol_want_bits_f32("before y", y, MARGIN);
            ol_want_bits_f32("after y", y + MARGIN + N, MARGIN);
        }
    }
}

typedef struct {
    const matrix *m;
    int online;
    tl_status status;
} long_call;

static void *call_on_small_stack(void *arg) {
    long_call *me = arg;
    me->status = softmax(me->online, me->m->x, me->m->y, me->m->rows, me->m->cols);
    return NULL;
}

/* A buffer for a row would not fit on this stack. Allocations are counted in a second call, for whatever the first
 * one made the system load is not the unit's. */
OL_TEST(long_rows_need_no_memory) {
    enum { COLS = 160000, SMALL_STACK = 512 << 10 };
    matrix m = new_matrix(1, COLS);
    for (int64_t c = 0; c < COLS; c++) m.x[c] = -3.0f;
    for (int online = 0; online < 2; online++) {
        ol_note("%s: rows=1, cols=%d of equal scores, on a stack of %d KiB", name_of(online), COLS, SMALL_STACK >> 10);
        OL_UNIT {
            long_call call = {.m = &m, .online = online};
            pthread_attr_t attr;
            pthread_t thread;
            pthread_attr_init(&attr);
            pthread_attr_setstacksize(&attr, SMALL_STACK);
            if (pthread_create(&thread, &attr, call_on_small_stack, &call) != 0) abort();
            pthread_join(thread, NULL);
            pthread_attr_destroy(&attr);
            ol_saw_status("status", call.status);
            int64_t before = ol_heap_allocs();
            softmax(online, m.x, m.y, 1, COLS);
            ol_saw_int("allocations during a call", ol_heap_allocs() - before);
            ol_saw_f32("y", m.y, dims_of(&m));
        }
        OL_ORACLE { /* sums of ones are exact, and so is the inverse's place */
            for (int64_t c = 0; c < COLS; c++) m.y[c] = 1.0f / COLS;
            ol_want_status("status", TL_OK);
            ol_want_int("allocations during a call", 0);
            ol_want_bits_f32("y", m.y, COLS);
        }
    }
}

/* ---- Wrong arguments -------------------------------------------------------------------------------- */

enum { N_Y = 6 };

/* A call that must leave y alone. x has six elements, or none where there is nothing to do. */
static void leaves_y_alone(int online, const char *why, tl_status wanted, int has_x, int has_y, int64_t rows,
                           int64_t cols) {
    float y[N_Y], *x = ol_new(wanted == TL_OK ? 0 : N_Y, sizeof *x);
    ol_fill_sentinel_f32(y, N_Y);
    ol_note("%s, %s: rows=%lld, cols=%lld", name_of(online), why, (long long)rows, (long long)cols);
    OL_UNIT {
        tl_set_last_error(NULL);
        ol_saw_status("status", softmax(online, has_x ? x : NULL, has_y ? y : NULL, rows, cols));
        if (wanted != TL_OK) ol_saw_text("error slot", tl_last_error());
        ol_saw_f32("untouched y", y, OL_DIMS({"i", N_Y}));
    }
    OL_ORACLE {
        ol_want_status("status", wanted);
        if (wanted != TL_OK) ol_want_text_with("error slot", name_of(online));
        ol_want_bits_f32("untouched y", y, N_Y);
    }
}

OL_TEST(bad_sizes_and_pointers) {
    const int64_t huge = INT64_C(1) << 62, wraps = INT64_C(1) << 32;
    for (int online = 0; online < 2; online++) {
        leaves_y_alone(online, "negative rows", TL_EINVAL, 1, 1, -1, 3);
        leaves_y_alone(online, "negative columns", TL_EINVAL, 1, 1, 2, -3);
        leaves_y_alone(online, "-1 columns", TL_EINVAL, 1, 1, 2, -1);
        leaves_y_alone(online, "both negative, with a positive product", TL_EINVAL, 1, 1, -2, -3);
        leaves_y_alone(online, "rows that look like 2 in 32 bits", TL_EINVAL, 1, 1, 2 - wraps, 3);
        leaves_y_alone(online, "columns that look like 3 in 32 bits", TL_EINVAL, 1, 1, 2, 3 - wraps);
        leaves_y_alone(online, "the most negative rows", TL_EINVAL, 1, 1, INT64_MIN, 1);
        leaves_y_alone(online, "x NULL", TL_EINVAL, 0, 1, 2, 3);
        leaves_y_alone(online, "y NULL", TL_EINVAL, 1, 0, 2, 3);
        leaves_y_alone(online, "x NULL, and a size whose product wraps to 0", TL_EINVAL, 0, 1, huge, 4);
        leaves_y_alone(online, "y NULL, and a size whose product wraps to 0", TL_EINVAL, 1, 0, 4, huge);
    }
}

/* Whether NULL is refused where there are no elements is left open; what the sanitizers find is not. */
static void nothing_and_null(int online, int64_t rows, int64_t cols) {
    ol_note("%s with NULL: rows=%d, cols=%d", name_of(online), (int)rows, (int)cols);
    OL_UNIT {
        tl_status status = softmax(online, NULL, NULL, rows, cols);
        ol_saw_int("TL_OK or TL_EINVAL", status == TL_OK || status == TL_EINVAL);
    }
    OL_ORACLE { ol_want_int("TL_OK or TL_EINVAL", 1); }
}

OL_TEST(nothing_to_do) {
    for (int online = 0; online < 2; online++) {
        leaves_y_alone(online, "no rows", TL_OK, 1, 1, 0, 3);
        leaves_y_alone(online, "no columns", TL_OK, 1, 1, 2, 0);
        leaves_y_alone(online, "neither", TL_OK, 1, 1, 0, 0);
        nothing_and_null(online, 0, 3);
        nothing_and_null(online, 2, 0);
        leaves_y_alone(online, "a thousand rows of nothing", TL_OK, 1, 1, 1000, 0);
        leaves_y_alone(online, "no rows, very wide", TL_OK, 1, 1, 0, INT64_MAX);
    }
}

/* ---- Two callers ------------------------------------------------------------------------------------ */

typedef struct {
    pthread_barrier_t *start;
    const matrix *m;
    float *y[2];
} caller;

static void *call_both(void *arg) {
    const caller *me = arg;
    pthread_barrier_wait(me->start);
    for (int online = 0; online < 2; online++) softmax(online, me->m->x, me->y[online], me->m->rows, me->m->cols);
    return NULL;
}

static void call_from_two_threads(const matrix *m, caller *a, caller *b) {
    pthread_barrier_t start;
    pthread_t thread;
    pthread_barrier_init(&start, NULL, 2);
    a->start = b->start = &start;
    a->m = b->m = m;
    if (pthread_create(&thread, NULL, call_both, a) != 0) abort();
    call_both(b);
    pthread_join(thread, NULL);
    pthread_barrier_destroy(&start);
}

OL_TEST(two_callers_at_once) {
    matrix m = scores(20, 40);
    ol_note("both functions from two threads at once, rows=20, cols=40; then from one");
    OL_UNIT {
        caller a = {0}, b = {0};
        for (int online = 0; online < 2; online++) {
            a.y[online] = ol_new(size_of(&m), sizeof(float));
            b.y[online] = ol_new(size_of(&m), sizeof(float));
        }
        call_from_two_threads(&m, &a, &b);
        for (int online = 0; online < 2; online++) {
            softmax(online, m.x, m.y, m.rows, m.cols);
            for (int wish = 0; wish < 2; wish++) ol_saw_f32("one caller", m.y, dims_of(&m));
            ol_saw_f32("first of two", a.y[online], dims_of(&m));
            ol_saw_f32("second of two", b.y[online], dims_of(&m));
        }
    }
    OL_ORACLE {
        for (int online = 0; online < 2; online++) {
            ol_want_same("one caller", "first of two");
            ol_want_same("one caller", "second of two");
        }
    }
}
