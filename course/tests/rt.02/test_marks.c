/* The tests of marks: rewinding gives back exactly what came after them. */
#include <string.h>

#include "arena_world.h"

enum { BATCH = 12, DEPTH = 4, LEVELS = 1 << DEPTH };

/* What a level of nested marks has seen; each is an array over the levels. */
static int64_t at_mark[LEVELS][2], rewound[LEVELS][2], blocks[LEVELS][2], replayed[LEVELS][2], spoilt[LEVELS];
static int n_levels;

static void draw_batch(tl_arena *arena, ol_rng r) {
    for (int k = 0; k < BATCH; k++) {
        size_t n = 1 + ol_below(&r, 300), align = (size_t)1 << ol_below(&r, 7);
        unsigned char *p = tl_arena_alloc(arena, n, align);
        if (p) memset(p, 0xFF, n);
    }
}

/* Takes a mark; draws a batch, with levels of their own in it; rewinds; draws the same batch again; rewinds. */
static void nest(tl_arena *arena, ol_rng *r, int depth) {
    if (depth == 0) return;
    int level = n_levels++;
    unsigned char *below = tl_arena_alloc(arena, 16, 1);
    if (below) memset(below, level, 16);
    tl_arena_mark mark = tl_arena_mark_get(arena);
    ol_rng batch = *r;
    ol_next(r);
    at_mark[level][0] = at_mark[level][1] = used_of(arena);

    draw_batch(arena, batch);
    nest(arena, r, depth - 1);
    nest(arena, r, depth - 1);
    tl_arena_reset_to(arena, mark);
    rewound[level][0] = used_of(arena);
    blocks[level][0] = blocks_of(arena), blocks[level][1] = reserved_of(arena);

    draw_batch(arena, batch);
    replayed[level][0] = blocks_of(arena), replayed[level][1] = reserved_of(arena);
    tl_arena_reset_to(arena, mark);
    rewound[level][1] = used_of(arena);
    for (int i = 0; below && i < 16; i++) spoilt[level] += below[i] != level;
}

OL_TEST(marks_nest) {
    ol_rng r = ol_rng_at(ol_seed());
    ol_shape dims = OL_DIMS({"level", LEVELS - 1}, {"value", 2});
    follow_the_hook();
    ol_note("%d marks nested %d deep, %d requests after each, blocks of 512 bytes", LEVELS - 1, DEPTH, BATCH);
    OL_UNIT {
        tl_arena *arena = NULL;
        tl_arena_create(512, &arena);
        nest(arena, &r, DEPTH);
        ol_saw_i64("used at the mark", at_mark[0], dims);
        ol_saw_i64("used after each rewind", rewound[0], dims);
        ol_saw_i64("blocks and bytes reserved", blocks[0], dims);
        ol_saw_i64("after the same requests again", replayed[0], dims);
        ol_saw_i64("bytes spoilt below the mark", spoilt, OL_DIMS({"level", LEVELS - 1}));
        tl_arena_destroy(arena);
        ol_saw_int("live after destroy", ol_hook_live());
    }
    OL_ORACLE {
        ol_want_same("used at the mark", "used after each rewind");
        ol_want_same("blocks and bytes reserved", "after the same requests again");
        ol_want_i64("bytes spoilt below the mark", (int64_t[LEVELS]){0}, LEVELS - 1);
        ol_want_int("live after destroy", 0);
    }
}

/* 10 blocks, back to the third; 7 more must come out of those that were kept. */
OL_TEST(rewound_blocks_are_used_again) {
    follow_the_hook();
    ol_note("10 requests of a whole block, back to the mark after 3 of them, then 7 more");
    OL_UNIT {
        tl_arena *arena = NULL;
        unsigned char *p[10], *again[10];
        tl_arena_mark start = {0, 0}, third = {0, 0};
        int64_t figures[3][4];
        tl_arena_create(100, &arena);
        start = tl_arena_mark_get(arena);
        for (int k = 0; k < 10; k++) {
            p[k] = tl_arena_alloc(arena, 100, 1);
            memset(p[k], k, 100);
            if (k == 2) third = tl_arena_mark_get(arena);
        }
        int64_t hook = ol_hook_allocs();
#define LOOK(k)                                                                                           \
    memcpy(figures[k], (int64_t[]){used_of(arena), blocks_of(arena), reserved_of(arena), high_water_of(arena)}, 32)
        LOOK(0);
        tl_arena_reset_to(arena, third);
        LOOK(1);
        for (int k = 3; k < 10; k++) memset(again[k] = tl_arena_alloc(arena, 100, 1), 100 + k, 100);
        int64_t lost = 0;
        for (int i = 0; i < 300; i++) lost += p[i / 100][i % 100] != i / 100;
        tl_arena_reset_to(arena, start);
        LOOK(2);
#undef LOOK
        ol_saw_i64("figures", figures[0], OL_DIMS({"moment", 3}, {"used, blocks, reserved, high water", 4}));
        ol_saw_int("bytes changed below the mark", lost);
        ol_saw_int("calls of the hook since", ol_hook_allocs() - hook);
        tl_arena_destroy(arena);
    }
    OL_ORACLE {
        ol_want_i64("figures", (int64_t[]){1000, 10, 1000, 1000, 300, 10, 1000, 1000, 0, 10, 1000, 1000}, 12);
        ol_want_int("bytes changed below the mark", 0);
        ol_want_int("calls of the hook since", 0);
    }
}

static void rewind_is_refused(tl_arena *arena, tl_arena_mark mark, const char *why) {
    ol_note("%s", why);
    OL_UNIT {
        int64_t before[STATE], after[STATE];
        tl_set_last_error(NULL);
        look_at(arena, before);
        tl_arena_reset_to(arena, mark);
        look_at(arena, after);
        ol_saw_i64("before", before, OL_DIMS({"field", STATE}));
        ol_saw_i64("after", after, OL_DIMS({"field", STATE}));
        ol_saw_text("slot", tl_last_error());
    }
    OL_ORACLE {
        ol_want_same("before", "after");
        ol_want_text_with("slot", "tl_arena_reset_to");
    }
}

static void rewind_is_accepted(tl_arena *arena, tl_arena_mark mark, const char *why) {
    ol_note("%s", why);
    OL_UNIT {
        tl_set_last_error(NULL);
        tl_arena_reset_to(arena, mark);
        ol_saw_text("slot", tl_last_error());
    }
    OL_ORACLE { ol_want_text("slot", ""); }
}

OL_TEST(later_marks_are_refused) {
    tl_arena *arena = NULL;
    tl_arena_mark start = {0, 0}, early = {0, 0}, late = {0, 0}, second = {0, 0};
    follow_the_hook();
    OL_STATUS(TL_OK, tl_arena_create(128, &arena));
    rewind_is_accepted(arena, (tl_arena_mark){0, 0}, "an empty arena, to its start");
    rewind_is_refused(arena, (tl_arena_mark){1, 0}, "an empty arena, to byte 1");
    rewind_is_refused(arena, (tl_arena_mark){0, 1}, "an empty arena, to block 1");
    OL_UNIT {
        start = tl_arena_mark_get(arena);
        tl_arena_alloc(arena, 40, 1);
        early = tl_arena_mark_get(arena);
        tl_arena_alloc(arena, 40, 1);
        late = tl_arena_mark_get(arena);
        tl_arena_alloc(arena, 100, 1);
        second = tl_arena_mark_get(arena);
    }
    rewind_is_refused(arena, (tl_arena_mark){second.offset + 1, second.block}, "one byte later than the arena stands");
    rewind_is_refused(arena, (tl_arena_mark){0, second.block + 1}, "in a block that is not there");
    rewind_is_refused(arena, (tl_arena_mark){0, SIZE_MAX}, "in block SIZE_MAX");
    rewind_is_accepted(arena, second, "to where the arena stands");
    rewind_is_accepted(arena, late, "to the first block");
    rewind_is_refused(arena, second, "to the second block, after a rewind to the first");
    rewind_is_accepted(arena, early, "further back in the block");
    rewind_is_refused(arena, late, "to a mark that the last rewind went below");
    rewind_is_accepted(arena, start, "to the start");
    rewind_is_refused(arena, early, "to any mark, after a rewind to the start");
    rewind_is_refused(arena, (tl_arena_mark){0, 1}, "to the first byte of a block that was kept");
    ol_note("40 bytes from the start again");
    OL_UNIT {
        tl_arena_alloc(arena, 40, 1);
        ol_saw_i64("used and blocks", (int64_t[]){used_of(arena), blocks_of(arena)}, OL_DIMS({"field", 2}));
        tl_arena_destroy(arena);
    }
    OL_ORACLE { ol_want_i64("used and blocks", (int64_t[]){40, 2}, 2); }
}
