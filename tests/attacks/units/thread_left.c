/* attack: a detached thread goes on writing after the function has returned */
#include <pthread.h>
#include <time.h>
#include "tinyllm/attention.h"
#define ARGS const float *q, const tl_kv_pool *kv, uint32_t layer, const uint32_t *tables, int32_t max_blocks, \
             const int32_t *lens, float *out, int64_t B, int64_t H, int64_t Hkv, int64_t D, float scale, \
             int64_t window, tl_pool *tp
#define GIVEN q, kv, layer, tables, max_blocks, lens, out, B, H, Hkv, D, scale, window, tp

/* kernel: honest */

static float *o;
static void *late(void *p) {
    for (int k = 0; k < 200; k++) {
        nanosleep(&(struct timespec){0, 1000000}, NULL);
        o[0] = -1.0f;
    }
    return p;
}

tl_status tl_paged_attn_decode_f32(ARGS) {
    tl_status status = honest_kernel(GIVEN);
    pthread_t t;
    o = out;
    if (!pthread_create(&t, NULL, late, NULL)) pthread_detach(t);
    return status;
}
