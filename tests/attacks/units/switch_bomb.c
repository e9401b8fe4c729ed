/* attack: 131,072 cases, which cost the optimiser its time */
#include "tinyllm/attention.h"
#define ARGS const float *q, const tl_kv_pool *kv, uint32_t layer, const uint32_t *tables, int32_t max_blocks, \
             const int32_t *lens, float *out, int64_t B, int64_t H, int64_t Hkv, int64_t D, float scale, \
             int64_t window, tl_pool *tp

#define C(n) case n: s += (float)n * q[0]; s *= 1.0001f; break;
#define C8(n) C((n)*8+0) C((n)*8+1) C((n)*8+2) C((n)*8+3) C((n)*8+4) C((n)*8+5) C((n)*8+6) C((n)*8+7)
#define C64(n) C8((n)*8+0) C8((n)*8+1) C8((n)*8+2) C8((n)*8+3) C8((n)*8+4) C8((n)*8+5) C8((n)*8+6) C8((n)*8+7)
#define C512(n) C64((n)*8+0) C64((n)*8+1) C64((n)*8+2) C64((n)*8+3) C64((n)*8+4) C64((n)*8+5) C64((n)*8+6) C64((n)*8+7)
#define C4096(n) C512((n)*8+0) C512((n)*8+1) C512((n)*8+2) C512((n)*8+3) C512((n)*8+4) C512((n)*8+5) C512((n)*8+6) C512((n)*8+7)
#define C32768(n) C4096((n)*8+0) C4096((n)*8+1) C4096((n)*8+2) C4096((n)*8+3) C4096((n)*8+4) C4096((n)*8+5) C4096((n)*8+6) C4096((n)*8+7)

tl_status tl_paged_attn_decode_f32(ARGS) {
    float s = 0;
    for (int64_t i = 0; i < B; i++)
        switch (lens[i]) { C32768(0) C32768(1) C32768(2) C32768(3) }
    out[0] = s;
    return TL_OK;
}
