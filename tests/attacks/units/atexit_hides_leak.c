/* attack: an atexit handler ends the process before leaks are looked for */
#include <stdlib.h>
#include <unistd.h>
#include "tinyllm/attention.h"
#define ARGS const float *q, const tl_kv_pool *kv, uint32_t layer, const uint32_t *tables, int32_t max_blocks, \
             const int32_t *lens, float *out, int64_t B, int64_t H, int64_t Hkv, int64_t D, float scale, \
             int64_t window, tl_pool *tp
#define GIVEN q, kv, layer, tables, max_blocks, lens, out, B, H, Hkv, D, scale, window, tp

/* kernel: honest */

static void late(void) { _exit(0); }

tl_status tl_paged_attn_decode_f32(ARGS) {
    static int once;
    if (!once++) atexit(late);
    char *volatile lost = malloc(100);
    lost[0] = 1;
    lost = NULL;
    return honest_kernel(GIVEN);
}
