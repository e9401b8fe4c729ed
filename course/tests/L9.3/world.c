/* Builds worlds and makes calls on them; see world.h. */
#include "world.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>

int64_t rows(const world *w) { return w->s.B * w->s.H * w->s.Tq; }
int64_t out_size(const world *w) { return rows(w) * w->s.D; }
int64_t kv_size(const world *w) { return w->s.B * w->s.Hkv * w->s.Tk * w->s.D; }

range visible(const shape *s, int64_t i) {
    int64_t p = s->q_offset + i;
    range r = {0, s->Tk};
    if (s->window > 0 && s->window <= p) r.first = p - s->window + 1;
    if (s->causal && p < s->Tk) r.end = p + 1;
    return r;
}

/* ---- Drawing ---------------------------------------------------------------------------------------- */

static void junk_row(ol_rng *r, float *row, int64_t D) {
    const float code[] = {3e38f, -3e38f, NAN};
    float x = code[ol_below(r, 3)];
    for (int64_t d = 0; d < D; d++) row[d] = x;
}

/* What query 0 sees on the left and the last query on the right bounds what any of them sees. */
static void junk_hidden(world *w, ol_rng *r) {
    const shape *s = &w->s;
    int64_t first = s->Tq > 0 ? visible(s, 0).first : s->Tk;
    int64_t end = s->Tq > 0 ? visible(s, s->Tq - 1).end : 0;
    for (int64_t bg = 0; bg < s->B * s->Hkv; bg++)
        for (int64_t j = 0; j < s->Tk; j++) {
            if (first <= j && j < end) continue;
            junk_row(r, w->k + (bg * s->Tk + j) * s->D, s->D);
            junk_row(r, w->v + (bg * s->Tk + j) * s->D, s->D);
        }
}

world new_world(shape s) {
    world w = {.s = s};
    ol_rng r = ol_rng_at(ol_seed());
    w.q = ol_new(out_size(&w), sizeof *w.q);
    w.k = ol_new(kv_size(&w), sizeof *w.k);
    w.v = ol_new(kv_size(&w), sizeof *w.v);
    w.o = ol_new(out_size(&w), sizeof *w.o);
    w.lse = ol_new(rows(&w), sizeof *w.lse);
    ol_fill_unit_f32(&r, w.q, out_size(&w));
    ol_fill_unit_f32(&r, w.k, kv_size(&w));
    ol_fill_unit_f32(&r, w.v, kv_size(&w));
    if (s.sink) {
        w.sink_logits = ol_new(s.H, sizeof *w.sink_logits);
        ol_fill_unit_f32(&r, w.sink_logits, s.H);
    }
    junk_hidden(&w, &r);
    return w;
}

/* ---- Calls ------------------------------------------------------------------------------------------ */

call call_on(const world *w) {
    const shape *s = &w->s;
    return (call){
        .q = w->q, .k = w->k, .v = w->v, .o = w->o, .lse = w->lse,
        .B = s->B, .H = s->H, .Hkv = s->Hkv, .Tq = s->Tq, .Tk = s->Tk, .D = s->D,
        .scale = s->scale, .q_offset = s->q_offset, .causal = s->causal, .window = s->window,
        .sink_logits = w->sink_logits, .Br = s->Br, .Bc = s->Bc,
    };
}

tl_status attend(call c) {
    return tl_flash_attn_fwd_f32(c.q, c.k, c.v, c.o, c.lse, c.B, c.H, c.Hkv, c.Tq, c.Tk, c.D, c.scale, c.q_offset,
                                 c.causal, c.window, c.sink_logits, c.Br, c.Bc, c.scratch, c.tp);
}

void gives_status(tl_status wanted, call c) {
    OL_UNIT { ol_saw_status("tl_flash_attn_fwd_f32", attend(c)); }
    OL_ORACLE { ol_want_status("tl_flash_attn_fwd_f32", wanted); }
}

void note_world(const char *what, const world *w) {
    const shape *s = &w->s;
    ol_note("%s: B=%lld, H=%lld, Hkv=%lld, Tq=%lld, Tk=%lld, D=%lld, scale %g, q_offset %lld, causal %d, window %lld, "
            "%s, Br=%lld, Bc=%lld", what, (long long)s->B, (long long)s->H, (long long)s->Hkv, (long long)s->Tq,
            (long long)s->Tk, (long long)s->D, (double)s->scale, (long long)s->q_offset, s->causal,
            (long long)s->window, s->sink ? "sinks" : "no sinks", (long long)s->Br, (long long)s->Bc);
}

void clear_outputs(world *w) {
    ol_fill_sentinel_f32(w->o, out_size(w));
    ol_fill_sentinel_f32(w->lse, rows(w));
}

ol_shape o_dims(const world *w) {
    return OL_DIMS({"b", w->s.B}, {"head", w->s.H}, {"query", w->s.Tq}, {"d", w->s.D});
}

ol_shape lse_dims(const world *w) { return OL_DIMS({"b", w->s.B}, {"head", w->s.H}, {"query", w->s.Tq}); }

/* ---- Checks ----------------------------------------------------------------------------------------- */

static void show_outputs(const world *w) {
    ol_saw_f32("o", w->o, o_dims(w));
    ol_saw_f32("lse", w->lse, lse_dims(w));
}

void outputs_are_close(const world *w) {
    OL_UNIT { show_outputs(w); }
    OL_ORACLE {
        naive(w, w->o, w->lse);
        ol_want_close_f32("o", w->o, out_size(w), 1e-4, 1e-5);
        ol_want_close_f32("lse", w->lse, rows(w), 1e-5, 1e-5);
    }
}

void outputs_have_the_bits(const world *w) {
    OL_UNIT { show_outputs(w); }
    OL_ORACLE {
        in_order(w, w->o, w->lse);
        ol_want_bits_f32("o", w->o, out_size(w));
        ol_want_close_f32("lse", w->lse, rows(w), 1e-5, 1e-5);
    }
}

static world called_world(shape s, const char *what) {
    world w = new_world(s);
    note_world(what, &w);
    clear_outputs(&w);
    gives_status(TL_OK, call_on(&w));
    return w;
}

void world_is_close(shape s, const char *what) {
    world w = called_world(s, what);
    outputs_are_close(&w);
}

void world_gives_bits(shape s, const char *what) {
    world w = called_world(s, what);
    outputs_have_the_bits(&w);
}

/* ---- The hook --------------------------------------------------------------------------------------- */

static pthread_t watcher;
static _Atomic int64_t bytes, foreign;

static void *watching_alloc(void *user, size_t n, size_t align) {
    if (!pthread_equal(pthread_self(), watcher)) foreign++;
    if (n >= (size_t)1 << 30) return NULL;
    bytes += (int64_t)n;
    return ol_hook_alloc(user, n, align);
}

static void watching_free(void *user, void *p) {
    if (!pthread_equal(pthread_self(), watcher)) foreign++;
    ol_hook_free(user, p);
}

void watch_allocations(void) {
    watcher = pthread_self();
    bytes = foreign = 0;
    if (tl_set_allocator(&(tl_allocator){watching_alloc, watching_free, NULL}) != TL_OK) abort();
}

void stop_watching(void) {
    if (tl_set_allocator(NULL) != TL_OK) abort();
}

int64_t bytes_asked(void) { return bytes; }
int64_t foreign_calls(void) { return foreign; }
