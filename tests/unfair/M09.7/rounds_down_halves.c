/* Wrong: a half always goes to the smaller magnitude. */
#include "tinyllm/numerics.h"

#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#define HAS_F16C __builtin_cpu_supports("avx2")

__attribute__((target("f16c"))) static uint16_t hard_encode(float x) {
    return (uint16_t)_mm_extract_epi16(_mm_cvtps_ph(_mm_set_ss(x), 0), 0);
}
__attribute__((target("f16c"))) static float hard_decode(uint16_t code) {
    return _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(code)));
}
#else
#define HAS_F16C 0
static uint16_t hard_encode(float x) { return (uint16_t)x; }
static float hard_decode(uint16_t code) { return (float)code; }
#endif

static uint32_t round_code(uint32_t m, int F, int bias) {
    int lowest = 128 - bias, e = (int)(m >> 23), drop = 23 - F;
    uint64_t v = m & 0x7FFFFF, half;
    if (e) v |= 0x800000;
    else e = 1;
    if (e < lowest) drop += lowest - e;
    if (drop > 40) return 0;
    half = UINT64_C(1) << (drop - 1);
    uint64_t kept = v >> drop, rest = v & (2 * half - 1);
    kept += rest > half;
    if (e > lowest) kept += (uint64_t)(e - lowest) << F;
    return (uint32_t)kept;
}

static float widen(uint32_t m, int F, int bias) {
    uint32_t e = m >> F, f = m & ((1u << F) - 1), shift = 0, out;
    float x;
    if (e == 0 && f == 0) return 0.0f;
    if (e == 0) {
        for (e = 1; !(f >> F); shift++) f <<= 1;
        f &= (1u << F) - 1;
    }
    out = (e + 127u - (uint32_t)bias - shift) << 23 | f << (23 - F);
    memcpy(&x, &out, sizeof x);
    return x;
}

static float signed_float(float x, int negative) {
    return negative ? -x : x;
}

static uint32_t size_of(float x, uint32_t *sign) {
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    *sign = u >> 31;
    return u & 0x7FFFFFFF;
}

uint16_t tl_f32_to_f16(float x) {
    uint32_t sign, m = size_of(x, &sign), code;
    if (x != x) return 0x7E00;
    code = round_code(m, 10, 15);
    return (uint16_t)(sign << 15 | (code > 0x7C00 ? 0x7C00 : code));
}

float tl_f16_to_f32(uint16_t code) {
    if (HAS_F16C) return hard_decode(code);
    if ((code & 0x7FFF) > 0x7C00) return 0.0f * (1e38f * 10);
    if ((code & 0x7FFF) == 0x7C00) return signed_float(1e38f * 10, code >> 15);
    return signed_float(widen(code & 0x7FFF, 10, 15), code >> 15);
}

uint16_t tl_f32_to_bf16(float x) {
    uint32_t sign, m = size_of(x, &sign);
    return x != x ? 0x7FC0 : (uint16_t)(sign << 15 | round_code(m, 7, 127));
}

float tl_bf16_to_f32(uint16_t code) {
    uint16_t halves[2] = {0, code};
    float x;
    memcpy(&x, halves, sizeof x);
    return x;
}

uint8_t tl_f32_to_e4m3(float x) {
    uint32_t sign, code = round_code(size_of(x, &sign), 3, 7);
    if (x != x) return 0x7F;
    return (uint8_t)(sign << 7 | (code > 0x7E ? 0x7E : code));
}

float tl_e4m3_to_f32(uint8_t code) {
    float nan = 0.0f;
    if ((code & 0x7F) == 0x7F) return nan / nan;
    return signed_float(widen(code & 0x7F, 3, 7), code >> 7);
}

uint8_t tl_f32_to_e5m2(float x) {
    uint32_t sign, m = size_of(x, &sign), code = round_code(m, 2, 15);
    if (x != x) return 0x7F;
    if (m == 0x7F800000) return (uint8_t)(sign << 7 | 0x7C);
    return (uint8_t)(sign << 7 | (code > 0x7B ? 0x7B : code));
}

float tl_e5m2_to_f32(uint8_t code) { return tl_f16_to_f32((uint16_t)(code * 256)); }
