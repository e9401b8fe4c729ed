#include "tiny.h"

static float term(float x) {
    return 2.0f * x + tiny_square(x);
}

int32_t tiny_sum_f32(const float *x, float *y, int64_t n) {
    if (n < 0) return 1;
    for (int64_t i = 0; i < n; i++) {
        y[i] = term(x[i]);
    }
    return 0;
}
