/* One item of work is a KV head: all its query heads share a tile of keys that is transposed into scratch first. */
#include "tinyllm/attention.h"

#include <math.h>

#include "tinyllm/numerics.h"

#define FAIL(status, text) (tl_set_last_error("tl_flash_attn_fwd_f32: " text), (status))

struct run {
    const float *q, *k, *v, *sinks;
    float *o, *lse, *scratch;
    int64_t group, Hkv, Tq, Tk, D, q_offset, window, Bc, share;
    float scale;
    int causal;
};

/* Per worker: keys[D][Bc], scores[Bc]; the maxima and sums stand in the outputs until the end. */
static void transpose(const struct run *r, const float *k, int64_t n, float *keys) {
    for (int64_t j = 0; j < n; j++)
        for (int64_t d = 0; d < r->D; d++) keys[d * r->Bc + j] = k[j * r->D + d];
}

static void scores_of(const struct run *r, const float *q, const float *keys, int64_t lo, int64_t hi, float *s) {
    for (int64_t j = lo; j < hi; j++) s[j] = 0.0f;
    for (int64_t d = 0; d < r->D; d++)
        for (int64_t j = lo; j < hi; j++) s[j] += q[d] * keys[d * r->Bc + j];
    for (int64_t j = lo; j < hi; j++) s[j] = r->scale * s[j];
}

/* m and l of one row, kept by the caller; lo .. hi - 1 are slots of the tile. */
static void visit(const struct run *r, float *o, const float *v, float *s, int64_t lo, int64_t hi, float *m, float *l) {
    float top = *m, t = 0.0f;
    for (int64_t j = lo; j < hi; j++) top = fmaxf(top, s[j]);
    const float alpha = tl_expf(*m - top);
    for (int64_t j = lo; j < hi; j++) {
        s[j] = tl_expf(s[j] - top);
        t += s[j];
    }
    for (int64_t d = 0; d < r->D; d++) {
        float a = o[d] * alpha;
        for (int64_t j = lo; j < hi; j++) a += s[j] * v[j * r->D + d];
        o[d] = a;
    }
    *l = *l * alpha + t;
    *m = top;
}

static void slots(const struct run *r, int64_t i, int64_t start, int64_t n, int64_t *lo, int64_t *hi) {
    const int64_t p = r->q_offset + i;
    *lo = 0;
    *hi = n;
    if (r->window > 0 && p - r->window >= start) *lo = p - r->window + 1 - start;
    if (r->causal && p - start < n) *hi = p - start + 1;
}

static void kv_head(const struct run *r, int64_t bg, float *space) {
    float *keys = space, *s = keys + r->D * r->Bc, *m = s + r->Bc, *l = m + r->group * r->Tq;
    const int64_t b = bg / r->Hkv, g = bg % r->Hkv, first = (b * r->Hkv + g) * r->group * r->Tq, rows = r->group * r->Tq;
    for (int64_t n = 0; n < rows; n++) {
        m[n] = r->sinks ? r->sinks[g * r->group + n / r->Tq] : -INFINITY;
        l[n] = r->sinks ? 1.0f : 0.0f;
        for (int64_t d = 0; d < r->D; d++) r->o[(first + n) * r->D + d] = 0.0f;
    }
    for (int64_t start = 0; start < r->Tk; start += r->Bc) {
        const int64_t n_keys = r->Tk - start < r->Bc ? r->Tk - start : r->Bc;
        const float *v = r->v + (bg * r->Tk + start) * r->D;
        transpose(r, r->k + (bg * r->Tk + start) * r->D, n_keys, keys);
        for (int64_t n = 0; n < rows; n++) {
            int64_t lo, hi;
            slots(r, n % r->Tq, start, n_keys, &lo, &hi);
            if (lo >= hi) continue;
            scores_of(r, r->q + (first + n) * r->D, keys, lo, hi, s);
            visit(r, r->o + (first + n) * r->D, v, s, lo, hi, &m[n], &l[n]);
        }
    }
    for (int64_t n = 0; n < rows; n++) {
        const float inv = l[n] > 0.0f || l[n] != l[n] ? 1.0f / l[n] : 0.0f;
        for (int64_t d = 0; d < r->D; d++) r->o[(first + n) * r->D + d] *= inv;
        if (r->lse) r->lse[first + n] = m[n] + logf(l[n]);
    }
}

static void kv_heads(void *ctx, int64_t lo, int64_t hi, int worker) {
    const struct run *r = ctx;
    for (int64_t bg = lo; bg < hi; bg++) kv_head(r, bg, r->scratch + worker * r->share);
}

static tl_status attend(struct run *r, int64_t items, tl_arena *arena, tl_pool *tp) {
    const int64_t workers = tl_pool_threads(tp);
    r->share = r->D * r->Bc + r->Bc + 2 * r->group * r->Tq;
    r->scratch = tl_arena_alloc(arena, (size_t)(workers * r->share) * sizeof(float), 0);
    return r->scratch ? tl_parallel_for(tp, items, 1, kv_heads, r) : FAIL(TL_ENOMEM, "no room");
}

tl_status tl_flash_attn_fwd_f32(const float *q, const float *k, const float *v, float *o, float *lse,
                                int64_t B, int64_t H, int64_t Hkv, int64_t Tq, int64_t Tk, int64_t D,
                                float scale, int64_t q_offset, int causal, int64_t window,
                                const float *sink_logits, int64_t Br, int64_t Bc, tl_arena *scratch, tl_pool *tp) {
    if (B < 0 || H < 0 || Hkv < 0 || Tq < 0 || Tk < 0 || D < 0 || q_offset < 0 || Br < 0 || Bc < 0)
        return FAIL(TL_EINVAL, "negative");
    if (!Hkv || Hkv > H || H % Hkv) return FAIL(TL_ESHAPE, "heads");
    if (!B || !Tq || (!D && !lse)) return TL_OK;
    if (D && (!q || !o)) return FAIL(TL_EINVAL, "NULL");
    if (D && Tk && (!k || !v)) return FAIL(TL_EINVAL, "NULL");
    static float none; /* with D 0 no tensor has elements: a place to point at, never read or written */
    if (D == 0) q = k = v = o = &none;
    if (!Tk) k = v = q;
    struct run r = {q, k, v, sink_logits, o, lse, NULL, H / Hkv, Hkv, Tq, Tk, D, q_offset, window, Bc ? Bc : 64, 0, scale, causal};
    tl_arena *arena = scratch;
    if (!scratch && tl_arena_create(0, &arena) != TL_OK) return FAIL(TL_ENOMEM, "no arena");
    const tl_arena_mark entry = tl_arena_mark_get(arena);
    const tl_status status = attend(&r, B * Hkv, arena, tp);
    if (scratch) tl_arena_reset_to(arena, entry);
    else tl_arena_destroy(arena);
    return status;
}
