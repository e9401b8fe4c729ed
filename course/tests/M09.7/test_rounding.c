/* Encoding: rounding on both sides of every half, and the two ends of each format. */
#include "formats.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

/* ---- A list of numbers ------------------------------------------------------------------------------ */

/* Encodes x[0 .. n-1] in format k; `dims` says what the indices count. */
static void encodes(int k, const float *x, ol_shape dims, int64_t n) {
    uint16_t *code = ol_new(n, sizeof *code);
    OL_UNIT {
        for (int64_t i = 0; i < n; i++) code[i] = encode(k, x[i]);
        ol_saw_u16("code", code, dims);
    }
    OL_ORACLE {
        for (int64_t i = 0; i < n; i++) code[i] = encoded(&formats[k], x[i]);
        ol_want_u16("code", code, n);
    }
}

/* ---- Every half ------------------------------------------------------------------------------------- */

enum { N_TAILS = 4 };

/* The bits below the half: none, the least, all, any. With the bits above they make every half of the format, the
 * float32 on either side of it, and something in between. */
static uint32_t tail(ol_rng *r, int which, int bits) {
    uint32_t all = (UINT32_C(1) << bits) - 1;
    return which == 0 ? 0 : which == 1 ? 1 : which == 2 ? all : (uint32_t)ol_next(r) & all;
}

/* Both signs; float32 exponent fields first .. last; all fractions as far as the half of a normal code; four tails. */
static void rounds_every_half(int k, int first, int last) {
    const int head_bits = formats[k].fraction_bits + 1, tail_bits = 23 - head_bits;
    const int64_t n_exponents = last - first + 1, n_heads = INT64_C(1) << head_bits;
    const int64_t n = 2 * n_exponents * n_heads * N_TAILS;
    float *x = ol_new(n, sizeof *x);
    ol_rng r = ol_rng_at(ol_seed());
    for (int64_t i = 0; i < n; i++) {
        uint32_t head = (uint32_t)(i / N_TAILS % n_heads);
        uint32_t exponent = (uint32_t)(first + i / N_TAILS / n_heads % n_exponents);
        uint32_t sign = (uint32_t)(i / N_TAILS / n_heads / n_exponents);
        uint32_t fraction = head << tail_bits | tail(&r, (int)(i % N_TAILS), tail_bits);
        x[i] = float_of_bits(sign << 31 | exponent << 23 | fraction);
    }
    ol_note("tl_f32_to_%s: exponents from 2^%d on; %d fraction bits; the %d bits after them 0, 1, all ones, random",
            formats[k].name, first - 127, head_bits, tail_bits);
    encodes(k, x, OL_DIMS({"sign", 2}, {"exponent", n_exponents}, {"fraction bits", n_heads}, {"tail", N_TAILS}), n);
}

/* From far below the smallest subnormal to above the largest number. */
OL_TEST(f16_rounds_to_nearest_even) { rounds_every_half(F16, 127 - 30, 127 + 17); }
OL_TEST(bf16_rounds_to_nearest_even) { rounds_every_half(BF16, 0, 255); }
OL_TEST(e4m3_rounds_to_nearest_even) { rounds_every_half(E4M3, 127 - 14, 127 + 10); }
OL_TEST(e5m2_rounds_to_nearest_even) { rounds_every_half(E5M2, 127 - 21, 127 + 17); }

/* ---- The two ends ----------------------------------------------------------------------------------- */

enum { AROUND = 5 };

/* x, its neighbours, and their negatives: 2 * AROUND numbers. */
static void around(float x, float *into) {
    const float near[AROUND] = {nextafterf(nextafterf(x, 0), 0), nextafterf(x, 0), x, nextafterf(x, INFINITY),
                                nextafterf(nextafterf(x, INFINITY), INFINITY)};
    for (int i = 0; i < AROUND; i++) {
        into[i] = near[i];
        into[AROUND + i] = -near[i];
    }
}

static void encodes_around(int k, const char *what, float x) {
    float near[2 * AROUND];
    around(x, near);
    ol_note("tl_f32_to_%s around %s: %.9g, two float32 below to two above", formats[k].name, what, (double)x);
    encodes(k, near, OL_DIMS({"sign", 2}, {"neighbour", AROUND}), 2 * AROUND);
}

OL_TEST(subnormals_and_half_of_the_smallest) {
    for (int k = 0; k < N_FORMATS; k++) {
        int unit = 1 - formats[k].bias - formats[k].fraction_bits; /* 2^unit is the smallest subnormal */
        float normal = ldexpf(1.0f, 1 - formats[k].bias);
        encodes_around(k, "half of the smallest subnormal", ldexpf(0.5f, unit));
        encodes_around(k, "the smallest subnormal", ldexpf(1.0f, unit));
        encodes_around(k, "1.5 times the smallest subnormal", ldexpf(1.5f, unit));
        encodes_around(k, "the last half before the normal numbers", normal - ldexpf(0.5f, unit));
        encodes_around(k, "the smallest normal number", normal);
        encodes_around(k, "the smallest float32", FLT_TRUE_MIN);
        encodes_around(k, "the largest subnormal float32", nextafterf(FLT_MIN, 0));
    }
}

OL_TEST(numbers_that_are_too_large) {
    static const float largest[] = {65504.0f, 0x1.FEp+127f, 448.0f, 57344.0f};
    static const float infinite[] = {INFINITY, -INFINITY};
    for (int k = 0; k < N_FORMATS; k++) {
        float half_step = ldexpf(0.5f, ilogbf(largest[k]) - formats[k].fraction_bits);
        encodes_around(k, "the largest finite number", largest[k]);
        encodes_around(k, "half a step beyond it", largest[k] + half_step);
        if (k != BF16) {
            encodes_around(k, "a whole step beyond it", largest[k] + 2 * half_step);
            encodes_around(k, "ten times as much", 10 * largest[k]);
        }
        encodes_around(k, "the largest float32", FLT_MAX);
        ol_note("tl_f32_to_%s of both infinities", formats[k].name);
        encodes(k, infinite, OL_DIMS({"sign", 2}), 2);
    }
}

/* ---- Any bits --------------------------------------------------------------------------------------- */

enum { PER_EXPONENT = 64 };

/* NaNs are among them. */
OL_TEST(float32_of_every_exponent) {
    int64_t n = 2 * 256 * PER_EXPONENT;
    float *x = ol_new(n, sizeof *x);
    ol_rng r = ol_rng_at(ol_seed());
    for (int64_t i = 0; i < n; i++) {
        uint32_t sign_and_exponent = (uint32_t)(i / PER_EXPONENT);
        x[i] = float_of_bits(sign_and_exponent << 23 | (uint32_t)(ol_next(&r) >> 41));
    }
    for (int k = 0; k < N_FORMATS; k++) {
        ol_note("tl_f32_to_%s of random fractions under every sign and exponent field", formats[k].name);
        encodes(k, x, OL_DIMS({"sign", 2}, {"exponent field", 256}, {"fraction", PER_EXPONENT}), n);
    }
}
