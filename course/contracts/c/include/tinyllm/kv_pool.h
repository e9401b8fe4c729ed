/* kv_pool.h (rt.04): the blocks that keys and values live in, counted by reference and found again by prefix hash.
 *
 * A pool has n_blocks blocks, named by ids 0 .. n_blocks - 1. At any time a block is in one of three states:
 *   free    nobody refers to it, and its content means nothing;
 *   used    its reference count is at least 1;
 *   cached  its count is 0, but it is registered under a hash and can be revived by tl_kv_lookup.
 * free + used + cached is n_blocks always.
 *
 * Layout of a block, format 1: for each layer a K slab, then a V slab, each [n_kv_heads][block_tokens][head_dim]
 * elements of binary16, row-major without gaps. The blocks themselves need not lie side by side. All sizes are computed
 * in size_t: a pool may be larger than 4 GiB.
 *
 * Not thread-safe: one thread at a time. The exceptions are tl_kv_block_ptr, tl_kv_block_bytes and tl_kv_pool_cfg,
 * which any number of threads may call while none alters the pool.
 *
 * Every function that takes a pool, tl_kv_pool_destroy apart, fails on NULL with the error slot: it returns TL_EINVAL,
 * or NULL or 0 as its type allows.
 */
#ifndef TINYLLM_KV_POOL_H
#define TINYLLM_KV_POOL_H

#include <stddef.h>
#include <stdint.h>

#include "tinyllm/abi.h"

/* binary16 elements in the layout above. */
#define TL_KV_FORMAT_V1 1u

typedef struct tl_kv_pool tl_kv_pool;

/* 28 bytes. */
typedef struct tl_kv_cfg {
    uint32_t n_blocks;
    uint32_t block_tokens; /* positions per block */
    uint32_t n_layers;
    uint32_t n_kv_heads;
    uint32_t head_dim;
    int32_t dtype;         /* a tl_dtype */
    uint32_t format;       /* TL_KV_FORMAT_V1 */
} tl_kv_cfg;

/* 16 bytes. */
typedef struct tl_kv_stats {
    uint32_t free;
    uint32_t used;
    uint32_t cached;
    uint32_t evictions; /* cached blocks given up to an allocation, since the pool was made */
} tl_kv_stats;

/* A pool with every block free, its content not cleared. *cfg is copied.
 *
 * On TL_OK *out is the caller's, to be given to tl_kv_pool_destroy; after a failure it is NULL.
 * TL_EINVAL: cfg or out is NULL, or one of the five dimensions is 0.
 * TL_EUNSUPPORTED: dtype is not TL_F16, or format not TL_KV_FORMAT_V1.
 * TL_ENOMEM: no memory, or the size does not fit size_t.
 */
tl_status tl_kv_pool_create(const tl_kv_cfg *cfg, tl_kv_pool **out);

/* Frees the pool and all its blocks, whoever still refers to them. NULL is ignored. */
void tl_kv_pool_destroy(tl_kv_pool *pool);

/* Takes n blocks and writes their ids to ids[0 .. n-1]; each has reference count 1, fill 0 and no hash.
 *
 * Free blocks go first. When they run out, cached blocks are evicted, those that have been cached longest first; an
 * evicted block loses its hash. All or nothing: a failing call takes and evicts none and leaves ids alone.
 * n 0 is TL_OK and ids may then be NULL.
 * TL_EINVAL: ids is NULL with n > 0. TL_EFULL: free and cached together are fewer than n.
 * Left open: the order in which free ids are given.
 */
tl_status tl_kv_alloc(tl_kv_pool *pool, uint32_t n, uint32_t *ids);

/* Adds a reference to a used block. Any other id: the error slot is set and nothing changes. */
void tl_kv_ref(tl_kv_pool *pool, uint32_t id);

/* Drops a reference. The last one makes the block cached if it is registered, else free.
 * TL_EINVAL: id is out of range or the block is not used, as after one unref too many. */
tl_status tl_kv_unref(tl_kv_pool *pool, uint32_t id);

/* Makes the caller's reference to id one that it may write through (copy on write); *out is the block to write.
 *
 * Count 1: *out = id and nothing else happens. Count above 1: *out is a new block, allocated as tl_kv_alloc does, with
 * count 1, no hash, and the K, V (every position, also beyond the fill) and fill of id; the caller's reference to id is
 * dropped.
 * After a failure nothing has changed, *out included.
 * TL_EINVAL: out is NULL, id is out of range or not used. TL_EFULL: a copy is needed and no block can be had.
 */
tl_status tl_kv_cow(tl_kv_pool *pool, uint32_t id, uint32_t *out);

/* Records that the first n_tokens positions of a used block hold data.
 * TL_EINVAL: id is out of range, n_tokens is above block_tokens, or the block is registered (its content is then fixed).
 * Left open: a block that nobody holds. */
tl_status tl_kv_set_fill(tl_kv_pool *pool, uint32_t id, uint32_t n_tokens);

/* The fill of a used block. An id out of range: 0 and the error slot.
 * Left open: a block that nobody holds. */
uint32_t tl_kv_fill(const tl_kv_pool *pool, uint32_t id);

/* The hash that names a block by its tokens and by all that came before it.
 *
 * FNV-1a, 64 bits (offset basis 14695981039346656037, prime 1099511628211), over parent as 8 bytes and then each of
 * toks[0 .. n-1] as 4 bytes, little-endian whatever the machine. parent is the hash of the previous block, 0 for the
 * first. A result of 0 is returned as 1, so that 0 can mean "no hash".
 * n 0 hashes the parent alone, and toks may then be NULL. toks NULL with n > 0: 0 and the error slot.
 */
uint64_t tl_kv_block_hash(uint64_t parent, const uint32_t *toks, uint32_t n);

/* Enters a used, full block in the prefix index, so that tl_kv_lookup finds it until it is evicted.
 *
 * Registering it again under its own hash is TL_OK.
 * TL_EINVAL: hash is 0, id is out of range or not used, or fill is not block_tokens.
 * TL_EBUSY: another block, used or cached, is registered under this hash.
 * Left open: registering a block under a second hash.
 */
tl_status tl_kv_register(tl_kv_pool *pool, uint32_t id, uint64_t hash);

/* The block that is registered under hash. A hit adds a reference, which the caller drops with tl_kv_unref; a cached
 * block becomes used again with its fill and content.
 *
 * TL_ENOTFOUND: no such block (hash 0 is never found); neither *id nor the error slot is touched.
 * TL_EINVAL: id is NULL.
 */
tl_status tl_kv_lookup(tl_kv_pool *pool, uint64_t hash, uint32_t *id);

/* The first element of the K slab (is_v 0) or the V slab (any other is_v) of a block's layer.
 *
 * Answers for every id below n_blocks, whatever its state. The address does not change while the pool lives; it is a
 * multiple of the element's size, and no more is promised.
 * NULL and the error slot: id is not below n_blocks, or layer not below n_layers.
 */
void *tl_kv_block_ptr(const tl_kv_pool *pool, uint32_t id, uint32_t layer, int is_v);

/* Copies the configuration that the pool was made with. */
void tl_kv_pool_cfg(const tl_kv_pool *pool, tl_kv_cfg *out);

/* Bytes of one block: K and V of all its layers. */
size_t tl_kv_block_bytes(const tl_kv_pool *pool);

/* Fills *out. */
void tl_kv_stats_get(const tl_kv_pool *pool, tl_kv_stats *out);

#endif
