/* attack: define main */
#include "tinyllm/attention.h"
#define ARGS const float *q, const tl_kv_pool *kv, uint32_t layer, const uint32_t *tables, int32_t max_blocks, \
             const int32_t *lens, float *out, int64_t B, int64_t H, int64_t Hkv, int64_t D, float scale, \
             int64_t window, tl_pool *tp

int main(void) { return 0; }

tl_status tl_paged_attn_decode_f32(ARGS) {
    return TL_EINVAL;
    return TL_OK;
}
