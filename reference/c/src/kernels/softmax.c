/* softmax.c (L9.2): softmax over rows, in three passes and in two. Contract: tinyllm/softmax.h.
 *
 * x, y [rows, cols], one array or disjoint ones. Every row is reduced over increasing columns, in float32, from itself
 * alone. Nothing is allocated.
 *
 * NaN needs no branch: comparisons pass it over, then it enters the sum through tl_expf and from there reaches every
 * element of the row.
 */
#include "tinyllm/softmax.h"

#include <math.h>

#include "tinyllm/numerics.h"

/* What exponents are shifted by. A row that holds no more than -inf so far is shifted by 0, since -inf - -inf would be
 * NaN; each of its exponentials is then 0. */
static float shift_for(float max) { return max == -INFINITY ? 0.0f : max; }

/* 1 / sum, except that a row of nothing but -inf, whose sum is 0, becomes zeros. */
static float inverse(float sum) { return sum == 0.0f ? 0.0f : 1.0f / sum; }

static float larger(float a, float b) { return b > a ? b : a; }

static void softmax_row(const float *x, float *y, int64_t cols) {
    float max = -INFINITY;
    for (int64_t c = 0; c < cols; ++c) max = larger(max, x[c]);

    const float shift = shift_for(max);
    float sum = 0.0f;
    for (int64_t c = 0; c < cols; ++c) {
        y[c] = tl_expf(x[c] - shift);
        sum += y[c];
    }

    const float inv = inverse(sum);
    for (int64_t c = 0; c < cols; ++c) y[c] *= inv;
}

static void softmax_online_row(const float *x, float *y, int64_t cols) {
    float max = -INFINITY;
    float sum = 0.0f; /* of exp(x - shift_for(max)) over the columns seen so far */
    for (int64_t c = 0; c < cols; ++c) {
        const float new_max = larger(max, x[c]);
        const float shift = shift_for(new_max);
        sum = sum * tl_expf(max - shift) + tl_expf(x[c] - shift);
        max = new_max;
    }

    const float shift = shift_for(max);
    const float inv = inverse(sum);
    for (int64_t c = 0; c < cols; ++c) y[c] = tl_expf(x[c] - shift) * inv;
}

typedef void row_fn(const float *x, float *y, int64_t cols);

static tl_status each_row(row_fn *row, const float *x, float *y, int64_t rows, int64_t cols, const char *error) {
    const int has_elements = rows > 0 && cols > 0;
    if (rows < 0 || cols < 0 || (has_elements && (!x || !y))) {
        tl_set_last_error(error);
        return TL_EINVAL;
    }
    if (!has_elements) return TL_OK;
    for (int64_t r = 0; r < rows; ++r) row(x + r * cols, y + r * cols, cols);
    return TL_OK;
}

tl_status tl_softmax_f32(const float *x, float *y, int64_t rows, int64_t cols) {
    return each_row(softmax_row, x, y, rows, cols, "tl_softmax_f32: negative size or NULL matrix");
}

tl_status tl_softmax_online_f32(const float *x, float *y, int64_t rows, int64_t cols) {
    return each_row(softmax_online_row, x, y, rows, cols, "tl_softmax_online_f32: negative size or NULL matrix");
}
