/* attack: connect to a port of the loopback */
int socket(int, int, int);
int connect(int, const void *, unsigned);
#include "tinyllm/attention.h"
#define ARGS const float *q, const tl_kv_pool *kv, uint32_t layer, const uint32_t *tables, int32_t max_blocks, \
             const int32_t *lens, float *out, int64_t B, int64_t H, int64_t Hkv, int64_t D, float scale, \
             int64_t window, tl_pool *tp

tl_status tl_paged_attn_decode_f32(ARGS) {
    int fd = socket(2, 1, 0);
    char a[16] = {2, 0, 0x22, 0x11, 127, 0, 0, 1};
    connect(fd, a, sizeof a);
    return TL_OK;
}
