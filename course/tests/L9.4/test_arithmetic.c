/* Sizes, windows and values at the edges of what the contract allows. */
#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- The file fixtures ------------------------------------------------------------------------------ */

typedef struct {
    const char *name;
    uint64_t seed;
    shape s;
} fixture;

/* As in course/fixtures/make_fixtures.py. The unit's process does not read files of wanted values, so it
 * has the shapes from here; the oracle holds them against the file. */
static const fixture fixtures[] = {
    {"gqa.bin", 9401, {.B = 3, .H = 6, .Hkv = 2, .D = 32, .block = 16, .layers = 2, .layer = 1,
                       .lens = {1, 37, 70}}},
    {"gqa_window.bin", 9402, {.B = 3, .H = 6, .Hkv = 2, .D = 32, .block = 16, .layers = 2, .layer = 0, .window = 20,
                              .lens = {1, 37, 70}}},
    {"mha_odd_width.bin", 9403, {.B = 4, .H = 3, .Hkv = 3, .D = 7, .block = 4, .layers = 1, .scale = 1.5f,
                                 .lens = {5, 16, 4, 23}}},
    {"newest_only.bin", 9404, {.B = 3, .H = 4, .Hkv = 1, .D = 7, .block = 4, .layers = 2, .layer = 1, .window = 1,
                               .scale = 0.5f, .lens = {1, 4, 13}}},
    {"whole_blocks.bin", 9405, {.B = 4, .H = 4, .Hkv = 2, .D = 64, .block = 16, .layers = 1, .scale = 0.125f,
                                .lens = {32, 64, 16, 48}}},
    {"sharp_window.bin", 9406, {.B = 4, .H = 8, .Hkv = 2, .D = 32, .block = 4, .layers = 2, .layer = 1, .window = 20,
                                .scale = 1.0f, .lens = {20, 21, 64, 19}}},
};

static uint32_t u32_at(const unsigned char *file, size_t at) {
    uint32_t x;
    memcpy(&x, file + at, sizeof x);
    return x;
}

enum { ANY = -1 };

/* The offsets are those of the format's table. Sizes that differ are a fault of this course. */
static void require_shape(const unsigned char *file, const fixture *f) {
    const shape *s = &f->s;
    const int64_t want[] = {s->B,      s->H,     s->Hkv,    s->D, s->block,        ANY,
                            s->layers, s->layer, s->window, 0,    (int64_t)f->seed};
    for (int k = 0; k < 11; k++) {
        if (want[k] == ANY || want[k] == u32_at(file, 8 + 4 * (size_t)k)) continue;
        fprintf(stderr, "%s: field %d is not %lld, as the test has it\n", f->name, k, (long long)want[k]);
        abort();
    }
    for (int64_t b = 0; b < s->B; b++)
        if (u32_at(file, 64 + 4 * (size_t)b) != (uint32_t)s->lens[b] || memcmp(file + 56, &s->scale, 4) != 0) {
            fprintf(stderr, "%s: scale or lens are not as the test has them\n", f->name);
            abort();
        }
}

static void want_fixture(const world *w, const fixture *f) {
    size_t size;
    const unsigned char *file = ol_fixture(f->name, &size);
    int64_t n = out_size(w);
    float *want = ol_new(n, sizeof *want);
    require_shape(file, f);
    for (int64_t i = 0; i < n; i++) {
        double x;
        memcpy(&x, file + size - (size_t)(n - i) * sizeof x, sizeof x);
        want[i] = (float)x;
    }
    ol_want_close_f32("out", want, n, 1e-5, 1e-5);
}

OL_TEST(matches_the_python_specification) {
    for (size_t k = 0; k < sizeof fixtures / sizeof *fixtures; k++) {
        fixture f = fixtures[k];
        if (f.s.scale == 0.0f) f.s.scale = 0x1.6a09e6p-3f; /* 1 / sqrt(32) */
        world w = new_world_at(f.s, f.seed);
        open_pool(&w);
        note_world(f.name, &w);
        OL_STATUS(TL_OK, decode(call_on(&w)));
        OL_UNIT { ol_saw_f32("out", w.out, out_dims(&w)); }
        OL_ORACLE { want_fixture(&w, &f); }
        close_pool(&w);
    }
}

/* ---- Blocks ----------------------------------------------------------------------------------------- */

/* 256 is the largest block that is one tile. */
OL_TEST(blocks_of_every_size) {
    static const int64_t blocks[] = {1, 2, 3, 17, 64, 255, 256};
    for (int k = 0; k < 7; k++) {
        world w = new_world((shape){.B = 5, .H = 2, .Hkv = 1, .D = 8, .block = blocks[k], .scale = 0.9f,
                                    .lens = {1, 64, 255, 256, 300}});
        open_pool(&w);
        call_gives_bits(&w, "the whole context", flash);
        w.s.window = 50;
        call_gives_bits(&w, "a window", flash);
        close_pool(&w);
    }
}

static void close_to_flash(world *w) {
    note_world("large blocks", w);
    ol_fill_sentinel_f32(w->out, out_size(w));
    OL_UNIT {
        ol_saw_status("status", decode(call_on(w)));
        ol_saw_f32("out beside L9.3", w->out, out_dims(w));
    }
    OL_ORACLE {
        float *want = ol_new(out_size(w), sizeof *want);
        flash(w, want);
        ol_want_status("status", TL_OK);
        ol_want_close_f32("out beside L9.3", want, out_size(w), 1e-4, 1e-5);
    }
}

/* Pieces are cut at the start of the block, not of the window or of the context. */
OL_TEST(large_blocks_are_scored_in_aligned_pieces) {
    static const int64_t blocks[] = {257, 300, 600, 1024}, windows[] = {0, 40, 256, 300};
    for (int k = 0; k < 4; k++) {
        world w = new_world((shape){.B = 8, .H = 2, .Hkv = 1, .D = 8, .block = blocks[k], .scale = 0.9f,
                                    .lens = {1, 256, 257, 299, 350, 513, 640, 1300}});
        open_pool(&w);
        for (int i = 0; i < 4; i++) {
            w.s.window = windows[i];
            call_gives_bits(&w, "pieces of 256", in_order);
            close_to_flash(&w);
        }
        close_pool(&w);
    }
}

/* ---- Windows ---------------------------------------------------------------------------------------- */

/* With blocks of 8: windows of one position, of a whole context and one beside it, and such that the first
 * visible position is the first or last of a block. What a window hides is junk. */
OL_TEST(windows_at_their_ends) {
    static const int64_t windows[] = {1, 2, 7, 8, 9, 15, 16, 17, 18, 32, 33, 34, INT64_MAX, 0, -1, INT64_MIN};
    for (int k = 0; k < 16; k++) {
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
    static const int64_t heads[][2] = {{1, 1}, {5, 5}, {5, 1}, {6, 3}, {12, 3}, {8, 2}};
    for (int k = 0; k < 6; k++) {
        world w = new_world((shape){.B = 2, .H = heads[k][0], .Hkv = heads[k][1], .D = 6, .block = 4, .layers = 3,
                                    .layer = k % 3, .scale = 0.8f, .lens = {9, 14}});
        world_gives_bits(&w, "heads", flash);
    }
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

/* Every score is far below 0 and exp of it is 0: only differences to the maximum count. */
OL_TEST(scores_far_below_zero) {
    world w = new_world((shape){.B = 2, .H = 2, .Hkv = 2, .D = 16, .block = 8, .scale = 100.0f, .lens = {3, 41}});
    for (int64_t i = 0; i < out_size(&w); i++) w.q[i] = w.q[i] < 0.0f ? 0.5f - w.q[i] : 0.5f + w.q[i];
    for (int64_t b = 0; b < 2; b++)
        for (int64_t g = 0; g < 2; g++)
            for (int64_t j = 0; j < w.lens[b]; j++)
                for (int64_t d = 0; d < 16; d++) cell_at(&w, b, 0, g, j)[d] |= 0x8000;
    world_gives_bits(&w, "negative scores", flash);
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
