/* Wrong: exp2f of x times log2(e): the product is rounded to a float, and its error grows with x. */
#include "tinyllm/numerics.h"

#include <math.h>

float tl_expf(float x) {
    if (x > 88.72284f) return INFINITY;
    if (x < -87.33655f) return 0.0f;
    return exp2f(x * 1.44269504f);
}

void tl_exp_f32(const float *x, float *y, int64_t n) {
    for (int64_t i = 0; i < n; i++) y[i] = tl_expf(x[i]);
}
