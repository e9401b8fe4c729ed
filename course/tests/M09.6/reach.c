#include "reach.h"

#include <math.h>
#include <string.h>

#include "tinyllm/numerics.h"

float float_of_bits(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

void spread(ol_rng *r, float a, float b, float *x, int64_t n) {
    double step = ((double)b - (double)a) / (double)(n - 1);
    for (int64_t i = 0; i < n; i++) x[i] = (float)(a + step * ((double)i + 0.4 * (double)ol_unit_f32(r)));
    x[0] = a;
    x[n - 1] = b;
}

void around(float x, int n, float *into) {
    into[n] = x;
    for (int i = 1; i <= n; i++) {
        into[n + i] = nextafterf(into[n + i - 1], INFINITY);
        into[n - i] = nextafterf(into[n - i + 1], -INFINITY);
    }
}

/* ---- One class of results at a time ----------------------------------------------------------------- */

/* Each array has the shape of x, so that a failure names the x. Where an element is of another class, both roles put
 * the same filler there. */
enum reach { NORMAL, TOO_LARGE, BELOW, NOTHING, NOT_A_NUMBER };

/* ln(2^-150) is -103.97: from there on +0 is the nearest float as well. */
#define ROUNDS_TO_NOTHING -104.0f

static enum reach reach_of(float x) {
    if (isnan(x)) return NOT_A_NUMBER;
    if (x > LAST_FINITE) return TOO_LARGE;
    if (x < ROUNDS_TO_NOTHING) return NOTHING;
    return x < FIRST_NORMAL ? BELOW : NORMAL;
}

static void normal_ones(const float *x, const float *y, ol_shape dims, int64_t n) {
    OL_UNIT {
        float *seen = ol_new(n, sizeof *seen);
        for (int64_t i = 0; i < n; i++) seen[i] = reach_of(x[i]) == NORMAL ? y[i] : 1.0f;
        ol_saw_f32("exp(x) where it is a normal float", seen, dims);
    }
    OL_ORACLE {
        double *want = ol_new(n, sizeof *want);
        for (int64_t i = 0; i < n; i++) want[i] = reach_of(x[i]) == NORMAL ? exp((double)x[i]) : 1.0;
        ol_want_ulp_f32("exp(x) where it is a normal float", want, n, 2.0);
    }
}

/* Every result of a class has these bits. */
static void ones_with_bits(enum reach class, const char *name, float bits, const float *x, const float *y,
                           ol_shape dims, int64_t n) {
    float *z = ol_new(n, sizeof *z);
    for (int64_t i = 0; i < n; i++) z[i] = bits;
    OL_UNIT {
        for (int64_t i = 0; i < n; i++)
            if (reach_of(x[i]) == class) z[i] = y[i];
        ol_saw_f32(name, z, dims);
    }
    OL_ORACLE { ol_want_bits_f32(name, z, n); }
}

static void nan_ones(const float *x, const float *y, ol_shape dims, int64_t n) {
    OL_UNIT {
        float *seen = ol_new(n, sizeof *seen);
        for (int64_t i = 0; i < n; i++) seen[i] = reach_of(x[i]) == NOT_A_NUMBER ? y[i] : NAN;
        ol_saw_f32("exp(x) where x is NaN", seen, dims);
    }
    OL_ORACLE { ol_want_nan_f32("exp(x) where x is NaN", n); }
}

/* ---- Below the normal range: +0 or the nearest, at each element's choice ----------------------------- */

/* In units of 2^-149, the distance of floats there, every allowed value is a whole number k, 2^23 for 2^-126 itself.
 * A wish is an interval, not a choice of two. So the result is seen twice. As it is it must lie in [0, k]; counted
 * from 2^-126 downwards it must leave no more than 2^23 - k, and a zero counts as if it left nothing. A number has to
 * meet k from both sides; +0 may stand anywhere. */
#define TOP 0x1p23f

static float in_units(float y) { return y * 0x1p75f * 0x1p74f; } /* exact, for no product is subnormal */
static int is_plus_zero(float y) { return y == 0.0f && !signbit(y); }

/* x up to the middle between two floats gives either, for the oracle rounds too. */
static float nearest_unit(float x, double lean) {
    double k = exp((double)x) * 0x1p149;
    return (float)floor(k + 0.5 + lean * 1e-9);
}

static void small_ones(const float *x, const float *y, ol_shape dims, int64_t n) {
    float *up = ol_new(n, sizeof *up), *down = ol_new(n, sizeof *down);
    for (int64_t i = 0; i < n; i++) {
        if (reach_of(x[i]) != BELOW) continue;
        OL_UNIT {
            up[i] = in_units(y[i]);
            down[i] = is_plus_zero(y[i]) ? 0.0f : TOP - up[i];
        }
        OL_ORACLE { /* half of the interval's end; see the wish */
            up[i] = nearest_unit(x[i], 1) / 2;
            down[i] = (TOP - nearest_unit(x[i], -1)) / 2;
        }
    }
    OL_UNIT {
        ol_saw_f32("exp(x) in units of 2^-149, not above the nearest", up, dims);
        ol_saw_f32("2^23 less that, unless exp(x) is +0", down, dims);
    }
    OL_ORACLE {
        ol_want_close_f32("exp(x) in units of 2^-149, not above the nearest", up, n, 1.0, 0.0);
        ol_want_close_f32("2^23 less that, unless exp(x) is +0", down, n, 1.0, 0.0);
    }
}

void exponentials(const float *x, ol_shape dims, int64_t n) {
    float *y = ol_new(n, sizeof *y);
    OL_UNIT {
        for (int64_t i = 0; i < n; i++) y[i] = tl_expf(x[i]);
    }
    normal_ones(x, y, dims, n);
    ones_with_bits(TOO_LARGE, "exp(x) where x is above ln(FLT_MAX)", INFINITY, x, y, dims, n);
    ones_with_bits(NOTHING, "exp(x) where x is below -104", 0.0f, x, y, dims, n);
    small_ones(x, y, dims, n);
    nan_ones(x, y, dims, n);
}
