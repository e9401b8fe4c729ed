/* The tests of arena.h: where memory lies, and when nothing may change. Rewinding has a file of its own. */
#include <string.h>

#include "arena_world.h"

/* ---- Section 3 -------------------------------------------------------------------------------------- */

static void walk_example(void) {
    int64_t used[7], n_blocks[7], reserved[7];
    int step = 0;
    tl_arena *arena = NULL;
    tl_arena_create(256, &arena);
    tl_arena_mark empty = tl_arena_mark_get(arena);
#define LOOK() (used[step] = used_of(arena), n_blocks[step] = blocks_of(arena), reserved[step++] = reserved_of(arena))
    LOOK();
    unsigned char *A = tl_arena_alloc(arena, 10, 0);
    LOOK();
    tl_arena_mark mark = tl_arena_mark_get(arena);
    unsigned char *B = tl_arena_alloc(arena, 100, 64);
    LOOK();
    unsigned char *C = tl_arena_alloc(arena, 4, 4);
    LOOK();
    tl_arena_alloc(arena, 200, 8);
    LOOK();
    tl_arena_reset_to(arena, mark);
    LOOK();
    unsigned char *E = tl_arena_alloc(arena, 20, 16);
    LOOK();
#undef LOOK
    ol_saw_int("A mod 64", (int64_t)((uintptr_t)A % 64));
    ol_saw_i64("B, C, E from A", (int64_t[]){B - A, C - A, E - A}, OL_DIMS({"allocation", 3}));
    ol_saw_i64("blocks", n_blocks, OL_DIMS({"step", 7}));
    ol_saw_i64("bytes reserved", reserved, OL_DIMS({"step", 7}));
    ol_saw_i64("first mark", (int64_t[]){(int64_t)empty.offset, (int64_t)empty.block}, OL_DIMS({"field", 2}));
    ol_saw_int("used at first", used[0]);
    ol_saw_i64("growth by B, C and E", (int64_t[]){used[2] - used[1], used[3] - used[2], used[6] - used[5]},
               OL_DIMS({"allocation", 3}));
    ol_saw_int("used at the mark", used[1]);
    ol_saw_int("used after the rewind", used[5]);
    ol_saw_int("used after D", used[4]);
    ol_saw_int("high water", high_water_of(arena));
    tl_arena_destroy(arena);
}

OL_TEST(hand_example) {
    ol_note("section 3: blocks of 256 bytes; A 10, B 100, C 4, D 200, back to the mark after A, E 20");
    OL_UNIT { walk_example(); }
    OL_ORACLE {
        ol_want_int("A mod 64", 0);
        ol_want_i64("B, C, E from A", (int64_t[]){64, 164, 16}, 3);
        ol_want_i64("blocks", (int64_t[]){0, 1, 1, 1, 2, 2, 2}, 7);
        ol_want_i64("bytes reserved", (int64_t[]){0, 256, 256, 256, 512, 512, 512}, 7);
        ol_want_i64("first mark", (int64_t[]){0, 0}, 2);
        ol_want_int("used at first", 0);
        ol_want_i64("growth by B, C and E", (int64_t[]){154, 4, 26}, 3);
        ol_want_same("used at the mark", "used after the rewind");
        ol_want_same("used after D", "high water");
    }
}

/* ---- Where memory lies ------------------------------------------------------------------------------ */

enum { REQUESTS = 150 };

typedef struct {
    size_t n, align;
} request;

static request any_request(ol_rng *r) {
    size_t n = 1 + ol_below(r, ol_below(r, 8) == 0 ? 2000 : 200);
    uint32_t k = ol_below(r, 14);
    return (request){n, k == 13 ? 0 : (size_t)1 << k};
}

static unsigned char pattern(int k, size_t i) { return (unsigned char)(31 * k + 7 * (int)(i % 251)); }

/* Requests alternate between two arenas; each is filled, and all are read again at the end. */
static void draw_from_two(size_t block_bytes, const request *q, size_t total) {
    tl_arena *arena[2] = {NULL, NULL};
    unsigned char *given[REQUESTS], *bytes = ol_new((int64_t)total, 1), *at = bytes;
    int64_t remainder[REQUESTS];
    tl_arena_create(block_bytes, &arena[0]);
    tl_arena_create(block_bytes, &arena[1]);
    for (int k = 0; k < REQUESTS; k++) {
        size_t align = q[k].align ? q[k].align : 64;
        given[k] = tl_arena_alloc(arena[k % 2], q[k].n, q[k].align);
        remainder[k] = given[k] ? (int64_t)((uintptr_t)given[k] % align) : -1;
        for (size_t i = 0; given[k] && i < q[k].n; i++) given[k][i] = pattern(k, i);
    }
    for (int k = 0; k < REQUESTS; at += q[k++].n)
        if (given[k]) memcpy(at, given[k], q[k].n);
    ol_saw_i64("address mod align", remainder, OL_DIMS({"request", REQUESTS}));
    ol_saw_u8("content of all", bytes, OL_DIMS({"byte", (int64_t)total}));
    tl_arena_destroy(arena[0]);
    tl_arena_destroy(arena[1]);
    ol_saw_int("live after destroy", ol_hook_live());
}

OL_TEST(memory_is_aligned_and_disjoint) {
    static const size_t block_bytes[] = {1, 64, 1000, 4096, 0};
    ol_rng r = ol_rng_at(ol_seed());
    follow_the_hook();
    for (int round = 0; round < 5; round++) {
        request q[REQUESTS];
        size_t total = 0;
        for (int k = 0; k < REQUESTS; k++) total += (q[k] = any_request(&r)).n;
        ol_note("%d requests of two arenas with blocks of %zu bytes, alignments up to 4096", REQUESTS,
                block_bytes[round]);
        OL_UNIT { draw_from_two(block_bytes[round], q, total); }
        OL_ORACLE {
            unsigned char *bytes = ol_new((int64_t)total, 1), *at = bytes;
            for (int k = 0; k < REQUESTS; k++)
                for (size_t i = 0; i < q[k].n; i++) *at++ = pattern(k, i);
            ol_want_i64("address mod align", (int64_t[REQUESTS]){0}, REQUESTS);
            ol_want_u8("content of all", bytes, (int64_t)total);
            ol_want_int("live after destroy", 0);
        }
    }
}

/* A block holds the first request to the byte; the second needs one byte more. */
OL_TEST(oversize_requests_get_their_own_block) {
    follow_the_hook();
    ol_note("blocks of 256 bytes; requests of 256, 257, 100000 and 1, all aligned to 1");
    OL_UNIT {
        static const size_t size[] = {256, 257, 100000, 1};
        int64_t n_blocks[4], least[4];
        tl_arena *arena = NULL;
        tl_arena_create(256, &arena);
        tl_arena_mark start = tl_arena_mark_get(arena);
        for (int k = 0; k < 4; k++) {
            memset(tl_arena_alloc(arena, size[k], 1), 0x5A, size[k]);
            n_blocks[k] = blocks_of(arena);
            least[k] = reserved_of(arena) - used_of(arena) >= 0;
        }
        ol_saw_i64("blocks", n_blocks, OL_DIMS({"request", 3}));
        ol_saw_i64("reserved is at least used", least, OL_DIMS({"request", 4}));
        int64_t kept = blocks_of(arena), reserved = reserved_of(arena);
        tl_arena_reset_to(arena, start);
        for (int k = 0; k < 4; k++) memset(tl_arena_alloc(arena, size[k], 1), 0xA5, size[k]);
        ol_saw_i64("before", (int64_t[]){kept, reserved}, OL_DIMS({"blocks, bytes reserved", 2}));
        ol_saw_i64("once more", (int64_t[]){blocks_of(arena), reserved_of(arena)},
                   OL_DIMS({"blocks, bytes reserved", 2}));
        tl_arena_destroy(arena);
    }
    OL_ORACLE {
        ol_want_i64("blocks", (int64_t[]){1, 2, 3}, 3);
        ol_want_i64("reserved is at least used", (int64_t[]){1, 1, 1, 1}, 4);
        ol_want_same("before", "once more");
    }
}

OL_TEST(blocks_come_late_and_from_the_hook) {
    follow_the_hook();
    ol_note("block_bytes 0 means 1 MiB, and the first allocation makes the first block");
    OL_UNIT {
        tl_arena *arena = NULL;
        int64_t heap = ol_heap_allocs(), hook = ol_hook_allocs();
        tl_status created = tl_arena_create(0, &arena);
        int64_t early = blocks_of(arena), largest = largest_request();
        tl_arena_alloc(arena, 1, 1);
        for (int k = 0; k < 20; k++) tl_arena_alloc(arena, 1 << 20, 1);
        heap = ol_heap_allocs() - heap, hook = ol_hook_allocs() - hook;
        ol_saw_status("create", created);
        ol_saw_i64("blocks", (int64_t[]){early, blocks_of(arena)}, OL_DIMS({"early, late", 2}));
        ol_saw_int("bytes reserved", reserved_of(arena));
        OL_HOLDS("no block before it is needed", largest < 65536);
        OL_HOLDS("no memory past the hook", ol_heap_allocs() < 0 || heap == hook);
        tl_arena_destroy(arena);
        ol_saw_int("live after destroy", ol_hook_live());
        tl_arena_destroy(NULL);
    }
    OL_ORACLE {
        ol_want_status("create", TL_OK);
        ol_want_i64("blocks", (int64_t[]){0, 21}, 2);
        ol_want_int("bytes reserved", 21 << 20);
        ol_want_fact("no block before it is needed");
        ol_want_fact("no memory past the hook");
        ol_want_int("live after destroy", 0);
    }
}

/* ---- When nothing may change ------------------------------------------------------------------------ */

enum { RUNS = 40 };

/* 30 requests, of which the k-th call of the hook fails once. What the arena says of itself before and
 * after that moment goes to `state`; with no failure both are its last words. Returns whether it failed. */
static int run_with_failure(tl_arena *arena, int64_t state[2][STATE], int *named) {
    int failed = 0;
    for (int k = 0; k < 30; k++) {
        size_t n = k % 7 == 3 ? 700 : 90;
        if (!failed) look_at(arena, state[0]);
        unsigned char *p = tl_arena_alloc(arena, n, 32);
        if (!p && !failed) {
            failed = 1;
            look_at(arena, state[1]);
            *named = strstr(tl_last_error(), "tl_arena_alloc") != NULL;
            p = tl_arena_alloc(arena, n, 32);
        }
        if (p) memset(p, k, n);
    }
    if (!failed) {
        look_at(arena, state[0]);
        look_at(arena, state[1]);
    }
    return failed;
}

OL_TEST(failing_allocator_changes_nothing) {
    follow_the_hook();
    ol_note("the first allocation of all fails");
    OL_UNIT {
        tl_arena *arena = (tl_arena *)&arena;
        tl_set_last_error(NULL);
        ol_hook_fail_at(1);
        ol_saw_status("create", tl_arena_create(128, &arena));
        ol_saw_int("out is NULL", arena == NULL);
        ol_saw_text("slot", tl_last_error());
    }
    OL_ORACLE {
        ol_want_status("create", TL_ENOMEM);
        ol_want_int("out is NULL", 1);
        ol_want_text_with("slot", "tl_arena_create");
    }
    for (int run = 1; run <= RUNS; run++) {
        ol_note("allocation %d after create fails", run);
        OL_UNIT {
            int64_t state[2][STATE];
            int named = 1;
            tl_arena *arena = NULL;
            tl_arena_create(128, &arena);
            tl_set_last_error(NULL);
            ol_hook_fail_at(run);
            int failed = run_with_failure(arena, state, &named);
            ol_hook_fail_at(0);
            ol_saw_i64("before the failure", state[0], OL_DIMS({"field", STATE}));
            ol_saw_i64("after the failure", state[1], OL_DIMS({"field", STATE}));
            OL_HOLDS("a failure is noticed and named", named && (failed || run > 1));
            tl_arena_destroy(arena);
            ol_saw_int("live after destroy", ol_hook_live());
        }
        OL_ORACLE {
            ol_want_same("before the failure", "after the failure");
            ol_want_fact("a failure is noticed and named");
            ol_want_int("live after destroy", 0);
        }
    }
}

static void request_is_refused(tl_arena *arena, size_t n, size_t align) {
    ol_note("tl_arena_alloc(%s, %zu, %zu)", arena ? "arena" : "NULL", n, align);
    OL_UNIT {
        int64_t before[STATE], after[STATE];
        tl_set_last_error(NULL);
        look_at(arena, before);
        ol_saw_int("pointer is NULL", tl_arena_alloc(arena, n, align) == NULL);
        ol_saw_text("slot", tl_last_error());
        look_at(arena, after);
        ol_saw_i64("before", before, OL_DIMS({"field", STATE}));
        ol_saw_i64("after", after, OL_DIMS({"field", STATE}));
    }
    OL_ORACLE {
        ol_want_int("pointer is NULL", 1);
        ol_want_text_with("slot", "tl_arena_alloc");
        ol_want_same("before", "after");
    }
}

OL_TEST(bad_and_huge_requests) {
    static const size_t align[] = {3, 6, 48, 4095, 4097, 8192, 65536, SIZE_MAX};
    static const size_t huge[] = {SIZE_MAX, SIZE_MAX - 1, SIZE_MAX - 63, SIZE_MAX - 100, SIZE_MAX - 4095, SIZE_MAX / 2 + 1};
    static const size_t wide[] = {1, 64, 4096};
    tl_arena *arena = NULL;
    follow_the_hook();
    OL_UNIT { tl_set_last_error(NULL); }
    OL_STATUS(TL_EINVAL, tl_arena_create(64, NULL));
    OL_UNIT { ol_saw_text("slot", tl_last_error()); }
    OL_ORACLE { ol_want_text_with("slot", "tl_arena_create"); }
    OL_STATUS(TL_OK, tl_arena_create(1000, &arena));
    OL_UNIT { tl_arena_alloc(arena, 100, 1); }
    for (int k = 0; k < 8; k++) request_is_refused(arena, 16, align[k]);
    request_is_refused(arena, 0, 64);
    request_is_refused(NULL, 16, 64);
    for (int k = 0; k < 18; k++) request_is_refused(arena, huge[k / 3], wide[k % 3]);
    ol_note("the arena still works");
    OL_UNIT {
        unsigned char *p = tl_arena_alloc(arena, 100, 64);
        if (p) memset(p, 1, 100);
        ol_saw_int("blocks", blocks_of(arena));
        tl_arena_destroy(arena);
    }
    OL_ORACLE { ol_want_int("blocks", 1); }
}
