/* Wrong: e4m3 in its other dialect, FNUZ: bias 8, largest number 240, and no minus zero. */
#include "tinyllm/numerics.h"

#include <math.h>

/* |x| rounded to a multiple of 2^q, for |x| < 2^(q + 51): float64 keeps 52 bits after its first one. */
static double to_step(double size, int q) {
    double big = ldexp(3.0, q + 51);
    volatile double sum = size + big;
    return sum - big;
}

static unsigned nearest_code(float x, int fraction_bits, int bias) {
    double size = fabs((double)x);
    int exponent = size == 0 ? -1000 : ilogb(size);
    if (exponent < 1 - bias) exponent = 1 - bias;
    double step = ldexp(1.0, exponent - fraction_bits);
    double steps = to_step(size, exponent - fraction_bits) / step;
    return (unsigned)(exponent + bias - 1) * (1u << fraction_bits) + (unsigned)steps;
}

static unsigned signed_code(float x, int fraction_bits, int bias, unsigned sign, unsigned inf, unsigned most, unsigned nan) {
    if (isnan(x)) return nan;
    unsigned code = isinf(x) ? inf : nearest_code(x, fraction_bits, bias);
    if (!isinf(x) && code > most) code = most;
    return code | (signbit(x) ? sign : 0);
}

static float value(unsigned code, int fraction_bits, int bias, unsigned sign) {
    unsigned magnitude = code & (sign - 1), one = 1u << fraction_bits;
    int exponent = (int)(magnitude / one);
    double v = exponent == 0 ? ldexp(magnitude, 1 - bias - fraction_bits)
                             : ldexp(one + magnitude % one, exponent - bias - fraction_bits);
    return (float)(code & sign ? -v : v);
}

uint16_t tl_f32_to_f16(float x) { return (uint16_t)signed_code(x, 10, 15, 0x8000, 0x7C00, 0x7C00, 0x7E00); }
uint16_t tl_f32_to_bf16(float x) { return (uint16_t)signed_code(x, 7, 127, 0x8000, 0x7F80, 0x7F80, 0x7FC0); }
uint8_t tl_f32_to_e4m3(float x) { return (uint8_t)signed_code(x, 3, 8, 0x80, 0x7F, 0x7F, 0x80); }
uint8_t tl_f32_to_e5m2(float x) { return (uint8_t)signed_code(x, 2, 15, 0x80, 0x7C, 0x7B, 0x7F); }

float tl_f16_to_f32(uint16_t code) {
    if ((code & 0x7FFF) > 0x7C00) return NAN;
    if ((code & 0x7FFF) == 0x7C00) return code & 0x8000 ? -INFINITY : INFINITY;
    return value(code, 10, 15, 0x8000);
}

float tl_bf16_to_f32(uint16_t code) {
    if ((code & 0x7FFF) > 0x7F80) return NAN;
    if ((code & 0x7FFF) == 0x7F80) return code & 0x8000 ? -INFINITY : INFINITY;
    return value(code, 7, 127, 0x8000);
}

float tl_e4m3_to_f32(uint8_t code) { return code == 0x80 ? NAN : value(code, 3, 8, 0x80); }

float tl_e5m2_to_f32(uint8_t code) {
    if ((code & 0x7F) > 0x7C) return NAN;
    if ((code & 0x7F) == 0x7C) return code & 0x80 ? -INFINITY : INFINITY;
    return value(code, 2, 15, 0x80);
}
