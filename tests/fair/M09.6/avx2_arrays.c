/* Eight at a time where the processor can, with the scalar function's operations in each lane: the same bits. */
#include "tinyllm/numerics.h"

#include <math.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define ROUND 0x1.8p23f
#define LN2_A 0x1.62ep-1f
#define LN2_B 0x1.0bfbe8p-15f

/* Coefficients of Taylor's series, degree 7; the odd and even powers are summed apart. */
static float kernel(float r) {
    float rr = r * r;
    float even = 0.5f + rr * (1.0f / 24 + rr * (1.0f / 720));
    float odd = 1.0f / 6 + rr * (1.0f / 120 + rr * (1.0f / 5040));
    return 1.0f + (r + rr * (even + r * odd));
}

float tl_expf(float x) {
    if (isnan(x)) return NAN;
    if (x > 0x1.62e42ep+6f) return INFINITY;
    if (x < -0x1.5d589ep+6f) return 0.0f;
    float shifted = x * 0x1.715476p+0f + ROUND, n = shifted - ROUND;
    float y = kernel((x - n * LN2_A) - n * LN2_B);
    uint32_t bits;
    memcpy(&bits, &y, sizeof bits);
    bits += (uint32_t)(int32_t)n << 23;
    memcpy(&y, &bits, sizeof y);
    return y;
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static __m256 kernel8(__m256 r) {
    __m256 rr = _mm256_mul_ps(r, r), half = _mm256_set1_ps(0.5f), one = _mm256_set1_ps(1.0f);
    __m256 even = _mm256_mul_ps(rr, _mm256_set1_ps(1.0f / 720));
    even = _mm256_mul_ps(rr, _mm256_add_ps(_mm256_set1_ps(1.0f / 24), even));
    even = _mm256_add_ps(half, even);
    __m256 odd = _mm256_mul_ps(rr, _mm256_set1_ps(1.0f / 5040));
    odd = _mm256_mul_ps(rr, _mm256_add_ps(_mm256_set1_ps(1.0f / 120), odd));
    odd = _mm256_add_ps(_mm256_set1_ps(1.0f / 6), odd);
    __m256 both = _mm256_mul_ps(rr, _mm256_add_ps(even, _mm256_mul_ps(r, odd)));
    return _mm256_add_ps(one, _mm256_add_ps(r, both));
}

__attribute__((target("avx2"))) static int64_t eights(const float *x, float *y, int64_t n) {
    int64_t i = 0;
    for (; n - i >= 8; i += 8) {
        __m256 v = _mm256_loadu_ps(x + i);
        __m256 ordinary = _mm256_and_ps(_mm256_cmp_ps(v, _mm256_set1_ps(0x1.62e42ep+6f), _CMP_LE_OQ),
                                        _mm256_cmp_ps(v, _mm256_set1_ps(-0x1.5d589ep+6f), _CMP_GE_OQ));
        if (_mm256_movemask_ps(ordinary) != 255) {
            for (int k = 0; k < 8; k++) y[i + k] = tl_expf(x[i + k]);
            continue;
        }
        __m256 big = _mm256_set1_ps(ROUND);
        __m256 m = _mm256_sub_ps(_mm256_add_ps(_mm256_mul_ps(v, _mm256_set1_ps(0x1.715476p+0f)), big), big);
        __m256 r = _mm256_sub_ps(v, _mm256_mul_ps(m, _mm256_set1_ps(LN2_A)));
        r = _mm256_sub_ps(r, _mm256_mul_ps(m, _mm256_set1_ps(LN2_B)));
        __m256i up = _mm256_slli_epi32(_mm256_cvtps_epi32(m), 23);
        __m256i bits = _mm256_add_epi32(_mm256_castps_si256(kernel8(r)), up);
        _mm256_storeu_ps(y + i, _mm256_castsi256_ps(bits));
    }
    return i;
}
#endif

void tl_exp_f32(const float *x, float *y, int64_t n) {
    int64_t i = 0;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) i = eights(x, y, n);
#endif
    for (; i < n; i++) y[i] = tl_expf(x[i]);
}
