#include "formats.h"

#include <math.h>
#include <string.h>

#include "tinyllm/numerics.h"

const format formats[N_FORMATS] = {
    {"f16", 10, 15, 0x8000, 0x7C00, 0x7C00, 0x7C00, 0x7E00},
    {"bf16", 7, 127, 0x8000, 0x7F80, 0x7F80, 0x7F80, 0x7FC0},
    {"e4m3", 3, 7, 0x80, 0x7F, 0x7E, 0x7E, 0x7F},
    {"e5m2", 2, 15, 0x80, 0x7C, 0x7B, 0x7C, 0x7F},
};

float float_of_bits(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

int64_t codes_of(const format *f) { return 2 * (int64_t)f->sign; }

static int has_infinity(const format *f) { return f->infinity == f->beyond; }

int is_nan_code(const format *f, uint32_t code) {
    uint32_t magnitude = code & (f->sign - 1);
    return magnitude > f->beyond || (magnitude == f->beyond && !has_infinity(f));
}

/* ---- The model -------------------------------------------------------------------------------------- */

double value_of(const format *f, uint32_t magnitude) {
    uint32_t one = UINT32_C(1) << f->fraction_bits;
    uint32_t exponent = magnitude / one, fraction = magnitude % one;
    if (exponent == 0) return ldexp(fraction, 1 - f->bias - f->fraction_bits);
    return ldexp(one + fraction, (int)exponent - f->bias - f->fraction_bits);
}

float decoded(const format *f, uint32_t code) {
    uint32_t magnitude = code & (f->sign - 1);
    double value = magnitude == f->beyond ? INFINITY : value_of(f, magnitude);
    return (float)(code & f->sign ? -value : value);
}

/* The largest magnitude up to `beyond` that is worth no more than size. */
static uint32_t floor_of(const format *f, double size) {
    uint32_t low = 0, high = f->beyond + 1;
    while (high - low > 1) {
        uint32_t middle = (low + high) / 2;
        if (value_of(f, middle) <= size) low = middle;
        else high = middle;
    }
    return low;
}

static uint32_t nearest(const format *f, double size) {
    uint32_t low = floor_of(f, size);
    if (low == f->beyond) return low;
    double twice_middle = value_of(f, low) + value_of(f, low + 1);
    if (2 * size == twice_middle) return low + low % 2;
    return 2 * size > twice_middle ? low + 1 : low;
}

uint16_t encoded(const format *f, float x) {
    if (isnan(x)) return (uint16_t)f->nan;
    uint32_t magnitude = isinf(x) ? f->infinity : nearest(f, fabs((double)x));
    if (!isinf(x) && magnitude >= f->beyond) magnitude = f->overflow;
    return (uint16_t)(magnitude | (signbit(x) ? f->sign : 0));
}

/* ---- The unit --------------------------------------------------------------------------------------- */

uint16_t encode(int format, float x) {
    switch (format) {
        case F16: return tl_f32_to_f16(x);
        case BF16: return tl_f32_to_bf16(x);
        case E4M3: return tl_f32_to_e4m3(x);
        default: return tl_f32_to_e5m2(x);
    }
}

float decode(int format, uint32_t code) {
    switch (format) {
        case F16: return tl_f16_to_f32((uint16_t)code);
        case BF16: return tl_bf16_to_f32((uint16_t)code);
        case E4M3: return tl_e4m3_to_f32((uint8_t)code);
        default: return tl_e5m2_to_f32((uint8_t)code);
    }
}
