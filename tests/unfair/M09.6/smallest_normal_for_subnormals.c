/* Wrong: what would be subnormal is lifted to 2^-126, so that nothing is ever lost. */
#include "tinyllm/numerics.h"

#include <math.h>

float tl_expf(float x) {
    if (isnan(x)) return NAN;
    if (x == -INFINITY) return 0.0f;
    if (x > 88.72284f) return INFINITY;
    double y = exp((double)x);
    return y < 0x1p-126 && y > 0 ? 0x1p-126f : (float)y;
}

void tl_exp_f32(const float *x, float *y, int64_t n) {
    for (int64_t i = 0; i < n; i++) y[i] = tl_expf(x[i]);
}
