/* attack: define the hook that ASan calls before it reports */
#include <unistd.h>
#include "tinyllm/attention.h"
#define ARGS const float *q, const tl_kv_pool *kv, uint32_t layer, const uint32_t *tables, int32_t max_blocks, \
             const int32_t *lens, float *out, int64_t B, int64_t H, int64_t Hkv, int64_t D, float scale, \
             int64_t window, tl_pool *tp

void __asan_on_error(void) { _exit(0); }

tl_status tl_paged_attn_decode_f32(ARGS) {
    out[B * H * D] = 0.0f;
    return TL_OK;
}
