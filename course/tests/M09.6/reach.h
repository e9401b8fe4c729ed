/* Judging exponentials: which numbers have a normal exponential, and what the others may give.
 *
 * The true value is exp() in float64, whose error is far below the 2 ulp of float32 that are allowed. */
#ifndef M096_REACH_H
#define M096_REACH_H

#include "ol_test.h"

/* From the header: the largest x with exp(x) <= FLT_MAX, and the smallest with exp(x) >= 2^-126. */
#define LAST_FINITE 0x1.62e42ep+6f
#define FIRST_NORMAL -0x1.5d589ep+6f

float float_of_bits(uint32_t bits);

/* Numbers from a to b, both included, equally far apart but for a random part of the distance. */
void spread(ol_rng *r, float a, float b, float *x, int64_t n);

/* The 2 * n + 1 floats nearest to x. */
void around(float x, int n, float *into);

/* Calls tl_expf on every x and judges each result by where it lies: within 2 ulp, +inf, below the normal range,
 * or NaN. */
void exponentials(const float *x, ol_shape dims, int64_t n);

#endif
