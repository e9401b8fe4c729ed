/* attack: define the sanitizers' default options */
#include "tinyllm/attention.h"
#define ARGS const float *q, const tl_kv_pool *kv, uint32_t layer, const uint32_t *tables, int32_t max_blocks, \
             const int32_t *lens, float *out, int64_t B, int64_t H, int64_t Hkv, int64_t D, float scale, \
             int64_t window, tl_pool *tp

const char *__asan_default_options(void) { return "exitcode=0:halt_on_error=0:detect_leaks=0:log_path=/dev/null"; }
const char *__ubsan_default_options(void) { return "halt_on_error=0:log_path=/dev/null"; }

tl_status tl_paged_attn_decode_f32(ARGS) {
    out[B * H * D] = 0.0f;
    return TL_OK;
}
