/* What o and lse hold: the worked example, plain attention, windows, sinks, and queries that see nothing. */
#include "world.h"

#include <string.h>

/* ---- Section 3 -------------------------------------------------------------------------------------- */

/* q, k and v are those of the chapter; the seed decides nothing. */
OL_TEST(hand_example) {
    world w = new_world((shape){.B = 1, .H = 1, .Hkv = 1, .Tq = 1, .Tk = 3, .D = 2, .scale = 1.0f, .q_offset = 2,
                                .causal = 1, .Bc = 2});
    memcpy(w.q, (float[]){1, 0}, 2 * sizeof(float));
    memcpy(w.k, (float[]){1, 0, 0, 1, 1, 1}, 6 * sizeof(float));
    memcpy(w.v, (float[]){1, 2, 3, 4, 5, 6}, 6 * sizeof(float));
    note_world("section 3", &w);
    clear_outputs(&w);
    gives_status(TL_OK, call_on(&w));
    OL_UNIT {
        ol_saw_f32("o", w.o, o_dims(&w));
        ol_saw_f32("lse", w.lse, lse_dims(&w));
    }
    OL_ORACLE {
        ol_want_close_f32("o", (float[]){3.0f, 4.0f}, 2, 0.0, 1e-6);
        ol_want_close_f32("lse", (float[]){1.8619948f}, 1, 0.0, 1e-6);
    }
}

/* ---- Plain attention -------------------------------------------------------------------------------- */

/* Five key tiles of 16, the last of them short; six query tiles of 7, the last of 2. */
OL_TEST(matches_naive_attention) {
    const shape s = {.B = 2, .H = 6, .Hkv = 2, .Tq = 37, .Tk = 70, .D = 6, .scale = 0.9f, .Br = 7, .Bc = 16};
    shape t = s;
    world_is_close(t, "every query sees every key");
    t.causal = 1, t.q_offset = 33;
    world_is_close(t, "causal, the newest 37 of 70 positions");
    t.q_offset = 0;
    world_is_close(t, "causal, the oldest positions; half of the keys are in nobody's past");
    t.q_offset = 40, t.causal = -2;
    world_is_close(t, "causal, and the last queries stand beyond the keys");
    t.q_offset = INT64_C(0x100000003);
    world_is_close(t, "causal, all keys lie far in the past");
    t.q_offset = 33, t.window = 20, t.sink = 1;
    world_is_close(t, "causal, windows and sinks");
    t = s, t.Br = 0, t.Bc = 0;
    world_is_close(t, "default tiles");
    t.Tk = 3, t.H = 2, t.D = 1;
    world_is_close(t, "fewer keys than a tile has, vectors of one element");
}

/* Widths and tiles for which a buffer of fixed size would have been too small. */
OL_TEST(no_size_is_built_in) {
    world_is_close((shape){.B = 1, .H = 2, .Hkv = 1, .Tq = 3, .Tk = 5, .D = 2500, .scale = 0.05f, .causal = 1,
                           .q_offset = 2, .Br = 2, .Bc = 3}, "wide vectors");
    world_is_close((shape){.B = 1, .H = 1, .Hkv = 1, .Tq = 700, .Tk = 3, .D = 2, .scale = 1.0f, .causal = 1,
                           .Br = 600, .Bc = 2}, "a tile of many queries");
    world_gives_bits((shape){.B = 1, .H = 1, .Hkv = 1, .Tq = 2, .Tk = 5000, .D = 1, .scale = 1.0f, .Br = 1,
                             .Bc = 4500}, "a tile of many keys");
    world_gives_bits((shape){.B = 1, .H = 1, .Hkv = 1, .Tq = 2, .Tk = 5, .D = 1, .scale = 1.0f, .Br = 1,
                             .Bc = 4000000}, "a tile of more keys than the stack could hold");
}

/* ---- Windows ---------------------------------------------------------------------------------------- */

OL_TEST(windows_cut_on_the_left_only) {
    static const int64_t windows[] = {1, 2, 16, 17, 39, 40, 41, INT64_C(0x100000001), INT64_MAX, 0, -1,
                                      INT64_MIN};
    shape s = {.B = 1, .H = 2, .Hkv = 1, .Tq = 23, .Tk = 40, .D = 8, .scale = 1.5f, .q_offset = 17, .Br = 5, .Bc = 16};
    for (int causal = 0; causal < 2; causal++)
        for (size_t n = 0; n < sizeof windows / sizeof *windows; n++) {
            s.causal = causal;
            s.window = windows[n];
            world_is_close(s, causal ? "causal" : "not causal: the window leaves the right side open");
        }
}

/* ---- Sinks ------------------------------------------------------------------------------------------ */

static void sinks_at(float level, const char *what) {
    world w = new_world((shape){.B = 2, .H = 4, .Hkv = 2, .Tq = 9, .Tk = 21, .D = 8, .scale = 1.0f, .causal = 1,
                                .q_offset = 12, .sink = 1, .Br = 4, .Bc = 8});
    for (int64_t h = 0; h < w.s.H; h++) w.sink_logits[h] += level + (float)h;
    note_world(what, &w);
    clear_outputs(&w);
    gives_status(TL_OK, call_on(&w));
    outputs_have_the_bits(&w);
}

OL_TEST(sinks_weigh_in_the_denominator) {
    sinks_at(0.0f, "sinks among the scores");
    sinks_at(7.0f, "sinks above the scores");
    sinks_at(200.0f, "sinks far above: nothing is left for the values");
    sinks_at(-200.0f, "sinks far below: as if there were none");
}

/* ---- Nothing to see --------------------------------------------------------------------------------- */

static void sees_nothing(shape s, const char *what) {
    for (s.sink = 0; s.sink < 2; s.sink++) world_gives_bits(s, what);
}

OL_TEST(rows_without_keys_are_zeros) {
    const shape s = {.B = 2, .H = 4, .Hkv = 2, .Tq = 9, .Tk = 6, .D = 5, .scale = 1.0f, .q_offset = 3, .Br = 4, .Bc = 4};
    shape t = s;
    t.window = 4;
    sees_nothing(t, "the window of the last queries begins after the keys");
    t.causal = 1;
    sees_nothing(t, "the same, causal");
    t.window = 1, t.q_offset = 100;
    sees_nothing(t, "no query sees a key");
    t.q_offset = INT64_MAX - t.Tq;
    sees_nothing(t, "no query sees a key, at the largest positions");
    t.causal = 0;
    sees_nothing(t, "the same, not causal");
    t = s, t.Tk = 0;
    sees_nothing(t, "there are no keys");
}

/* Tensors without elements may be NULL. */
OL_TEST(sizes_of_zero_are_valid) {
    world w = new_world((shape){.B = 2, .H = 4, .Hkv = 2, .Tq = 3, .Tk = 0, .D = 5, .scale = 1.0f, .sink = 1});
    note_world("no keys, k and v NULL", &w);
    clear_outputs(&w);
    call c = call_on(&w);
    c.k = c.v = NULL;
    gives_status(TL_OK, c);
    outputs_have_the_bits(&w);

    ol_note("vectors without elements, q, k, v, o and lse NULL");
    c = (call){.B = 2, .H = 4, .Hkv = 2, .Tq = 3, .Tk = 3, .scale = 1.0f};
    gives_status(TL_OK, c);

    ol_note("vectors without elements and three keys: every score is 0");
    float lse[1] = {-7.0f};
    c = (call){.B = 1, .H = 1, .Hkv = 1, .Tq = 1, .Tk = 3, .scale = 1.0f, .lse = lse};
    gives_status(TL_OK, c);
    OL_UNIT { ol_saw_f32("lse", lse, OL_DIMS({"query", 1})); }
    OL_ORACLE { ol_want_close_f32("lse", (float[]){1.0986123f}, 1, 1e-5, 1e-5); }

    w = new_world((shape){.B = 2, .H = 4, .Hkv = 2, .Tq = 3, .Tk = 4, .D = 5, .scale = 1.0f});
    for (int which = 0; which < 2; which++) {
        ol_note("%s is 0: nothing is written", which ? "Tq" : "B");
        clear_outputs(&w);
        c = call_on(&w);
        *(which ? &c.Tq : &c.B) = 0;
        gives_status(TL_OK, c);
        OL_UNIT {
            ol_saw_f32("untouched o", w.o, o_dims(&w));
            ol_saw_f32("untouched lse", w.lse, lse_dims(&w));
        }
        OL_ORACLE {
            ol_want_bits_f32("untouched o", w.o, out_size(&w));
            ol_want_bits_f32("untouched lse", w.lse, rows(&w));
        }
    }
}
