/* Scratch, memory that fails, and threads. */
#include "world.h"

#include <stdlib.h>
#include <string.h>

/* ---- Scratch ---------------------------------------------------------------------------------------- */

static void saw_mark(const char *name, const tl_arena *arena) {
    tl_arena_mark mark = tl_arena_mark_get(arena);
    ol_saw_i64(name, (int64_t[]){(int64_t)mark.block, (int64_t)mark.offset}, OL_DIMS({"block, offset", 2}));
}

/* One call on a new arena that already holds something; streams its marks, and its peak under a name. */
static void scratch_use(int64_t Tk, const char *peak) {
    world w = new_world((shape){.B = 1, .H = 2, .Hkv = 1, .Tq = 9, .Tk = Tk, .D = 4, .scale = 1.0f, .Br = 4, .Bc = 16});
    note_world("with scratch", &w);
    clear_outputs(&w);
    OL_UNIT {
        tl_arena *arena = NULL;
        if (tl_arena_create(4096, &arena) != TL_OK) abort();
        char *held = tl_arena_alloc(arena, 100, 1);
        memset(held, 0x5a, 100);
        saw_mark("mark on entry", arena);
        call c = call_on(&w);
        c.scratch = arena;
        ol_saw_status("tl_flash_attn_fwd_f32", attend(c));
        saw_mark("mark on return", arena);
        tl_arena_stats stats;
        tl_arena_stats_get(arena, &stats);
        ol_saw_int(peak, (int64_t)stats.high_water);
        ol_saw_u8("what the arena held", (uint8_t *)held, OL_DIMS({"byte", 100}));
        tl_arena_destroy(arena);
    }
    OL_ORACLE {
        uint8_t held[100];
        memset(held, 0x5a, sizeof held);
        ol_want_status("tl_flash_attn_fwd_f32", TL_OK);
        ol_want_same("mark on entry", "mark on return");
        ol_want_u8("what the arena held", held, 100);
    }
    outputs_have_the_bits(&w);
}

/* All that a call with an arena of its own asks for. Scores for every key would be many blocks of an arena. */
static void private_use(int64_t Tk, const char *bytes) {
    world w = new_world((shape){.B = 1, .H = 1, .Hkv = 1, .Tq = 1, .Tk = Tk, .D = 1, .scale = 1.0f, .Br = 1, .Bc = 16});
    note_world("without scratch", &w);
    watch_allocations();
    gives_status(TL_OK, call_on(&w));
    stop_watching();
    OL_UNIT { ol_saw_int(bytes, bytes_asked()); }
    OL_HOLDS("everything is freed", ol_hook_live() == 0);
}

OL_TEST(scratch_is_rewound_and_does_not_grow_with_tk) {
    scratch_use(32, "peak at 32 keys");
    scratch_use(1900, "peak at 1900 keys");
    private_use(500, "bytes at 500 keys");
    private_use(300000, "bytes at 300000 keys");
    OL_ORACLE {
        ol_want_same("peak at 32 keys", "peak at 1900 keys");
        ol_want_same("bytes at 500 keys", "bytes at 300000 keys");
    }
}

/* What the first call grew serves the second. */
OL_TEST(warm_scratch_needs_no_memory) {
    tl_arena *arena = NULL;
    world w = new_world((shape){.B = 2, .H = 2, .Hkv = 1, .Tq = 40, .Tk = 70, .D = 8, .scale = 1.0f, .causal = 1});
    watch_allocations();
    OL_STATUS(TL_OK, tl_arena_create(0, &arena));
    call c = call_on(&w);
    c.scratch = arena;
    note_world("with new scratch", &w);
    gives_status(TL_OK, c);
    note_world("with the same scratch", &w);
    clear_outputs(&w);
    OL_UNIT {
        int64_t hook = ol_hook_allocs(), heap = ol_heap_allocs();
        tl_status status = attend(c);
        hook = ol_hook_allocs() - hook, heap = ol_heap_allocs() - heap;
        ol_saw_status("tl_flash_attn_fwd_f32", status);
        ol_saw_int("requests to the allocator hook", hook);
        ol_saw_int("calls of malloc", heap);
    }
    OL_ORACLE {
        ol_want_status("tl_flash_attn_fwd_f32", TL_OK);
        ol_want_int("requests to the allocator hook", 0);
        ol_want_int("calls of malloc", 0);
    }
    outputs_have_the_bits(&w);
    OL_UNIT { tl_arena_destroy(arena); }
    OL_HOLDS("the arena is all that was left", ol_hook_live() == 0);
    stop_watching();
}

/* ---- No memory -------------------------------------------------------------------------------------- */

/* A call whose k-th request for memory fails, and then one that gets all. A kernel that needs less than k
 * requests, or none, succeeds in both. */
static void fails_at(int64_t k, world *w, tl_arena *arena) {
    ol_note("%s scratch; request %d for memory fails", arena ? "given" : "no", (int)k);
    clear_outputs(w);
    call c = call_on(w);
    c.scratch = arena;
    OL_UNIT {
        tl_set_last_error(NULL);
        int64_t live = ol_hook_live();
        if (arena) saw_mark("mark on entry", arena);
        ol_hook_fail_at(k);
        tl_status status = attend(c);
        ol_hook_fail_at(0);
        if (arena) saw_mark("mark on return", arena);
        ol_saw_fact("tl_flash_attn_fwd_f32", status == TL_OK || status == TL_ENOMEM, "TL_OK or TL_ENOMEM");
        ol_saw_fact("error slot", status == TL_OK || tl_last_error()[0] != '\0', "says what failed");
        ol_saw_fact("leaks", arena || ol_hook_live() == live, "nothing is left allocated");
        if (status != TL_OK) ol_saw_status("status of the next call", attend(c));
        else ol_saw_status("status of the next call", TL_OK);
    }
    OL_ORACLE {
        ol_want_fact("tl_flash_attn_fwd_f32");
        ol_want_fact("error slot");
        ol_want_fact("leaks");
        ol_want_status("status of the next call", TL_OK);
    }
    outputs_have_the_bits(w);
}

static void given_scratch_fails_at(int64_t k, world *w) {
    tl_arena *arena = NULL;
    OL_STATUS(TL_OK, tl_arena_create(16, &arena));
    OL_UNIT { if (!tl_arena_alloc(arena, 8, 8)) abort(); }
    fails_at(k, w, arena);
    OL_UNIT { tl_arena_destroy(arena); }
    OL_HOLDS("the arena held all that was allocated", ol_hook_live() == 0);
}

/* 4 TB of scratch, for a kernel that has a tile's scores in it. */
static void asks_for_too_much(world *w) {
    w->s.Bc = INT64_C(1) << 40;
    note_world("a tile of 2^40 keys", w);
    clear_outputs(w);
    OL_UNIT {
        tl_status status = attend(call_on(w));
        ol_saw_fact("tl_flash_attn_fwd_f32", status == TL_OK || status == TL_ENOMEM, "TL_OK or TL_ENOMEM");
        ol_saw_fact("leaks", ol_hook_live() == 0, "nothing is left allocated");
    }
    OL_ORACLE {
        ol_want_fact("tl_flash_attn_fwd_f32");
        ol_want_fact("leaks");
    }
}

OL_TEST(memory_that_fails_is_reported_and_not_leaked) {
    world w = new_world((shape){.B = 1, .H = 2, .Hkv = 1, .Tq = 5, .Tk = 9, .D = 4, .scale = 1.0f, .Br = 1, .Bc = 8});
    watch_allocations();
    for (int64_t k = 1; k <= 6; k++) fails_at(k, &w, NULL);
    for (int64_t k = 1; k <= 4; k++) {
        given_scratch_fails_at(k, &w);
        OL_ORACLE { ol_want_same("mark on entry", "mark on return"); }
    }
    asks_for_too_much(&w);
    stop_watching();
}

/* ---- Threads ---------------------------------------------------------------------------------------- */

/* The first B problems of the world: serially, then with threads. */
static void pool_equals_serial(world *w, int64_t B, tl_pool *tp, tl_arena *scratch) {
    const int64_t n = B * w->s.H * w->s.Tq;
    float *o = ol_new(n * w->s.D, sizeof *o), *lse = ol_new(n, sizeof *lse);
    call c = call_on(w);
    c.B = B, c.scratch = scratch;
    ol_note("B=%d: %d tiles of queries, %s scratch, with threads", (int)B, (int)(B * 15), scratch ? "given" : "no");
    clear_outputs(w);
    ol_fill_sentinel_f32(o, n * w->s.D);
    ol_fill_sentinel_f32(lse, n);
    gives_status(TL_OK, c);
    c.o = o, c.lse = lse, c.tp = tp;
    gives_status(TL_OK, c);
    OL_UNIT {
        ol_shape dims = OL_DIMS({"b", B}, {"head", w->s.H}, {"query", w->s.Tq}, {"d", w->s.D});
        ol_saw_f32("o serially", w->o, dims);
        ol_saw_f32("o", o, dims);
        dims.dim[3].axis = NULL;
        ol_saw_f32("lse serially", w->lse, dims);
        ol_saw_f32("lse", lse, dims);
    }
    OL_ORACLE {
        ol_want_same("o serially", "o");
        ol_want_same("lse serially", "lse");
    }
}

/* 3 heads in 5 tiles of queries: numbers of tiles that no partition into equal shares gets right. The blocks of the
 * arena are small, so that scratch for too few workers ends where the block does. A tile takes so long that the threads
 * meet: with less to do the caller does it all, and TSan sees nothing. */
OL_TEST(pool_result_equals_serial_bitwise) {
    tl_pool *tp = NULL;
    tl_arena *arena = NULL;
    world w = new_world((shape){.B = 5, .H = 3, .Hkv = 3, .Tq = 37, .Tk = 90, .D = 16, .scale = 1.0f, .q_offset = 53,
                                .causal = 1, .window = 60, .sink = 1, .Br = 8, .Bc = 16});
    watch_allocations();
    OL_STATUS(TL_OK, tl_pool_create(4, &tp));
    OL_STATUS(TL_OK, tl_arena_create(16, &arena));
    note_world("without threads", &w);
    clear_outputs(&w);
    gives_status(TL_OK, call_on(&w));
    outputs_have_the_bits(&w);
    for (int64_t B = 1; B <= w.s.B; B++) pool_equals_serial(&w, B, tp, B % 2 ? NULL : arena);
    OL_UNIT {
        tl_arena_destroy(arena);
        tl_pool_destroy(tp);
    }
    OL_HOLDS("the hook is called on the caller's thread only", foreign_calls() == 0);
    OL_HOLDS("everything is freed", ol_hook_live() == 0);
    stop_watching();
}
