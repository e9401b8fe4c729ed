/* A state byte per block and time stamps, searched from end to end; every block is an allocation of its own. */
#include "tinyllm/kv_pool.h"

#include <string.h>

enum state { FREE, USED, CACHED };

struct tl_kv_pool {
    tl_kv_cfg cfg;
    size_t slab, per_block;
    uint64_t now;
    uint32_t evicted;
    unsigned char *state;
    uint64_t *hash, *since;
    uint32_t *refs, *fill;
    unsigned char **bytes;
};

static tl_status bad(tl_status s, const char *why) {
    tl_set_last_error(why);
    return s;
}

void tl_kv_pool_destroy(tl_kv_pool *p) {
    if (!p) return;
    for (uint32_t i = 0; p->bytes && i < p->cfg.n_blocks; i++) tl_free(p->bytes[i]);
    tl_free(p->bytes);
    tl_free(p->fill);
    tl_free(p->refs);
    tl_free(p->since);
    tl_free(p->hash);
    tl_free(p->state);
    tl_free(p);
}

static void *zeros(size_t n, size_t item) {
    void *p = n > SIZE_MAX / item ? NULL : tl_alloc(n * item, 16);
    return p ? memset(p, 0, n * item) : NULL;
}

static int sizes(tl_kv_pool *p) {
    const uint32_t factor[] = {p->cfg.n_kv_heads, p->cfg.block_tokens, p->cfg.head_dim};
    p->slab = 2;
    for (int k = 0; k < 3; k++)
        if (__builtin_mul_overflow(p->slab, (size_t)factor[k], &p->slab)) return 0;
    size_t all;
    return !__builtin_mul_overflow(p->slab, 2 * (size_t)p->cfg.n_layers, &p->per_block) &&
           !__builtin_mul_overflow(p->per_block, (size_t)p->cfg.n_blocks, &all);
}

static int parts(tl_kv_pool *p) {
    const size_t n = p->cfg.n_blocks;
    if (!sizes(p)) return 0;
    if (!(p->state = zeros(n, 1)) || !(p->hash = zeros(n, 8)) || !(p->since = zeros(n, 8))) return 0;
    if (!(p->refs = zeros(n, 4)) || !(p->fill = zeros(n, 4)) || !(p->bytes = zeros(n, sizeof *p->bytes))) return 0;
    for (size_t i = 0; i < n; i++)
        if (!(p->bytes[i] = tl_alloc(p->per_block, 2))) return 0;
    return 1;
}

tl_status tl_kv_pool_create(const tl_kv_cfg *cfg, tl_kv_pool **out) {
    if (!out) return bad(TL_EINVAL, "tl_kv_pool_create: out");
    *out = NULL;
    if (!cfg) return bad(TL_EINVAL, "tl_kv_pool_create: cfg");
    if (cfg->format != 1 || cfg->dtype != TL_F16) return bad(TL_EUNSUPPORTED, "tl_kv_pool_create: format");
    if (!cfg->n_blocks || !cfg->block_tokens || !cfg->n_layers || !cfg->n_kv_heads || !cfg->head_dim)
        return bad(TL_EINVAL, "tl_kv_pool_create: zero");
    tl_kv_pool *p = zeros(1, sizeof *p);
    if (p) p->cfg = *cfg;
    if (!p || !parts(p)) {
        tl_kv_pool_destroy(p);
        return bad(TL_ENOMEM, "tl_kv_pool_create: memory");
    }
    *out = p;
    return TL_OK;
}

static uint32_t count(const tl_kv_pool *p, enum state s) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->cfg.n_blocks; i++) n += p->state[i] == s;
    return n;
}

static int used(const tl_kv_pool *p, uint32_t id) { return id < p->cfg.n_blocks && p->state[id] == USED; }

/* The last free block, or the oldest cached one. */
static uint32_t take(tl_kv_pool *p) {
    uint32_t best = p->cfg.n_blocks;
    for (uint32_t i = 0; i < p->cfg.n_blocks; i++)
        if (p->state[i] == FREE) best = i;
    if (best == p->cfg.n_blocks) {
        for (uint32_t i = 0; i < p->cfg.n_blocks; i++)
            if (p->state[i] == CACHED && (best == p->cfg.n_blocks || p->since[i] < p->since[best])) best = i;
        p->evicted++;
    }
    p->state[best] = USED;
    p->hash[best] = 0;
    p->refs[best] = 1;
    p->fill[best] = 0;
    return best;
}

tl_status tl_kv_alloc(tl_kv_pool *p, uint32_t n, uint32_t *ids) {
    if (!p || (n && !ids)) return bad(TL_EINVAL, "tl_kv_alloc: NULL");
    if (p->cfg.n_blocks - count(p, USED) < n) return bad(TL_EFULL, "tl_kv_alloc: full");
    while (n--) *ids++ = take(p);
    return TL_OK;
}

void tl_kv_ref(tl_kv_pool *p, uint32_t id) {
    if (p && used(p, id)) p->refs[id]++;
    else tl_set_last_error("tl_kv_ref: no");
}

tl_status tl_kv_unref(tl_kv_pool *p, uint32_t id) {
    if (!p || !used(p, id)) return bad(TL_EINVAL, "tl_kv_unref: not held");
    if (--p->refs[id] == 0) {
        p->state[id] = p->hash[id] ? CACHED : FREE;
        p->since[id] = ++p->now;
    }
    return TL_OK;
}

tl_status tl_kv_cow(tl_kv_pool *p, uint32_t id, uint32_t *out) {
    if (!p || !out || !used(p, id)) return bad(TL_EINVAL, "tl_kv_cow: not held");
    uint32_t to = id;
    if (p->refs[id] > 1) {
        if (tl_kv_alloc(p, 1, &to) != TL_OK) return bad(TL_EFULL, "tl_kv_cow: full");
        memcpy(p->bytes[to], p->bytes[id], p->per_block);
        p->fill[to] = p->fill[id];
        p->refs[id]--;
    }
    *out = to;
    return TL_OK;
}

tl_status tl_kv_set_fill(tl_kv_pool *p, uint32_t id, uint32_t n) {
    if (!p || !used(p, id) || p->hash[id] || n > p->cfg.block_tokens) return bad(TL_EINVAL, "tl_kv_set_fill: no");
    p->fill[id] = n;
    return TL_OK;
}

uint32_t tl_kv_fill(const tl_kv_pool *p, uint32_t id) {
    if (!p || id >= p->cfg.n_blocks) return (uint32_t)bad(0, "tl_kv_fill: no");
    return p->state[id] == USED ? p->fill[id] : 0;
}

uint64_t tl_kv_block_hash(uint64_t parent, const uint32_t *toks, uint32_t n) {
    uint64_t h = 0xcbf29ce484222325u;
    if (n && !toks) return (uint64_t)bad(0, "tl_kv_block_hash: toks");
    for (int i = 0; i < 64; i += 8) h = (h ^ (parent >> i & 255)) * 0x100000001b3u;
    for (uint32_t k = 0; k < n; k++)
        for (int i = 0; i < 32; i += 8) h = (h ^ (toks[k] >> i & 255)) * 0x100000001b3u;
    return h + (h == 0);
}

static uint32_t holder(const tl_kv_pool *p, uint64_t hash) {
    uint32_t i = 0;
    while (i < p->cfg.n_blocks && !(hash && p->hash[i] == hash)) i++;
    return i;
}

tl_status tl_kv_register(tl_kv_pool *p, uint32_t id, uint64_t hash) {
    if (!p || !used(p, id) || !hash || p->fill[id] != p->cfg.block_tokens) return bad(TL_EINVAL, "tl_kv_register: no");
    uint32_t by = holder(p, hash);
    if (by < p->cfg.n_blocks && by != id) return bad(TL_EBUSY, "tl_kv_register: taken");
    p->hash[id] = hash; /* a second hash takes the place of the first */
    return TL_OK;
}

tl_status tl_kv_lookup(tl_kv_pool *p, uint64_t hash, uint32_t *id) {
    if (!p || !id) return bad(TL_EINVAL, "tl_kv_lookup: NULL");
    uint32_t hit = holder(p, hash);
    if (hit == p->cfg.n_blocks) return TL_ENOTFOUND;
    p->state[hit] = USED;
    p->refs[hit]++;
    *id = hit;
    return TL_OK;
}

void *tl_kv_block_ptr(const tl_kv_pool *p, uint32_t id, uint32_t layer, int is_v) {
    if (p && id < p->cfg.n_blocks && layer < p->cfg.n_layers)
        return p->bytes[id] + (layer * (size_t)2 + !!is_v) * p->slab;
    tl_set_last_error("tl_kv_block_ptr: range");
    return NULL;
}

void tl_kv_pool_cfg(const tl_kv_pool *p, tl_kv_cfg *out) {
    if (p && out) memcpy(out, &p->cfg, sizeof *out);
    else tl_set_last_error("tl_kv_pool_cfg: NULL");
}

size_t tl_kv_block_bytes(const tl_kv_pool *p) { return p ? p->per_block : (size_t)bad(0, "tl_kv_block_bytes: NULL"); }

void tl_kv_stats_get(const tl_kv_pool *p, tl_kv_stats *out) {
    if (p && out) *out = (tl_kv_stats){count(p, FREE), count(p, USED), count(p, CACHED), p->evicted};
    else tl_set_last_error("tl_kv_stats_get: NULL");
}
