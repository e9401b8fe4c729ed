/* Which bits o holds: those of the header's order of operations, however the work is divided. */
#include "world.h"

#include <math.h>
#include <string.h>

/* ---- The order -------------------------------------------------------------------------------------- */

static shape draw_shape(ol_rng *r) {
    static const int64_t groups[] = {1, 2, 3}, tiles[] = {1, 2, 5, 8, 16, 33, 100, 0};
    static const float scales[] = {0.3f, 1.0f, 2.5f, -1.0f, 8.0f};
    shape s = {0};
    s.B = 1 + ol_below(r, 2);
    s.Hkv = 1 + ol_below(r, 2);
    s.Tq = 1 + ol_below(r, 14);
    s.Tk = 1 + ol_below(r, 90);
    s.D = 1 + ol_below(r, 9);
    s.causal = (int)ol_below(r, 2);
    s.H = s.Hkv * groups[ol_below(r, 3)];
    s.q_offset = ol_below(r, (uint32_t)s.Tk);
    s.window = ol_below(r, 2) ? 1 + ol_below(r, 40) : 0;
    s.sink = (int)ol_below(r, 2);
    s.scale = scales[ol_below(r, 5)];
    s.Br = tiles[ol_below(r, 8)];
    s.Bc = tiles[ol_below(r, 8)];
    return s;
}

OL_TEST(follows_the_order_of_operations_bitwise) {
    shape s = {.B = 1, .H = 6, .Hkv = 2, .Tq = 21, .Tk = 150, .D = 6, .scale = 0.9f, .q_offset = 129, .causal = 1,
               .Br = 8, .Bc = 16};
    world_gives_bits(s, "tiles of 16");
    s.window = 37, s.sink = 1;
    world_gives_bits(s, "tiles of 16 under a window");
    s.Bc = 0;
    world_gives_bits(s, "tiles of 64 by default");
    ol_rng r = ol_rng_at(ol_seed() ^ UINT64_C(0x0cde));
    for (int k = 0; k < 60; k++) world_gives_bits(draw_shape(&r), "a random problem");
}

/* Values of -0 show whether sums start at +0. */
OL_TEST(negative_zero_values_give_zero) {
    world w = new_world((shape){.B = 1, .H = 2, .Hkv = 1, .Tq = 5, .Tk = 9, .D = 3, .scale = 1.0f, .causal = 1,
                                .q_offset = 4, .Bc = 4});
    for (int64_t j = 0; j < w.s.Tk; j++) w.v[j * w.s.D + 1] = -0.0f;
    note_world("element 1 of every value is -0", &w);
    clear_outputs(&w);
    gives_status(TL_OK, call_on(&w));
    outputs_have_the_bits(&w);
}

/* ---- Scores and weights of every size --------------------------------------------------------------- */

/* All scores have one sign: the products of |q| and |k|, times the scale. */
static void scores_times(float scale) {
    world w = new_world((shape){.B = 1, .H = 2, .Hkv = 1, .Tq = 6, .Tk = 20, .D = 4, .scale = scale, .Br = 4, .Bc = 8});
    for (int64_t n = 0; n < out_size(&w); n++) w.q[n] = fabsf(w.q[n]);
    for (int64_t n = 0; n < kv_size(&w); n++) w.k[n] = fabsf(w.k[n]);
    note_world("scores of one sign", &w);
    clear_outputs(&w);
    gives_status(TL_OK, call_on(&w));
    outputs_have_the_bits(&w);
}

OL_TEST(scores_of_any_size) {
    static const float scales[] = {0.0f, 1e-30f, 0.3f, 25.0f, 1e33f, -0.3f, -25.0f, -1e33f};
    for (int n = 0; n < 8; n++) scores_times(scales[n]);
}

/* Three keys: one that has nearly all of the weight and no value, and two whose values outweigh their weights. */
static void light_keys(int heaviest) {
    static const float scores[] = {0.0f, -30.0f, -80.0f}, sizes[] = {0.0f, 1e12f, 1e34f};
    world w = new_world((shape){.B = 1, .H = 1, .Hkv = 1, .Tq = 1, .Tk = 3, .D = 2, .scale = 1.0f, .Bc = 1});
    w.q[0] = 1.0f, w.q[1] = 0.0f;
    for (int j = 0; j < 3; j++) {
        const int n = (j + heaviest) % 3;
        w.k[2 * j] = scores[n];
        for (int d = 0; d < 2; d++) w.v[2 * j + d] *= sizes[n];
    }
    ol_note("three keys with scores of 0, -30 and -80, turned by %d places", heaviest);
    clear_outputs(&w);
    gives_status(TL_OK, call_on(&w));
    outputs_have_the_bits(&w);
}

OL_TEST(tiny_weights_count) {
    for (int heaviest = 0; heaviest < 3; heaviest++) light_keys(heaviest);
}

/* ---- Divisions of the work -------------------------------------------------------------------------- */

/* Beside the world's own outputs, those of a call on the same world made in another way. */
typedef struct {
    float *o, *lse;
} outputs;

static outputs new_outputs(const world *w) {
    outputs x = {ol_new(out_size(w), sizeof *x.o), ol_new(rows(w), sizeof *x.lse)};
    ol_fill_sentinel_f32(x.o, out_size(w));
    ol_fill_sentinel_f32(x.lse, rows(w));
    return x;
}

static void same_as_one_call(const world *w, outputs x) {
    OL_UNIT {
        ol_saw_f32("o of one call", w->o, o_dims(w));
        ol_saw_f32("o", x.o, o_dims(w));
        ol_saw_f32("lse of one call", w->lse, lse_dims(w));
        ol_saw_f32("lse", x.lse, lse_dims(w));
    }
    OL_ORACLE {
        ol_want_same("o of one call", "o");
        ol_want_same("lse of one call", "lse");
    }
}

static world one_call(shape s, const char *what) {
    world w = new_world(s);
    note_world(what, &w);
    clear_outputs(&w);
    gives_status(TL_OK, call_on(&w));
    outputs_have_the_bits(&w);
    return w;
}

static const shape WHOLE = {.B = 3, .H = 2, .Hkv = 1, .Tq = 29, .Tk = 61, .D = 4, .scale = 1.5f, .q_offset = 32,
                            .causal = 1, .window = 24, .sink = 1, .Br = 8, .Bc = 16};

OL_TEST(query_tiles_never_change_bits) {
    static const int64_t tiles[] = {1, 2, 7, 28, 29, 30, 64, 1000};
    for (int causal = 0; causal < 2; causal++) {
        shape s = WHOLE;
        s.causal = causal;
        world w = one_call(s, "Br=8");
        for (int k = 0; k < 8; k++) {
            outputs x = new_outputs(&w);
            call c = call_on(&w);
            c.o = x.o, c.lse = x.lse, c.Br = tiles[k];
            ol_note("the same with Br=%lld", (long long)c.Br);
            gives_status(TL_OK, c);
            same_as_one_call(&w, x);
        }
    }
}

OL_TEST(a_row_does_not_depend_on_its_batch) {
    world w = one_call(WHOLE, "three problems at once");
    outputs x = new_outputs(&w);
    const int64_t n = w.s.H * w.s.Tq, n_kv = w.s.Hkv * w.s.Tk * w.s.D;
    for (int64_t b = 0; b < w.s.B; b++) {
        call c = call_on(&w);
        c.B = 1;
        c.q += b * n * w.s.D, c.k += b * n_kv, c.v += b * n_kv;
        c.o = x.o + b * n * w.s.D, c.lse = x.lse + b * n;
        ol_note("problem %lld alone", (long long)b);
        gives_status(TL_OK, c);
    }
    same_as_one_call(&w, x);
}

/* Queries from .. to - 1 of a world of one head as a call of their own, over the first Tk keys. */
static call chunk(const world *w, int64_t from, int64_t to, int64_t Tk, outputs x) {
    call c = call_on(w);
    c.Tq = to - from, c.Tk = Tk, c.q_offset += from;
    c.q += from * w->s.D, c.o = x.o + from * w->s.D, c.lse = x.lse + from;
    return c;
}

/* A causal chunk is also the same before the keys after it exist. */
OL_TEST(chunks_of_a_prefill_equal_one_call_bitwise) {
    static const int64_t cut[] = {0, 1, 14, 15, 31, 47};
    for (int causal = 0; causal < 2; causal++) {
        shape s = {.B = 1, .H = 1, .Hkv = 1, .Tq = 47, .Tk = 50, .D = 12, .scale = 1.0f, .q_offset = 3,
                   .causal = causal, .sink = 1, .Br = 8, .Bc = 16};
        world w = one_call(s, "47 queries at once");
        for (int newest_only = 0; newest_only <= causal; newest_only++) {
            outputs x = new_outputs(&w);
            for (int k = 0; k < 5; k++) {
                int64_t Tk = newest_only ? s.q_offset + cut[k + 1] : s.Tk;
                ol_note("queries %d..%d over %d keys", (int)cut[k], (int)cut[k + 1] - 1, (int)Tk);
                gives_status(TL_OK, chunk(&w, cut[k], cut[k + 1], Tk, x));
            }
            same_as_one_call(&w, x);
        }
    }
}

/* ---- One bad row ------------------------------------------------------------------------------------ */

/* Query 5 of head 1 becomes NaN. What it gives is open; the rows around it keep their bits. */
OL_TEST(a_nan_query_spoils_its_own_row_only) {
    world w = new_world((shape){.B = 1, .H = 2, .Hkv = 1, .Tq = 11, .Tk = 40, .D = 8, .scale = 1.0f, .q_offset = 29,
                                .causal = 1, .Br = 4, .Bc = 16});
    const int64_t bad = w.s.Tq + 5, D = w.s.D;
    note_world("all rows but query 5 of head 1", &w);
    clear_outputs(&w);
    OL_ORACLE { in_order(&w, w.o, w.lse); }
    for (int64_t d = 0; d < D; d++) w.q[bad * D + d] = NAN;
    gives_status(TL_OK, call_on(&w));
    for (int64_t d = 0; d < D; d++) w.o[bad * D + d] = 0.0f;
    w.lse[bad] = 0.0f;
    OL_UNIT {
        ol_saw_f32("o", w.o, o_dims(&w));
        ol_saw_f32("lse", w.lse, lse_dims(&w));
    }
    OL_ORACLE {
        ol_want_bits_f32("o", w.o, out_size(&w));
        ol_want_close_f32("lse", w.lse, rows(&w), 1e-5, 1e-5);
    }
}
