/* tl_expf, one number at a time. Inputs are judged in groups by exponentials(); see reach.h. */
#include "reach.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "tinyllm/numerics.h"

#define LN2 0x1.62e42fefa39efp-1

/* ---- Section 3 -------------------------------------------------------------------------------------- */

OL_TEST(hand_example) {
    static const float x[] = {1.0f, -2.0f, 0.0f};
    float y[3];
    ol_note("tl_expf of 1, -2 and 0, the chapter's example");
    OL_UNIT {
        for (int i = 0; i < 3; i++) y[i] = tl_expf(x[i]);
        ol_saw_f32("exp", y, OL_DIMS({"example", 3}));
    }
    OL_ORACLE { ol_want_ulp_f32("exp", (double[]){2.718281828459045, 0.1353352832366127, 1.0}, 3, 2.0); }
}

OL_TEST(exactly_one_at_both_zeros) {
    static const float x[] = {0.0f, -0.0f}, one[] = {1.0f, 1.0f};
    float y[2];
    ol_note("tl_expf of 0 and of -0");
    OL_UNIT {
        for (int i = 0; i < 2; i++) y[i] = tl_expf(x[i]);
        ol_saw_f32("exp", y, OL_DIMS({"sign", 2}));
    }
    OL_ORACLE { ol_want_bits_f32("exp", one, 2); }
}

/* ---- Sweeps ----------------------------------------------------------------------------------------- */

/* Every sign and exponent field of x, from subnormals to NaN: the first fraction, the last, and 62 between. */
OL_TEST(every_exponent_of_x) {
    enum { FRACTIONS = 64 };
    int64_t n = 2 * 256 * FRACTIONS;
    float *x = ol_new(n, sizeof *x);
    ol_rng r = ol_rng_at(ol_seed());
    for (int64_t i = 0; i < n; i++) {
        uint32_t step = (uint32_t)(i % FRACTIONS), any = (uint32_t)(ol_next(&r) >> 47);
        uint32_t fraction = step == 0 ? 0 : step == FRACTIONS - 1 ? 0x7FFFFF : step << 17 | any;
        x[i] = float_of_bits((uint32_t)(i / FRACTIONS) << 23 | fraction);
    }
    ol_note("tl_expf under every sign and exponent field");
    exponentials(x, OL_DIMS({"sign", 2}, {"exponent field", 256}, {"fraction", FRACTIONS}), n);
}

/* Every power of two that a result can have: x from (n - 1/2) ln 2 to (n + 1/2) ln 2. */
OL_TEST(every_exponent_of_the_result) {
    enum { FIRST = -126, LAST = 128, STEPS = 600 };
    int64_t n = (LAST - FIRST + 1) * STEPS;
    float *x = ol_new(n, sizeof *x);
    ol_rng r = ol_rng_at(ol_seed());
    for (int k = FIRST; k <= LAST; k++)
        spread(&r, (float)((k - 0.5) * LN2), (float)((k + 0.5) * LN2), x + (k - FIRST) * STEPS, STEPS);
    ol_note("tl_expf of x in steps of ln 2 / %d; index 126 is the one around 0", STEPS);
    exponentials(x, OL_DIMS({"multiple of ln 2", LAST - FIRST + 1}, {"step", STEPS}), n);
}

/* Where a reduction to a power of two changes its mind, for whole and half steps of ln 2. */
OL_TEST(around_every_half_ln2) {
    enum { FIRST = -252, LAST = 256, NEAR = 8, EACH = 2 * NEAR + 1 };
    int64_t n = (LAST - FIRST + 1) * EACH;
    float *x = ol_new(n, sizeof *x);
    for (int k = FIRST; k <= LAST; k++) around((float)(k * LN2 / 2), NEAR, x + (k - FIRST) * EACH);
    ol_note("tl_expf of k ln 2 / 2 from k = %d, and the %d floats on either side", FIRST, NEAR);
    exponentials(x, OL_DIMS({"half step of ln 2", LAST - FIRST + 1}, {"neighbour", EACH}), n);
}

/* ---- Ends ------------------------------------------------------------------------------------------- */

static void ends_around(const char *what, float x) {
    enum { NEAR = 100, EACH = 2 * NEAR + 1 };
    float near[EACH];
    around(x, NEAR, near);
    ol_note("tl_expf of %.9g, %s, and %d floats on either side", (double)x, what, NEAR);
    exponentials(near, OL_DIMS({"neighbour", EACH}), EACH);
}

OL_TEST(ends_of_the_range) {
    static const float ends[] = {INFINITY, -INFINITY, FLT_MAX, -FLT_MAX, 1e4f, -1e4f, 128.0f, -128.0f, 89.0f, -1e30f};
    enum { N = sizeof ends / sizeof *ends };
    ends_around("ln(FLT_MAX)", LAST_FINITE);
    ends_around("ln(2^-126)", FIRST_NORMAL);
    ends_around("88, a threshold often met", 88.0f);
    ends_around("-87, a threshold often met", -87.0f);
    ends_around("-104, where nothing is left", -104.0f);
    ol_note("tl_expf of +inf, -inf, FLT_MAX, -FLT_MAX, 1e4, -1e4, 128, -128, 89, -1e30");
    exponentials(ends, OL_DIMS({"x", N}), N);
}

OL_TEST(below_the_normal_range) {
    enum { N = 20000 };
    float *x = ol_new(N, sizeof *x);
    ol_rng r = ol_rng_at(ol_seed());
    spread(&r, -105.0f, FIRST_NORMAL, x, N);
    ol_note("tl_expf of %d numbers from -105 to -87.34: +0, or the float nearest to exp(x)", N);
    exponentials(x, OL_DIMS({"step", N}), N);
}

OL_TEST(nan_gives_nan) {
    enum { N = 2 * 24 };
    float *x = ol_new(N, sizeof *x);
    for (uint32_t i = 0; i < N; i++) {
        uint32_t payload = i / 2 < 23 ? UINT32_C(1) << i / 2 : 0x7FFFFF;
        x[i] = float_of_bits(i % 2 << 31 | 0x7F800000 | payload);
    }
    ol_note("tl_expf of NaNs of both signs: each payload bit alone, and all of them");
    exponentials(x, OL_DIMS({"payload", N / 2}, {"sign", 2}), N);
}
