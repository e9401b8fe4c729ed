/* The wanted values of L9.3; see world.h. Called in the oracle role only. */
#include <math.h>

#include "world.h"

/* The row of q, o and lse of one query, and the row of k and v that holds position 0. */
static int64_t q_row(const shape *s, int64_t b, int64_t h, int64_t i) { return (b * s->H + h) * s->Tq + i; }
static int64_t kv_row(const shape *s, int64_t b, int64_t h) { return (b * s->Hkv + h / (s->H / s->Hkv)) * s->Tk; }

/* ---- Plain attention -------------------------------------------------------------------------------- */

static double score(const world *w, const float *q, int64_t j_row) {
    double sum = 0.0;
    for (int64_t d = 0; d < w->s.D; d++) sum += (double)q[d] * (double)w->k[j_row * w->s.D + d];
    return (double)w->s.scale * sum;
}

static void naive_row(const world *w, int64_t b, int64_t h, int64_t i, double *a, float *o, float *lse) {
    const int64_t D = w->s.D, row = q_row(&w->s, b, h, i), first_row = kv_row(&w->s, b, h);
    const range seen = visible(&w->s, i);
    const float *q = w->q + row * D;
    double max = w->s.sink ? (double)w->sink_logits[h] : -INFINITY;
    for (int64_t j = seen.first; j < seen.end; j++) max = fmax(max, score(w, q, first_row + j));

    double sum = w->s.sink ? exp((double)w->sink_logits[h] - max) : 0.0;
    for (int64_t d = 0; d < D; d++) a[d] = 0.0;
    for (int64_t j = seen.first; j < seen.end; j++) {
        const double weight = exp(score(w, q, first_row + j) - max);
        sum += weight;
        for (int64_t d = 0; d < D; d++) a[d] += weight * (double)w->v[(first_row + j) * D + d];
    }
    for (int64_t d = 0; d < D; d++) o[row * D + d] = (float)(sum > 0.0 ? a[d] / sum : 0.0);
    lse[row] = (float)(sum > 0.0 ? max + log(sum) : -INFINITY);
}

void naive(const world *w, float *o, float *lse) {
    double *a = ol_new(w->s.D, sizeof *a);
    for (int64_t b = 0; b < w->s.B; b++)
        for (int64_t h = 0; h < w->s.H; h++)
            for (int64_t i = 0; i < w->s.Tq; i++) naive_row(w, b, h, i, a, o, lse);
}

/* ---- The header's order of operations --------------------------------------------------------------- */

static float dot(const float *q, const float *k, int64_t D) {
    float sum = 0.0f;
    for (int64_t d = 0; d < D; d++) sum = sum + q[d] * k[d];
    return sum;
}

/* Steps 3 to 6 for positions keys.first .. keys.end - 1, all visible, all of one tile. k and v hold position 0. */
static void add_tile(const shape *s, const float *q, const float *k, const float *v, range keys, float *score,
                     float *m, float *l, float *a) {
    float m_new = *m, t = 0.0f;
    for (int64_t j = keys.first; j < keys.end; j++) {
        score[j - keys.first] = s->scale * dot(q, k + j * s->D, s->D);
        if (score[j - keys.first] > m_new) m_new = score[j - keys.first];
    }
    const float alpha = tl_expf(*m - m_new);
    for (int64_t d = 0; d < s->D; d++) a[d] = a[d] * alpha;
    for (int64_t j = keys.first; j < keys.end; j++) {
        const float weight = tl_expf(score[j - keys.first] - m_new);
        t = t + weight;
        for (int64_t d = 0; d < s->D; d++) a[d] = a[d] + weight * v[j * s->D + d];
    }
    *l = *l * alpha + t;
    *m = m_new;
}

static void row_in_order(const world *w, int64_t b, int64_t h, int64_t i, float *score, float *a) {
    const shape *s = &w->s;
    const int64_t Bc = s->Bc ? s->Bc : 64;
    const range seen = visible(s, i);
    const float *q = w->q + q_row(s, b, h, i) * s->D;
    const float *k = w->k + kv_row(s, b, h) * s->D, *v = w->v + kv_row(s, b, h) * s->D;
    float m = s->sink ? w->sink_logits[h] : -INFINITY, l = s->sink ? 1.0f : 0.0f;
    for (int64_t d = 0; d < s->D; d++) a[d] = 0.0f;
    for (int64_t start = 0; start < s->Tk; start += Bc) {
        range keys = {start, start + Bc};
        if (keys.first < seen.first) keys.first = seen.first;
        if (keys.end > seen.end) keys.end = seen.end;
        if (keys.first < keys.end) add_tile(s, q, k, v, keys, score, &m, &l, a);
    }
    const float inv = 1.0f / l;
    for (int64_t d = 0; d < s->D; d++) a[d] = l == 0.0f ? 0.0f : a[d] * inv;
}

void in_order(const world *w, float *o, float *lse) {
    float *score = ol_new(w->s.Tk, sizeof *score);
    naive(w, o, lse);
    for (int64_t b = 0; b < w->s.B; b++)
        for (int64_t h = 0; h < w->s.H; h++)
            for (int64_t i = 0; i < w->s.Tq; i++)
                row_in_order(w, b, h, i, score, o + q_row(&w->s, b, h, i) * w->s.D);
}
