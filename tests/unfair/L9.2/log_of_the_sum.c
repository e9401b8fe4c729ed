/* Wrong: weights as exp(x - (m + log(sum))): one rounding at the size of the scores, and NaN for a masked row. */
#include "tinyllm/softmax.h"

#include <math.h>

#include "tinyllm/numerics.h"

static tl_status rows_of(const float *x, float *y, int64_t rows, int64_t cols, const char *name) {
    if (rows < 0 || cols < 0 || (rows && cols && (!x || !y))) {
        tl_set_last_error(name);
        return TL_EINVAL;
    }
    for (int64_t r = 0; cols && r < rows; r++) {
        const float *x_r = x + r * cols;
        float m = x_r[0], l = 0.0f;
        for (int64_t c = 1; c < cols; c++) m = x_r[c] > m ? x_r[c] : m;
        for (int64_t c = 0; c < cols; c++) l += tl_expf(x_r[c] - m);
        float shift = m + logf(l);
        for (int64_t c = 0; c < cols; c++) y[r * cols + c] = tl_expf(x_r[c] - shift);
    }
    return TL_OK;
}

tl_status tl_softmax_f32(const float *x, float *y, int64_t rows, int64_t cols) {
    return rows_of(x, y, rows, cols, "tl_softmax_f32");
}

tl_status tl_softmax_online_f32(const float *x, float *y, int64_t rows, int64_t cols) {
    return rows_of(x, y, rows, cols, "tl_softmax_online_f32");
}
