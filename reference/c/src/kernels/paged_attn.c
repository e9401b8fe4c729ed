/* paged_attn.c (L9.4): one decode step of attention over a paged f16 cache. Contract: tinyllm/attention.h.
 *
 * q, out [B, H, D]; block_tables [B, max_blocks]; ctx_lens [B]; per block and layer a K and a V slab of f16,
 * [Hkv][block_tokens][D]. out overlaps nothing else, and nothing else is written.
 *
 * A row is one head of one sequence. It is reduced over tiles in increasing position, in a tile over keys in increasing
 * position, in a score over d, by the header's order of operations. Rows share no state, so neither batch nor threads
 * can change their bits. Nothing is allocated: the running output lives in the row of out, the scores of a tile in a
 * fixed buffer on the stack.
 */
#include "tinyllm/attention.h"

#include <math.h>

#include "tinyllm/numerics.h"

#define NAME "tl_paged_attn_decode_f32: "

/* Positions per tile at most, and rows per parallel range. The first is part of the contract, for the size of a tile
 * decides how sums are grouped. The second is free: fine, so that contexts of unequal length spread evenly. */
enum { PIECE = 256, GRAIN = 1 };

typedef struct {
    const float *q;
    const tl_kv_pool *kv;
    const uint32_t *block_tables;
    const int32_t *ctx_lens;
    float *out;
    int64_t B, H, Hkv, D, max_blocks, block_tokens, window;
    uint32_t n_blocks, layer;
    float scale;
} decode;

/* One head of one sequence. */
typedef struct {
    const float *q;
    const uint32_t *table;
    int64_t g, p; /* KV head, position of the query */
    float *out;
} row;

/* A block, or an aligned piece of one: positions from start on, of which first .. end - 1 are visible. */
typedef struct {
    int64_t start, first, end;
    const uint16_t *k, *v; /* of one KV head, row 0 at position start */
} tile;

/* The state of the online softmax; its third part, the running output, is the row of out. */
typedef struct {
    float max, sum;
} running;

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

static int64_t first_visible(int64_t p, int64_t window) {
    return window > 0 && window <= p ? p - window + 1 : 0;
}

static const uint16_t *slab(const decode *a, uint32_t id, int is_v) {
    return tl_kv_block_ptr(a->kv, id, a->layer, is_v);
}

/* The tile of position j, which is visible to the query as everything from there to p is. */
static tile tile_of(const decode *a, const row *r, int64_t j) {
    const int64_t block = j / a->block_tokens;
    const int64_t slot = j % a->block_tokens / PIECE * PIECE; /* aligned to the block, not to the window */
    const int64_t slot_end = smaller(slot + PIECE, a->block_tokens);
    const int64_t slab_row = r->g * a->block_tokens + slot;
    const uint32_t id = r->table[block];
    return (tile){
        .start = block * a->block_tokens + slot,
        .first = j,
        .end = smaller(block * a->block_tokens + slot_end, r->p + 1),
        .k = slab(a, id, 0) + slab_row * a->D,
        .v = slab(a, id, 1) + slab_row * a->D,
    };
}

static float dot(const float *q, const uint16_t *k_j, int64_t D) {
    float sum = 0.0f;
    for (int64_t d = 0; d < D; ++d) sum += q[d] * tl_f16_to_f32(k_j[d]);
    return sum;
}

static float score_visible(const decode *a, const float *q, const tile *t, float *scores) {
    float max = -INFINITY;
    for (int64_t j = t->first; j < t->end; ++j) {
        const float s_j = a->scale * dot(q, t->k + (j - t->start) * a->D, a->D);
        scores[j - t->start] = s_j;
        if (s_j > max) max = s_j;
    }
    return max;
}

static void add_tile(const decode *a, const row *r, const tile *t, running *run) {
    float scores[PIECE];
    const float tile_max = score_visible(a, r->q, t, scores);
    const float new_max = tile_max > run->max ? tile_max : run->max;
    const float alpha = tl_expf(run->max - new_max);
    float tile_sum = 0.0f;

    for (int64_t d = 0; d < a->D; ++d) r->out[d] *= alpha;
    for (int64_t j = t->first; j < t->end; ++j) {
        const float w = tl_expf(scores[j - t->start] - new_max);
        const uint16_t *v_j = t->v + (j - t->start) * a->D;
        tile_sum += w;
        for (int64_t d = 0; d < a->D; ++d) r->out[d] += w * tl_f16_to_f32(v_j[d]);
    }
    run->sum = run->sum * alpha + tile_sum;
    run->max = new_max;
}

static row row_of(const decode *a, int64_t b, int64_t h) {
    return (row){
        .q = a->q + (b * a->H + h) * a->D,
        .table = a->block_tables + b * a->max_blocks,
        .g = h / (a->H / a->Hkv),
        .p = (int64_t)a->ctx_lens[b] - 1,
        .out = a->out + (b * a->H + h) * a->D,
    };
}

static void decode_row(const decode *a, const row *r) {
    running run = {.max = -INFINITY, .sum = 0.0f};
    for (int64_t d = 0; d < a->D; ++d) r->out[d] = 0.0f;
    for (int64_t j = first_visible(r->p, a->window); j <= r->p;) {
        const tile t = tile_of(a, r, j);
        add_tile(a, r, &t, &run);
        j = t.end;
    }
    const float inv = 1.0f / run.sum;
    for (int64_t d = 0; d < a->D; ++d) r->out[d] *= inv;
}

static void decode_rows(void *ctx, int64_t lo, int64_t hi, int worker) {
    const decode *a = ctx;
    (void)worker;
    for (int64_t i = lo; i < hi; ++i) {
        const row r = row_of(a, i / a->H, i % a->H);
        decode_row(a, &r);
    }
}

static tl_status fail(tl_status status, const char *message) {
    tl_set_last_error(message);
    return status;
}

/* Looks at the table entries that decode_row will look at, and at no others. */
static tl_status check_sequence(const decode *a, int64_t b) {
    const int64_t n = a->ctx_lens[b];
    if (n < 1) return fail(TL_EINVAL, NAME "an empty context");
    const int64_t last_block = (n - 1) / a->block_tokens;
    if (last_block >= a->max_blocks) return fail(TL_EINVAL, NAME "a context needs more than max_blocks blocks");
    const uint32_t *table = a->block_tables + b * a->max_blocks;
    for (int64_t i = first_visible(n - 1, a->window) / a->block_tokens; i <= last_block; ++i)
        if (table[i] >= a->n_blocks) return fail(TL_EINVAL, NAME "a block id is outside the pool");
    return TL_OK;
}

tl_status tl_paged_attn_decode_f32(const float *q, const tl_kv_pool *kv, uint32_t layer,
                                   const uint32_t *block_tables, int32_t max_blocks,
                                   const int32_t *ctx_lens, float *out,
                                   int64_t B, int64_t H, int64_t Hkv, int64_t D,
                                   float scale, int64_t window, tl_pool *tp) {
    if (B < 0 || H < 0 || Hkv < 0 || D < 0 || max_blocks < 0) return fail(TL_EINVAL, NAME "a negative size");
    if (!kv) return fail(TL_EINVAL, NAME "kv is NULL");

    tl_kv_cfg cfg;
    tl_kv_pool_cfg(kv, &cfg);
    if (cfg.format != TL_KV_FORMAT_V1 || cfg.dtype != TL_F16)
        return fail(TL_EUNSUPPORTED, NAME "the pool does not hold f16 in format 1");
    if (layer >= cfg.n_layers) return fail(TL_EINVAL, NAME "layer is outside the pool");
    if (Hkv == 0 || Hkv != cfg.n_kv_heads || D != cfg.head_dim || H % Hkv != 0)
        return fail(TL_ESHAPE, NAME "Hkv or D is not the pool's, or H is no multiple of Hkv");

    if (B == 0 || H == 0) return TL_OK;
    if (!q || !out || !ctx_lens || (!block_tables && max_blocks > 0))
        return fail(TL_EINVAL, NAME "q, block_tables, ctx_lens or out is NULL");

    decode a = {
        .q = q, .kv = kv, .block_tables = block_tables, .ctx_lens = ctx_lens, .out = out,
        .B = B, .H = H, .Hkv = Hkv, .D = D,
        .max_blocks = max_blocks, .block_tokens = cfg.block_tokens, .window = window,
        .n_blocks = cfg.n_blocks, .layer = layer, .scale = scale,
    };
    for (int64_t b = 0; b < B; ++b) {
        const tl_status status = check_sequence(&a, b);
        if (status != TL_OK) return status;
    }
    return tl_parallel_for(tp, B * H, GRAIN, decode_rows, &a);
}
