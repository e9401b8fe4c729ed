/* attack: catch SIGSEGV without any header */
#include "tinyllm/attention.h"
#define ARGS const float *q, const tl_kv_pool *kv, uint32_t layer, const uint32_t *tables, int32_t max_blocks, \
             const int32_t *lens, float *out, int64_t B, int64_t H, int64_t Hkv, int64_t D, float scale, \
             int64_t window, tl_pool *tp

void (*signal(int, void (*)(int)))(int);
void _exit(int);
static void handler(int s) { (void)s; _exit(0); }

tl_status tl_paged_attn_decode_f32(ARGS) {
    signal(11, handler);
    out[0] = *(volatile const float *)16;
    return TL_OK;
}
