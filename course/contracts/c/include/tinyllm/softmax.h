/* softmax.h (L9.2): softmax over the rows of a matrix.
 */
#ifndef TINYLLM_SOFTMAX_H
#define TINYLLM_SOFTMAX_H

#include <stdint.h>

#include "tinyllm/abi.h"

/*
 * y[r][c] = exp(x[r][c] - max of row r) / sum over c of exp(x[r][c] - max of row r)
 *
 * x, y   [rows, cols], row-major and contiguous. The same array for both is allowed; overlapping in part is not.
 *        x is not written unless it is y.
 *
 * tl_softmax_f32 reads a row three times: maximum, exponentials and their sum, scaling. tl_softmax_online_f32 reads
 * it twice: the first pass carries a running maximum m and denominator l, and each new element rescales l by
 * exp(old m - new m), which is the update that attention builds on. Both answer the same question; their results are
 * close to each other, not equal in bits.
 *
 * Order        Maximum and sum are taken in float32 over increasing c. The exponential is tl_expf. A row's bits depend
 *              on that row alone: not on rows, not on its place, not on whether the call works in place.
 * Edge cases   A row in which every element is -inf gives zeros. A NaN anywhere in a row makes every element of that
 *              row NaN, -inf elsewhere in the row or not, and touches no other row. -inf beside finite elements
 *              weighs exactly 0. rows or cols 0: TL_OK, nothing is read or written.
 * Status       TL_EINVAL: rows or cols negative; x or y NULL while rows and cols are both positive. Then y is not
 *              written. TL_OK otherwise. Neither function allocates.
 * Left open    what a row with +inf gives; sign and payload of a NaN.
 */
tl_status tl_softmax_f32(const float *x, float *y, int64_t rows, int64_t cols);
tl_status tl_softmax_online_f32(const float *x, float *y, int64_t rows, int64_t cols);

#endif
