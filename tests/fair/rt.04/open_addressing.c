/* One allocation for everything; an open-addressing table of ids that closes its gaps; free ids in a queue; cached ones
 * in a ring with a sentinel. Registering under a second hash is refused as busy. */
#include "tinyllm/kv_pool.h"

#include <string.h>

typedef struct {
    uint64_t hash;
    uint32_t refs, fill, before, after;
} info;

struct tl_kv_pool {
    tl_kv_cfg cfg;
    size_t slab;
    uint32_t mask, head, n_free, n_cached, evictions;
    uint32_t *queue, *table; /* table: id + 1, or 0 */
    info *info;              /* n_blocks of them, and the sentinel of the ring */
    unsigned char *bytes;
};

#define FAIL(status, what) return tl_set_last_error(what), (status)

tl_status tl_kv_pool_create(const tl_kv_cfg *cfg, tl_kv_pool **out) {
    if (out) *out = NULL;
    if (!cfg || !out || !cfg->n_blocks || !cfg->block_tokens || !cfg->n_layers || !cfg->n_kv_heads || !cfg->head_dim)
        FAIL(TL_EINVAL, "tl_kv_pool_create: an argument is NULL or zero");
    if (cfg->dtype != TL_F16 || cfg->format != TL_KV_FORMAT_V1) FAIL(TL_EUNSUPPORTED, "tl_kv_pool_create: format 1 only");
    /* 4 bytes for K and V of each element; 16 leave room for the records in front */
    const uint32_t dims[] = {cfg->n_blocks, cfg->n_layers, cfg->n_kv_heads, cfg->block_tokens, cfg->head_dim};
    size_t elements = 1;
    for (int k = 0; k < 5; k++) {
        if (elements > (SIZE_MAX >> 4) / dims[k]) FAIL(TL_ENOMEM, "tl_kv_pool_create: too large");
        elements *= dims[k];
    }
    if (cfg->n_blocks > 1u << 30) FAIL(TL_ENOMEM, "tl_kv_pool_create: too many blocks");
    uint32_t mask = 1;
    while (mask < 2 * cfg->n_blocks) mask = 2 * mask + 1;
    size_t at_info = sizeof(tl_kv_pool), at_queue = at_info + ((size_t)cfg->n_blocks + 1) * sizeof(info);
    size_t at_table = at_queue + 4 * (size_t)cfg->n_blocks, at_bytes = at_table + 4 * ((size_t)mask + 1);
    unsigned char *raw = tl_alloc(at_bytes + 4 * elements, 64);
    if (!raw) FAIL(TL_ENOMEM, "tl_kv_pool_create: no memory");
    memset(raw, 0, at_bytes);
    tl_kv_pool *p = (tl_kv_pool *)(void *)raw;
    p->cfg = *cfg;
    p->slab = elements / cfg->n_blocks / cfg->n_layers * 2;
    p->mask = mask;
    p->info = (info *)(void *)(raw + at_info);
    p->queue = (uint32_t *)(void *)(raw + at_queue);
    p->table = (uint32_t *)(void *)(raw + at_table);
    p->bytes = raw + at_bytes;
    p->n_free = cfg->n_blocks;
    for (uint32_t i = 0; i < cfg->n_blocks; i++) p->queue[i] = i;
    p->info[cfg->n_blocks].before = p->info[cfg->n_blocks].after = cfg->n_blocks;
    *out = p;
    return TL_OK;
}

void tl_kv_pool_destroy(tl_kv_pool *p) { tl_free(p); }

static void enqueue(tl_kv_pool *p, uint32_t id) {
    p->queue[((uint64_t)p->head + p->n_free++) % p->cfg.n_blocks] = id;
}

static void unlink_cached(tl_kv_pool *p, uint32_t id) {
    p->info[p->info[id].before].after = p->info[id].after;
    p->info[p->info[id].after].before = p->info[id].before;
    p->n_cached--;
}

static uint32_t start(const tl_kv_pool *p, uint64_t hash) { return (uint32_t)(hash * 0x9E3779B97F4A7C15u >> 33) & p->mask; }

/* The place of a hash, or the gap where it would go. */
static uint32_t probe(const tl_kv_pool *p, uint64_t hash) {
    uint32_t at = start(p, hash);
    while (p->table[at] && p->info[p->table[at] - 1].hash != hash) at = (at + 1) & p->mask;
    return at;
}

static void forget(tl_kv_pool *p, uint32_t id) {
    uint32_t gap = probe(p, p->info[id].hash), at = gap;
    p->table[gap] = 0;
    p->info[id].hash = 0;
    for (at = (at + 1) & p->mask; p->table[at]; at = (at + 1) & p->mask) {
        uint32_t moved = p->table[at];
        p->table[at] = 0;
        p->table[probe(p, p->info[moved - 1].hash)] = moved;
    }
}

static uint32_t take(tl_kv_pool *p) {
    if (p->n_free == 0) {
        uint32_t oldest = p->info[p->cfg.n_blocks].after;
        unlink_cached(p, oldest);
        forget(p, oldest);
        enqueue(p, oldest);
        p->evictions++;
    }
    uint32_t id = p->queue[p->head];
    p->head = (p->head + 1) % p->cfg.n_blocks;
    p->n_free--;
    p->info[id].refs = 1;
    p->info[id].fill = 0;
    return id;
}

static int held(const tl_kv_pool *p, uint32_t id) { return p && id < p->cfg.n_blocks && p->info[id].refs; }

tl_status tl_kv_alloc(tl_kv_pool *p, uint32_t n, uint32_t *ids) {
    if (!p || (!ids && n)) FAIL(TL_EINVAL, "tl_kv_alloc: NULL");
    if (n > p->n_free + p->n_cached) FAIL(TL_EFULL, "tl_kv_alloc: full");
    for (uint32_t k = 0; k < n; k++) ids[k] = take(p);
    return TL_OK;
}

void tl_kv_ref(tl_kv_pool *p, uint32_t id) {
    if (!held(p, id)) tl_set_last_error("tl_kv_ref: nobody holds it");
    else p->info[id].refs++;
}

tl_status tl_kv_unref(tl_kv_pool *p, uint32_t id) {
    if (!held(p, id)) FAIL(TL_EINVAL, "tl_kv_unref: nobody holds it");
    if (--p->info[id].refs) return TL_OK;
    if (p->info[id].hash) {
        uint32_t ring = p->cfg.n_blocks, newest = p->info[ring].before;
        p->info[id].before = newest, p->info[id].after = ring;
        p->info[newest].after = p->info[ring].before = id;
        p->n_cached++;
    } else enqueue(p, id);
    return TL_OK;
}

void *tl_kv_block_ptr(const tl_kv_pool *p, uint32_t id, uint32_t layer, int is_v) {
    if (!p || id >= p->cfg.n_blocks || layer >= p->cfg.n_layers) FAIL(NULL, "tl_kv_block_ptr: out of range");
    return p->bytes + (((size_t)id * p->cfg.n_layers + layer) * 2 + (is_v != 0)) * p->slab;
}

size_t tl_kv_block_bytes(const tl_kv_pool *p) {
    if (!p) FAIL(0, "tl_kv_block_bytes: NULL");
    return 2 * p->cfg.n_layers * p->slab;
}

tl_status tl_kv_cow(tl_kv_pool *p, uint32_t id, uint32_t *out) {
    if (!held(p, id) || !out) FAIL(TL_EINVAL, "tl_kv_cow: nobody holds it, or out is NULL");
    if (p->info[id].refs == 1) return *out = id, TL_OK;
    if (p->n_free + p->n_cached == 0) FAIL(TL_EFULL, "tl_kv_cow: full");
    uint32_t copy = take(p);
    memcpy(tl_kv_block_ptr(p, copy, 0, 0), tl_kv_block_ptr(p, id, 0, 0), tl_kv_block_bytes(p));
    p->info[copy].fill = p->info[id].fill;
    p->info[id].refs--;
    return *out = copy, TL_OK;
}

tl_status tl_kv_set_fill(tl_kv_pool *p, uint32_t id, uint32_t n) {
    if (!held(p, id) || n > p->cfg.block_tokens || p->info[id].hash) FAIL(TL_EINVAL, "tl_kv_set_fill: no");
    return p->info[id].fill = n, TL_OK;
}

uint32_t tl_kv_fill(const tl_kv_pool *p, uint32_t id) {
    if (!p || id >= p->cfg.n_blocks) FAIL(0, "tl_kv_fill: out of range");
    return p->info[id].fill;
}

uint64_t tl_kv_block_hash(uint64_t parent, const uint32_t *toks, uint32_t n) {
    uint64_t h = 14695981039346656037u;
    if (n && !toks) FAIL(0, "tl_kv_block_hash: NULL");
    for (uint64_t k = 0; k < 8 + 4 * (uint64_t)n; k++) {
        uint64_t from = k < 8 ? parent : toks[(k - 8) / 4];
        h ^= (from >> (8 * (k < 8 ? k : k % 4))) & 0xFF;
        h *= 1099511628211u;
    }
    return h ? h : 1;
}

tl_status tl_kv_register(tl_kv_pool *p, uint32_t id, uint64_t hash) {
    if (!held(p, id) || hash == 0 || p->info[id].fill < p->cfg.block_tokens) FAIL(TL_EINVAL, "tl_kv_register: no");
    if (p->info[id].hash == hash) return TL_OK;
    uint32_t at = probe(p, hash);
    if (p->info[id].hash || p->table[at]) FAIL(TL_EBUSY, "tl_kv_register: taken");
    p->table[at] = id + 1;
    p->info[id].hash = hash;
    return TL_OK;
}

tl_status tl_kv_lookup(tl_kv_pool *p, uint64_t hash, uint32_t *id) {
    if (!p || !id) FAIL(TL_EINVAL, "tl_kv_lookup: NULL");
    uint32_t found = hash ? p->table[probe(p, hash)] : 0;
    if (!found) return TL_ENOTFOUND;
    if (p->info[found - 1].refs++ == 0) unlink_cached(p, found - 1);
    return *id = found - 1, TL_OK;
}

void tl_kv_pool_cfg(const tl_kv_pool *p, tl_kv_cfg *out) {
    if (!p || !out) tl_set_last_error("tl_kv_pool_cfg: NULL");
    else *out = p->cfg;
}

void tl_kv_stats_get(const tl_kv_pool *p, tl_kv_stats *out) {
    if (!p || !out) tl_set_last_error("tl_kv_stats_get: NULL");
    else *out = (tl_kv_stats){p->n_free, p->cfg.n_blocks - p->n_free - p->n_cached, p->n_cached, p->evictions};
}
