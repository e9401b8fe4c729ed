/* lowp.c (M09.7): float32 to and from f16, bf16, e4m3 and e5m2. Contract: tinyllm/numerics.h.
 *
 * Scalars in, scalars out; no state, no failure. Encoding rounds once, to nearest even, by integer arithmetic on the
 * bit patterns, so that nothing depends on rounding modes or on how the machine treats subnormals. Decoding is exact.
 *
 * Every format is sign, exponent, fraction, as float32 is, so one pair of helpers serves all of them. They work on
 * magnitudes, codes without their sign bit. What differs, overflow and NaN, stands in the public functions.
 */
#include "tinyllm/numerics.h"

#include <string.h>

#define F32_FRACTION_BITS 23
#define F32_BIAS 127
#define F32_IMPLICIT_ONE UINT32_C(0x00800000)
#define F32_INF UINT32_C(0x7F800000)
#define F32_NAN UINT32_C(0x7FC00000)

typedef struct {
    int fraction_bits;
    int bias;
    uint32_t beyond; /* the first magnitude code after the largest finite one */
} format;

static const format F16 = {10, 15, 0x7C00};
static const format BF16 = {7, 127, 0x7F80};
static const format E4M3 = {3, 7, 0x7F};
static const format E5M2 = {2, 15, 0x7C};

static inline uint32_t bits_of(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline float float_of(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static uint32_t sign_of(float x) { return bits_of(x) >> 31; }
static uint32_t magnitude_of(float x) { return bits_of(x) & UINT32_C(0x7FFFFFFF); }
static int is_nan(float x) { return magnitude_of(x) > F32_INF; }
static uint32_t smaller(uint32_t a, uint32_t b) { return a < b ? a : b; }

/* value / 2^shift to nearest, ties to even, for shift >= 1. From shift 26 on, 24 bits are below half. */
static uint32_t shift_right_even(uint32_t value, int shift) {
    if (shift > 25) return 0;
    const uint32_t just_below_half = (UINT32_C(1) << (shift - 1)) - 1;
    const uint32_t is_odd = value >> shift & 1;
    return (value + just_below_half + is_odd) >> shift;
}

/* The magnitude code nearest to |x|, x not NaN, as if exponents had no upper end; the caller deals with f->beyond.
 * Codes are ordered as their values are, and a carry out of the fraction lands in the exponent: rounding up across a
 * power of two, or from the largest subnormal to the smallest normal, needs no case of its own. */
static uint32_t encode(float x, const format *f) {
    const uint32_t magnitude = magnitude_of(x);
    const int exponent = (int)(magnitude >> F32_FRACTION_BITS);
    const int smallest_normal = 1 + F32_BIAS - f->bias; /* as an exponent of float32 */
    const int dropped = F32_FRACTION_BITS - f->fraction_bits;
    if (exponent >= smallest_normal) {
        const uint32_t rebias = (uint32_t)(F32_BIAS - f->bias) << F32_FRACTION_BITS;
        return shift_right_even(magnitude - rebias, dropped);
    }
    if (exponent == 0) return shift_right_even(magnitude, dropped + smallest_normal - 1);
    const uint32_t significand = (magnitude & (F32_IMPLICIT_ONE - 1)) | F32_IMPLICIT_ONE;
    return shift_right_even(significand, dropped + smallest_normal - exponent);
}

/* The value of a finite magnitude code, for formats whose smallest subnormal is a normal float32 (not bf16). */
static inline float decode(uint32_t code, const format *f) {
    const uint32_t exponent = code >> f->fraction_bits;
    const uint32_t fraction = code - (exponent << f->fraction_bits);
    if (exponent == 0) {
        const int unit_exponent = 1 - f->bias - f->fraction_bits;
        const float unit = float_of((uint32_t)(unit_exponent + F32_BIAS) << F32_FRACTION_BITS);
        return (float)fraction * unit;
    }
    const uint32_t rebiased = exponent + (uint32_t)(F32_BIAS - f->bias);
    return float_of(rebiased << F32_FRACTION_BITS | fraction << (F32_FRACTION_BITS - f->fraction_bits));
}

/* By bits, for arithmetic may drop the sign of a NaN. */
static inline float with_sign(float magnitude, uint32_t sign) { return float_of(bits_of(magnitude) | sign << 31); }

uint16_t tl_f32_to_f16(float x) {
    if (is_nan(x)) return 0x7E00;
    return (uint16_t)(sign_of(x) << 15 | smaller(encode(x, &F16), F16.beyond)); /* beyond is the infinity */
}

float tl_f16_to_f32(uint16_t code) {
    const uint32_t sign = code >> 15;
    const uint32_t magnitude = code & UINT32_C(0x7FFF);
    if (magnitude < F16.beyond) return with_sign(decode(magnitude, &F16), sign);
    return with_sign(float_of(magnitude == F16.beyond ? F32_INF : F32_NAN), sign);
}

uint16_t tl_f32_to_bf16(float x) {
    if (is_nan(x)) return 0x7FC0;
    return (uint16_t)(sign_of(x) << 15 | smaller(encode(x, &BF16), BF16.beyond)); /* beyond is the infinity */
}

/* bf16 is the upper half of float32. */
float tl_bf16_to_f32(uint16_t code) { return float_of((uint32_t)code << 16); }

uint8_t tl_f32_to_e4m3(float x) {
    if (is_nan(x)) return 0x7F;
    return (uint8_t)(sign_of(x) << 7 | smaller(encode(x, &E4M3), E4M3.beyond - 1));
}

float tl_e4m3_to_f32(uint8_t code) {
    const uint32_t sign = code >> 7;
    const uint32_t magnitude = code & UINT32_C(0x7F);
    return with_sign(magnitude < E4M3.beyond ? decode(magnitude, &E4M3) : float_of(F32_NAN), sign);
}

uint8_t tl_f32_to_e5m2(float x) {
    if (is_nan(x)) return 0x7F;
    const uint32_t largest = magnitude_of(x) == F32_INF ? E5M2.beyond : E5M2.beyond - 1;
    return (uint8_t)(sign_of(x) << 7 | smaller(encode(x, &E5M2), largest));
}

float tl_e5m2_to_f32(uint8_t code) {
    const uint32_t sign = code >> 7;
    const uint32_t magnitude = code & UINT32_C(0x7F);
    if (magnitude < E5M2.beyond) return with_sign(decode(magnitude, &E5M2), sign);
    return with_sign(float_of(magnitude == E5M2.beyond ? F32_INF : F32_NAN), sign);
}
