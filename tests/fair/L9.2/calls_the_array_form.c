/* Exponentials by tl_exp_f32 where they stand, weights by division; no case for -inf until the sum is 0. */
#include "tinyllm/softmax.h"

#include <math.h>
#include <stddef.h>

#include "tinyllm/numerics.h"

static tl_status refuse(const char *why) {
    tl_set_last_error(why);
    return TL_EINVAL;
}

static float largest(const float *x, int64_t n) {
    float m = -INFINITY;
    while (n-- > 0) {
        if (*x > m) m = *x;
        x++;
    }
    return m;
}

tl_status tl_softmax_f32(const float *x, float *y, int64_t rows, int64_t cols) {
    if (rows < 0) return refuse("tl_softmax_f32: rows < 0");
    if (cols < 0) return refuse("tl_softmax_f32: cols < 0");
    if (rows == 0 || cols == 0) return TL_OK;
    if (x == NULL || y == NULL) return refuse("tl_softmax_f32: NULL");
    for (; rows > 0; rows--, x += cols, y += cols) {
        const float m = largest(x, cols);
        float sum = 0.0f;
        for (int64_t c = 0; c < cols; c++) y[c] = isinf(m) && m < 0 ? x[c] : x[c] - m;
        tl_exp_f32(y, y, cols);
        for (int64_t c = 0; c < cols; c++) sum += y[c];
        if (sum == 0.0f) continue; /* the exponentials are zeros already */
        for (int64_t c = 0; c < cols; c++) y[c] = y[c] / sum;
    }
    return TL_OK;
}

tl_status tl_softmax_online_f32(const float *x, float *y, int64_t rows, int64_t cols) {
    if (rows < 0 || cols < 0) return refuse("tl_softmax_online_f32: a negative size");
    if (rows == 0 || cols == 0) return TL_OK;
    if (x == NULL || y == NULL) return refuse("tl_softmax_online_f32: NULL");
    for (; rows > 0; rows--, x += cols, y += cols) {
        float m = -INFINITY, l = 0.0f;
        for (int64_t c = 0; c < cols; c++) {
            if (x[c] == -INFINITY) continue;
            if (x[c] > m) {
                l = l * tl_expf(m - x[c]) + 1.0f;
                m = x[c];
            } else {
                l += tl_expf(isnan(x[c]) ? x[c] : x[c] - m);
            }
        }
        for (int64_t c = 0; c < cols; c++) y[c] = l == 0.0f ? 0.0f : x[c] - m;
        if (l == 0.0f) continue;
        tl_exp_f32(y, y, cols);
        for (int64_t c = 0; c < cols; c++) y[c] /= l;
    }
    return TL_OK;
}
