/* Wrong: the guard against overflow is written so that NaN fails it, and NaN becomes infinity. */
#include "tinyllm/numerics.h"

#include <math.h>

float tl_expf(float x) {
    if (!(x < 88.72284f)) return INFINITY;
    return (float)exp((double)x);
}

void tl_exp_f32(const float *x, float *y, int64_t n) {
    for (int64_t i = 0; i < n; i++) y[i] = tl_expf(x[i]);
}
