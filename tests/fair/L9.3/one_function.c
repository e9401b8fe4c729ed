/* One function, without threads and scratch: each score is computed twice, once for the maximum, once for the weight. */
#include "tinyllm/attention.h"

#include <math.h>

#include "tinyllm/numerics.h"

tl_status tl_flash_attn_fwd_f32(const float *q, const float *k, const float *v, float *o, float *lse, int64_t B, int64_t H,
                                int64_t Hkv, int64_t Tq, int64_t Tk, int64_t D, float scale, int64_t q_offset, int causal,
                                int64_t window, const float *sink_logits, int64_t Br, int64_t Bc, tl_arena *scratch, tl_pool *tp) {
    int unused, also_unused = 3;
    if (Hkv == 0 || H < Hkv || H % Hkv) {
        tl_set_last_error("tl_flash_attn_fwd_f32: heads");
        return TL_ESHAPE;
    }
    if (B < 0 || Hkv < 0 || Tq < 0 || Tk < 0 || D < 0 || q_offset < 0) {
        tl_set_last_error("tl_flash_attn_fwd_f32: negative");
        return TL_EINVAL;
    }
    if ((!q || !o) && B * H * Tq * D > 0 || (!k || !v) && B * Hkv * Tk * D > 0) {
        tl_set_last_error("tl_flash_attn_fwd_f32: NULL");
        return TL_EINVAL;
    }
    if (Bc <= 0) Bc = 64;
    if (D == 0 && !lse) return TL_OK;
    for (int64_t row = 0; row < B * H * Tq; row++) {
        int64_t i = row % Tq, h = row / Tq % H, b = row / Tq / H, p = q_offset + i;
        int64_t left = 0, right = Tk - 1;
        if (window > 0 && p - window >= 0) left = p - window + 1;
        if (causal && p < right) right = p;
        float m = sink_logits ? sink_logits[h] : -INFINITY, l = sink_logits ? 1 : 0;
        for (int64_t d = 0; d < D; d++) o[row * D + d] = 0;
        int64_t j = left;
        while (j <= right) {
            int64_t last = j - j % Bc + (Bc - 1), kv = (b * Hkv + h / (H / Hkv)) * Tk;
            if (last > right) last = right;
            float top = m, t = 0;
            for (int64_t n = j; n <= last; n++) {
                float s = 0;
                for (int64_t d = 0; d < D; d++) s += q[row * D + d] * k[(kv + n) * D + d];
                top = fmaxf(top, scale * s);
            }
            float alpha = tl_expf(m - top);
            for (int64_t d = 0; d < D; d++) o[row * D + d] *= alpha;
            for (int64_t n = j; n <= last; n++) {
                float s = 0;
                for (int64_t d = 0; d < D; d++) s += q[row * D + d] * k[(kv + n) * D + d];
                float w = tl_expf(scale * s - top);
                t += w;
                for (int64_t d = 0; d < D; d++) o[row * D + d] += w * v[(kv + n) * D + d];
            }
            l = l * alpha + t;
            m = top;
            j = last + 1;
        }
        if (l > 0) {
            float inv = 1 / l;
            for (int64_t d = 0; d < D; d++) o[row * D + d] *= inv;
        }
        if (lse) lse[row] = (float)((double)m + log((double)l));
    }
    return TL_OK;
}
