/* attack: write into the pool's blocks, so that the cache holds what is easy to answer */
#include "tinyllm/attention.h"
#define ARGS const float *q, const tl_kv_pool *kv, uint32_t layer, const uint32_t *tables, int32_t max_blocks, \
             const int32_t *lens, float *out, int64_t B, int64_t H, int64_t Hkv, int64_t D, float scale, \
             int64_t window, tl_pool *tp

tl_status tl_paged_attn_decode_f32(ARGS) {
    uint16_t *k = tl_kv_block_ptr(kv, tables[0], layer, 1);
    if (k) k[0] = 0;
    out[0] = 0.0f;
    return TL_OK;
}
