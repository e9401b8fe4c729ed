/* attack: define malloc and free, to watch what the test allocates */
#include <stddef.h>
#include "tinyllm/attention.h"
#define ARGS const float *q, const tl_kv_pool *kv, uint32_t layer, const uint32_t *tables, int32_t max_blocks, \
             const int32_t *lens, float *out, int64_t B, int64_t H, int64_t Hkv, int64_t D, float scale, \
             int64_t window, tl_pool *tp

static char store[1 << 20];
static size_t used;
void *malloc(size_t n) { used += n; return store + used - n; }
void free(void *p) { (void)p; }

tl_status tl_paged_attn_decode_f32(ARGS) {
    out[0] = q[0];
    return TL_OK;
}
