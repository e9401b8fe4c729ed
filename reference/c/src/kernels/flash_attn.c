/* flash_attn.c (L9.3): attention over contiguous float32 keys, tile by tile. Contract: tinyllm/attention.h.
 *
 * q, o [B, H, Tq, D]; k, v [B, Hkv, Tk, D]; lse [B, H, Tq] or NULL; sink_logits [H] or NULL. o and lse overlap nothing.
 *
 * One item of parallel work is a tile of Br queries of one head. It walks the key tiles once, all of its queries reading
 * a tile while it is in cache, and updates each query in the header's order of operations: tiles, keys and d, each in
 * increasing order. Br only groups queries; a query's bits depend on that query alone.
 *
 * The running output lives in the row of o. Scratch holds per worker the scores of one query against one key tile and
 * the softmax state of Br queries, so nothing grows with Tk.
 */
#include "tinyllm/attention.h"

#include <math.h>
#include <stddef.h>

#include "tinyllm/numerics.h"

#define NAME "tl_flash_attn_fwd_f32: "

/* A share of scratch is a whole number of 64-byte lines, so that workers do not write to each other's. */
enum { DEFAULT_TILE = 64, LINE_BYTES = 64, LINE_FLOATS = 16 };

typedef struct {
    const float *q, *k, *v, *sink_logits;
    float *o, *lse;
    int64_t B, H, Hkv, Tq, Tk, D, q_offset, window, Br, Bc;
    float scale;
    int causal;
    float *scratch; /* [workers][share] */
    int64_t share;
} attention;

/* One worker's share. The state of the online softmax is max and sum; its third part is the row of o. */
typedef struct {
    float *scores;     /* [Bc] */
    float *max, *sum;  /* [Br] */
} workspace;

/* Positions first .. end - 1; nothing if first >= end. */
typedef struct {
    int64_t first, end;
} range;

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

/* min(first + size, end) where the sum may not be representable. */
static int64_t tile_end(int64_t first, int64_t size, int64_t end) {
    return size < end - first ? first + size : end;
}

/* Row i of a matrix of width D. A matrix without columns has no rows to point at, and may be NULL. */
static const float *row_of(const float *x, int64_t i, int64_t D) { return D > 0 ? x + i * D : NULL; }
static float *output_row(const attention *a, int64_t i) { return a->D > 0 ? a->o + i * a->D : NULL; }

static range visible_keys(const attention *a, int64_t i) {
    const int64_t p = a->q_offset + i;
    return (range){
        .first = a->window > 0 && a->window <= p ? p - a->window + 1 : 0,
        .end = a->causal && p < a->Tk ? p + 1 : a->Tk,
    };
}

static float dot(const float *q_i, const float *k_j, int64_t D) {
    float sum = 0.0f;
    for (int64_t d = 0; d < D; ++d) sum += q_i[d] * k_j[d];
    return sum;
}

/* Updates one query by the keys that it sees in one tile. kv_row is the row of k and v that holds position 0, scores[0]
 * belongs to keys.first. */
static void add_tile(const attention *a, const float *q_i, float *o_i, int64_t kv_row, range keys,
                     float *scores, float *max, float *sum) {
    float tile_max = -INFINITY;
    for (int64_t j = keys.first; j < keys.end; ++j) {
        const float s_j = a->scale * dot(q_i, row_of(a->k, kv_row + j, a->D), a->D);
        scores[j - keys.first] = s_j;
        if (s_j > tile_max) tile_max = s_j;
    }
    const float new_max = tile_max > *max ? tile_max : *max;
    const float alpha = tl_expf(*max - new_max);
    float tile_sum = 0.0f;

    for (int64_t d = 0; d < a->D; ++d) o_i[d] *= alpha;
    for (int64_t j = keys.first; j < keys.end; ++j) {
        const float w = tl_expf(scores[j - keys.first] - new_max);
        const float *v_j = row_of(a->v, kv_row + j, a->D);
        tile_sum += w;
        for (int64_t d = 0; d < a->D; ++d) o_i[d] += w * v_j[d];
    }
    *sum = *sum * alpha + tile_sum;
    *max = new_max;
}

static void start_query(const attention *a, int64_t h, float *o_i, float *max, float *sum) {
    for (int64_t d = 0; d < a->D; ++d) o_i[d] = 0.0f;
    *max = a->sink_logits ? a->sink_logits[h] : -INFINITY;
    *sum = a->sink_logits ? 1.0f : 0.0f;
}

/* A sum of 0 means that the query saw neither key nor sink, for the largest score it saw has weight 1. */
static void finish_query(const attention *a, int64_t row, float max, float sum) {
    float *o_i = output_row(a, row);
    const float inv = sum == 0.0f ? 0.0f : 1.0f / sum;
    for (int64_t d = 0; d < a->D; ++d) o_i[d] *= inv;
    if (a->lse) a->lse[row] = sum == 0.0f ? -INFINITY : max + logf(sum);
}

/* Queries i0 .. i1 - 1 of one head. The first of them sees furthest to the left, the last furthest to the right. */
static void attend(const attention *a, int64_t b, int64_t h, int64_t i0, int64_t i1, workspace ws) {
    const int64_t row0 = (b * a->H + h) * a->Tq;
    const int64_t g = h / (a->H / a->Hkv);
    const int64_t kv_row = (b * a->Hkv + g) * a->Tk;
    const int64_t keys_first = visible_keys(a, i0).first;
    const int64_t keys_end = visible_keys(a, i1 - 1).end;

    for (int64_t i = i0; i < i1; ++i) start_query(a, h, output_row(a, row0 + i), &ws.max[i - i0], &ws.sum[i - i0]);
    for (int64_t lo = keys_first / a->Bc * a->Bc; lo < keys_end;) {
        const int64_t hi = tile_end(lo, a->Bc, keys_end);
        for (int64_t i = i0; i < i1; ++i) {
            const range seen = visible_keys(a, i);
            const range keys = {larger(seen.first, lo), smaller(seen.end, hi)};
            if (keys.first < keys.end)
                add_tile(a, row_of(a->q, row0 + i, a->D), output_row(a, row0 + i), kv_row, keys,
                         ws.scores, &ws.max[i - i0], &ws.sum[i - i0]);
        }
        lo = hi;
    }
    for (int64_t i = i0; i < i1; ++i) finish_query(a, row0 + i, ws.max[i - i0], ws.sum[i - i0]);
}

static int64_t query_tiles(const attention *a) { return (a->Tq - 1) / a->Br + 1; }

static void attend_range(void *ctx, int64_t lo, int64_t hi, int worker) {
    const attention *a = ctx;
    float *share = a->scratch + worker * a->share;
    const workspace ws = {.scores = share, .max = share + a->Bc, .sum = share + a->Bc + a->Br};
    for (int64_t item = lo; item < hi; ++item) {
        const int64_t head = item / query_tiles(a);
        const int64_t i0 = item % query_tiles(a) * a->Br;
        attend(a, head / a->H, head % a->H, i0, tile_end(i0, a->Br, a->Tq), ws);
    }
}

static tl_status fail(tl_status status, const char *message) {
    tl_set_last_error(message);
    return status;
}

static tl_status validate(const attention *a) {
    if (a->B < 0 || a->H < 0 || a->Hkv < 0 || a->Tq < 0 || a->Tk < 0 || a->D < 0 || a->q_offset < 0)
        return fail(TL_EINVAL, NAME "a negative size or q_offset");
    if (a->Br < 0 || a->Bc < 0) return fail(TL_EINVAL, NAME "a negative tile");
    if (a->q_offset > INT64_MAX - a->Tq) return fail(TL_EINVAL, NAME "positions beyond int64_t");
    if (a->Hkv == 0 || a->Hkv > a->H || a->H % a->Hkv != 0)
        return fail(TL_ESHAPE, NAME "H is no positive multiple of Hkv");
    const int has_queries = a->B > 0 && a->H > 0 && a->Tq > 0 && a->D > 0;
    const int has_keys = a->B > 0 && a->Tk > 0 && a->D > 0;
    if ((has_queries && (!a->q || !a->o)) || (has_keys && (!a->k || !a->v)))
        return fail(TL_EINVAL, NAME "q, k, v or o is NULL");
    return TL_OK;
}

/* Takes every worker's share at once, on the calling thread, so that the parallel region allocates nothing. */
static tl_status reserve(attention *a, tl_arena *arena, int64_t workers) {
    const int64_t limit = INT64_MAX / (int64_t)sizeof(float) / workers / 4;
    if (a->Bc < limit && a->Br < limit) {
        a->share = ((a->Bc + 2 * a->Br - 1) / LINE_FLOATS + 1) * LINE_FLOATS;
        a->scratch = tl_arena_alloc(arena, (size_t)(workers * a->share) * sizeof(float), LINE_BYTES);
    }
    return a->scratch ? TL_OK : fail(TL_ENOMEM, NAME "no room for scratch");
}

static tl_status run(attention *a, tl_arena *arena, tl_pool *tp) {
    const tl_arena_mark mark = tl_arena_mark_get(arena);
    tl_status status = reserve(a, arena, tl_pool_threads(tp));
    if (status == TL_OK) status = tl_parallel_for(tp, a->B * a->H * query_tiles(a), 1, attend_range, a);
    tl_arena_reset_to(arena, mark);
    return status;
}

tl_status tl_flash_attn_fwd_f32(const float *q, const float *k, const float *v, float *o, float *lse,
                                int64_t B, int64_t H, int64_t Hkv, int64_t Tq, int64_t Tk, int64_t D,
                                float scale, int64_t q_offset, int causal, int64_t window,
                                const float *sink_logits, int64_t Br, int64_t Bc,
                                tl_arena *scratch, tl_pool *tp) {
    attention a = {
        .q = q, .k = k, .v = v, .sink_logits = sink_logits, .o = o, .lse = lse,
        .B = B, .H = H, .Hkv = Hkv, .Tq = Tq, .Tk = Tk, .D = D,
        .q_offset = q_offset, .window = window, .causal = causal, .scale = scale,
        .Br = smaller(Br == 0 ? DEFAULT_TILE : Br, larger(Tq, 1)), .Bc = Bc == 0 ? DEFAULT_TILE : Bc,
    };
    tl_status status = validate(&a);
    if (status != TL_OK) return status;
    if (B == 0 || Tq == 0 || (D == 0 && !lse)) return TL_OK;
    if (scratch) return run(&a, scratch, tp);

    tl_arena *own;
    status = tl_arena_create(0, &own);
    if (status != TL_OK) return fail(status, NAME "no room for scratch");
    status = run(&a, own, tp);
    tl_arena_destroy(own);
    return status;
}
