/* Textbook tiles: a Br x Bc matrix of scores and an accumulator of its own per worker; the arena is asked three times. */
#include "tinyllm/attention.h"

#include <math.h>
#include <string.h>

#include "tinyllm/numerics.h"

typedef struct {
    const float *q, *k, *v, *sink;
    float *o, *lse, *S, *acc, *state;
    int64_t H, Hkv, Tq, Tk, D, q_offset, window, Br, Bc, tiles;
    float scale;
    int causal;
} problem;

static int64_t min64(int64_t a, int64_t b) { return a < b ? a : b; }

static int sees(const problem *p, int64_t i, int64_t j) {
    const int64_t at = p->q_offset + i;
    if (p->causal && j > at) return 0;
    return p->window <= 0 || at - j < p->window;
}

static void scores(const problem *p, const float *q, const float *k, float *S, int64_t i0, int64_t n_i, int64_t j0, int64_t n_j) {
    for (int64_t i = 0; i < n_i; i++)
        for (int64_t j = 0; j < n_j; j++) {
            if (!sees(p, i0 + i, j0 + j)) continue;
            float dot = 0.0f;
            for (int64_t d = 0; d < p->D; d++) dot += q[(i0 + i) * p->D + d] * k[(j0 + j) * p->D + d];
            S[i * p->Bc + j] = p->scale * dot;
        }
}

static void update(const problem *p, const float *v, const float *s, float *acc, float *m, float *l, int64_t i, int64_t j0, int64_t n_j) {
    float top = -INFINITY;
    int any = 0;
    for (int64_t j = 0; j < n_j; j++)
        if (sees(p, i, j0 + j)) {
            if (!any || s[j] > top) top = s[j];
            any = 1;
        }
    if (!any) return;
    if (*m > top) top = *m;
    const float alpha = tl_expf(*m - top);
    float t = 0.0f;
    if (alpha != 1.0f)
        for (int64_t d = 0; d < p->D; d++) acc[d] *= alpha;
    for (int64_t j = 0; j < n_j; j++) {
        if (!sees(p, i, j0 + j)) continue;
        const float w = tl_expf(s[j] - top);
        t += w;
        for (int64_t d = 0; d < p->D; d++) acc[d] += w * v[(j0 + j) * p->D + d];
    }
    *l = *l * alpha + t;
    *m = top;
}

static void tile(const problem *p, int64_t bh, int64_t i0, float *S, float *acc, float *m, float *l) {
    const int64_t n_i = min64(p->Br, p->Tq - i0), h = bh % p->H, g = h * p->Hkv / p->H;
    const int64_t kv = ((bh / p->H) * p->Hkv + g) * p->Tk * p->D;
    for (int64_t i = 0; i < n_i; i++) {
        m[i] = p->sink ? p->sink[h] : -INFINITY;
        l[i] = p->sink ? 1.0f : 0.0f;
    }
    memset(acc, 0, (size_t)(n_i * p->D) * sizeof *acc);
    for (int64_t j0 = 0; j0 < p->Tk; j0 += p->Bc) {
        const int64_t n_j = min64(p->Bc, p->Tk - j0);
        scores(p, p->q + bh * p->Tq * p->D, p->k + kv, S, i0, n_i, j0, n_j);
        for (int64_t i = 0; i < n_i; i++)
            update(p, p->v + kv, S + i * p->Bc, acc + i * p->D, &m[i], &l[i], i0 + i, j0, n_j);
    }
    for (int64_t i = 0; i < n_i; i++) {
        const int64_t row = bh * p->Tq + i0 + i;
        const float inv = l[i] == 0.0f ? 0.0f : 1.0f / l[i];
        for (int64_t d = 0; d < p->D; d++) p->o[row * p->D + d] = acc[i * p->D + d] * inv;
        if (p->lse) p->lse[row] = l[i] == 0.0f ? -INFINITY : m[i] + logf(l[i]);
    }
}

static void work(void *ctx, int64_t lo, int64_t hi, int worker) {
    const problem *p = ctx;
    for (int64_t n = lo; n < hi; n++)
        tile(p, n / p->tiles, n % p->tiles * p->Br, p->S + worker * p->Br * p->Bc, p->acc + worker * p->Br * p->D,
             p->state + worker * 2 * p->Br, p->state + (worker * 2 + 1) * p->Br);
}

static tl_status fails(tl_status status, const char *why) {
    tl_set_last_error(why);
    return status;
}

static float *floats(tl_arena *arena, int64_t n) { return tl_arena_alloc(arena, (size_t)(n ? n : 1) * sizeof(float), 32); }

tl_status tl_flash_attn_fwd_f32(const float *q, const float *k, const float *v, float *o, float *lse,
                                int64_t B, int64_t H, int64_t Hkv, int64_t Tq, int64_t Tk, int64_t D,
                                float scale, int64_t q_offset, int causal, int64_t window,
                                const float *sink_logits, int64_t Br, int64_t Bc, tl_arena *scratch, tl_pool *tp) {
    if (B < 0 || H < 0 || Hkv < 0 || Tq < 0 || Tk < 0 || D < 0 || q_offset < 0)
        return fails(TL_EINVAL, "tl_flash_attn_fwd_f32: negative size");
    if (Hkv < 1 || Hkv > H || H % Hkv != 0) return fails(TL_ESHAPE, "tl_flash_attn_fwd_f32: heads");
    if (B == 0 || Tq == 0) return TL_OK;
    if (D > 0 && (!q || !o)) return fails(TL_EINVAL, "tl_flash_attn_fwd_f32: q or o is NULL");
    if (D > 0 && Tk > 0 && (!k || !v)) return fails(TL_EINVAL, "tl_flash_attn_fwd_f32: k or v is NULL");
    if (D == 0 && !lse) return TL_OK;
    static float none; /* with D 0 no tensor has elements: a place to point at, never read or written */
    if (D == 0) q = k = v = o = &none;
    if (Tk == 0) k = v = q;
    tl_arena *own = NULL, *arena = scratch;
    if (!arena) {
        const tl_status made = tl_arena_create(4096, &own);
        if (made != TL_OK) return made;
        arena = own;
    }
    const tl_arena_mark mark = tl_arena_mark_get(arena);
    problem p = {q, k, v, sink_logits, o, lse, NULL, NULL, NULL, H, Hkv, Tq, Tk, D, q_offset, window,
                 Br > 0 ? Br : 64, Bc > 0 ? Bc : 64, 0, scale, causal};
    p.Br = min64(p.Br, Tq);
    p.tiles = (Tq + p.Br - 1) / p.Br;
    const int64_t n = tl_pool_threads(tp);
    p.S = floats(arena, n * p.Br * p.Bc);
    p.acc = p.S ? floats(arena, n * p.Br * D) : NULL;
    p.state = p.acc ? floats(arena, n * 2 * p.Br) : NULL;
    tl_status status = p.state ? tl_parallel_for(tp, B * H * p.tiles, 2, work, &p)
                               : fails(TL_ENOMEM, "tl_flash_attn_fwd_f32: no scratch");
    tl_arena_reset_to(arena, mark);
    tl_arena_destroy(own);
    return status;
}
