/* The library's exponential in float64, rounded once; below the normal range it gives the nearest float. */
#include "tinyllm/numerics.h"

#include <math.h>

float tl_expf(float x) {
    if (x > 88.72284f) return INFINITY;
    return (float)exp((double)x);
}

void tl_exp_f32(const float *x, float *y, int64_t n) {
    while (n-- > 0) *y++ = tl_expf(*x++);
}
