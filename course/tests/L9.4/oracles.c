/* The wanted values of L9.4, from the cells alone; see world.h. Called in the oracle role only. */
#include <math.h>
#include <stdlib.h>

#include "world.h"

enum { PIECE = 256 };

/* Keys or values of one sequence as L9.3 takes them: [Hkv][n][D], decoded. */
static float *gather(const world *w, int64_t b, int is_v) {
    int64_t n = w->lens[b], D = w->s.D;
    float *x = ol_new(w->s.Hkv * n * D, sizeof *x);
    for (int64_t g = 0; g < w->s.Hkv; g++)
        for (int64_t j = 0; j < n; j++)
            for (int64_t d = 0; d < D; d++) x[(g * n + j) * D + d] = tl_f16_to_f32(cell_at(w, b, is_v, g, j)[d]);
    return x;
}

static float dot(const float *q, const float *k, int64_t D) {
    float sum = 0.0f;
    for (int64_t d = 0; d < D; d++) sum = sum + q[d] * k[d];
    return sum;
}

static void naive_row(const world *w, const float *q, const float *k, const float *v, int64_t n, float *want) {
    int64_t D = w->s.D;
    float *p = ol_new(n, sizeof *p);
    for (int64_t j = 0; j < n; j++) p[j] = w->s.scale * dot(q, k + j * D, D);
    if (tl_softmax_f32(p, p, 1, n) != TL_OK) abort();
    for (int64_t d = 0; d < D; d++) {
        double sum = 0.0;
        for (int64_t j = 0; j < n; j++) sum += (double)p[j] * (double)v[j * D + d];
        want[d] = (float)sum;
    }
}

void naive(const world *w, float *want) {
    int64_t H = w->s.H, D = w->s.D, group = H / w->s.Hkv;
    for (int64_t b = 0; b < w->s.B; b++) {
        float *k = gather(w, b, 0), *v = gather(w, b, 1);
        int64_t n = w->lens[b], first = first_visible(w, b);
        for (int64_t h = 0; h < H; h++) {
            int64_t row = b * H + h, at = (h / group * n + first) * D;
            naive_row(w, w->q + row * D, k + at, v + at, n - first, want + row * D);
        }
    }
}

void flash(const world *w, float *want) {
    const shape *s = &w->s;
    for (int64_t b = 0; b < s->B; b++) {
        int64_t n = w->lens[b], rows = b * s->H * s->D;
        int64_t window = first_visible(w, b) > 0 ? s->window : 0;
        tl_status status = tl_flash_attn_fwd_f32(w->q + rows, gather(w, b, 0), gather(w, b, 1), want + rows, NULL,
                                                 1, s->H, s->Hkv, 1, n, s->D, s->scale, n - 1, 1, window,
                                                 NULL, 1, s->block, NULL, NULL);
        if (status != TL_OK) abort();
    }
}

/* Steps 3 to 6 of the header for positions first .. end - 1, which are one tile. */
static void add_tile(const world *w, const float *q, const float *k, const float *v, int64_t first, int64_t end,
                     float *m, float *l, float *a) {
    int64_t D = w->s.D;
    float score[PIECE], m_new = *m, t = 0.0f;
    for (int64_t j = first; j < end; j++) {
        score[j - first] = w->s.scale * dot(q, k + j * D, D);
        if (score[j - first] > m_new) m_new = score[j - first];
    }
    float alpha = tl_expf(*m - m_new);
    for (int64_t d = 0; d < D; d++) a[d] = a[d] * alpha;
    for (int64_t j = first; j < end; j++) {
        float weight = tl_expf(score[j - first] - m_new);
        t = t + weight;
        for (int64_t d = 0; d < D; d++) a[d] = a[d] + weight * v[j * D + d];
    }
    *l = *l * alpha + t;
    *m = m_new;
}

/* The position after the tile of position j. */
static int64_t tile_end(const world *w, int64_t j, int64_t n) {
    int64_t slot = j % w->s.block;
    int64_t end_slot = (slot / PIECE + 1) * PIECE;
    if (end_slot > w->s.block) end_slot = w->s.block;
    int64_t end = j - slot + end_slot;
    return end < n ? end : n;
}

void in_order(const world *w, float *want) {
    int64_t H = w->s.H, D = w->s.D, group = H / w->s.Hkv;
    for (int64_t b = 0; b < w->s.B; b++) {
        float *k = gather(w, b, 0), *v = gather(w, b, 1);
        int64_t n = w->lens[b];
        for (int64_t h = 0; h < H; h++) {
            float m = -INFINITY, l = 0.0f, *a = want + (b * H + h) * D;
            const float *q = w->q + (b * H + h) * D, *k_g = k + h / group * n * D, *v_g = v + h / group * n * D;
            for (int64_t d = 0; d < D; d++) a[d] = 0.0f;
            for (int64_t j = first_visible(w, b), end; j < n; j = end) {
                end = tile_end(w, j, n);
                add_tile(w, q, k_g, v_g, j, end, &m, &l, a);
            }
            float inv = 1.0f / l;
            for (int64_t d = 0; d < D; d++) a[d] = a[d] * inv;
        }
    }
}
