/* Wrong: a float polynomial for one number, float64 for arrays: each is accurate, and they differ in bits. */
#include "tinyllm/numerics.h"

#include <math.h>
#include <string.h>

float tl_expf(float x) {
    if (isnan(x)) return NAN;
    if (x > 0x1.62e42ep+6f) return INFINITY;
    if (x < -0x1.5d589ep+6f) return 0.0f;
    float n = rintf(x * 0x1.715476p+0f);
    float r = (x - n * 0x1.62ep-1f) - n * 0x1.0bfbe8p-15f;
    float p = 0.5f + r * (1.0f / 6 + r * (1.0f / 24 + r * (1.0f / 120 + r * (1.0f / 720 + r * (1.0f / 5040)))));
    float y = 1.0f + (r + r * r * p);
    uint32_t bits;
    memcpy(&bits, &y, sizeof bits);
    bits += (uint32_t)(int32_t)n << 23;
    memcpy(&y, &bits, sizeof y);
    return y;
}

void tl_exp_f32(const float *x, float *y, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        int is_inside = x[i] <= 0x1.62e42ep+6f && x[i] >= -0x1.5d589ep+6f;
        y[i] = is_inside ? (float)exp((double)x[i]) : tl_expf(x[i]);
    }
}
