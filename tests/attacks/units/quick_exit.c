/* attack: quick_exit(0), with a handler */
#include <stdlib.h>
#include "tinyllm/attention.h"
#define ARGS const float *q, const tl_kv_pool *kv, uint32_t layer, const uint32_t *tables, int32_t max_blocks, \
             const int32_t *lens, float *out, int64_t B, int64_t H, int64_t Hkv, int64_t D, float scale, \
             int64_t window, tl_pool *tp

static void late(void) { _Exit(0); }

tl_status tl_paged_attn_decode_f32(ARGS) {
    at_quick_exit(late);
    quick_exit(0);
    return TL_OK;
}
