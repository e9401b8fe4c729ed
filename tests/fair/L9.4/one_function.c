/* One function, without threads: tp is not looked at. Shapes are checked before signs, all needed ids are. */
#include "tinyllm/attention.h"

#include <math.h>

#include "tinyllm/numerics.h"

tl_status tl_paged_attn_decode_f32(const float *q, const tl_kv_pool *kv, uint32_t layer, const uint32_t *block_tables,
                                   int32_t max_blocks, const int32_t *ctx_lens, float *out, int64_t B, int64_t H,
                                   int64_t Hkv, int64_t D, float scale, int64_t window, tl_pool *tp) {
    static const char bad[] = "tl_paged_attn_decode_f32: bad argument";
    tl_status status = TL_OK;
    tl_kv_cfg cfg = {0};
    (void)tp;
    if (!q || !kv || !block_tables || !ctx_lens || !out) status = TL_EINVAL;
    if (status == TL_OK) {
        tl_kv_pool_cfg(kv, &cfg);
        if (cfg.format != 1 || cfg.dtype != TL_F16) status = TL_EUNSUPPORTED;
        else if (Hkv != (int64_t)cfg.n_kv_heads || D != (int64_t)cfg.head_dim || H % Hkv) status = TL_ESHAPE;
        else if (layer >= cfg.n_layers || B < 0 || H < 0 || max_blocks < 0) status = TL_EINVAL;
    }
    const int64_t bt = cfg.block_tokens;
    for (int64_t b = 0; status == TL_OK && b < B; b++) {
        if (ctx_lens[b] <= 0 || ((int64_t)ctx_lens[b] + bt - 1) / bt > max_blocks) status = TL_EINVAL;
        for (int64_t i = 0; status == TL_OK && i * bt < ctx_lens[b]; i++)
            if (block_tables[b * max_blocks + i] >= cfg.n_blocks) status = TL_EINVAL;
    }
    if (status != TL_OK) {
        tl_set_last_error(bad);
        return status;
    }
    for (int64_t b = 0; b < B; b++) {
        for (int64_t h = 0; h < H; h++) {
            const float *qr = q + (b * H + h) * D;
            float *o = out + (b * H + h) * D, m = -INFINITY, l = 0, s[256];
            const int64_t n = ctx_lens[b], lo = window > 0 && window < n ? n - window : 0;
            for (int64_t d = 0; d < D; d++) o[d] = 0;
            for (int64_t i = lo / bt; i * bt < n; i++) {
                const uint32_t id = block_tables[b * max_blocks + i];
                const uint16_t *kb = (const uint16_t *)tl_kv_block_ptr(kv, id, layer, 0) + h / (H / Hkv) * bt * D;
                const uint16_t *vb = (const uint16_t *)tl_kv_block_ptr(kv, id, layer, 1) + h / (H / Hkv) * bt * D;
                for (int64_t piece = 0; piece < bt; piece += 256) {
                    int64_t from = piece, to = piece + 256 < bt ? piece + 256 : bt;
                    if (lo - i * bt > from) from = lo - i * bt;
                    if (n - i * bt < to) to = n - i * bt;
                    if (from >= to) continue;
                    float top = m, t = 0;
                    for (int64_t j = from; j < to; j++) {
                        float dot = 0;
                        for (int64_t d = 0; d < D; d++) dot += qr[d] * tl_f16_to_f32(kb[j * D + d]);
                        s[j - from] = scale * dot;
                        top = fmaxf(top, s[j - from]);
                    }
                    const float alpha = tl_expf(m - top);
                    for (int64_t d = 0; d < D; d++) o[d] *= alpha;
                    for (int64_t j = from; j < to; j++) {
                        const float w = tl_expf(s[j - from] - top);
                        t += w;
                        for (int64_t d = 0; d < D; d++) o[d] += w * tl_f16_to_f32(vb[j * D + d]);
                    }
                    l = l * alpha + t;
                    m = top;
                }
            }
            const float inv = 1 / l;
            for (int64_t d = 0; d < D; d++) o[d] *= inv;
        }
    }
    return TL_OK;
}
