/* Wrong: zero from -87 on, where a third of a power of two is still normal. */
#include "tinyllm/numerics.h"

#include <math.h>

float tl_expf(float x) {
    if (x < -87.0f) return 0.0f;
    return x > 88.72284f ? INFINITY : (float)exp((double)x);
}

void tl_exp_f32(const float *x, float *y, int64_t n) {
    for (int64_t i = 0; i < n; i++) y[i] = tl_expf(x[i]);
}
