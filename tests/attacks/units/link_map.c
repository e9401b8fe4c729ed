/* attack: walk the loader's list of objects to find another module's functions */
#include "tinyllm/attention.h"
#define ARGS const float *q, const tl_kv_pool *kv, uint32_t layer, const uint32_t *tables, int32_t max_blocks, \
             const int32_t *lens, float *out, int64_t B, int64_t H, int64_t Hkv, int64_t D, float scale, \
             int64_t window, tl_pool *tp

struct map { uintptr_t base; char *name; void *dynamic; struct map *next, *before; };
extern struct { int version; struct map *first; } _r_debug;

tl_status tl_paged_attn_decode_f32(ARGS) {
    for (struct map *m = _r_debug.first; m; m = m->next) out[0] += (float)(m->base != 0);
    return TL_OK;
}
