/* Wrong: a row is touched before its width is known, so a matrix without columns writes its first element. */
#include <math.h>
#include <stdbool.h>

#include "tinyllm.h"

static bool has_nan(const float *x, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        if (isnan(x[i])) return true;
    return false;
}

static void fill(float *y, int64_t n, float value) {
    for (int64_t i = 0; i < n; i++) y[i] = value;
}

/* The largest score, and the sum of exponentials below it. */
typedef void reduce(const float *x, int64_t n, float *m, float *l);

static void in_two_loops(const float *x, int64_t n, float *m, float *l) {
    *m = x[0];
    for (int64_t i = 1; i < n; i++) *m = fmaxf(*m, x[i]);
    *l = 0.0f;
    if (*m == -INFINITY) return;
    for (int64_t i = 0; i < n; i++) *l += tl_expf(x[i] - *m);
}

static void in_one_loop(const float *x, int64_t n, float *m, float *l) {
    *m = x[0];
    *l = x[0] == -INFINITY ? 0.0f : 1.0f;
    for (int64_t i = 1; i < n; i++) {
        const float old = *m;
        *m = fmaxf(old, x[i]);
        if (*m == -INFINITY) continue;
        *l = *l * tl_expf(old - *m) + tl_expf(x[i] - *m);
    }
}

static void each_row(reduce *of, const float *x, float *y, int64_t rows, int64_t cols) {
    for (int64_t r = 0; r < rows; r++) {
        const float *x_r = x + r * cols;
        float *y_r = y + r * cols, m, l;
        if (has_nan(x_r, cols)) {
            fill(y_r, cols, NAN);
            continue;
        }
        of(x_r, cols, &m, &l);
        if (l == 0.0f) {
            fill(y_r, cols, 0.0f);
            continue;
        }
        for (int64_t c = 0; c < cols; c++) y_r[c] = tl_expf(x_r[c] - m) / l;
    }
}

static bool is_bad(const float *x, const float *y, int64_t rows, int64_t cols) {
    return rows < 0 || cols < 0 || (rows != 0 && cols != 0 && (x == NULL || y == NULL));
}

tl_status tl_softmax_f32(const float *x, float *y, int64_t rows, int64_t cols) {
    if (is_bad(x, y, rows, cols)) return tl_set_last_error("bad arguments of tl_softmax_f32"), TL_EINVAL;
    if (rows && !cols) y[0] = 0.0f;
    if (rows && cols) each_row(in_two_loops, x, y, rows, cols);
    return TL_OK;
}

tl_status tl_softmax_online_f32(const float *x, float *y, int64_t rows, int64_t cols) {
    if (is_bad(x, y, rows, cols)) return tl_set_last_error("bad arguments of tl_softmax_online_f32"), TL_EINVAL;
    if (rows && cols) each_row(in_one_loop, x, y, rows, cols);
    return TL_OK;
}
