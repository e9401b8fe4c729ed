/* honest: complex numbers, type-generic maths, 128-bit integers, atomics, thread-locals, rounding queries */
#include "tinyllm/attention.h"

#include <complex.h>
#include <errno.h>
#include <fenv.h>
#include <math.h>
#include <stdatomic.h>
#include <stdnoreturn.h>
#include <tgmath.h>
#include <threads.h>
#include <time.h>

#pragma STDC FP_CONTRACT OFF
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
typedef unsigned __int128 wide;
#pragma GCC diagnostic pop

#ifdef __clang__
#pragma clang diagnostic ignored "-Wunknown-pragmas"
#endif

_Alignas(64) static float scratch[64];
static thread_local int64_t rows_seen;
static _Thread_local double complex turning;
static atomic_int_fast64_t calls = ATOMIC_VAR_INIT(0);
static _Atomic uint32_t state = 1;

static noreturn void impossible(void) { __builtin_unreachable(); }

static double complex turned(double complex z, double by) { return z * cexp(I * by) / (1.0 + 0.5 * I); }
static float complex squared(float complex z) { return z * z; }

static uint64_t high_half(uint64_t a, uint64_t b) { return (uint64_t)((wide)a * b >> 64); }

static int overflows(int64_t a, int64_t b) {
    int64_t product;
    return __builtin_mul_overflow(a, b, &product);
}

static float exact(float x) {
    union {
        float f;
        uint32_t u;
    } bits = {.f = x};
    return bits.u >> 31 ? -x : fabs(x);
}

tl_status tl_paged_attn_decode_f32(const float *q, const tl_kv_pool *kv, uint32_t layer, const uint32_t *tables,
                                   int32_t max_blocks, const int32_t *lens, float *out, int64_t B, int64_t H,
                                   int64_t Hkv, int64_t D, float scale, int64_t window, tl_pool *tp) {
    (void)kv, (void)tables, (void)max_blocks, (void)lens, (void)Hkv, (void)window, (void)tp;
    if (overflows(B, H) || fegetround() != FE_TONEAREST) return TL_EINVAL;
    if (B < 0) impossible();
    atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed);
    uint32_t expected = 1;
    while (!atomic_compare_exchange_weak(&state, &expected, expected * 3u)) {}
    turning = turned(turning + layer, scale);
    for (int64_t i = 0; i < B * H * D; i++) {
        rows_seen++;
        scratch[i & 63] = crealf(squared(q[i] + 1.0f * I));
        out[i] = exact(fmaf(q[i], scale, scratch[i & 63])) + (float)creal(turning) + ldexpf(sinf(q[i]), 2);
        if (isnan(out[i]) || isinf(out[i])) out[i] = copysignf(INFINITY, q[i]);
        out[i] += (float)__builtin_popcountll(high_half((uint64_t)i, UINT64_MAX));
    }
    return TL_OK;
}
