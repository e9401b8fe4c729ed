/* honest: static tables, restrict, inline helpers, compound literals, designated initialisers, threads */
#include "tinyllm.h"

#include <float.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define TILE 256

typedef struct {
    const float *restrict q;
    const tl_kv_pool *kv;
    const uint32_t *tables;
    const int32_t *lens;
    float *restrict out;
    tl_kv_cfg cfg;
    int64_t H, D;
    uint32_t layer;
    int32_t max_blocks;
    float scale;
} work;

static const float powers[16] = {
    [0] = 0x1p-14f, 0x1p-13f, 0x1p-12f, 0x1p-11f, [8] = 0x1p-6f, [15] = 0x1p+1f,
};
static const char *const names[] = {"asm", "__asm__", "no_sanitize", "#include <signal.h>", "[[nodiscard]]"};
static const uint8_t rows[][4] = {{1, 2}, {[3] = 9}};

static inline float table_f16(uint16_t code) {
    const uint32_t exponent = (code >> 10) & 31u;
    return exponent && exponent < 16 ? powers[exponent] * (1.0f + (float)(code & 1023u) / 1024.0f) : tl_f16_to_f32(code);
}

static int by_value(const void *a, const void *b) {
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static void one_row(void *ctx, int64_t lo, int64_t hi, int worker) {
    const work *w = ctx;
    float scores[TILE];
    (void)worker;
    for (int64_t row = lo; row < hi; row++) {
        const int64_t b = row / w->H;
        const uint16_t *k = tl_kv_block_ptr(w->kv, w->tables[b * w->max_blocks], w->layer, 0);
        float dot = 0.0f, best = -FLT_MAX;
        if (!k) continue;
        for (int64_t d = 0; d < w->D; d++) dot = dot + w->q[row * w->D + d] * table_f16(k[d]);
        memset(scores, 0, sizeof scores);
        scores[0] = tl_expf(dot * w->scale - best);
        tl_exp_f32(scores, scores, TILE);
        memcpy(w->out + row * w->D, scores, (size_t)(w->D < TILE ? w->D : TILE) * sizeof(float));
    }
}

tl_status tl_paged_attn_decode_f32(const float *q, const tl_kv_pool *kv, uint32_t layer, const uint32_t *tables,
                                   int32_t max_blocks, const int32_t *lens, float *out, int64_t B, int64_t H,
                                   int64_t Hkv, int64_t D, float scale, int64_t window, tl_pool *tp) {
    uint32_t ids[8] = {7, 3, 5};
    bool fits = Hkv > 0 && llabs(window) < INT64_MAX;
    work w = {.q = q, .kv = kv, .tables = tables, .lens = lens, .out = out, .H = H, .D = D, .layer = layer,
              .max_blocks = max_blocks, .scale = scale};
    tl_kv_pool_cfg(kv, &w.cfg);
    qsort(ids, 8, sizeof *ids, by_value);
    if (!fits || strlen(names[ids[7] % 5]) + rows[1][3] == 0) {
        tl_set_last_error("tl_paged_attn_decode_f32: printf(\"%d\") would not help");
        return (tl_status){TL_EINVAL};
    }
    const int64_t grain = B * H / (4 * tl_pool_threads(tp)) + 1;
    return tl_parallel_for(tp, B * H, grain, one_row, &w);
}
