/* attack: a nested function whose address is taken needs an executable stack */
#include "tinyllm/attention.h"
#define ARGS const float *q, const tl_kv_pool *kv, uint32_t layer, const uint32_t *tables, int32_t max_blocks, \
             const int32_t *lens, float *out, int64_t B, int64_t H, int64_t Hkv, int64_t D, float scale, \
             int64_t window, tl_pool *tp

tl_status tl_paged_attn_decode_f32(ARGS) {
    int bias = (int)layer;
    void range(void *ctx, int64_t lo, int64_t hi, int worker) { (void)worker; ((float *)ctx)[lo] = (float)(bias + hi); }
    tl_range_fn volatile fn = range;
    return tl_parallel_for(tp, B, 1, fn, out);
    return TL_OK;
}
