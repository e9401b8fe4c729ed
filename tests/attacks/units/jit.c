/* attack: ask for writable and executable memory and write code there */
#include <stddef.h>
#include <sys/types.h>
void *mmap(void *, size_t, int, int, int, off_t);
#include "tinyllm/attention.h"
#define ARGS const float *q, const tl_kv_pool *kv, uint32_t layer, const uint32_t *tables, int32_t max_blocks, \
             const int32_t *lens, float *out, int64_t B, int64_t H, int64_t Hkv, int64_t D, float scale, \
             int64_t window, tl_pool *tp

tl_status tl_paged_attn_decode_f32(ARGS) {
    unsigned char *p = mmap(NULL, 4096, 7, 0x22, -1, 0);
    p[0] = 0xc3;
    ((void (*)(void))(uintptr_t)p)();
    return TL_OK;
}
