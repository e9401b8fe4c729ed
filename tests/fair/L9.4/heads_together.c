/* Parallel over sequences, not rows: one item takes all heads of one KV head together, key by key. */
#include "tinyllm/attention.h"

#include <math.h>

#include "tinyllm/numerics.h"

enum { PIECE = 256, MOST_TOGETHER = 4 };

typedef struct {
    const float *q;
    const tl_kv_pool *kv;
    const uint32_t *tables;
    const int32_t *lens;
    float *out;
    int64_t H, Hkv, D, columns, block, window;
    uint32_t layer;
    float scale;
} work;

/* Up to four query heads that read the same keys. */
typedef struct {
    const float *q[MOST_TOGETHER];
    float *out[MOST_TOGETHER];
    float max[MOST_TOGETHER], sum[MOST_TOGETHER];
    int count;
} together;

static void score_key(const work *w, const together *t, const uint16_t *k, float s[MOST_TOGETHER]) {
    for (int i = 0; i < t->count; i++) s[i] = 0.0f;
    for (int64_t d = 0; d < w->D; d++) {
        const float x = tl_f16_to_f32(k[d]);
        for (int i = 0; i < t->count; i++) s[i] += t->q[i][d] * x;
    }
    for (int i = 0; i < t->count; i++) s[i] *= w->scale;
}

static void add_piece(const work *w, together *t, const uint16_t *k, const uint16_t *v, int64_t n) {
    float s[PIECE][MOST_TOGETHER], top[MOST_TOGETHER], alpha[MOST_TOGETHER], part[MOST_TOGETHER] = {0};
    for (int i = 0; i < t->count; i++) top[i] = t->max[i];
    for (int64_t j = 0; j < n; j++) {
        score_key(w, t, k + j * w->D, s[j]);
        for (int i = 0; i < t->count; i++)
            if (s[j][i] > top[i]) top[i] = s[j][i];
    }
    for (int i = 0; i < t->count; i++) {
        alpha[i] = tl_expf(t->max[i] - top[i]);
        for (int64_t d = 0; d < w->D; d++) t->out[i][d] *= alpha[i];
    }
    for (int64_t j = 0; j < n; j++)
        for (int i = 0; i < t->count; i++) {
            const float weight = tl_expf(s[j][i] - top[i]);
            part[i] += weight;
            for (int64_t d = 0; d < w->D; d++) t->out[i][d] += weight * tl_f16_to_f32(v[j * w->D + d]);
        }
    for (int i = 0; i < t->count; i++) {
        t->sum[i] = t->sum[i] * alpha[i] + part[i];
        t->max[i] = top[i];
    }
}

static void run_together(const work *w, together *t, int64_t b, int64_t g) {
    const int64_t n = w->lens[b], first = w->window > 0 && w->window < n ? n - w->window : 0;
    for (int64_t block = first / w->block; block <= (n - 1) / w->block; block++) {
        const uint32_t id = w->tables[b * w->columns + block];
        const uint16_t *k = tl_kv_block_ptr(w->kv, id, w->layer, 0), *v = tl_kv_block_ptr(w->kv, id, w->layer, 1);
        for (int64_t slot = 0; slot < w->block; slot += PIECE) {
            int64_t lo = slot, hi = slot + PIECE < w->block ? slot + PIECE : w->block;
            if (block * w->block + lo < first) lo = first - block * w->block;
            if (block * w->block + hi > n) hi = n - block * w->block;
            const int64_t at = (g * w->block + lo) * w->D;
            if (lo < hi) add_piece(w, t, k + at, v + at, hi - lo);
        }
    }
}

static void sequences(void *ctx, int64_t lo, int64_t hi, int worker) {
    const work *w = ctx;
    const int64_t group = w->H / w->Hkv;
    (void)worker;
    for (int64_t b = lo; b < hi; b++)
        for (int64_t h = 0; h < w->H;) {
            together t = {.count = 0};
            const int64_t g = h / group;
            for (; h < w->H && h / group == g && t.count < MOST_TOGETHER; h++, t.count++) {
                t.q[t.count] = w->q + (b * w->H + h) * w->D;
                t.out[t.count] = w->out + (b * w->H + h) * w->D;
                t.max[t.count] = -INFINITY;
                t.sum[t.count] = 0.0f;
                for (int64_t d = 0; d < w->D; d++) t.out[t.count][d] = 0.0f;
            }
            run_together(w, &t, b, g);
            for (int i = 0; i < t.count; i++) {
                const float inv = 1.0f / t.sum[i];
                for (int64_t d = 0; d < w->D; d++) t.out[i][d] *= inv;
            }
        }
}

static tl_status refuse(tl_status status) {
    tl_set_last_error("tl_paged_attn_decode_f32: no");
    return status;
}

tl_status tl_paged_attn_decode_f32(const float *q, const tl_kv_pool *kv, uint32_t layer, const uint32_t *block_tables,
                                   int32_t max_blocks, const int32_t *ctx_lens, float *out, int64_t B, int64_t H,
                                   int64_t Hkv, int64_t D, float scale, int64_t window, tl_pool *tp) {
    tl_kv_cfg cfg;
    if (!kv) return refuse(TL_EINVAL);
    tl_kv_pool_cfg(kv, &cfg);
    if (H < 0 || B < 0) return refuse(TL_EINVAL);
    if (Hkv != (int64_t)cfg.n_kv_heads || D != (int64_t)cfg.head_dim || H % Hkv != 0) return refuse(TL_ESHAPE);
    if (layer >= cfg.n_layers) return refuse(TL_EINVAL);
    if (cfg.format != TL_KV_FORMAT_V1 || cfg.dtype != TL_F16) return refuse(TL_EUNSUPPORTED);
    if (B > 0 && (!q || !block_tables || !ctx_lens || !out || max_blocks < 0)) return refuse(TL_EINVAL);
    work w = {q, kv, block_tables, ctx_lens, out, H, Hkv, D, max_blocks, cfg.block_tokens, window, layer, scale};
    for (int64_t b = B; b-- > 0;) {
        const int64_t n = ctx_lens[b];
        if (n < 1 || (n - 1) / w.block >= max_blocks) return refuse(TL_EINVAL);
        for (int64_t i = (window > 0 && window < n ? n - window : 0) / w.block; i <= (n - 1) / w.block; i++)
            if (block_tables[b * max_blocks + i] >= cfg.n_blocks) return refuse(TL_EINVAL);
    }
    return tl_parallel_for(tp, B, 1, sequences, &w);
}
