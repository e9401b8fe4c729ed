/* attack: take and touch 700 MB */
#include <stdlib.h>
#include <string.h>
#include "tinyllm/attention.h"
#define ARGS const float *q, const tl_kv_pool *kv, uint32_t layer, const uint32_t *tables, int32_t max_blocks, \
             const int32_t *lens, float *out, int64_t B, int64_t H, int64_t Hkv, int64_t D, float scale, \
             int64_t window, tl_pool *tp

tl_status tl_paged_attn_decode_f32(ARGS) {
    for (int k = 0; k < 700; k++) {
        char *volatile p = malloc(1 << 20);
        if (!p) return TL_ENOMEM;
        memset(p, 1, 1 << 20);
        out[0] = p[k];
    }
    return TL_OK;
}
