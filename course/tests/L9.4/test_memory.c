/* What a call may not touch: the heap, a growing stack, entries beyond the table, inputs, elements around out. */
#define _GNU_SOURCE /* MAP_ANONYMOUS */
#include "world.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static world small_world(void) {
    return new_world((shape){.B = 3, .H = 4, .Hkv = 2, .D = 6, .block = 4, .layers = 2, .layer = 1, .window = 6,
                             .scale = 0.6f, .lens = {5, 1, 11}});
}

/* ---- Memory ----------------------------------------------------------------------------------------- */

static void nothing(void *ctx, int64_t lo, int64_t hi, int worker) { (void)ctx, (void)lo, (void)hi, (void)worker; }

typedef struct {
    int64_t heap, hook;
} allocations;

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

/* The fewest that any of several equal calls made: a thread's first steps may cost some. */
static allocations fewest_allocations(call c) {
    allocations fewest = {INT64_MAX, INT64_MAX};
    for (int k = 0; k < 6; k++) {
        int64_t heap = ol_heap_allocs(), hook = ol_hook_allocs();
        decode(c);
        fewest.heap = smaller(fewest.heap, ol_heap_allocs() - heap);
        fewest.hook = smaller(fewest.hook, ol_hook_allocs() - hook);
    }
    return fewest;
}

/* What is made once and kept is an allocation as well. No other thread is there yet to disturb the count. */
static void see_first_call(call c) {
    tl_parallel_for(NULL, 1, 1, nothing, NULL);
    tl_set_last_error(NULL);
    int64_t heap = ol_heap_allocs(), hook = ol_hook_allocs();
    decode(c);
    ol_saw_int("heap allocations of the first call", ol_heap_allocs() - heap);
    ol_saw_int("hook allocations of the first call", ol_hook_allocs() - hook);
}

static void see_calls_with_threads(call c) {
    tl_pool *tp = NULL;
    ol_saw_status("tl_pool_create", tl_pool_create(3, &tp));
    c.tp = tp;
    allocations made = fewest_allocations(c);
    ol_saw_int("heap allocations with threads", made.heap);
    ol_saw_int("hook allocations with threads", made.hook);
    tl_pool_destroy(tp);
}

OL_TEST(allocates_nothing) {
    static const tl_allocator hook = {ol_hook_alloc, ol_hook_free, NULL};
    world w = new_world((shape){.B = 3, .H = 2, .Hkv = 1, .D = 2, .block = 300, .scale = 0.2f, .lens = {5, 1, 1100}});
    OL_STATUS(TL_OK, tl_set_allocator(&hook));
    open_pool(&w);
    note_world("counted calls", &w);
    OL_UNIT {
        see_first_call(call_on(&w));
        ol_saw_f32("out", w.out, out_dims(&w)); /* a call that does nothing allocates nothing either */
        see_calls_with_threads(call_on(&w));
    }
    OL_ORACLE {
        ol_want_int("heap allocations of the first call", 0);
        ol_want_int("hook allocations of the first call", 0);
        float *want = ol_new(out_size(&w), sizeof *want);
        in_order(&w, want);
        ol_want_bits_f32("out", want, out_size(&w));
        ol_want_status("tl_pool_create", TL_OK);
        ol_want_int("heap allocations with threads", 0);
        ol_want_int("hook allocations with threads", 0);
    }
    close_pool(&w);
    OL_STATUS(TL_OK, tl_set_allocator(NULL));
}

enum { STACK = 512 << 10, MOST_GROWTH = 4 << 10, SHORT = 300, LONG = 5000 };

static void *decode_on_thread(void *arg) {
    const world *w = arg;
    ol_saw_status("tl_paged_attn_decode_f32", decode(call_on(w)));
    return NULL;
}

/* Bytes between the top of a fresh stack and the lowest that the call has written to. */
static int64_t stack_used(world *w) {
    pthread_attr_t attr;
    pthread_t thread;
    unsigned char *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stack == MAP_FAILED) abort();
    pthread_attr_init(&attr);
    pthread_attr_setstack(&attr, stack, STACK);
    if (pthread_create(&thread, &attr, decode_on_thread, w) != 0) abort();
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attr);
    int64_t untouched = 0;
    while (untouched < STACK && stack[untouched] == 0) untouched++;
    munmap(stack, STACK);
    return STACK - untouched;
}

/* A float per position is 20 KB of the longer context. The first call binds what is bound at its first use. */
OL_TEST(stack_does_not_grow_with_the_context) {
    world w = new_world((shape){.B = 1, .H = 1, .Hkv = 1, .D = 1, .block = 256, .scale = 0.5f, .lens = {LONG}});
    open_pool(&w);
    OL_STATUS(TL_OK, decode(call_on(&w)));
    note_world("a long context on a fresh stack", &w);
    OL_UNIT {
        int64_t for_long = stack_used(&w);
        ol_saw_f32("out", w.out, out_dims(&w));
        w.lens[0] = SHORT;
        note_world("a short one on another", &w);
        int64_t growth = for_long - stack_used(&w);
        ol_saw_fact("the longer context takes less than 4 KiB of stack more", growth < MOST_GROWTH, "growth < 4096");
    }
    OL_ORACLE {
        flash(&w, w.out);
        ol_want_status("tl_paged_attn_decode_f32", TL_OK);
        ol_want_status("tl_paged_attn_decode_f32", TL_OK);
        ol_want_bits_f32("out", w.out, out_size(&w));
        ol_want_fact("the longer context takes less than 4 KiB of stack more");
    }
    close_pool(&w);
}

/* ---- Reads ------------------------------------------------------------------------------------------ */

OL_TEST(padding_entries_are_not_looked_at) {
    static const uint32_t padding[] = {UINT32_MAX, 0x80000000u};
    world w = new_world((shape){.B = 4, .H = 2, .Hkv = 1, .D = 4, .block = 4, .scale = 0.6f, .lens = {4, 1, 30, 8}});
    open_pool(&w);
    for (int k = 0; k < 3; k++) {
        uint32_t id = k < 2 ? padding[k] : (uint32_t)w.s.n_blocks;
        for (int64_t b = 0; b < w.s.B; b++)
            for (int64_t i = blocks_needed(&w, b); i < w.max_blocks; i++) w.tables[b * w.max_blocks + i] = id;
        call_gives_bits(&w, "padding that is no block", flash);
    }
    close_pool(&w);
}

/* ---- Writes ----------------------------------------------------------------------------------------- */

/* A copy that nobody may write to, not even to put it back as it was. */
static void *sealed(const void *x, size_t bytes) {
    void *copy = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (copy == MAP_FAILED) abort();
    memcpy(copy, x, bytes);
    mprotect(copy, bytes, PROT_READ);
    return copy;
}

static void decode_sealed(world *w) {
    size_t q_bytes = (size_t)out_size(w) * sizeof *w->q, lens_bytes = (size_t)w->s.B * sizeof *w->lens;
    size_t table_bytes = (size_t)(w->s.B * w->max_blocks) * sizeof *w->tables;
    void *q = sealed(w->q, q_bytes), *tables = sealed(w->tables, table_bytes), *lens = sealed(w->lens, lens_bytes);
    call c = call_on(w);
    c.q = q, c.block_tables = tables, c.ctx_lens = lens;
    ol_saw_status("tl_paged_attn_decode_f32", decode(c));
    munmap(q, q_bytes);
    munmap(tables, table_bytes);
    munmap(lens, lens_bytes);
}

static void see_pool(const world *w) {
    int64_t slab = w->s.Hkv * w->s.block * w->s.D, slabs = w->s.n_blocks * w->s.layers * 2;
    uint16_t *all = ol_new(slabs * slab, sizeof *all);
    for (int64_t k = 0; k < slabs; k++) {
        uint32_t id = (uint32_t)(k / 2 / w->s.layers), layer = (uint32_t)(k / 2 % w->s.layers);
        memcpy(all + k * slab, tl_kv_block_ptr(w->kv, id, layer, k % 2), (size_t)slab * sizeof *all);
    }
    ol_shape dims = OL_DIMS({"block", w->s.n_blocks}, {"slab", slabs / w->s.n_blocks}, {"element", slab});
    ol_saw_u16("the pool's cells", all, dims);
}

OL_TEST(inputs_stay_untouched) {
    world w = small_world();
    open_pool(&w);
    note_world("q, tables and lens in memory for reading only", &w);
    OL_UNIT {
        tl_set_last_error("left by an earlier call");
        decode_sealed(&w);
        ol_saw_text("error slot", tl_last_error());
        ol_saw_f32("out", w.out, out_dims(&w));
        see_pool(&w);
    }
    OL_ORACLE {
        flash(&w, w.out);
        ol_want_status("tl_paged_attn_decode_f32", TL_OK);
        ol_want_bits_f32("out", w.out, out_size(&w));
        ol_want_text("error slot", "left by an earlier call");
        ol_want_u16("the pool's cells", w.cells, w.s.n_blocks * w.s.layers * 2 * w.s.Hkv * w.s.block * w.s.D);
    }
    close_pool(&w);
}

OL_TEST(rows_past_the_last_stay_untouched) {
    world w = small_world();
    int64_t n = out_size(&w), guard = 40;
    float *all = ol_new(n + 2 * guard, sizeof *all);
    ol_fill_sentinel_f32(all, n + 2 * guard);
    open_pool(&w);
    note_world("room before and after out", &w);
    OL_UNIT {
        call c = call_on(&w);
        c.out = all + guard;
        ol_saw_status("tl_paged_attn_decode_f32", decode(c));
        ol_saw_f32("before the first row", all, OL_DIMS({"element", guard}));
        ol_saw_f32("out", all + guard, out_dims(&w));
        ol_saw_f32("past the last row", all + guard + n, OL_DIMS({"element", guard}));
    }
    OL_ORACLE {
        flash(&w, w.out);
        ol_want_status("tl_paged_attn_decode_f32", TL_OK);
        ol_want_bits_f32("before the first row", all, guard);
        ol_want_bits_f32("out", w.out, n);
        ol_want_bits_f32("past the last row", all + guard + n, guard);
    }
    close_pool(&w);
}
