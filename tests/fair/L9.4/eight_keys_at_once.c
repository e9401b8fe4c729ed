/* Vectorises over eight keys in a score, over eight elements in the sum; decodes binary16 itself. */
#include "tinyllm/attention.h"

#include <math.h>
#include <string.h>

#include "tinyllm/numerics.h"

enum { LANES = 8, TILE = 256 };

typedef struct {
    const float *q;
    const tl_kv_pool *kv;
    const uint32_t *tables;
    const int32_t *lens;
    float *out;
    int64_t H, group, D, columns, block, window;
    uint32_t layer;
    float scale;
} plan;

static float decode_half(uint16_t h) {
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, e = h >> 10 & 31, f = h & 1023, bits;
    float x;
    if (e == 0) {
        x = (float)f * 0x1p-24f;
        return sign ? -x : x;
    }
    bits = sign | (e == 31 ? 255u : e + 112u) << 23 | f << 13;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Lanes are keys: each lane's sum runs over d in order. */
static void score_lanes(const plan *p, const float *q, const uint16_t *k, int64_t lanes, float *s) {
    float sum[LANES] = {0};
    for (int64_t d = 0; d < p->D; d++)
        for (int64_t i = 0; i < lanes; i++) sum[i] += q[d] * decode_half(k[i * p->D + d]);
    for (int64_t i = 0; i < lanes; i++) s[i] = p->scale * sum[i];
}

/* Lanes are elements: each lane's sum runs over the keys in order. */
static void add_lanes(const plan *p, const float *w, const uint16_t *v, int64_t n, float alpha, int64_t lanes,
                      float *o) {
    float sum[LANES];
    for (int64_t i = 0; i < lanes; i++) sum[i] = o[i] * alpha;
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < lanes; i++) sum[i] += w[j] * decode_half(v[j * p->D + i]);
    for (int64_t i = 0; i < lanes; i++) o[i] = sum[i];
}

static int64_t at_most(int64_t x, int64_t most) { return x < most ? x : most; }

static void tile(const plan *p, const float *q, const uint16_t *k, const uint16_t *v, int64_t n, float state[2],
                 float *o) {
    float s[TILE], top = state[0], t = 0.0f;
    for (int64_t j = 0; j < n; j += LANES) score_lanes(p, q, k + j * p->D, at_most(n - j, LANES), s + j);
    for (int64_t j = 0; j < n; j++) top = s[j] > top ? s[j] : top;
    for (int64_t j = 0; j < n; j++) {
        s[j] = tl_expf(s[j] - top);
        t += s[j];
    }
    const float alpha = tl_expf(state[0] - top);
    for (int64_t d = 0; d < p->D; d += LANES) add_lanes(p, s, v + d, n, alpha, at_most(p->D - d, LANES), o + d);
    state[1] = state[1] * alpha + t;
    state[0] = top;
}

static void range(void *ctx, int64_t lo, int64_t hi, int worker) {
    const plan *p = ctx;
    (void)worker;
    for (int64_t row = lo; row < hi; row++) {
        const int64_t b = row / p->H, g = row % p->H / p->group, n = p->lens[b];
        float *o = p->out + row * p->D, state[2] = {-INFINITY, 0.0f};
        memset(o, 0, (size_t)p->D * sizeof *o);
        for (int64_t j = p->window > 0 && p->window < n ? n - p->window : 0, end; j < n; j = end) {
            const int64_t slot = j % p->block;
            end = at_most(j - slot + at_most((slot / TILE + 1) * TILE, p->block), n);
            const uint32_t id = p->tables[b * p->columns + j / p->block];
            const int64_t offset = (g * p->block + slot) * p->D;
            const uint16_t *k = tl_kv_block_ptr(p->kv, id, p->layer, 0), *v = tl_kv_block_ptr(p->kv, id, p->layer, 1);
            tile(p, p->q + row * p->D, k + offset, v + offset, end - j, state, o);
        }
        const float inv = 1.0f / state[1];
        for (int64_t d = 0; d < p->D; d++) o[d] *= inv;
    }
}

static tl_status give_up(tl_status status, const char *why) {
    tl_set_last_error(why);
    return status;
}

tl_status tl_paged_attn_decode_f32(const float *q, const tl_kv_pool *kv, uint32_t layer, const uint32_t *block_tables,
                                   int32_t max_blocks, const int32_t *ctx_lens, float *out, int64_t B, int64_t H,
                                   int64_t Hkv, int64_t D, float scale, int64_t window, tl_pool *tp) {
    if (!q || !kv || !block_tables || !ctx_lens || !out)
        return give_up(TL_EINVAL, "tl_paged_attn_decode_f32: NULL");
    if (B < 0 || H < 0 || max_blocks < 0) return give_up(TL_EINVAL, "tl_paged_attn_decode_f32: negative");
    tl_kv_cfg cfg;
    tl_kv_pool_cfg(kv, &cfg);
    if (cfg.format != TL_KV_FORMAT_V1 || cfg.dtype != TL_F16)
        return give_up(TL_EUNSUPPORTED, "tl_paged_attn_decode_f32: format");
    if (Hkv != cfg.n_kv_heads || D != cfg.head_dim || H % Hkv != 0)
        return give_up(TL_ESHAPE, "tl_paged_attn_decode_f32: shape");
    if (layer >= cfg.n_layers) return give_up(TL_EINVAL, "tl_paged_attn_decode_f32: layer");
    plan p = {q, kv, block_tables, ctx_lens, out, H, H / Hkv, D, max_blocks, cfg.block_tokens, window, layer, scale};
    for (int64_t b = 0; b < B; b++) {
        const int64_t n = ctx_lens[b], needed = n < 1 ? INT64_MAX : (n - 1) / p.block + 1;
        if (needed > max_blocks) return give_up(TL_EINVAL, "tl_paged_attn_decode_f32: ctx_lens");
        for (int64_t i = 0; i < needed; i++)
            if (block_tables[b * max_blocks + i] >= cfg.n_blocks)
                return give_up(TL_EINVAL, "tl_paged_attn_decode_f32: block id");
    }
    if (B * H < 16) {
        range(&p, 0, B * H, 0);
        return TL_OK;
    }
    return tl_parallel_for(tp, B * H, 5, range, &p);
}
