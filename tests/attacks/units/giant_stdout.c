/* attack: 200 MB of output */
#include <stdio.h>
#include <string.h>
#include "tinyllm/attention.h"
#define ARGS const float *q, const tl_kv_pool *kv, uint32_t layer, const uint32_t *tables, int32_t max_blocks, \
             const int32_t *lens, float *out, int64_t B, int64_t H, int64_t Hkv, int64_t D, float scale, \
             int64_t window, tl_pool *tp

tl_status tl_paged_attn_decode_f32(ARGS) {
    static char b[1 << 16];
    memset(b, 'A', sizeof b);
    for (int k = 0; k < 3200; k++) fwrite(b, 1, sizeof b, stdout);
    return TL_OK;
}
