/* Sizes, windows and values at the edges of what the contract allows. */
#include "world.h"

/* ---- Blocks ----------------------------------------------------------------------------------------- */

/* 256 is the largest block that is one tile. */
OL_TEST(blocks_of_every_size) {
    static const int64_t blocks[] = {1, 2, 3, 17, 64, 255, 256};
    for (int k = 0; k < 7; k++) {
        world w = new_world((shape){.B = 4, .H = 1, .Hkv = 1, .D = 3, .block = blocks[k], .scale = 0.9f,
                                    .lens = {1, 64, 70, 260}});
        open_pool(&w);
        call_gives_bits(&w, "the whole context", flash);
        w.s.window = 50;
        call_gives_bits(&w, "a window", flash);
        close_pool(&w);
    }
}

static void is_close_to_flash(const world *w) {
    OL_UNIT { ol_saw_f32("out beside L9.3", w->out, out_dims(w)); }
    OL_ORACLE {
        float *want = ol_new(out_size(w), sizeof *want);
        flash(w, want);
        ol_want_close_f32("out beside L9.3", want, out_size(w), 1e-4, 1e-5);
    }
}

/* Pieces are cut at the start of the block, not of the window or of the context. */
OL_TEST(large_blocks_are_scored_in_aligned_pieces) {
    static const int64_t blocks[] = {257, 300, 600, 1024}, windows[] = {0, 40, 95, 256, 300};
    for (int k = 0; k < 4; k++) {
        world w = new_world((shape){.B = 5, .H = 1, .Hkv = 1, .D = 1, .block = blocks[k], .scale = 0.9f,
                                    .lens = {1, 257, 350, 513, 1030}});
        open_pool(&w);
        for (int i = 0; i < 5; i++) {
            w.s.window = windows[i];
            call_gives_bits(&w, "pieces of 256", in_order);
            is_close_to_flash(&w);
        }
        close_pool(&w);
    }
}

/* ---- Windows ---------------------------------------------------------------------------------------- */

/* With blocks of 8: windows of one position, of a whole context and one beside it, and such that the first
 * visible position is the first or last of a block. What a window hides is junk. */
OL_TEST(windows_at_their_ends) {
    const int64_t wide = INT64_C(1) << 32; /* beyond 32 bits, a small window */
    const int64_t windows[] = {1,  2,  7,  8,        9,        15,        16, 17, 18,
                               32, 33, 34, wide + 2, 3 - wide, INT64_MAX, 0,  -1, INT64_MIN};
    for (int k = 0; k < 18; k++) {
        world w = new_world((shape){.B = 5, .H = 4, .Hkv = 2, .D = 4, .block = 8, .window = windows[k], .scale = 0.8f,
                                    .lens = {1, 8, 16, 17, 33}});
        junk_before_windows(&w);
        world_gives_bits(&w, "window", flash);
    }
}

/* ---- Widths and heads ------------------------------------------------------------------------------- */

OL_TEST(widths_that_are_no_multiple_of_four) {
    static const int64_t widths[] = {1, 2, 3, 5, 7, 9, 15, 33, 130};
    for (int k = 0; k < 9; k++) {
        world w = new_world((shape){.B = 3, .H = 4, .Hkv = 2, .D = widths[k], .block = 4, .scale = 0.8f,
                                    .lens = {1, 6, 11}});
        world_gives_bits(&w, "width", flash);
    }
}

OL_TEST(groups_of_every_size) {
    static const int64_t heads[][2] = {{1, 1}, {5, 5}, {5, 1}, {6, 3}, {12, 3}, {8, 2}, {300, 3}};
    for (int k = 0; k < 7; k++) {
        world w = new_world((shape){.B = 2, .H = heads[k][0], .Hkv = heads[k][1], .D = 3, .block = 4, .layers = 3,
                                    .layer = k % 3, .scale = 0.8f, .lens = {3, 6}});
        world_gives_bits(&w, "heads", flash);
    }
    world w = new_world((shape){.B = 1, .H = 6, .Hkv = 6, .D = 53, .block = 256, .scale = 0.1f, .lens = {3}});
    world_gives_bits(&w, "the last head more than 2^16 elements into its slab", flash);
}

/* ---- Values ----------------------------------------------------------------------------------------- */

OL_TEST(scales_of_every_kind) {
    static const float scales[] = {0.0f, 1.0f, -1.0f, 0.3f, 25.0f, -25.0f, 1e-30f};
    for (int k = 0; k < 7; k++) {
        world w = new_world((shape){.B = 2, .H = 2, .Hkv = 1, .D = 16, .block = 8, .scale = scales[k],
                                    .lens = {7, 41}});
        world_gives_bits(&w, "scale", flash);
    }
}

/* Every score is so far below 0 that its exponential is 0: only differences to the maximum count. */
OL_TEST(scores_far_below_zero) {
    static const float scales[] = {100.0f, 1e4f, 1e32f};
    for (int k = 0; k < 3; k++) {
        world w = new_world((shape){.B = 2, .H = 2, .Hkv = 2, .D = 16, .block = 8, .scale = scales[k],
                                    .lens = {3, 41}});
        for (int64_t i = 0; i < out_size(&w); i++) w.q[i] = w.q[i] < 0.0f ? 0.5f - w.q[i] : 0.5f + w.q[i];
        for (int64_t b = 0; b < 2; b++)
            for (int64_t g = 0; g < 2; g++)
                for (int64_t j = 0; j < w.lens[b]; j++)
                    for (int64_t d = 0; d < 16; d++) cell_at(&w, b, 0, g, j)[d] |= 0x8000;
        world_gives_bits(&w, "negative scores", flash);
    }
}

/* One key weighs 1 and its value is 0; the output is what all others add, at exp(-30) or exp(-80) each. */
OL_TEST(tiny_weights_count) {
    static const float scales[] = {30.0f, 80.0f};
    for (int k = 0; k < 2; k++) {
        world w = new_world((shape){.B = 1, .H = 1, .Hkv = 1, .D = 4, .block = 4, .scale = scales[k], .lens = {30}});
        ol_rng r = ol_rng_at(ol_seed());
        const int64_t heavy = ol_below(&r, 30);
        for (int64_t d = 0; d < 4; d++) {
            w.q[d] = 0.25f;
            for (int64_t j = 0; j < 30; j++) {
                cell_at(&w, 0, 0, 0, j)[d] = j == heavy ? 0x0000 : 0xBC00; /* 0, else -1 */
                cell_at(&w, 0, 1, 0, j)[d] = j == heavy ? 0x0000 : 0x7BFF; /* 0, else 65504 */
            }
        }
        world_gives_bits(&w, "one heavy key of no value", flash);
    }
}

/* Finite binary16 codes of all magnitudes, subnormals and both zeros among them. */
static void draw_codes(world *w, int is_v) {
    ol_rng r = ol_rng_at(~ol_seed() - (uint64_t)is_v);
    for (int64_t b = 0; b < w->s.B; b++)
        for (int64_t g = 0; g < w->s.Hkv; g++)
            for (int64_t j = 0; j < w->lens[b]; j++)
                for (int64_t d = 0; d < w->s.D; d++) {
                    uint32_t sign = ol_below(&r, 2) << 15, magnitude = ol_below(&r, 0x7C00);
                    if (ol_below(&r, 4) == 0) magnitude = ol_below(&r, 4); /* 0 and the smallest subnormals */
                    cell_at(w, b, is_v, g, j)[d] = (uint16_t)(sign | magnitude);
                }
}

/* A context of one position gives back its value, but +0 for -0: a sum starts at +0. */
OL_TEST(binary16_codes_of_every_kind) {
    world w = new_world((shape){.B = 4, .H = 4, .Hkv = 2, .D = 24, .block = 8, .scale = 0x1p-16f,
                                .lens = {1, 1, 5, 50}});
    draw_codes(&w, 0);
    draw_codes(&w, 1);
    for (int64_t d = 0; d < 24; d += 3) cell_at(&w, 0, 1, 0, 0)[d] = 0x8000;
    world_gives_bits(&w, "codes", flash);
}
