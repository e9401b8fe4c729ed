/* numerics.h (M09.7, M09.6): number formats and the exponential that the kernels share.
 *
 * Two units implement this header, one per section. Every function here is pure: it depends on its arguments
 * alone, keeps no state, cannot fail and may run on any thread. Results do not depend on the compiler or the
 * optimisation level as long as contraction and fast-math stay off and the rounding mode is the default one.
 */
#ifndef TINYLLM_NUMERICS_H
#define TINYLLM_NUMERICS_H

#include <stdint.h>

/*
 * ---- M09.7: c/src/numerics/lowp.c -------------------------------------------------------------------------------
 *
 * Scalar conversions between float32 and four narrow formats. A code is the bare bit pattern: sign first, then
 * exponent, then fraction.
 *
 *   format  bits  exponent  fraction  bias  largest finite  smallest subnormal  infinities  NaN codes
 *   f16      16       5        10      15       65504            2^-24          yes         exponent 31, fraction not 0
 *   bf16     16       8         7     127    (2-2^-7)*2^127      2^-133         yes         exponent 255, fraction not 0
 *   e4m3      8       4         3       7         448            2^-9           none        0x7F and 0xFF only
 *   e5m2      8       5         2      15       57344            2^-16          yes         exponent 31, fraction not 0
 *
 * Decoding (tl_<format>_to_f32) is exact for every code, subnormals, both zeros and infinities included. A NaN code
 * gives a NaN whose sign and payload are left open.
 *
 * Encoding (tl_f32_to_<format>) rounds once, to nearest, ties to the code with an even last bit, and keeps the sign
 * of whatever becomes zero. Float32 subnormals are rounded like any other number, not flushed. In particular half of
 * a format's smallest subnormal is a tie and becomes a zero of the same sign, while the next float above it becomes
 * the smallest subnormal. A NaN of either sign and any payload gives the one code named below. What is too large:
 *
 *   f16   a value that rounds to 65520 or beyond gives the infinity of its sign (65519.996 still gives 65504)
 *   bf16  a value that rounds beyond the largest finite code gives the infinity of its sign
 *   e4m3  everything beyond the largest finite code, infinities too, gives +-448 (0x7E, 0xFE): E4M3FN saturates
 *   e5m2  finite values saturate at +-57344 (0x7B, 0xFB); an infinity stays an infinity (0x7C, 0xFC)
 */

uint16_t tl_f32_to_f16(float x); /* NaN gives 0x7E00 */
float tl_f16_to_f32(uint16_t code);

uint16_t tl_f32_to_bf16(float x); /* NaN gives 0x7FC0 */
float tl_bf16_to_f32(uint16_t code);

uint8_t tl_f32_to_e4m3(float x); /* NaN gives 0x7F */
float tl_e4m3_to_f32(uint8_t code);

uint8_t tl_f32_to_e5m2(float x); /* NaN gives 0x7F */
float tl_e5m2_to_f32(uint8_t code);

/*
 * ---- M09.6: c/src/numerics/expf.c -------------------------------------------------------------------------------
 *
 * The exponential. Two correct implementations may differ in the last bits of a result, but one implementation gives
 * one answer per argument, everywhere: kernels that must agree bit for bit all call this function, not the libm's.
 */

/*
 * e to the power x.
 *   - within 2 ulp of the true value wherever the true value is a normal float (2^-126 up to FLT_MAX);
 *   - exactly 1 for +0 and for -0;
 *   - +inf for x above ln(FLT_MAX), about 88.7228, and for +inf;
 *   - where the true value lies below the normal range: either +0 or the float nearest to it, nothing else, and
 *     +0 for -inf;
 *   - NaN for NaN.
 */
float tl_expf(float x);

/*
 * y[i] = tl_expf(x[i]) for i in 0..n-1, with the very bits that tl_expf gives, whatever n is and wherever the element
 * stands. x and y each hold n elements; they are the same array or do not overlap. n <= 0 does nothing, and then the
 * pointers are not looked at.
 */
void tl_exp_f32(const float *x, float *y, int64_t n);

#endif
