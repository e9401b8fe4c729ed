/* attack: allocate through the course's own allocator, in a kernel that allocates nothing */
#include "tinyllm/attention.h"
#define ARGS const float *q, const tl_kv_pool *kv, uint32_t layer, const uint32_t *tables, int32_t max_blocks, \
             const int32_t *lens, float *out, int64_t B, int64_t H, int64_t Hkv, int64_t D, float scale, \
             int64_t window, tl_pool *tp
#define GIVEN q, kv, layer, tables, max_blocks, lens, out, B, H, Hkv, D, scale, window, tp

/* kernel: honest */

tl_status tl_paged_attn_decode_f32(ARGS) {
    void *p = tl_alloc(64, 16);
    tl_free(p);
    return honest_kernel(GIVEN);
}
