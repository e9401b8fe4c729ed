/* What the weights are worth: both functions against a softmax in float64, and the order of their sums. */
#include "rows.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* ---- Section 3 -------------------------------------------------------------------------------------- */

/* Scores ln 1, ln 4, ln 3 and, beside the chapter, the same shifted by 100. */
OL_TEST(hand_example) {
    static const float scores[] = {0.0f, 0x1.62e43p+0f, 0x1.193ea8p+0f}, weights[] = {0.125f, 0.5f, 0.375f};
    matrix m = new_matrix(2, 3);
    memcpy(m.x, scores, sizeof scores);
    for (int c = 0; c < 3; c++) m.x[3 + c] = scores[c] + 100.0f;
    for (int online = 0; online < 2; online++) {
        ol_note("%s of [ln 1, ln 4, ln 3], and of the same plus 100", name_of(online));
        OL_UNIT {
            ol_saw_status("status", softmax(online, m.x, m.y, 2, 3));
            ol_saw_f32("y", m.y, dims_of(&m));
        }
        OL_ORACLE {
            for (int c = 0; c < 6; c++) m.y[c] = weights[c % 3];
            ol_want_status("status", TL_OK);
            ol_want_close_f32("y", m.y, 6, 0.0, 1e-5);
        }
    }
}

/* ---- Against float64 -------------------------------------------------------------------------------- */

OL_TEST(matches_float64) {
    static const int64_t shapes[][2] = {{1, 1},  {5, 2},  {3, 3},  {7, 4},   {4, 5},   {3, 8},  {2, 15},
                                        {6, 16}, {5, 17}, {3, 33}, {2, 100}, {40, 64}, {3, 999}};
    static const float scales[] = {0.01f, 1.0f, 10.0f, 60.0f};
    ol_rng r = ol_rng_at(ol_seed());
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++)
        for (int i = 0; i < 4; i++) {
            matrix m = new_matrix(shapes[k][0], shapes[k][1]);
            fill_scaled(&r, &m, scales[i]);
            both_are_close(&m, "random scores");
        }
}

/* Row by row: rising, falling, equal, a peak at the end, a peak in the middle, two far apart steps. */
static float shaped(int64_t row, int64_t c, int64_t cols) {
    switch (row) {
        case 0: return 0.05f * (float)c;
        case 1: return -0.05f * (float)c;
        case 2: return 7.0f;
        case 3: return c == cols - 1 ? 30.0f : 0.0f;
        case 4: return c == cols / 2 ? 20.0f : -3.0f;
        default: return c < cols / 2 ? -50.0f : 25.0f;
    }
}

OL_TEST(rows_of_every_shape) {
    static const int64_t widths[] = {1, 2, 7, 32, 129};
    for (int k = 0; k < 5; k++) {
        matrix m = new_matrix(6, widths[k]);
        for (int64_t i = 0; i < size_of(&m); i++) m.x[i] = shaped(i / m.cols, i % m.cols, m.cols);
        both_are_close(&m, "rising, falling, equal, peak at the end, in the middle, a step");
    }
}

/* Rows around 1e4, -1e4, 3e38 and -3e38, a row from one to the other, and the same with the signs in turn. */
OL_TEST(scores_of_any_size) {
    static const float centre[] = {1e4f, -1e4f, 3e38f, -3e38f, 1e-40f, 90.0f, -110.0f};
    ol_rng r = ol_rng_at(ol_seed());
    matrix m = new_matrix(9, 12);
    for (int64_t i = 0; i < size_of(&m); i++) {
        int64_t row = i / m.cols, c = i % m.cols;
        float wide = c % 2 ? FLT_MAX : -FLT_MAX;
        m.x[i] = row < 7 ? centre[row] + ol_unit_f32(&r) : row == 7 ? wide : wide / 3e34f;
    }
    both_are_close(&m, "around ±1e4, ±3e38, 0, 90, -110; ±FLT_MAX in turn; ±1e4 in turn");
}

/* ---- The order of the sum --------------------------------------------------------------------------- */

/* The largest score of a row has the weight 1 / sum in bits, whether the row is scaled by a division or by an inverse,
 * for its exponential is exactly 1. So the bits of the sum can be seen: float32, over increasing columns, of tl_expf. */
static float sum_in_order(const float *x, int64_t cols) {
    float max = -INFINITY, sum = 0.0f;
    for (int64_t c = 0; c < cols; c++) max = x[c] > max ? x[c] : max;
    for (int64_t c = 0; c < cols; c++) sum = sum + tl_expf(x[c] - max);
    return sum;
}

static float online_sum_in_order(const float *x, int64_t cols) {
    float max = -INFINITY, sum = 0.0f;
    for (int64_t c = 0; c < cols; c++) {
        float new_max = x[c] > max ? x[c] : max;
        sum = sum * tl_expf(max - new_max) + tl_expf(x[c] - new_max);
        max = new_max;
    }
    return sum;
}

static int64_t column_of_largest(const float *x, int64_t cols) {
    int64_t best = 0;
    for (int64_t c = 1; c < cols; c++)
        if (x[c] > x[best]) best = c;
    return best;
}

static void sums_in_order(int online, const matrix *m) {
    float *largest = ol_new(m->rows, sizeof *largest);
    ol_note("%s: the weight of each row's largest score, rows=%lld, cols=%lld", name_of(online), (long long)m->rows,
            (long long)m->cols);
    OL_UNIT {
        ol_saw_status("status", softmax(online, m->x, m->y, m->rows, m->cols));
        for (int64_t r = 0; r < m->rows; r++)
            largest[r] = m->y[r * m->cols + column_of_largest(m->x + r * m->cols, m->cols)];
        ol_saw_f32("1 / sum", largest, OL_DIMS({"row", m->rows}));
    }
    OL_ORACLE {
        for (int64_t r = 0; r < m->rows; r++) {
            const float *x = m->x + r * m->cols;
            largest[r] = 1.0f / (online ? online_sum_in_order(x, m->cols) : sum_in_order(x, m->cols));
        }
        ol_want_status("status", TL_OK);
        ol_want_bits_f32("1 / sum", largest, m->rows);
    }
}

OL_TEST(sums_in_the_order_of_columns) {
    static const int64_t widths[] = {1, 2, 3, 8, 50, 300};
    ol_rng r = ol_rng_at(ol_seed());
    for (int k = 0; k < 6; k++)
        for (int online = 0; online < 2; online++) {
            matrix m = new_matrix(40, widths[k]);
            fill_scaled(&r, &m, 4.0f);
            sums_in_order(online, &m);
        }
}

/* ---- -inf ------------------------------------------------------------------------------------------- */

/* Each column of `mask` set to -inf: from the left, from the right, every other, all but one. */
static int is_masked(int64_t row, int64_t c, int64_t cols) {
    switch (row) {
        case 0: return c == 0;
        case 1: return c < cols - 1;
        case 2: return c > 0;
        case 3: return c % 2 == 0;
        case 4: return c % 2 == 1;
        case 5: return c < cols / 2;
        default: return c != cols / 2;
    }
}

OL_TEST(minus_infinity_weighs_nothing) {
    ol_rng r = ol_rng_at(ol_seed());
    matrix m = new_matrix(7, 9);
    fill_scaled(&r, &m, 5.0f);
    for (int64_t i = 0; i < size_of(&m); i++)
        if (is_masked(i / m.cols, i % m.cols, m.cols)) m.x[i] = -INFINITY;
    both_are_close(&m, "-inf first, all but last, all but first, in turn, first half, all but the middle");
    for (int online = 0; online < 2; online++) {
        float *masked = ol_new(size_of(&m), sizeof *masked);
        ol_note("%s: weights under -inf; 0 stands where x is finite", name_of(online));
        OL_UNIT {
            ol_saw_status("status", softmax(online, m.x, m.y, m.rows, m.cols));
            for (int64_t i = 0; i < size_of(&m); i++) masked[i] = m.x[i] == -INFINITY ? m.y[i] : 0.0f;
            ol_saw_f32("weights under -inf", masked, dims_of(&m));
        }
        OL_ORACLE {
            ol_want_status("status", TL_OK);
            ol_want_close_f32("weights under -inf", masked, size_of(&m), 0.0, 0.0);
        }
    }
}

/* Between rows of numbers, so that a sum of 0 or a maximum that is carried over shows. */
OL_TEST(nothing_but_minus_infinity_gives_zeros) {
    static const int64_t widths[] = {1, 2, 5, 16};
    ol_rng r = ol_rng_at(ol_seed());
    for (int k = 0; k < 4; k++) {
        matrix m = new_matrix(5, widths[k]);
        fill_scaled(&r, &m, 5.0f);
        for (int64_t i = 0; i < size_of(&m); i++)
            if (i / m.cols % 2 == 0) m.x[i] = -INFINITY;
        both_are_close(&m, "rows 0, 2 and 4 are -inf");
    }
}
