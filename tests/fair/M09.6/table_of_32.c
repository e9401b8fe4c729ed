/* A table of 2^(k/32) and a cubic in float64: the reduced argument is small, and only the end is rounded. */
#include "tinyllm/numerics.h"

#include <string.h>

static const double power[32] = {
    0x1.0000000000000p+0, 0x1.059b0d3158574p+0, 0x1.0b5586cf9890fp+0, 0x1.11301d0125b51p+0,
    0x1.172b83c7d517bp+0, 0x1.1d4873168b9aap+0, 0x1.2387a6e756238p+0, 0x1.29e9df51fdee1p+0,
    0x1.306fe0a31b715p+0, 0x1.371a7373aa9cbp+0, 0x1.3dea64c123422p+0, 0x1.44e086061892dp+0,
    0x1.4bfdad5362a27p+0, 0x1.5342b569d4f82p+0, 0x1.5ab07dd485429p+0, 0x1.6247eb03a5585p+0,
    0x1.6a09e667f3bcdp+0, 0x1.71f75e8ec5f74p+0, 0x1.7a11473eb0187p+0, 0x1.82589994cce13p+0,
    0x1.8ace5422aa0dbp+0, 0x1.93737b0cdc5e5p+0, 0x1.9c49182a3f090p+0, 0x1.a5503b23e255dp+0,
    0x1.ae89f995ad3adp+0, 0x1.b7f76f2fb5e47p+0, 0x1.c199bdd85529cp+0, 0x1.cb720dcef9069p+0,
    0x1.d5818dcfba487p+0, 0x1.dfc97337b9b5fp+0, 0x1.ea4afa2a490dap+0, 0x1.f50765b6e4540p+0,
};

static float infinity(void) {
    const uint32_t bits = 0x7F800000;
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

float tl_expf(float x) {
    if (!(x == x)) return x + x;
    if (x > 0x1.62e42ep+6f) return infinity();
    if (x < -0x1.5d589ep+6f) return 0.0f;
    double scaled = (double)x * 0x1.71547652b82fep+5; /* x 32 / ln 2 */
    int k = (int)(scaled < 0 ? scaled - 0.5 : scaled + 0.5);
    double r = (scaled - k) * 0x1.62e42fefa39efp-6;
    double small = r + r * r * (0.5 + r * (1.0 / 6 + r * (1.0 / 24)));
    int64_t exponent = (k - (k & 31)) / 32 + 1023;
    uint64_t bits = (uint64_t)exponent << 52;
    double two_n;
    memcpy(&two_n, &bits, sizeof two_n);
    return (float)(two_n * (power[k & 31] + power[k & 31] * small));
}

void tl_exp_f32(const float *x, float *y, int64_t n) {
    for (int64_t i = n - 1; i >= 0; i--) y[i] = tl_expf(x[i]);
}
