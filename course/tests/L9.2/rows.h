/* What the tests of L9.2 share: a matrix of scores, calls of both functions on it, and a softmax in float64.
 *
 * Both functions answer one question, so most tests ask it of both: `online` chooses. */
#ifndef L92_ROWS_H
#define L92_ROWS_H

#include "ol_test.h"
#include "tinyllm.h"

typedef struct {
    int64_t rows, cols;
    float *x; /* [rows][cols] */
    float *y;
} matrix;

matrix new_matrix(int64_t rows, int64_t cols); /* y holds the sentinel */
void fill_scaled(ol_rng *r, matrix *m, float scale);
int64_t size_of(const matrix *m);
ol_shape dims_of(const matrix *m);

const char *name_of(int online);
tl_status softmax(int online, const float *x, float *y, int64_t rows, int64_t cols); /* unit role only */

/* Oracle role: softmax in float64. A row of nothing but -inf gives zeros. Not for NaN. */
void softmax_in_float64(const matrix *m, float *want);

/* What float32 may lose. exp(x - max) of up to 2 ulp, its argument rounded at sizes up to 104, and for each further
 * column one sum, and in the online form one more exponential and product. */
double tolerance(int64_t cols);

/* One call of each function: status, and closeness to float64. Weights below the normal range may be flushed. */
void both_are_close(matrix *m, const char *what);

#endif
