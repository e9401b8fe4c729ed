/* expf.c (M09.6): the exponential in float32. Contract: tinyllm/numerics.h.
 *
 * Elementwise; x and y [n] may be one array. There is no reduction: y[i] depends on x[i] alone.
 *
 * exp(x) = 2^n * exp(r) with n the integer nearest to x / ln 2 and |r| <= ln(2) / 2. exp(r) is a polynomial, 2^n an
 * addition to the exponent field. Nothing but float additions, products and integer moves, each with one IEEE result,
 * so the bits are the same under every compiler that neither contracts nor reassociates. Results below the normal
 * range are +0, which keeps every value out of subnormal arithmetic.
 */
#include "tinyllm/numerics.h"

#include <math.h>
#include <string.h>

#define OVERFLOWS_ABOVE 0x1.62e42ep+6f    /* the largest x with exp(x) <= FLT_MAX, about 88.7228 */
#define UNDERFLOWS_BELOW -0x1.5d589ep+6f  /* the smallest x with exp(x) >= 2^-126, about -87.3365 */

#define INVERSE_LN2 0x1.715476p+0f

/* ln 2 in two parts. The first has 15 bits, so its product with any n that occurs (8 bits) is exact. */
#define LN2_HIGH 0x1.62e4p-1f
#define LN2_LOW 0x1.7f7d1cp-20f

static float scale_by_power_of_two(float x, int32_t n) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    bits += (uint32_t)n << 23;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static int32_t nearest_int(float x) { return (int32_t)(x + (x < 0.0f ? -0.5f : 0.5f)); }

/* exp(r) for |r| <= ln(2) / 2 as 1 + (r + r^2 p(r)), p of degree 4 fitted for the least relative error of the whole.
 * Adding the 1 last leaves one rounding of full weight, and gives exactly 1 at r = 0. */
static float exp_reduced(float r) {
    float p = 0x1.6a1f62p-10f;
    p = p * r + 0x1.123ccap-7f;
    p = p * r + 0x1.555904p-5f;
    p = p * r + 0x1.55548ep-3f;
    p = p * r + 0x1.fffffcp-2f;
    return 1.0f + (r + r * r * p);
}

float tl_expf(float x) {
    if (x != x) return x;
    if (x > OVERFLOWS_ABOVE) return INFINITY;
    if (x < UNDERFLOWS_BELOW) return 0.0f;
    const int32_t n = nearest_int(x * INVERSE_LN2);
    const float r = (x - (float)n * LN2_HIGH) - (float)n * LN2_LOW;
    return scale_by_power_of_two(exp_reduced(r), n);
}

void tl_exp_f32(const float *x, float *y, int64_t n) {
    for (int64_t i = 0; i < n; ++i) y[i] = tl_expf(x[i]);
}
