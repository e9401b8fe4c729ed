/* Builds worlds and makes calls on them; see world.h. */
#define _GNU_SOURCE /* RTLD_DEFAULT, dladdr */
#include "world.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SPARE_BLOCKS = 3 };

/* Of the inputs no stream, so that they can come from another seed than tables and junk. */
static const uint64_t TABLE_STREAM = UINT64_C(0x7ab1e);
static const uint64_t JUNK_STREAM = UINT64_C(0x7a6b);

int64_t blocks_needed(const world *w, int64_t b) { return (w->lens[b] - 1) / w->s.block + 1; }
int64_t out_size(const world *w) { return w->s.B * w->s.H * w->s.D; }

int64_t first_visible(const world *w, int64_t b) {
    int64_t n = w->lens[b];
    return w->s.window > 0 && w->s.window < n ? n - w->s.window : 0;
}

uint16_t *cell(const world *w, uint32_t id, int64_t layer, int is_v, int64_t g, int64_t slot) {
    int64_t slab = ((int64_t)id * w->s.layers + layer) * 2 + is_v;
    return w->cells + ((slab * w->s.Hkv + g) * w->s.block + slot) * w->s.D;
}

static uint16_t *cell_in(const world *w, int64_t b, int64_t layer, int is_v, int64_t g, int64_t j) {
    uint32_t id = w->tables[b * w->max_blocks + j / w->s.block];
    return cell(w, id, layer, is_v, g, j % w->s.block);
}

uint16_t *cell_at(const world *w, int64_t b, int is_v, int64_t g, int64_t j) {
    return cell_in(w, b, w->s.layer, is_v, g, j);
}

/* ---- Junk ------------------------------------------------------------------------------------------- */

static void junk_row(ol_rng *r, uint16_t *row, int64_t D) {
    static const uint16_t code[] = {0x7BFF, 0xFBFF, 0x7E00}; /* 65504, -65504, NaN */
    uint16_t x = code[ol_below(r, 3)];
    for (int64_t d = 0; d < D; d++) row[d] = x;
}

void junk_all(world *w) {
    ol_rng r = ol_rng_at(ol_seed() ^ JUNK_STREAM);
    int64_t rows = w->s.n_blocks * w->s.layers * 2 * w->s.Hkv * w->s.block;
    for (int64_t row = 0; row < rows; row++) junk_row(&r, w->cells + row * w->s.D, w->s.D);
}

void junk_before_windows(world *w) {
    ol_rng r = ol_rng_at(ol_seed() ^ JUNK_STREAM);
    for (int64_t b = 0; b < w->s.B; b++)
        for (int is_v = 0; is_v < 2; is_v++)
            for (int64_t g = 0; g < w->s.Hkv; g++)
                for (int64_t j = 0; j < first_visible(w, b); j++) junk_row(&r, cell_at(w, b, is_v, g, j), w->s.D);
}

/* ---- Drawing ---------------------------------------------------------------------------------------- */

static void size_world(world *w) {
    int64_t needed = w->s.shared;
    if (w->s.layers == 0) w->s.layers = 1;
    w->lens = ol_new(w->s.B, sizeof *w->lens);
    for (int64_t b = 0; b < w->s.B; b++) {
        w->lens[b] = w->s.lens[b];
        int64_t blocks = blocks_needed(w, b);
        if (blocks > w->max_blocks) w->max_blocks = blocks;
        needed += blocks - w->s.shared;
    }
    if (w->s.n_blocks == 0) w->s.n_blocks = needed + SPARE_BLOCKS;
    if (w->s.n_blocks <= needed) abort(); /* the padding of tables needs a block of junk */
}

/* Blocks in no order at all, each used once, the shared ones apart. */
static void draw_tables(world *w) {
    ol_rng r = ol_rng_at(ol_seed() ^ TABLE_STREAM);
    uint32_t n = (uint32_t)w->s.n_blocks, taken = 0;
    uint32_t *ids = ol_new(n, sizeof *ids);
    for (uint32_t id = 0; id < n; id++) ids[id] = id;
    ol_shuffle_u32(&r, ids, n);
    for (int64_t b = 0; b < w->s.B; b++) {
        for (int64_t i = 0; i < w->max_blocks; i++) {
            uint32_t *entry = &w->tables[b * w->max_blocks + i];
            if (b > 0 && i < w->s.shared) *entry = w->tables[i];
            else *entry = i < blocks_needed(w, b) ? ids[taken++] : ids[n - 1];
        }
    }
}

static void draw_inputs(world *w, ol_rng r) {
    ol_fill_unit_f32(&r, w->q, out_size(w));
    for (int64_t b = 0; b < w->s.B; b++)
        for (int64_t layer = 0; layer < w->s.layers; layer++)
            for (int is_v = 0; is_v < 2; is_v++)
                for (int64_t g = 0; g < w->s.Hkv; g++)
                    for (int64_t j = 0; j < w->lens[b]; j++) {
                        uint16_t *drawn = cell_in(w, b, layer, is_v, g, j);
                        for (int64_t d = 0; d < w->s.D; d++) drawn[d] = ol_half(&r);
                    }
}

world new_world_at(shape s, uint64_t seed) {
    world w = {.s = s};
    size_world(&w);
    w.q = ol_new(out_size(&w), sizeof *w.q);
    w.out = ol_new(out_size(&w), sizeof *w.out);
    w.tables = ol_new(s.B * w.max_blocks, sizeof *w.tables);
    w.cells = ol_new(w.s.n_blocks * w.s.layers * 2 * s.Hkv * s.block * s.D, sizeof *w.cells);
    draw_tables(&w);
    junk_all(&w);
    draw_inputs(&w, ol_rng_at(seed));
    ol_fill_sentinel_f32(w.out, out_size(&w));
    return w;
}

world new_world(shape s) { return new_world_at(s, ol_seed()); }

/* ---- The pool --------------------------------------------------------------------------------------- */

int pretend_format;
uint32_t pretended_format;
tl_dtype pretended_dtype;

static void (*cfg_of_rt04)(const tl_kv_pool *, tl_kv_cfg *);

/* The kernel learns a pool's format from this definition, for a suite's stand before those of the units. */
__attribute__((visibility("default"))) void tl_kv_pool_cfg(const tl_kv_pool *pool, tl_kv_cfg *out) {
    cfg_of_rt04(pool, out);
    if (!pretend_format) return;
    out->format = pretended_format;
    out->dtype = pretended_dtype;
}

/* In the object that defines tl_kv_block_ptr; a plain look-up would find the definition above. */
static void find_cfg_of_rt04(void) {
    Dl_info rt04;
    if (cfg_of_rt04) return;
    if (!dladdr(dlsym(RTLD_DEFAULT, "tl_kv_block_ptr"), &rt04)) abort();
    void *handle = dlopen(rt04.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (!handle) abort();
    *(void **)&cfg_of_rt04 = dlsym(handle, "tl_kv_pool_cfg");
    if (!cfg_of_rt04) abort();
    dlclose(handle);
}

static void copy_cells(const world *w) {
    size_t slab_bytes = (size_t)(w->s.Hkv * w->s.block * w->s.D) * sizeof(uint16_t);
    for (uint32_t id = 0; id < w->s.n_blocks; id++)
        for (uint32_t layer = 0; layer < w->s.layers; layer++)
            for (int is_v = 0; is_v < 2; is_v++)
                memcpy(tl_kv_block_ptr(w->kv, id, layer, is_v), cell(w, id, layer, is_v, 0, 0), slab_bytes);
}

void open_pool(world *w) {
    const shape *s = &w->s;
    tl_kv_cfg cfg = {
        .n_blocks = (uint32_t)s->n_blocks, .block_tokens = (uint32_t)s->block, .n_layers = (uint32_t)s->layers,
        .n_kv_heads = (uint32_t)s->Hkv, .head_dim = (uint32_t)s->D, .dtype = TL_F16, .format = TL_KV_FORMAT_V1,
    };
    OL_STATUS(TL_OK, tl_kv_pool_create(&cfg, &w->kv));
    OL_UNIT {
        find_cfg_of_rt04();
        copy_cells(w);
    }
}

void close_pool(world *w) {
    OL_UNIT { tl_kv_pool_destroy(w->kv); }
    w->kv = NULL;
}

/* ---- Calls ------------------------------------------------------------------------------------------ */

call call_on(const world *w) {
    const shape *s = &w->s;
    return (call){
        .q = w->q, .kv = w->kv, .layer = (uint32_t)s->layer, .block_tables = w->tables,
        .max_blocks = (int32_t)w->max_blocks, .ctx_lens = w->lens, .out = w->out,
        .B = s->B, .H = s->H, .Hkv = s->Hkv, .D = s->D, .scale = s->scale, .window = s->window,
    };
}

tl_status decode(call c) {
    return tl_paged_attn_decode_f32(c.q, c.kv, c.layer, c.block_tables, c.max_blocks, c.ctx_lens, c.out,
                                    c.B, c.H, c.Hkv, c.D, c.scale, c.window, c.tp);
}

ol_shape out_dims(const world *w) { return OL_DIMS({"sequence", w->s.B}, {"head", w->s.H}, {"d", w->s.D}); }

void note_world(const char *what, const world *w) {
    const shape *s = &w->s;
    char lens[160] = "";
    for (int64_t b = 0, at = 0; b < s->B && at < 140; b++)
        at += snprintf(lens + at, sizeof lens - (size_t)at, " %d", (int)w->lens[b]);
    ol_note("%s: B=%d, H=%d, Hkv=%d, D=%d, block %d, layer %d of %d, window %lld, scale %g, lens%s; unused slots"
            " hold 65504, -65504 or NaN",
            what, (int)s->B, (int)s->H, (int)s->Hkv, (int)s->D, (int)s->block, (int)s->layer, (int)s->layers,
            (long long)s->window, (double)s->scale, lens);
}

void call_gives_bits(world *w, const char *what, oracle *wanted) {
    note_world(what, w);
    ol_fill_sentinel_f32(w->out, out_size(w));
    OL_UNIT {
        ol_saw_status("tl_paged_attn_decode_f32", decode(call_on(w)));
        ol_saw_f32("out", w->out, out_dims(w));
    }
    OL_ORACLE {
        float *want = ol_new(out_size(w), sizeof *want);
        wanted(w, want);
        ol_want_status("tl_paged_attn_decode_f32", TL_OK);
        ol_want_bits_f32("out", want, out_size(w));
    }
}

void world_gives_bits(world *w, const char *what, oracle *wanted) {
    open_pool(w);
    call_gives_bits(w, what, wanted);
    close_pool(w);
}

void call_is_refused(world *w, const char *why, tl_status wanted, call c) {
    ol_note("refused: %s", why);
    ol_fill_sentinel_f32(w->out, out_size(w));
    OL_UNIT {
        tl_set_last_error(NULL);
        ol_saw_status("tl_paged_attn_decode_f32", decode(c));
        ol_saw_text("error slot", tl_last_error());
        ol_saw_f32("untouched out", w->out, out_dims(w));
    }
    OL_ORACLE {
        ol_want_status("tl_paged_attn_decode_f32", wanted);
        ol_want_text_with("error slot", "tl_paged_attn_decode_f32");
        ol_want_bits_f32("untouched out", w->out, out_size(w));
    }
}
