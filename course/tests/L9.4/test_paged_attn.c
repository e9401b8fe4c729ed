/* The tests that the chapter lists. */
#include "world.h"

#include <string.h>

/* ---- Section 3 -------------------------------------------------------------------------------------- */

/* binary16 codes of small whole numbers */
enum { H0 = 0x0000, H1 = 0x3C00, H2 = 0x4000, H3 = 0x4200, H4 = 0x4400, H5 = 0x4500, H6 = 0x4600, H_MAX = 0x7BFF };

static void put(world *w, int64_t j, uint16_t k0, uint16_t k1, uint16_t v0, uint16_t v1) {
    memcpy(cell_at(w, 0, 0, 0, j), (uint16_t[]){k0, k1}, 4);
    memcpy(cell_at(w, 0, 1, 0, j), (uint16_t[]){v0, v1}, 4);
}

OL_TEST(hand_example) {
    world w = new_world((shape){.B = 1, .H = 1, .Hkv = 1, .D = 2, .block = 2, .n_blocks = 4, .scale = 1.0f,
                                .lens = {3}});
    w.tables[0] = 3;
    w.tables[1] = 1;
    w.q[0] = 1.0f;
    w.q[1] = 0.0f;
    junk_all(&w);
    put(&w, 0, H1, H0, H1, H2);
    put(&w, 1, H0, H1, H3, H4);
    put(&w, 2, H1, H1, H5, H6);
    put(&w, 3, H_MAX, H_MAX, H_MAX, H_MAX); /* a slot that is not written yet */

    open_pool(&w);
    note_world("section 3, table [3, 1]", &w);
    OL_UNIT {
        ol_saw_status("tl_paged_attn_decode_f32", decode(call_on(&w)));
        ol_saw_f32("out", w.out, out_dims(&w));
    }
    OL_ORACLE {
        ol_want_status("tl_paged_attn_decode_f32", TL_OK);
        ol_want_close_f32("out", (float[]){3.0f, 4.0f}, 2, 0.0, 1e-6);
    }
    close_pool(&w);
}

/* ---- Against plain attention ------------------------------------------------------------------------ */

static void is_close_to_naive(int64_t layer, int64_t window) {
    world w = new_world((shape){.B = 3, .H = 6, .Hkv = 2, .D = 32, .block = 16, .layers = 2, .layer = layer,
                                .window = window, .scale = 0.5f, .lens = {1, 37, 70}});
    junk_before_windows(&w);
    open_pool(&w);
    note_world("shuffled blocks", &w);
    OL_UNIT {
        ol_saw_status("tl_paged_attn_decode_f32", decode(call_on(&w)));
        ol_saw_f32("out", w.out, out_dims(&w));
    }
    OL_ORACLE {
        float *want = ol_new(out_size(&w), sizeof *want);
        naive(&w, want);
        ol_want_status("tl_paged_attn_decode_f32", TL_OK);
        ol_want_close_f32("out", want, out_size(&w), 1e-4, 1e-5);
    }
    close_pool(&w);
}

OL_TEST(matches_naive_over_the_gathered_cache) {
    is_close_to_naive(0, 0);
    is_close_to_naive(1, 0);
    is_close_to_naive(0, 20);
    is_close_to_naive(1, 20);
}

/* ---- Against L9.3 ----------------------------------------------------------------------------------- */

/* Narrow windows too: what they hide in a tile is then often its largest score. */
OL_TEST(equals_flash_attention_bitwise) {
    static const int64_t windows[] = {0, 20, 9, 3};
    for (int k = 0; k < 4; k++) {
        world w = new_world((shape){.B = 6, .H = 4, .Hkv = 2, .D = 12, .block = 16, .layers = 2, .layer = 1,
                                    .window = windows[k], .scale = 0.8f, .lens = {1, 37, 70, 16, 95, 48}});
        world_gives_bits(&w, "L9.3 with Bc = 16", flash);
    }
}

/* ---- Batches ---------------------------------------------------------------------------------------- */

/* Sequence b of the world as a batch of its own, into row b of `alone`. */
static tl_status decode_alone(const world *w, int64_t b, float *alone) {
    int64_t row = b * w->s.H * w->s.D;
    call c = call_on(w);
    c.B = 1;
    c.q += row;
    c.block_tables += b * w->max_blocks;
    c.ctx_lens += b;
    c.out = alone + row;
    return decode(c);
}

/* The sequences of the world in reverse order; the output is put back into theirs. */
static tl_status decode_reversed(const world *w, float *turned) {
    int64_t B = w->s.B, row = w->s.H * w->s.D;
    float *q = ol_new(out_size(w), sizeof *q), *out = ol_new(out_size(w), sizeof *out);
    uint32_t *tables = ol_new(B * w->max_blocks, sizeof *tables);
    int32_t *lens = ol_new(B, sizeof *lens);
    for (int64_t b = 0; b < B; b++) {
        int64_t to = B - 1 - b;
        memcpy(q + to * row, w->q + b * row, (size_t)row * sizeof *q);
        memcpy(tables + to * w->max_blocks, w->tables + b * w->max_blocks, (size_t)w->max_blocks * sizeof *tables);
        lens[to] = w->lens[b];
    }
    call c = call_on(w);
    c.q = q, c.block_tables = tables, c.ctx_lens = lens, c.out = out;
    tl_status status = decode(c);
    for (int64_t b = 0; b < B; b++) memcpy(turned + b * row, out + (B - 1 - b) * row, (size_t)row * sizeof *out);
    return status;
}

/* Sequences, at most 16, with two blocks in common and 1 to 58 positions of their own. */
static void is_batch_invariant(shape s, oracle *wanted) {
    static const int32_t own[] = {1, 16, 58, 17, 2, 8, 15, 19, 28, 31, 32, 33, 38, 48, 49, 4};
    s.shared = 2, s.scale = 0.7f;
    for (int64_t b = 0; b < s.B; b++) s.lens[b] = (int32_t)(2 * s.block) + own[b];
    world w = new_world(s);
    float *alone = ol_new(out_size(&w), sizeof *alone), *turned = ol_new(out_size(&w), sizeof *turned);
    open_pool(&w);
    call_gives_bits(&w, "all at once", wanted);
    for (int64_t b = 0; b < w.s.B; b++) {
        ol_note("sequence %d alone, %d positions", (int)b, (int)w.lens[b]);
        OL_STATUS(TL_OK, decode_alone(&w, b, alone));
    }
    ol_note("all in reverse order");
    OL_STATUS(TL_OK, decode_reversed(&w, turned));
    OL_UNIT {
        ol_note("each of the %d sequences alone (B=1), block %d, against all at once", (int)s.B, (int)s.block);
        ol_saw_f32("in the batch", w.out, out_dims(&w));
        ol_saw_f32("alone", alone, out_dims(&w));
        ol_note("all %d in reverse order, block %d, against the order above", (int)s.B, (int)s.block);
        ol_saw_f32("in the batch", w.out, out_dims(&w)); /* each comparison takes its pair */
        ol_saw_f32("in reverse", turned, out_dims(&w));
    }
    OL_ORACLE {
        ol_want_same("in the batch", "alone");
        ol_want_same("in the batch", "in reverse");
    }
    close_pool(&w);
}

OL_TEST(shared_blocks_and_batch_invariance) {
    is_batch_invariant((shape){.B = 16, .H = 2, .Hkv = 1, .D = 4, .block = 16}, flash);
    is_batch_invariant((shape){.B = 5, .H = 1, .Hkv = 1, .D = 1, .block = 300}, in_order);
}

/* ---- Threads ---------------------------------------------------------------------------------------- */

/* The first B sequences of the world, serially and on four threads. */
static void pool_equals_serial(const world *w, int64_t B, tl_pool *tp) {
    ol_shape dims = OL_DIMS({"sequence", B}, {"head", w->s.H}, {"d", w->s.D});
    int64_t n = B * w->s.H * w->s.D;
    float *serial = ol_new(n, sizeof *serial), *pooled = ol_new(n, sizeof *pooled);
    call c = call_on(w);
    c.B = B;
    ol_note("B=%lld, H=%lld: %lld rows on 4 threads", (long long)B, (long long)w->s.H, (long long)(B * w->s.H));
    ol_fill_sentinel_f32(serial, n);
    ol_fill_sentinel_f32(pooled, n);
    c.out = serial;
    OL_STATUS(TL_OK, decode(c));
    c.out = pooled;
    c.tp = tp;
    OL_STATUS(TL_OK, decode(c));
    OL_UNIT {
        ol_saw_f32("serial", serial, dims);
        ol_saw_f32("with threads", pooled, dims);
    }
    OL_ORACLE { ol_want_same("serial", "with threads"); }
}

/* Row counts around those that a partition into equal shares gets right: 7, 14 .. 63, and so much to do in each that
 * the threads meet. */
OL_TEST(pool_result_equals_serial_bitwise) {
    tl_pool *tp = NULL;
    world w = new_world((shape){.B = 9, .H = 7, .Hkv = 7, .D = 4, .block = 16, .window = 60, .scale = 0.5f,
                                .lens = {1, 90, 17, 64, 33, 5, 128, 70, 41}});
    OL_STATUS(TL_OK, tl_pool_create(4, &tp));
    open_pool(&w);
    call_gives_bits(&w, "without threads", flash);
    for (int64_t B = 1; B <= w.s.B; B++) pool_equals_serial(&w, B, tp);
    close_pool(&w);
    OL_UNIT { tl_pool_destroy(tp); }
}

/* ---- Tables and shapes ------------------------------------------------------------------------------ */

static void refuse_len(world *w, int64_t b, int32_t len, const char *why) {
    int32_t kept = w->lens[b];
    w->lens[b] = len;
    call_is_refused(w, why, TL_EINVAL, call_on(w));
    w->lens[b] = kept;
}

static void refuse_id(world *w, int64_t entry, uint32_t id, const char *why) {
    uint32_t kept = w->tables[entry];
    w->tables[entry] = id;
    call_is_refused(w, why, TL_EINVAL, call_on(w));
    w->tables[entry] = kept;
}

static void refuse_tables(world *w) {
    refuse_len(w, 0, 0, "an empty context, first sequence");
    refuse_len(w, 1, 0, "an empty context, last sequence");
    refuse_len(w, 1, -1, "-1 positions");
    refuse_len(w, 0, INT32_MIN, "INT32_MIN positions");
    refuse_len(w, 0, 5, "5 positions need 3 blocks of 2, the tables have 2");
    refuse_len(w, 1, 5, "the last sequence needs 3 blocks, the tables have 2");
    refuse_id(w, 0, 9, "block 9 of 4, first of the first sequence");
    refuse_id(w, 1, 9, "block 9 of 4, last of the first sequence");
    refuse_id(w, 2, 9, "block 9 of 4, only block of the last sequence");
    refuse_id(w, 2, 4, "block 4 of 4");
    refuse_id(w, 1, UINT32_MAX, "block UINT32_MAX of 4");
}

/* Of block 0 the window shows the last slot only. */
static void refuse_id_where_a_window_begins(world *w) {
    uint32_t kept = w->tables[0];
    call c = call_on(w);
    c.window = 2;
    w->tables[0] = 9;
    call_is_refused(w, "block 9 of 4, of which a window of 2 shows one position", TL_EINVAL, c);
    w->tables[0] = kept;
}

static void refuse_short_tables(world *w) {
    call c = call_on(w);
    c.max_blocks = 1;
    call_is_refused(w, "3 positions need 2 blocks of 2, max_blocks 1", TL_EINVAL, c);
    c.window = 1;
    call_is_refused(w, "the same with a window that reads only one of them", TL_EINVAL, c);
    c = call_on(w);
    c.max_blocks = 0;
    call_is_refused(w, "max_blocks 0", TL_EINVAL, c);
}

static void refuse_shapes(world *w) {
    call c = call_on(w);
    c.layer = (uint32_t)w->s.layers;
    call_is_refused(w, "layer 2 of 2", TL_EINVAL, c);
    c.layer = UINT32_MAX;
    call_is_refused(w, "layer UINT32_MAX of 2", TL_EINVAL, c);
    c = call_on(w);
    c.Hkv = 1;
    call_is_refused(w, "Hkv 1, the pool has 2", TL_ESHAPE, c);
    c.Hkv = 4;
    call_is_refused(w, "Hkv 4, the pool has 2", TL_ESHAPE, c);
    c.Hkv = 0;
    call_is_refused(w, "Hkv 0", TL_ESHAPE, c);
    c.Hkv = c.H = (INT64_C(1) << 32) + 2;
    call_is_refused(w, "Hkv 2^32 + 2, the pool has 2", TL_ESHAPE, c);
    c = call_on(w);
    c.H = 3;
    call_is_refused(w, "3 heads on 2 KV heads", TL_ESHAPE, c);
    c.H = 1;
    call_is_refused(w, "1 head on 2 KV heads", TL_ESHAPE, c);
    c = call_on(w);
    c.D = w->s.D - 1;
    call_is_refused(w, "D 2, the pool has 3", TL_ESHAPE, c);
    c.D = 0;
    call_is_refused(w, "D 0, the pool has 3", TL_ESHAPE, c);
    c.D = w->s.D + 1;
    call_is_refused(w, "D 4, the pool has 3", TL_ESHAPE, c);
    c.D = w->s.D + (INT64_C(1) << 32);
    call_is_refused(w, "D 2^32 + 3, the pool has 3", TL_ESHAPE, c);
}

/* The tables in a longer array, in which block 0 follows: whoever reads on finds a valid id, and only the
 * status tells. */
static uint32_t *with_more_entries(const world *w) {
    uint32_t *entries = ol_new(2 * w->s.B * w->max_blocks, sizeof *entries);
    memcpy(entries, w->tables, (size_t)(w->s.B * w->max_blocks) * sizeof *entries);
    return entries;
}

OL_TEST(bad_tables_and_shapes) {
    world w = new_world((shape){.B = 2, .H = 4, .Hkv = 2, .D = 3, .block = 2, .n_blocks = 4, .layers = 2,
                                .layer = 1, .scale = 0.5f, .lens = {3, 2}});
    w.tables = with_more_entries(&w);
    open_pool(&w);
    refuse_tables(&w);
    refuse_id_where_a_window_begins(&w);
    refuse_short_tables(&w);
    refuse_shapes(&w);
    call_gives_bits(&w, "without a fault", flash);
    close_pool(&w);
}
