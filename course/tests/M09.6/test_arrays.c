/* tl_exp_f32, and both functions on several threads. What the values are worth is the matter of test_expf.c; here an
 * array must have the bits that the scalar function gives. */
#include "reach.h"

#include <float.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "tinyllm/numerics.h"

/* Ordinary numbers, with one in eight of another kind. No NaN, for the bits of a NaN are left open. */
static void fill(ol_rng *r, float *x, int64_t n) {
    static const float special[] = {0.0f, -0.0f, INFINITY, -INFINITY, FLT_MAX, -90.0f, -103.0f, 88.9f, 1e-40f};
    for (int64_t i = 0; i < n; i++) {
        x[i] = 30.0f * ol_unit_f32(r);
        if (ol_below(r, 8) == 0) x[i] = special[ol_below(r, sizeof special / sizeof *special)];
    }
}

static void one_by_one(const float *x, float *y, int64_t n) {
    for (int64_t i = 0; i < n; i++) y[i] = tl_expf(x[i]);
}

static void array_has_the_bits_of_the_scalar(const float *x, int64_t n) {
    float *as_array = ol_new(n, sizeof *as_array), *scalar = ol_new(n, sizeof *scalar);
    OL_UNIT {
        one_by_one(x, scalar, n);
        tl_exp_f32(x, as_array, n);
        ol_saw_f32("one by one", scalar, OL_DIMS({"i", n}));
        ol_saw_f32("as an array", as_array, OL_DIMS({"i", n}));
        ol_saw_f32("x afterwards", x, OL_DIMS({"i", n}));
    }
    OL_ORACLE {
        ol_want_same("one by one", "as an array");
        ol_want_bits_f32("x afterwards", x, n);
    }
}

/* Arrays that end where their memory ends, so that a read or write beyond the last element is noticed. */
OL_TEST(arrays_have_the_bits_of_the_scalar) {
    static const int64_t lengths[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 15, 16, 17, 23, 31, 32, 33, 63, 64, 65, 127, 5000};
    ol_rng r = ol_rng_at(ol_seed());
    for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
        float *x = ol_new(lengths[k], sizeof *x);
        fill(&r, x, lengths[k]);
        ol_note("tl_exp_f32 of n=%d", (int)lengths[k]);
        array_has_the_bits_of_the_scalar(x, lengths[k]);
    }
}

/* The same numbers by themselves, behind others in a longer array, and from another alignment. */
OL_TEST(place_and_alignment_do_not_matter) {
    enum { N = 40, SHIFTS = 32 };
    ol_rng r = ol_rng_at(ol_seed());
    float *x = ol_new(N + SHIFTS, sizeof *x), *y = ol_new(N + SHIFTS, sizeof *y);
    for (int shift = 0; shift < SHIFTS; shift++) {
        fill(&r, x, N + shift);
        float *last_x = ol_new(N, sizeof *x), *last_y = ol_new(N, sizeof *y);
        memcpy(last_x, x + shift, N * sizeof *x);
        ol_note("tl_exp_f32: %d numbers, as the last of n=%d, and %d floats into their memory", N, N + shift, shift);
        OL_UNIT {
            tl_exp_f32(last_x, last_y, N);
            for (int wish = 0; wish < 2; wish++) ol_saw_f32("by themselves", last_y, OL_DIMS({"i", N}));
            tl_exp_f32(x, y, N + shift);
            ol_saw_f32("behind others", y + shift, OL_DIMS({"i", N}));
            tl_exp_f32(x + shift, y + shift, N);
            ol_saw_f32("further on", y + shift, OL_DIMS({"i", N}));
        }
        OL_ORACLE {
            ol_want_same("by themselves", "behind others");
            ol_want_same("by themselves", "further on");
        }
    }
}

OL_TEST(in_place) {
    static const int64_t lengths[] = {1, 3, 4, 7, 8, 9, 16, 17, 33, 1000};
    ol_rng r = ol_rng_at(ol_seed());
    for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
        int64_t n = lengths[k];
        float *x = ol_new(n, sizeof *x), *y = ol_new(n, sizeof *y);
        fill(&r, x, n);
        ol_note("tl_exp_f32 with y = x, n=%d", (int)n);
        OL_UNIT {
            one_by_one(x, y, n);
            tl_exp_f32(x, x, n);
            ol_saw_f32("one by one", y, OL_DIMS({"i", n}));
            ol_saw_f32("in place", x, OL_DIMS({"i", n}));
        }
        OL_ORACLE { ol_want_same("one by one", "in place"); }
    }
}

/* Among them lengths whose low 32 bits look like a small positive number. */
OL_TEST(no_elements_no_access) {
    static const int64_t lengths[] = {0, -1, -4, 3 - (INT64_C(1) << 32), 5 - (INT64_C(1) << 62)};
    enum { N = 8 };
    float x[N] = {1, 2, 3, 4, 5, 6, 7, 8}, y[N];
    for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
        ol_note("tl_exp_f32 with n=%lld: on arrays, then on NULL", (long long)lengths[k]);
        ol_fill_sentinel_f32(y, N);
        OL_UNIT {
            tl_exp_f32(x, y, lengths[k]);
            ol_saw_f32("untouched y", y, OL_DIMS({"i", N}));
            tl_exp_f32(NULL, NULL, lengths[k]);
        }
        OL_ORACLE { ol_want_bits_f32("untouched y", y, N); }
    }
}

OL_TEST(nan_stays_in_its_place) {
    enum { N = 37 };
    ol_rng r = ol_rng_at(ol_seed());
    float x[N], y[N], nan[N], others[N];
    fill(&r, x, N);
    for (int i = 0; i < N; i += 5) x[i] = i % 2 ? -NAN : NAN;
    ol_note("tl_exp_f32 of n=%d with a NaN at every fifth place", N);
    OL_UNIT {
        tl_exp_f32(x, y, N);
        for (int i = 0; i < N; i++) {
            nan[i] = isnan(x[i]) ? y[i] : NAN;
            others[i] = isnan(x[i]) ? 0.0f : y[i];
            y[i] = isnan(x[i]) ? 0.0f : tl_expf(x[i]);
        }
        ol_saw_f32("where x is NaN", nan, OL_DIMS({"i", N}));
        ol_saw_f32("elsewhere", others, OL_DIMS({"i", N}));
        ol_saw_f32("elsewhere, one by one", y, OL_DIMS({"i", N}));
    }
    OL_ORACLE {
        ol_want_nan_f32("where x is NaN", N);
        ol_want_same("elsewhere, one by one", "elsewhere");
    }
}

OL_TEST(neighbours_stay_untouched) {
    enum { N = 21, MARGIN = 9, ALL = MARGIN + N + MARGIN };
    ol_rng r = ol_rng_at(ol_seed());
    float x[N], y[ALL];
    fill(&r, x, N);
    ol_fill_sentinel_f32(y, ALL);
    ol_note("tl_exp_f32 of n=%d into the middle of %d floats", N, ALL);
    OL_UNIT {
        tl_exp_f32(x, y + MARGIN, N);
        ol_saw_f32("before", y, OL_DIMS({"i", MARGIN}));
        ol_saw_f32("after", y + MARGIN + N, OL_DIMS({"i", MARGIN}));
    }
    OL_ORACLE {
        ol_want_bits_f32("before", y, MARGIN);
        ol_want_bits_f32("after", y + MARGIN + N, MARGIN);
    }
}

/* ---- Threads ---------------------------------------------------------------------------------------- */

enum { N_THREADS = 4, PER_THREAD = 4000 };

typedef struct {
    pthread_barrier_t *start, *met;
    const float *x;
    float *y;
} caller;

/* One call first, and nobody goes on before all have it behind them: ThreadSanitizer remembers only the latest
 * accesses of a thread. */
static void *call_both(void *arg) {
    const caller *me = arg;
    pthread_barrier_wait(me->start);
    me->y[0] = tl_expf(me->x[0]);
    tl_exp_f32(me->x + 1, me->y + 1, 20);
    pthread_barrier_wait(me->met);
    tl_exp_f32(me->x, me->y, PER_THREAD);
    return NULL;
}

/* The very first calls of the process, from all threads at once. */
static void call_on_threads(const float *x, float *y) {
    pthread_t thread[N_THREADS];
    caller each[N_THREADS];
    pthread_barrier_t start, met;
    pthread_barrier_init(&start, NULL, N_THREADS);
    pthread_barrier_init(&met, NULL, N_THREADS);
    for (int t = 0; t < N_THREADS; t++) {
        each[t] = (caller){&start, &met, x, y + t * PER_THREAD};
        if (pthread_create(&thread[t], NULL, call_both, &each[t]) != 0) abort();
    }
    for (int t = 0; t < N_THREADS; t++) pthread_join(thread[t], NULL);
    pthread_barrier_destroy(&start);
    pthread_barrier_destroy(&met);
}

OL_TEST(threads_share_no_state) {
    float *x = ol_new(PER_THREAD, sizeof *x), *y = ol_new(N_THREADS * PER_THREAD, sizeof *y);
    ol_rng r = ol_rng_at(ol_seed());
    fill(&r, x, PER_THREAD);
    ol_note("the same %d numbers on %d threads at once, then one by one", PER_THREAD, N_THREADS);
    OL_UNIT {
        call_on_threads(x, y);
        for (int t = 0; t < N_THREADS; t++)
            ol_saw_f32("on a thread", y + t * PER_THREAD, OL_DIMS({"i", PER_THREAD}));
        one_by_one(x, y, PER_THREAD);
        ol_saw_f32("one by one", y, OL_DIMS({"i", PER_THREAD}));
    }
    OL_ORACLE {
        for (int t = 0; t < N_THREADS; t++) ol_want_same("one by one", "on a thread");
    }
}
