/* AVX2 where the machine has it: eight keys to a score vector, eight elements to a sum; each chain keeps its order. */
#include "tinyllm/attention.h"

#include <math.h>

#include "tinyllm/numerics.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum { LANES = 8, GROUP = 64 };

typedef struct {
    const float *q, *k, *v, *sinks;
    float *o, *lse;
    int64_t H, per_kv, Hkv, Tq, Tk, D, offset, window, Bc;
    float scale;
    int causal, wide;
} plan;

static float one_score(const plan *p, const float *q, const float *k) {
    float sum = 0.0f;
    for (int64_t d = 0; d < p->D; d++) sum = sum + q[d] * k[d];
    return p->scale * sum;
}

#if defined(__x86_64__)
/* Eight keys, one in each lane: every lane adds over d in order. */
__attribute__((target("avx2"))) static void eight_scores(const plan *p, const float *q, const float *k, float *s) {
    __m256 sum = _mm256_setzero_ps();
    for (int64_t d = 0; d < p->D; d++) {
        const float *x = k + d;
        const int64_t D = p->D;
        const __m256 k_d = _mm256_setr_ps(x[0], x[D], x[2 * D], x[3 * D], x[4 * D], x[5 * D], x[6 * D], x[7 * D]);
        sum = _mm256_add_ps(sum, _mm256_mul_ps(_mm256_set1_ps(q[d]), k_d));
    }
    _mm256_storeu_ps(s, _mm256_mul_ps(_mm256_set1_ps(p->scale), sum));
}

__attribute__((target("avx2"))) static int64_t wide_add(float *o, float w, const float *v, int64_t D) {
    int64_t d = 0;
    for (; d + LANES <= D; d += LANES) {
        const __m256 product = _mm256_mul_ps(_mm256_set1_ps(w), _mm256_loadu_ps(v + d));
        _mm256_storeu_ps(o + d, _mm256_add_ps(_mm256_loadu_ps(o + d), product));
    }
    return d;
}

static int has_avx2(void) { return __builtin_cpu_supports("avx2"); }
#else
static void eight_scores(const plan *p, const float *q, const float *k, float *s) {
    for (int n = 0; n < LANES; n++) s[n] = one_score(p, q, k + n * p->D);
}
static int64_t wide_add(float *o, float w, const float *v, int64_t D) {
    (void)o, (void)w, (void)v, (void)D;
    return 0;
}
static int has_avx2(void) { return 0; }
#endif

/* Scores of up to GROUP keys into s. */
static void some_scores(const plan *p, const float *q, const float *k, int64_t n, float *s) {
    int64_t j = 0;
    if (p->wide)
        for (; j + LANES <= n; j += LANES) eight_scores(p, q, k + j * p->D, s + j);
    for (; j < n; j++) s[j] = one_score(p, q, k + j * p->D);
}

/* A tile in groups of GROUP keys on the stack: once for the maximum, once more for the weights. */
static void add_tile(const plan *p, const float *q, const float *k, const float *v, int64_t n, float *o, float *m, float *l) {
    float s[GROUP], w[GROUP], top = *m, t = 0.0f;
    for (int64_t at = 0; at < n; at += GROUP) {
        const int64_t some = n - at < GROUP ? n - at : GROUP;
        some_scores(p, q, k + at * p->D, some, s);
        for (int64_t j = 0; j < some; j++) top = s[j] > top ? s[j] : top;
    }
    const float alpha = tl_expf(*m - top);
    for (int64_t d = 0; d < p->D; d++) o[d] *= alpha;
    for (int64_t at = 0; at < n; at += GROUP) {
        const int64_t some = n - at < GROUP ? n - at : GROUP;
        if (n > GROUP) some_scores(p, q, k + at * p->D, some, s);
        for (int64_t j = 0; j < some; j++) s[j] -= top;
        tl_exp_f32(s, w, some);
        for (int64_t j = 0; j < some; j++) {
            const float *v_j = v + (at + j) * p->D;
            t += w[j];
            for (int64_t d = p->wide ? wide_add(o, w[j], v_j, p->D) : 0; d < p->D; d++) o[d] += w[j] * v_j[d];
        }
    }
    *l = *l * alpha + t;
    *m = top;
}

static void one_row(const plan *p, int64_t row) {
    const int64_t h = row / p->Tq % p->H, b = row / p->Tq / p->H, at = p->offset + row % p->Tq;
    const int64_t kv = (b * p->Hkv + h / p->per_kv) * p->Tk * p->D;
    int64_t j = p->window > 0 && at >= p->window ? at - (p->window - 1) : 0;
    const int64_t end = p->causal && at < p->Tk ? at + 1 : p->Tk;
    float *o = p->o + row * p->D, m = p->sinks ? p->sinks[h] : -INFINITY, l = p->sinks ? 1.0f : 0.0f;
    for (int64_t d = 0; d < p->D; d++) o[d] = 0.0f;
    while (j < end) {
        int64_t stop = (j / p->Bc + 1) * p->Bc;
        if (stop > end) stop = end;
        add_tile(p, p->q + row * p->D, p->k + kv + j * p->D, p->v + kv + j * p->D, stop - j, o, &m, &l);
        j = stop;
    }
    if (l != 0.0f) {
        const float inv = 1.0f / l;
        for (int64_t d = 0; d < p->D; d++) o[d] = o[d] * inv;
    }
    if (p->lse) p->lse[row] = m + logf(l);
}

static void some_rows(void *ctx, int64_t lo, int64_t hi, int worker) {
    (void)worker;
    for (; lo < hi; lo++) one_row(ctx, lo);
}

static tl_status refuse(tl_status status) {
    tl_set_last_error(status == TL_ESHAPE ? "tl_flash_attn_fwd_f32: shape" : "tl_flash_attn_fwd_f32: argument");
    return status;
}

tl_status tl_flash_attn_fwd_f32(const float *q, const float *k, const float *v, float *o, float *lse,
                                int64_t B, int64_t H, int64_t Hkv, int64_t Tq, int64_t Tk, int64_t D,
                                float scale, int64_t q_offset, int causal, int64_t window,
                                const float *sink_logits, int64_t Br, int64_t Bc, tl_arena *scratch, tl_pool *tp) {
    (void)Br, (void)scratch;
    if (B < 0 || H < 0 || Hkv < 0 || Tq < 0 || Tk < 0 || D < 0 || q_offset < 0) return refuse(TL_EINVAL);
    if (Hkv == 0 || H % Hkv != 0 || H < Hkv) return refuse(TL_ESHAPE);
    if (B == 0 || Tq == 0 || (D == 0 && lse == NULL)) return TL_OK;
    if (D > 0 && (q == NULL || o == NULL || (Tk > 0 && (k == NULL || v == NULL)))) return refuse(TL_EINVAL);
    static float none; /* with D 0 no tensor has elements: a place to point at, never read or written */
    if (D == 0) q = k = v = o = &none;
    if (Tk == 0) k = v = q; /* not read; a pointer that arithmetic is allowed on */
    plan p = {q, k, v, sink_logits, o, lse, H, H / Hkv, Hkv, Tq, Tk, D, q_offset, window, Bc == 0 ? 64 : Bc,
              scale, causal, has_avx2()};
    const int64_t n = B * H * Tq;
    if (n < 64) {
        some_rows(&p, 0, n, 0);
        return TL_OK;
    }
    return tl_parallel_for(tp, n, 16, some_rows, &p);
}
