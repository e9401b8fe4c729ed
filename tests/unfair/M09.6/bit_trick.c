/* Wrong: Schraudolph's trick, x / ln 2 written straight into the exponent field, is off by up to 6 %. */
#include "tinyllm/numerics.h"

#include <math.h>
#include <string.h>

float tl_expf(float x) {
    if (isnan(x)) return NAN;
    if (x > 88.7228f) return INFINITY;
    if (x < -87.33f) return 0.0f;
    uint32_t bits = (uint32_t)(x * 12102203.0f + 1064986823.0f);
    float y;
    memcpy(&y, &bits, sizeof y);
    return x == 0.0f ? 1.0f : y;
}

void tl_exp_f32(const float *x, float *y, int64_t n) {
    for (int64_t i = 0; i < n; i++) y[i] = tl_expf(x[i]);
}
