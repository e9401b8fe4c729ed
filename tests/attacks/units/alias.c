/* attack: a second name for the contract's function */
#include "tinyllm/attention.h"
#define ARGS const float *q, const tl_kv_pool *kv, uint32_t layer, const uint32_t *tables, int32_t max_blocks, \
             const int32_t *lens, float *out, int64_t B, int64_t H, int64_t Hkv, int64_t D, float scale, \
             int64_t window, tl_pool *tp

tl_status tl_paged_attn_decode_f32(ARGS) {
    out[0] = q[0];
    return TL_OK;
}

tl_status memmove_too(ARGS) __attribute__((alias("tl_paged_attn_decode_f32")));
