/* Scores of all keys, one softmax, one weighted sum: right to the last digits, but no tiles, and memory grows with Tk. */
#include "tinyllm/attention.h"

#include <math.h>

#include "tinyllm/numerics.h"

static tl_status refuse(tl_status status) {
    tl_set_last_error("tl_flash_attn_fwd_f32: refused");
    return status;
}

tl_status tl_flash_attn_fwd_f32(const float *q, const float *k, const float *v, float *o, float *lse,
                                int64_t B, int64_t H, int64_t Hkv, int64_t Tq, int64_t Tk, int64_t D,
                                float scale, int64_t q_offset, int causal, int64_t window,
                                const float *sink_logits, int64_t Br, int64_t Bc, tl_arena *scratch, tl_pool *tp) {
    (void)Br, (void)Bc, (void)scratch, (void)tp;
    if (B < 0 || H < 0 || Hkv < 0 || Tq < 0 || Tk < 0 || D < 0 || q_offset < 0) return refuse(TL_EINVAL);
    if (Hkv == 0 || H % Hkv != 0) return refuse(TL_ESHAPE);
    if (D > 0 && B * Tq > 0 && (!q || !o || (Tk > 0 && (!k || !v)))) return refuse(TL_EINVAL);
    float *s = tl_alloc((size_t)(Tk + 1) * sizeof *s, 16);
    if (!s) return refuse(TL_ENOMEM);
    for (int64_t row = 0; row < B * H * Tq; row++) {
        const int64_t h = row / Tq % H, at = q_offset + row % Tq, kv = (row / Tq / H * Hkv + h / (H / Hkv)) * Tk;
        const int64_t first = window > 0 && at >= window ? at - window + 1 : 0, end = causal && at < Tk ? at + 1 : Tk;
        float top = sink_logits ? sink_logits[h] : -INFINITY, sum = 0.0f;
        for (int64_t j = first; j < end; j++) {
            s[j] = 0.0f;
            for (int64_t d = 0; d < D; d++) s[j] += q[row * D + d] * k[(kv + j) * D + d];
            s[j] *= scale;
            top = fmaxf(top, s[j]);
        }
        if (sink_logits) sum = tl_expf(sink_logits[h] - top);
        for (int64_t d = 0; d < D; d++) o[row * D + d] = 0.0f;
        for (int64_t j = first; j < end; j++) {
            const float w = tl_expf(s[j] - top);
            sum += w;
            for (int64_t d = 0; d < D; d++) o[row * D + d] += w * v[(kv + j) * D + d];
        }
        for (int64_t d = 0; d < D && sum > 0.0f; d++) o[row * D + d] /= sum;
        if (lse) lse[row] = sum > 0.0f ? top + logf(sum) : -INFINITY;
    }
    tl_free(s);
    return TL_OK;
}
