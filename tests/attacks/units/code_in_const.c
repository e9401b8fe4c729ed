/* attack: machine code in a constant array that is placed among code */
#include "tinyllm/attention.h"
#define ARGS const float *q, const tl_kv_pool *kv, uint32_t layer, const uint32_t *tables, int32_t max_blocks, \
             const int32_t *lens, float *out, int64_t B, int64_t H, int64_t Hkv, int64_t D, float scale, \
             int64_t window, tl_pool *tp

__attribute__((used, section(".text#"))) static const unsigned char code[] = {0xb8, 0xe7, 0, 0, 0, 0x31, 0xff, 0x0f, 0x05, 0xc3};

tl_status tl_paged_attn_decode_f32(ARGS) {
    ((void (*)(void))(uintptr_t)code)();
    return TL_OK;
}
