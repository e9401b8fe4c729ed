#include "rows.h"

#include <float.h>
#include <math.h>

matrix new_matrix(int64_t rows, int64_t cols) {
    matrix m = {.rows = rows, .cols = cols};
    m.x = ol_new(rows * cols, sizeof *m.x);
    m.y = ol_new(rows * cols, sizeof *m.y);
    ol_fill_sentinel_f32(m.y, rows * cols);
    return m;
}

void fill_scaled(ol_rng *r, matrix *m, float scale) {
    for (int64_t i = 0; i < size_of(m); i++) m->x[i] = scale * ol_unit_f32(r);
}

int64_t size_of(const matrix *m) { return m->rows * m->cols; }
ol_shape dims_of(const matrix *m) { return OL_DIMS({"row", m->rows}, {"column", m->cols}); }

const char *name_of(int online) { return online ? "tl_softmax_online_f32" : "tl_softmax_f32"; }

tl_status softmax(int online, const float *x, float *y, int64_t rows, int64_t cols) {
    return online ? tl_softmax_online_f32(x, y, rows, cols) : tl_softmax_f32(x, y, rows, cols);
}

static void row_in_float64(const float *x, float *want, int64_t cols) {
    double max = -INFINITY, sum = 0.0;
    for (int64_t c = 0; c < cols; c++) max = fmax(max, x[c]);
    for (int64_t c = 0; c < cols; c++) sum += max == -INFINITY ? 0.0 : exp(x[c] - max);
    for (int64_t c = 0; c < cols; c++) want[c] = max == -INFINITY ? 0.0f : (float)(exp(x[c] - max) / sum);
}

void softmax_in_float64(const matrix *m, float *want) {
    for (int64_t r = 0; r < m->rows; r++) row_in_float64(m->x + r * m->cols, want + r * m->cols, m->cols);
}

double tolerance(int64_t cols) { return (200.0 + 6.0 * (double)cols) * 0x1p-24; }

void both_are_close(matrix *m, const char *what) {
    for (int online = 0; online < 2; online++) {
        ol_note("%s, %s: rows=%lld, cols=%lld", name_of(online), what, (long long)m->rows, (long long)m->cols);
        OL_UNIT {
            ol_fill_sentinel_f32(m->y, size_of(m));
            ol_saw_status("status", softmax(online, m->x, m->y, m->rows, m->cols));
            ol_saw_f32("y", m->y, dims_of(m));
        }
        OL_ORACLE {
            softmax_in_float64(m, m->y);
            ol_want_status("status", TL_OK);
            ol_want_close_f32("y", m->y, size_of(m), tolerance(m->cols), FLT_MIN);
        }
    }
}
