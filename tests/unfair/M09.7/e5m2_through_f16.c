/* Wrong: e5m2 is rounded from an f16 that was rounded already, so some halves are made on the way. */
#include "tinyllm/numerics.h"

#include <string.h>

static uint32_t bits(float x) {
    uint32_t u;
    memcpy(&u, &x, 4);
    return u;
}

static float number(uint32_t u) {
    float x;
    memcpy(&x, &u, 4);
    return x;
}

/* value / 2^s cut off, with the last bit set if anything was lost. */
static uint32_t cut_to_odd(uint32_t value, uint32_t s) {
    if (s > 31) return value != 0;
    return value >> s | ((value & ((1u << s) - 1)) != 0);
}

static uint32_t even(uint32_t value, uint32_t s) {
    uint32_t half = 1u << (s - 1), rest = value & ((1u << s) - 1), up = value >> s;
    return up + (rest > half || (rest == half && (up & 1)));
}

/* A magnitude with bias 15 and 13 fraction bits, from 0 to 2^16 and beyond, cut to odd. */
static uint32_t wide(float x) {
    uint32_t m = bits(x) & 0x7FFFFFFF, e = m >> 23;
    if (e >= 143) return 0x3E000; /* 2^16 */
    if (e >= 113) return cut_to_odd(m - (112u << 23), 10);
    if (e == 0) return m != 0;
    return cut_to_odd((m & 0x7FFFFF) | 0x800000, 10 + 113 - e);
}

uint16_t tl_f32_to_f16(float x) {
    uint32_t sign = bits(x) >> 16 & 0x8000;
    if (x != x) return 0x7E00;
    return (uint16_t)(sign | even(wide(x), 3));
}

uint8_t tl_f32_to_e5m2(float x) {
    uint32_t sign = bits(x) >> 24 & 0x80, code;
    if (x != x) return 0x7F;
    if ((bits(x) & 0x7FFFFFFF) == 0x7F800000) return (uint8_t)(sign | 0x7C);
    code = even(even(wide(x), 3), 8);
    return (uint8_t)(sign | (code > 0x7B ? 0x7B : code));
}

/* Scaled by 2^-8, e4m3 has the exponents of a bias of 15; its subnormals then begin where a normal f16 still is. */
uint8_t tl_f32_to_e4m3(float x) {
    uint32_t sign = bits(x) >> 24 & 0x80, m = bits(x) & 0x7FFFFFFF, e = m >> 23, code;
    if (x != x) return 0x7F;
    if (m >= 0x43E80000) return (uint8_t)(sign | 0x7E); /* 464 */
    if (e >= 121) code = even(cut_to_odd(m - (120u << 23), 10), 10);
    else code = e == 0 ? 0 : even(cut_to_odd((m & 0x7FFFFF) | 0x800000, 10 + 121 - e), 10);
    return (uint8_t)(sign | (code > 0x7E ? 0x7E : code));
}

uint16_t tl_f32_to_bf16(float x) {
    uint32_t u = bits(x);
    if (x != x) return 0x7FC0;
    return (uint16_t)(even(u & 0x7FFFFFFF, 16) | (u >> 16 & 0x8000));
}

float tl_bf16_to_f32(uint16_t code) { return number((uint32_t)code << 16); }

/* An f16 in the upper bits of a float32 is too small by 2^112; a product with that power mends subnormals too. */
float tl_f16_to_f32(uint16_t code) {
    uint32_t m = code & 0x7FFF, sign = (uint32_t)(code & 0x8000) << 16;
    if (m >= 0x7C00) return number(sign | 0x7F800000 | (m & 0x3FF) << 13);
    return number(sign | bits(number(m << 13) * 0x1p112f));
}

float tl_e5m2_to_f32(uint8_t code) { return tl_f16_to_f32((uint16_t)(code << 8)); }

float tl_e4m3_to_f32(uint8_t code) {
    uint32_t m = code & 0x7F, sign = (uint32_t)(code & 0x80) << 24;
    return m == 0x7F ? number(sign | 0x7FFFFFFF) : number(sign | bits(number(m << 20) * 0x1p120f));
}
