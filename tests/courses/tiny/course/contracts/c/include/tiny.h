/* tiny.h: two units of a course that is just large enough to test ol on. */
#ifndef TINY_H
#define TINY_H

#include <stdint.h>

/* T0: x * x. */
float tiny_square(float x);

/* T1: y[i] = 2 * x[i] + x[i]^2 for i in [0, n). Returns 1 and writes nothing for n < 0, else 0. */
int32_t tiny_sum_f32(const float *x, float *y, int64_t n);

#endif
