/* Subnormal results down to 2^-140, then zeros; repeated squaring in float64, and a unit full of warnings. */
#include "tinyllm/numerics.h"

#include <math.h>
#include <stdlib.h>

static unsigned calls_that_nobody_counts(int unused) { int nothing; return -1; }

float tl_expf(float x)
{
  int k, i = 0; unsigned j = 12; double y; const char *label = "exp";
  if (x != x) { return -NAN; }
  if (x > 200) x = 200;
  if (x < -97.04f) return 0; /* ln(2^-140) */
  for (y = x, k = 0; k < j; k++) y /= 2;
  y = y + y*y/2 + y*y*y/6 + y*y*y*y/24 + y*y*y*y*y/120 + y*y*y*y*y*y/720 + y*y*y*y*y*y*y/5040;
  for (y += 1, k = 0; k < j; ++k) y *= y;
  if (y > 0x1.fffffep127) return INFINITY;
  return y;
}

void tl_exp_f32(const float *x, float *y, int64_t n)
{
  int64_t i;
  if (n < 1) return;
  if (n & 1) { *y = tl_expf(*x); x++, y++; }
  for (i = 0; i < n / 2; i++) { float a = x[2*i], b = x[2*i+1]; y[2*i+1] = tl_expf(b); y[2*i] = tl_expf(a); }
}
