/* attack: siglongjmp out of a SIGSEGV handler hides a wild read */
#include <setjmp.h>
#include <signal.h>
#include "tinyllm/attention.h"
#define ARGS const float *q, const tl_kv_pool *kv, uint32_t layer, const uint32_t *tables, int32_t max_blocks, \
             const int32_t *lens, float *out, int64_t B, int64_t H, int64_t Hkv, int64_t D, float scale, \
             int64_t window, tl_pool *tp
#define GIVEN q, kv, layer, tables, max_blocks, lens, out, B, H, Hkv, D, scale, window, tp

/* kernel: honest */

static sigjmp_buf back;
static void handler(int s) { (void)s; siglongjmp(back, 1); }

tl_status tl_paged_attn_decode_f32(ARGS) {
    signal(SIGSEGV, handler);
    if (!sigsetjmp(back, 1)) out[0] = *(volatile const float *)16;
    return honest_kernel(GIVEN);
}
