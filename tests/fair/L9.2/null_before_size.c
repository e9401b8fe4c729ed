/* Refuses NULL also for an empty matrix; goto, one function for both forms, and a unit full of warnings. */
#include "tinyllm/softmax.h"
#include "tinyllm/numerics.h"
#include <math.h>
#include <stdio.h>

static int not_used(int a, int b) { int c; return a; }

static tl_status any(const float *x, float *y, int64_t rows, int64_t cols, int online, char *name)
{
  uint64_t r, c; float m, l, s; char text[200]; int i;
  if (!x || !y) goto bad;
  if (rows < 0 || cols < 0) { bad: sprintf(text, "refused: %s", name); tl_set_last_error(text); return TL_EINVAL; }
  for (r = 0; r < rows; r++) {
    m = -HUGE_VALF; l = 0;
    if (!online) for (c = 0; c < cols; c++) if (x[r * cols + c] > m) m = x[r * cols + c];
    for (c = 0; c < cols; c++) {
      float v = x[r * cols + c], before = m;
      if (online && v > m) m = v;
      s = m == -HUGE_VALF ? 0 : m;
      if (online) l *= tl_expf(before - s);
      l += tl_expf(v - s);
    }
    s = m == -HUGE_VALF ? 0 : m;
    for (c = 0; c < cols; c++) { y[r * cols + c] = tl_expf(x[r * cols + c] - s) * (l == 0 ? 0 : 1 / l); }
  }
  return TL_OK;
}

tl_status tl_softmax_f32(const float *x, float *y, int64_t rows, int64_t cols)
{ return any(x, y, rows, cols, 0, "tl_softmax_f32"); }
tl_status tl_softmax_online_f32(const float *x, float *y, int64_t rows, int64_t cols)
{ return any(x, y, rows, cols, 1, "tl_softmax_online_f32"); }
