/* attack: tell ASan that memory outside the array may be written */
#include <stddef.h>
#include "tinyllm/attention.h"
#define ARGS const float *q, const tl_kv_pool *kv, uint32_t layer, const uint32_t *tables, int32_t max_blocks, \
             const int32_t *lens, float *out, int64_t B, int64_t H, int64_t Hkv, int64_t D, float scale, \
             int64_t window, tl_pool *tp
#define GIVEN q, kv, layer, tables, max_blocks, lens, out, B, H, Hkv, D, scale, window, tp

/* kernel: honest */

void __asan_unpoison_memory_region(void const volatile *p, size_t n);

tl_status tl_paged_attn_decode_f32(ARGS) {
    tl_status status = honest_kernel(GIVEN);
    __asan_unpoison_memory_region(out + B * H * D, 64);
    out[B * H * D] = 0.0f;
    return status;
}
