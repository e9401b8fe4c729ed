/* kv_pool.c (rt.04): reference-counted blocks for keys and values, with a prefix index and eviction.
 *
 * Contract: tinyllm/kv_pool.h. All memory is taken when the pool is made: the storage in one slab, a record per block,
 * and the heads of the index's buckets; no other call allocates. Records are linked by id, NIL ending a list:
 *   free list    a stack through `next`;
 *   cached list  doubly linked through `prev` and `next`, oldest first;
 *   buckets      singly linked through `chain`, holding exactly the blocks whose hash is not 0.
 * A block's state follows from two fields: refs > 0 is used; otherwise a hash makes it cached and none makes it free.
 * References are counted in 64 bits, which no program can overflow by counting.
 */
#include "tinyllm/kv_pool.h"

#include <string.h>

#define NIL UINT32_MAX /* no id: ids are below n_blocks, which is at most UINT32_MAX */

enum { STORAGE_ALIGN = 64, ELEMENT_BYTES = 2 };

typedef struct {
    uint64_t refs;
    uint64_t hash; /* 0: not registered */
    uint32_t fill;
    uint32_t prev;
    uint32_t next;
    uint32_t chain;
} block;

struct tl_kv_pool {
    tl_kv_cfg cfg;
    size_t slab_bytes; /* K, or V, of one layer of one block */
    size_t block_bytes;
    unsigned char *storage;
    block *blocks;
    uint32_t *buckets;
    size_t n_buckets; /* a power of two, at least n_blocks */
    uint32_t free_head;
    uint32_t oldest;
    uint32_t newest;
    uint32_t n_free;
    uint32_t n_cached;
    uint32_t evictions;
};

static tl_status fail(tl_status status, const char *message) {
    tl_set_last_error(message);
    return status;
}

static int is_id(const tl_kv_pool *pool, uint32_t id) {
    return id < pool->cfg.n_blocks;
}

static int is_used(const tl_kv_pool *pool, uint32_t id) {
    return is_id(pool, id) && pool->blocks[id].refs > 0;
}

/* ---- the free list, the cached list, the index ---- */

static void push_free(tl_kv_pool *pool, uint32_t id) {
    pool->blocks[id].next = pool->free_head;
    pool->free_head = id;
    pool->n_free++;
}

static uint32_t pop_free(tl_kv_pool *pool) {
    uint32_t id = pool->free_head;
    pool->free_head = pool->blocks[id].next;
    pool->n_free--;
    return id;
}

static void push_cached(tl_kv_pool *pool, uint32_t id) {
    block *b = &pool->blocks[id];
    b->prev = pool->newest;
    b->next = NIL;
    if (pool->newest == NIL) pool->oldest = id;
    else pool->blocks[pool->newest].next = id;
    pool->newest = id;
    pool->n_cached++;
}

static void remove_cached(tl_kv_pool *pool, uint32_t id) {
    const block *b = &pool->blocks[id];
    if (b->prev == NIL) pool->oldest = b->next;
    else pool->blocks[b->prev].next = b->next;
    if (b->next == NIL) pool->newest = b->prev;
    else pool->blocks[b->next].prev = b->prev;
    pool->n_cached--;
}

/* Callers choose the hashes, so its bits are mixed before some of them pick a bucket. */
static uint32_t *bucket_of(const tl_kv_pool *pool, uint64_t hash) {
    hash ^= hash >> 32;
    hash *= 0x9E3779B97F4A7C15u;
    hash ^= hash >> 32;
    return &pool->buckets[hash & (pool->n_buckets - 1)];
}

static uint32_t find(const tl_kv_pool *pool, uint64_t hash) {
    uint32_t id = *bucket_of(pool, hash);
    while (id != NIL && pool->blocks[id].hash != hash) id = pool->blocks[id].chain;
    return id;
}

static void enter_index(tl_kv_pool *pool, uint32_t id, uint64_t hash) {
    uint32_t *head = bucket_of(pool, hash);
    pool->blocks[id].hash = hash;
    pool->blocks[id].chain = *head;
    *head = id;
}

static void leave_index(tl_kv_pool *pool, uint32_t id) {
    uint32_t *link = bucket_of(pool, pool->blocks[id].hash);
    while (*link != id) link = &pool->blocks[*link].chain;
    *link = pool->blocks[id].chain;
    pool->blocks[id].hash = 0;
}

/* A block for a new owner; the caller has made sure that one is free or cached. */
static uint32_t take_block(tl_kv_pool *pool) {
    if (pool->n_free == 0) {
        uint32_t victim = pool->oldest;
        remove_cached(pool, victim);
        leave_index(pool, victim);
        push_free(pool, victim);
        pool->evictions++;
    }
    uint32_t id = pop_free(pool);
    pool->blocks[id].refs = 1;
    pool->blocks[id].fill = 0;
    return id;
}

static void drop_ref(tl_kv_pool *pool, uint32_t id) {
    if (--pool->blocks[id].refs > 0) return;
    if (pool->blocks[id].hash) push_cached(pool, id);
    else push_free(pool, id);
}

/* ---- making and ending a pool ---- */

static int mul(size_t *product, size_t factor) {
    if (*product > SIZE_MAX / factor) return 0; /* no factor is 0: the configuration has been checked */
    *product *= factor;
    return 1;
}

static int compute_sizes(tl_kv_pool *pool, size_t *bytes) {
    const tl_kv_cfg *cfg = &pool->cfg;
    *bytes = ELEMENT_BYTES;
    if (!mul(bytes, cfg->n_kv_heads) || !mul(bytes, cfg->block_tokens) || !mul(bytes, cfg->head_dim)) return 0;
    pool->slab_bytes = *bytes;
    if (!mul(bytes, 2) || !mul(bytes, cfg->n_layers)) return 0;
    pool->block_bytes = *bytes;
    return mul(bytes, cfg->n_blocks);
}

static void *alloc_array(size_t n, size_t item_bytes, size_t align) {
    return mul(&n, item_bytes) ? tl_alloc(n, align) : NULL;
}

static int count_buckets(tl_kv_pool *pool) {
    pool->n_buckets = 1;
    while (pool->n_buckets < pool->cfg.n_blocks)
        if (!mul(&pool->n_buckets, 2)) return 0;
    return 1;
}

/* On failure some of the three may be held; tl_kv_pool_destroy frees them. */
static int alloc_parts(tl_kv_pool *pool) {
    size_t storage_bytes;
    if (!compute_sizes(pool, &storage_bytes) || !count_buckets(pool)) return 0;
    pool->blocks = alloc_array(pool->cfg.n_blocks, sizeof(block), _Alignof(block));
    if (!pool->blocks) return 0;
    pool->buckets = alloc_array(pool->n_buckets, sizeof(uint32_t), _Alignof(uint32_t));
    if (!pool->buckets) return 0;
    pool->storage = tl_alloc(storage_bytes, STORAGE_ALIGN);
    return pool->storage != NULL;
}

static void init_records(tl_kv_pool *pool) {
    pool->free_head = pool->oldest = pool->newest = NIL;
    for (size_t i = 0; i < pool->n_buckets; i++) pool->buckets[i] = NIL;
    for (uint32_t id = pool->cfg.n_blocks; id-- > 0;) {
        pool->blocks[id] = (block){.refs = 0};
        push_free(pool, id);
    }
}

static tl_status check_cfg(const tl_kv_cfg *cfg) {
    if (!cfg) return fail(TL_EINVAL, "tl_kv_pool_create: cfg is NULL");
    if (!cfg->n_blocks || !cfg->block_tokens || !cfg->n_layers || !cfg->n_kv_heads || !cfg->head_dim)
        return fail(TL_EINVAL, "tl_kv_pool_create: a dimension is 0");
    if (cfg->format != TL_KV_FORMAT_V1 || cfg->dtype != TL_F16)
        return fail(TL_EUNSUPPORTED, "tl_kv_pool_create: only format 1 with TL_F16 is implemented");
    return TL_OK;
}

tl_status tl_kv_pool_create(const tl_kv_cfg *cfg, tl_kv_pool **out) {
    if (!out) return fail(TL_EINVAL, "tl_kv_pool_create: out is NULL");
    *out = NULL;
    tl_status status = check_cfg(cfg);
    if (status != TL_OK) return status;
    tl_kv_pool *pool = tl_alloc(sizeof *pool, _Alignof(tl_kv_pool));
    if (!pool) return fail(TL_ENOMEM, "tl_kv_pool_create: no memory for the pool");
    *pool = (tl_kv_pool){.cfg = *cfg};
    if (!alloc_parts(pool)) {
        tl_kv_pool_destroy(pool);
        return fail(TL_ENOMEM, "tl_kv_pool_create: no memory for the blocks, or their size does not fit size_t");
    }
    init_records(pool);
    *out = pool;
    return TL_OK;
}

void tl_kv_pool_destroy(tl_kv_pool *pool) {
    if (!pool) return;
    tl_free(pool->storage);
    tl_free(pool->buckets);
    tl_free(pool->blocks);
    tl_free(pool);
}

/* ---- blocks ---- */

tl_status tl_kv_alloc(tl_kv_pool *pool, uint32_t n, uint32_t *ids) {
    if (!pool) return fail(TL_EINVAL, "tl_kv_alloc: pool is NULL");
    if (!ids && n > 0) return fail(TL_EINVAL, "tl_kv_alloc: ids is NULL");
    if (n > pool->n_free + pool->n_cached) return fail(TL_EFULL, "tl_kv_alloc: too few blocks are free or cached");
    for (uint32_t i = 0; i < n; i++) ids[i] = take_block(pool);
    return TL_OK;
}

void tl_kv_ref(tl_kv_pool *pool, uint32_t id) {
    if (pool && is_used(pool, id)) pool->blocks[id].refs++;
    else tl_set_last_error("tl_kv_ref: pool is NULL or id is no used block");
}

tl_status tl_kv_unref(tl_kv_pool *pool, uint32_t id) {
    if (!pool) return fail(TL_EINVAL, "tl_kv_unref: pool is NULL");
    if (!is_id(pool, id)) return fail(TL_EINVAL, "tl_kv_unref: id is not below n_blocks");
    if (!is_used(pool, id)) return fail(TL_EINVAL, "tl_kv_unref: nobody holds the block (one unref too many)");
    drop_ref(pool, id);
    return TL_OK;
}

static unsigned char *block_start(const tl_kv_pool *pool, uint32_t id) {
    return pool->storage + id * pool->block_bytes;
}

tl_status tl_kv_cow(tl_kv_pool *pool, uint32_t id, uint32_t *out) {
    if (!pool || !out) return fail(TL_EINVAL, "tl_kv_cow: pool or out is NULL");
    if (!is_used(pool, id)) return fail(TL_EINVAL, "tl_kv_cow: id is no used block");
    if (pool->blocks[id].refs == 1) {
        *out = id;
        return TL_OK;
    }
    if (pool->n_free + pool->n_cached == 0) return fail(TL_EFULL, "tl_kv_cow: no block is free or cached");
    uint32_t copy = take_block(pool);
    memcpy(block_start(pool, copy), block_start(pool, id), pool->block_bytes);
    pool->blocks[copy].fill = pool->blocks[id].fill;
    drop_ref(pool, id);
    *out = copy;
    return TL_OK;
}

tl_status tl_kv_set_fill(tl_kv_pool *pool, uint32_t id, uint32_t n_tokens) {
    if (!pool) return fail(TL_EINVAL, "tl_kv_set_fill: pool is NULL");
    if (!is_used(pool, id)) return fail(TL_EINVAL, "tl_kv_set_fill: id is no used block");
    if (pool->blocks[id].hash) return fail(TL_EINVAL, "tl_kv_set_fill: the block is registered");
    if (n_tokens > pool->cfg.block_tokens) return fail(TL_EINVAL, "tl_kv_set_fill: n_tokens is above block_tokens");
    pool->blocks[id].fill = n_tokens;
    return TL_OK;
}

uint32_t tl_kv_fill(const tl_kv_pool *pool, uint32_t id) {
    if (pool && is_id(pool, id)) return pool->blocks[id].fill;
    tl_set_last_error("tl_kv_fill: pool is NULL or id is not below n_blocks");
    return 0;
}

/* ---- prefixes ---- */

static uint64_t fnv1a(uint64_t hash, uint64_t value, int n_bytes) {
    for (int i = 0; i < n_bytes; i++) {
        hash ^= (value >> (8 * i)) & 0xFF;
        hash *= 1099511628211u;
    }
    return hash;
}

uint64_t tl_kv_block_hash(uint64_t parent, const uint32_t *toks, uint32_t n) {
    if (!toks && n > 0) {
        tl_set_last_error("tl_kv_block_hash: toks is NULL");
        return 0;
    }
    uint64_t hash = fnv1a(14695981039346656037u, parent, 8);
    for (uint32_t i = 0; i < n; i++) hash = fnv1a(hash, toks[i], 4);
    return hash ? hash : 1;
}

tl_status tl_kv_register(tl_kv_pool *pool, uint32_t id, uint64_t hash) {
    if (!pool) return fail(TL_EINVAL, "tl_kv_register: pool is NULL");
    if (hash == 0) return fail(TL_EINVAL, "tl_kv_register: hash 0 means no hash");
    if (!is_used(pool, id)) return fail(TL_EINVAL, "tl_kv_register: id is no used block");
    block *b = &pool->blocks[id];
    if (b->fill != pool->cfg.block_tokens) return fail(TL_EINVAL, "tl_kv_register: the block is not full");
    if (b->hash == hash) return TL_OK;
    if (b->hash) return fail(TL_EINVAL, "tl_kv_register: the block is registered under another hash");
    if (find(pool, hash) != NIL) return fail(TL_EBUSY, "tl_kv_register: another block holds this hash");
    enter_index(pool, id, hash);
    return TL_OK;
}

tl_status tl_kv_lookup(tl_kv_pool *pool, uint64_t hash, uint32_t *id) {
    if (!pool || !id) return fail(TL_EINVAL, "tl_kv_lookup: pool or id is NULL");
    uint32_t hit = find(pool, hash);
    if (hit == NIL) return TL_ENOTFOUND;
    if (pool->blocks[hit].refs++ == 0) remove_cached(pool, hit);
    *id = hit;
    return TL_OK;
}

/* ---- what kernels and statistics read ---- */

void *tl_kv_block_ptr(const tl_kv_pool *pool, uint32_t id, uint32_t layer, int is_v) {
    if (!pool || !is_id(pool, id) || layer >= pool->cfg.n_layers) {
        tl_set_last_error("tl_kv_block_ptr: pool is NULL, or id or layer is out of range");
        return NULL;
    }
    size_t slab = 2 * (size_t)layer + (is_v ? 1 : 0);
    return block_start(pool, id) + slab * pool->slab_bytes;
}

void tl_kv_pool_cfg(const tl_kv_pool *pool, tl_kv_cfg *out) {
    if (pool && out) *out = pool->cfg;
    else tl_set_last_error("tl_kv_pool_cfg: pool or out is NULL");
}

size_t tl_kv_block_bytes(const tl_kv_pool *pool) {
    if (pool) return pool->block_bytes;
    tl_set_last_error("tl_kv_block_bytes: pool is NULL");
    return 0;
}

void tl_kv_stats_get(const tl_kv_pool *pool, tl_kv_stats *out) {
    if (!pool || !out) {
        tl_set_last_error("tl_kv_stats_get: pool or out is NULL");
        return;
    }
    out->free = pool->n_free;
    out->cached = pool->n_cached;
    out->used = pool->cfg.n_blocks - pool->n_free - pool->n_cached;
    out->evictions = pool->evictions;
}
