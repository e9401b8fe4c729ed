/* Against the Python specification, whose answers are stored in course/fixtures/L9.4. */
#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
