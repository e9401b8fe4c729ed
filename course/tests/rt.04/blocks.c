#include "blocks.h"

#include <string.h>

tl_kv_cfg plain_cfg(uint32_t n_blocks, uint32_t block_tokens) {
    return (tl_kv_cfg){.n_blocks = n_blocks, .block_tokens = block_tokens, .n_layers = 1, .n_kv_heads = 1,
                       .head_dim = 2, .dtype = TL_F16, .format = TL_KV_FORMAT_V1};
}

tl_kv_pool *new_pool(tl_kv_cfg cfg) {
    tl_kv_pool *pool = NULL;
    ol_note("a pool of %u blocks, each of %u positions, %u layers, %u KV heads, head_dim %u", cfg.n_blocks,
            cfg.block_tokens, cfg.n_layers, cfg.n_kv_heads, cfg.head_dim);
    OL_STATUS(TL_OK, tl_kv_pool_create(&cfg, &pool));
    return pool;
}

void end_pool(tl_kv_pool *pool) {
    OL_UNIT { tl_kv_pool_destroy(pool); }
}

void follow_the_hook(void) {
    OL_UNIT { tl_set_allocator(&(tl_allocator){ol_hook_alloc, ol_hook_free, NULL}); }
}

void stats_into(const tl_kv_pool *pool, uint32_t stats[STATS]) {
    tl_kv_stats s;
    memset(&s, 0xEE, sizeof s);
    tl_kv_stats_get(pool, &s);
    memcpy(stats, (uint32_t[]){s.free, s.used, s.cached, s.evictions}, STATS * sizeof *stats);
}

void stats_are(const tl_kv_pool *pool, uint32_t free, uint32_t used, uint32_t cached, uint32_t evictions) {
    OL_UNIT {
        uint32_t stats[STATS];
        stats_into(pool, stats);
        ol_saw_u32("stats", stats, OL_DIMS({"free, used, cached, evictions", STATS}));
    }
    OL_ORACLE { ol_want_u32("stats", (uint32_t[]){free, used, cached, evictions}, STATS); }
}

/* None where the unit does not say what the pool's shape is. */
static size_t slab_elements(const tl_kv_pool *pool, tl_kv_cfg *cfg) {
    *cfg = (tl_kv_cfg){0};
    tl_kv_pool_cfg(pool, cfg);
    return (size_t)cfg->n_kv_heads * cfg->block_tokens * cfg->head_dim;
}

static uint16_t content(uint16_t seed, uint32_t slab, size_t i) { return (uint16_t)(seed * 31u + slab * 1009u + i); }

void write_block(const tl_kv_pool *pool, uint32_t id, uint16_t seed) {
    tl_kv_cfg cfg;
    size_t n = slab_elements(pool, &cfg);
    for (uint32_t slab = 0; slab < 2 * cfg.n_layers; slab++) {
        uint16_t *x = tl_kv_block_ptr(pool, id, slab / 2, slab % 2);
        for (size_t i = 0; i < n; i++) x[i] = content(seed, slab, i);
    }
}

int block_holds(const tl_kv_pool *pool, uint32_t id, uint16_t seed) {
    tl_kv_cfg cfg;
    size_t n = slab_elements(pool, &cfg);
    for (uint32_t slab = 0; slab < 2 * cfg.n_layers; slab++) {
        const uint16_t *x = tl_kv_block_ptr(pool, id, slab / 2, slab % 2);
        for (size_t i = 0; i < n; i++)
            if (x[i] != content(seed, slab, i)) return 0;
    }
    return n > 0 && cfg.n_layers > 0;
}

tl_status fill_and_register(tl_kv_pool *pool, uint32_t id, uint64_t hash) {
    tl_kv_cfg cfg = {0};
    tl_kv_pool_cfg(pool, &cfg);
    tl_status status = tl_kv_set_fill(pool, id, cfg.block_tokens);
    return status == TL_OK ? tl_kv_register(pool, id, hash) : status;
}

void slot_names(const char *function) {
    OL_UNIT {
        ol_saw_text("slot", tl_last_error());
        tl_set_last_error(NULL);
    }
    OL_ORACLE { ol_want_text_with("slot", function); }
}

void slot_is_empty(void) {
    OL_UNIT { ol_saw_text("slot", tl_last_error()); }
    OL_ORACLE { ol_want_text("slot", ""); }
}
