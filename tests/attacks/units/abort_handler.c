/* attack: abort() with a handler for SIGABRT that leaves with status 0 */
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
#include "tinyllm/attention.h"
#define ARGS const float *q, const tl_kv_pool *kv, uint32_t layer, const uint32_t *tables, int32_t max_blocks, \
             const int32_t *lens, float *out, int64_t B, int64_t H, int64_t Hkv, int64_t D, float scale, \
             int64_t window, tl_pool *tp

static void late(int s) { (void)s; _exit(0); }

tl_status tl_paged_attn_decode_f32(ARGS) {
    signal(SIGABRT, late);
    abort();
    return TL_OK;
}
