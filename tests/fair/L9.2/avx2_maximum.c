/* Eight columns at a time for the maximum and for the scaling, which no order touches; sums stay scalar. */
#include "tinyllm/softmax.h"

#include <math.h>

#include "tinyllm/numerics.h"
#if defined(__x86_64__)
#include <immintrin.h>

__attribute__((target("avx2"))) static float max_of_eights(const float *x, int64_t n, int64_t *done) {
    __m256 m = _mm256_set1_ps(-INFINITY);
    float lane[8], best = -INFINITY;
    for (*done = 0; *done + 8 <= n; *done += 8) m = _mm256_max_ps(_mm256_loadu_ps(x + *done), m);
    _mm256_storeu_ps(lane, m);
    for (int k = 0; k < 8; k++) best = lane[k] > best ? lane[k] : best;
    return best;
}

__attribute__((target("avx2"))) static int64_t scale_eights(float *y, int64_t n, float by) {
    int64_t c = 0;
    for (; c + 8 <= n; c += 8) _mm256_storeu_ps(y + c, _mm256_mul_ps(_mm256_loadu_ps(y + c), _mm256_set1_ps(by)));
    return c;
}
#endif

static float maximum(const float *x, int64_t n) {
    int64_t c = 0;
    float m = -INFINITY;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) m = max_of_eights(x, n, &c);
#endif
    for (; c < n; c++) m = x[c] > m ? x[c] : m;
    return m;
}

static void scale(float *y, int64_t n, float by) {
    int64_t c = 0;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) c = scale_eights(y, n, by);
#endif
    for (; c < n; c++) y[c] *= by;
}

/* A row without a score above -inf: zeros, but for a NaN among them. */
static void dead_row(const float *x, float *y, int64_t n) {
    float nothing = 0.0f;
    for (int64_t c = 0; c < n; c++)
        if (x[c] != x[c]) nothing = x[c];
    for (int64_t c = 0; c < n; c++) y[c] = nothing;
}

static tl_status check(const float *x, const float *y, int64_t rows, int64_t cols, const char *name) {
    if (rows >= 0 && cols >= 0 && (rows == 0 || cols == 0 || (x && y))) return TL_OK;
    tl_set_last_error(name);
    return TL_EINVAL;
}

tl_status tl_softmax_f32(const float *x, float *y, int64_t rows, int64_t cols) {
    if (check(x, y, rows, cols, __func__)) return TL_EINVAL;
    for (int64_t r = 0; cols && r < rows; r++, x += cols, y += cols) {
        float m = maximum(x, cols), sum = 0.0f;
        if (m == -INFINITY) {
            dead_row(x, y, cols);
            continue;
        }
        for (int64_t c = 0; c < cols; c++) sum = sum + (y[c] = tl_expf(x[c] - m));
        scale(y, cols, 1.0f / sum);
    }
    return TL_OK;
}

tl_status tl_softmax_online_f32(const float *x, float *y, int64_t rows, int64_t cols) {
    if (check(x, y, rows, cols, __func__)) return TL_EINVAL;
    for (int64_t r = 0; cols && r < rows; r++, x += cols, y += cols) {
        float m = -INFINITY, sum = 0.0f;
        for (int64_t c = 0; c < cols; c++) {
            float up = x[c] > m ? x[c] : m;
            if (up > -INFINITY || x[c] != x[c]) {
                sum = sum * (up > m ? tl_expf(m - up) : 1.0f) + tl_expf(x[c] - up);
                m = up;
            }
        }
        if (m == -INFINITY) {
            dead_row(x, y, cols);
            continue;
        }
        for (int64_t c = 0; c < cols; c++) y[c] = tl_expf(x[c] - m);
        scale(y, cols, 1.0f / sum);
    }
    return TL_OK;
}
