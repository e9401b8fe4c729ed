/* No buffer of scores: a tile's scores are computed twice, once for the maximum and once for the weights. */
#include <math.h>
#include <stddef.h>

#include "tinyllm.h"

struct job {
    const float *q;
    const tl_kv_pool *pool;
    const uint32_t *tables;
    const int32_t *lens;
    float *out;
    int64_t heads, kv_heads, width, columns, block, window;
    uint32_t layer;
    float scale;
};

struct cursor {
    const struct job *job;
    const float *q;
    const uint32_t *table;
    int64_t g;
};

static const uint16_t *element(const struct cursor *c, int64_t j, int v) {
    const struct job *job = c->job;
    const uint16_t *base = tl_kv_block_ptr(job->pool, c->table[j / job->block], job->layer, v);
    return base + (c->g * job->block + j % job->block) * job->width;
}

static float score(const struct cursor *c, int64_t j) {
    const uint16_t *k = element(c, j, 0);
    float s = 0.f;
    int64_t d = 0;
    while (d < c->job->width) {
        s = s + c->q[d] * tl_f16_to_f32(k[d]);
        d++;
    }
    return c->job->scale * s;
}

static int64_t next_tile(const struct job *job, int64_t j) {
    int64_t slot = j % job->block, cut = slot - slot % 256 + 256;
    return j - slot + (cut > job->block ? job->block : cut);
}

static void one_row(const struct job *job, int64_t row) {
    int64_t b = row / job->heads, h = row % job->heads, n = job->lens[b];
    struct cursor c = {job, job->q + row * job->width, job->tables + b * job->columns, h * job->kv_heads / job->heads};
    float *o = job->out + row * job->width, m = -HUGE_VALF, l = 0.f;
    int64_t j = job->window >= 1 && job->window < n ? n - job->window : 0;
    for (int64_t d = 0; d < job->width; d++) o[d] = 0.f;
    while (j < n) {
        int64_t end = next_tile(job, j);
        if (end > n) end = n;
        float peak = -HUGE_VALF, t = 0.f;
        for (int64_t i = j; i < end; i++) {
            float s = score(&c, i);
            peak = s > peak ? s : peak;
        }
        float raised = peak > m ? peak : m, alpha = tl_expf(m - raised);
        if (alpha != 1.f)
            for (int64_t d = 0; d < job->width; d++) o[d] = o[d] * alpha;
        for (; j < end; j++) {
            float w = tl_expf(score(&c, j) - raised);
            const uint16_t *v = element(&c, j, 1);
            t += w;
            for (int64_t d = 0; d < job->width; d++) o[d] = o[d] + w * tl_f16_to_f32(v[d]);
        }
        l = l * alpha + t;
        m = raised;
    }
    float inverse = 1.f / l;
    for (int64_t d = 0; d < job->width; d++) o[d] = o[d] * inverse;
}

static void rows(void *p, int64_t lo, int64_t hi, int worker) {
    (void)worker;
    while (lo < hi) one_row(p, lo++);
}

static tl_status no(tl_status why) {
    tl_set_last_error("tl_paged_attn_decode_f32 refuses its arguments");
    return why;
}

static int is_bad(const struct job *job, int64_t b, uint32_t n_blocks) {
    int64_t n = job->lens[b], needed = (n + job->block - 1) / job->block;
    if (n < 1 || needed > job->columns) return 1;
    int64_t i = job->window >= 1 && job->window < n ? (n - job->window) / job->block : 0;
    for (; i < needed; i++)
        if (job->tables[b * job->columns + i] >= n_blocks) return 1;
    return 0;
}

tl_status tl_paged_attn_decode_f32(const float *q, const tl_kv_pool *kv, uint32_t layer, const uint32_t *block_tables,
                                   int32_t max_blocks, const int32_t *ctx_lens, float *out, int64_t B, int64_t H,
                                   int64_t Hkv, int64_t D, float scale, int64_t window, tl_pool *tp) {
    if (B < 0 || H < 0 || Hkv < 0 || D < 0 || max_blocks < 0) return no(TL_EINVAL);
    if (B == 0) return TL_OK;
    if (q == NULL || kv == NULL || block_tables == NULL || ctx_lens == NULL || out == NULL) return no(TL_EINVAL);
    tl_kv_cfg cfg;
    tl_kv_pool_cfg(kv, &cfg);
    if (layer >= cfg.n_layers) return no(TL_EINVAL);
    if (cfg.dtype != TL_F16 || cfg.format != TL_KV_FORMAT_V1) return no(TL_EUNSUPPORTED);
    if (Hkv == 0 || H % Hkv || Hkv != cfg.n_kv_heads || D != cfg.head_dim) return no(TL_ESHAPE);
    struct job job = {q, kv, block_tables, ctx_lens, out, H, Hkv, D, max_blocks, cfg.block_tokens,
                      window, layer, scale};
    for (int64_t b = 0; b < B; b++)
        if (is_bad(&job, b, cfg.n_blocks)) return no(TL_EINVAL);
    return tl_parallel_for(tp, B * H, H, rows, &job);
}
