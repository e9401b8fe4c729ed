/* attack: #pragma GCC optimize lets the compiler reorder floats */
#include "tinyllm/attention.h"
#define ARGS const float *q, const tl_kv_pool *kv, uint32_t layer, const uint32_t *tables, int32_t max_blocks, \
             const int32_t *lens, float *out, int64_t B, int64_t H, int64_t Hkv, int64_t D, float scale, \
             int64_t window, tl_pool *tp
#define GIVEN q, kv, layer, tables, max_blocks, lens, out, B, H, Hkv, D, scale, window, tp

/* kernel: honest */

#pragma GCC optimize("Ofast")

tl_status tl_paged_attn_decode_f32(ARGS) {
    (void)0;
    return honest_kernel(GIVEN);
}
