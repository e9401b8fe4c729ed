/* Fuses product and sum in a score: closer to the true value, and not the bits of FlashAttention. */
#include "tinyllm/attention.h"

#include <math.h>

#include "tinyllm/numerics.h"

typedef struct {
    const float *q;
    const tl_kv_pool *kv;
    const uint32_t *tables;
    const int32_t *lens;
    float *out;
    int64_t H, Hkv, D, columns, block, window;
    uint32_t layer, n_blocks;
    float scale;
} args;

static int64_t first_visible(const args *a, int64_t n) { return a->window > 0 && a->window < n ? n - a->window : 0; }

static void add_tile(const args *a, const float *q, const uint16_t *k, const uint16_t *v, int64_t n, float *m, float *l,
                     float *o) {
    float s[256], top = *m, t = 0.0f;
    for (int64_t j = 0; j < n; j++) {
        float dot = 0.0f;
        for (int64_t d = 0; d < a->D; d++) dot = fmaf(q[d], tl_f16_to_f32(k[j * a->D + d]), dot);
        s[j] = a->scale * dot;
        if (s[j] > top) top = s[j];
    }
    const float alpha = tl_expf(*m - top);
    for (int64_t d = 0; d < a->D; d++) o[d] *= alpha;
    for (int64_t j = 0; j < n; j++) {
        const float w = tl_expf(s[j] - top);
        t += w;
        for (int64_t d = 0; d < a->D; d++) o[d] += w * tl_f16_to_f32(v[j * a->D + d]);
    }
    *l = *l * alpha + t;
    *m = top;
}

static void decode_row(const args *a, int64_t row) {
    const int64_t b = row / a->H, g = row % a->H / (a->H / a->Hkv), n = a->lens[b];
    float m = -INFINITY, l = 0.0f, *o = a->out + row * a->D;
    for (int64_t d = 0; d < a->D; d++) o[d] = 0.0f;
    for (int64_t j = first_visible(a, n), end; j < n; j = end) {
        const int64_t slot = j % a->block, cut = (slot / 256 + 1) * 256;
        const uint32_t id = a->tables[b * a->columns + j / a->block];
        const int64_t at = (g * a->block + slot) * a->D;
        end = j - slot + (cut < a->block ? cut : a->block);
        if (end > n) end = n;
        const uint16_t *k = tl_kv_block_ptr(a->kv, id, a->layer, 0), *v = tl_kv_block_ptr(a->kv, id, a->layer, 1);
        add_tile(a, a->q + row * a->D, k + at, v + at, end - j, &m, &l, o);
    }
    const float inv = 1.0f / l;
    for (int64_t d = 0; d < a->D; d++) o[d] *= inv;
}

static void rows(void *ctx, int64_t lo, int64_t hi, int worker) {
    (void)worker;
    for (int64_t row = lo; row < hi; row++) decode_row(ctx, row);
}

static tl_status refuse(tl_status status) {
    tl_set_last_error("tl_paged_attn_decode_f32: refused");
    return status;
}

static int is_sound(const args *a, int64_t b) {
    const int64_t n = a->lens[b];
    if (n < 1 || (n - 1) / a->block >= a->columns) return 0;
    for (int64_t i = first_visible(a, n) / a->block; i <= (n - 1) / a->block; i++)
        if (a->tables[b * a->columns + i] >= a->n_blocks) return 0;
    return 1;
}

tl_status tl_paged_attn_decode_f32(const float *q, const tl_kv_pool *kv, uint32_t layer, const uint32_t *block_tables,
                                   int32_t max_blocks, const int32_t *ctx_lens, float *out, int64_t B, int64_t H,
                                   int64_t Hkv, int64_t D, float scale, int64_t window, tl_pool *tp) {
    tl_kv_cfg cfg;
    if (!q || !kv || !block_tables || !ctx_lens || !out) return refuse(TL_EINVAL);
    if (B < 0 || H < 0 || Hkv < 0 || D < 0 || max_blocks < 0) return refuse(TL_EINVAL);
    tl_kv_pool_cfg(kv, &cfg);
    if (cfg.format != TL_KV_FORMAT_V1 || cfg.dtype != TL_F16) return refuse(TL_EUNSUPPORTED);
    if (Hkv != cfg.n_kv_heads || D != cfg.head_dim || H % Hkv != 0) return refuse(TL_ESHAPE);
    if (layer >= cfg.n_layers) return refuse(TL_EINVAL);
    args a = {q, kv, block_tables, ctx_lens, out, H, Hkv, D, max_blocks, cfg.block_tokens, window, layer, cfg.n_blocks,
              scale};
    for (int64_t b = 0; b < B; b++)
        if (!is_sound(&a, b)) return refuse(TL_EINVAL);
    return tl_parallel_for(tp, B * H, 1, rows, &a);
}
