/* What the tests of rt.04 share: pools of a given shape, looks at their stats, and content to write. */
#ifndef RT04_BLOCKS_H
#define RT04_BLOCKS_H

#include "ol_test.h"
#include "tinyllm/kv_pool.h"

/* A configuration with one layer, one KV head and head_dim 2. */
tl_kv_cfg plain_cfg(uint32_t n_blocks, uint32_t block_tokens);

/* A pool in the unit role; NULL in the other. The status is judged. */
tl_kv_pool *new_pool(tl_kv_cfg cfg);
void end_pool(tl_kv_pool *pool);

void follow_the_hook(void);

/* The stats as free, used, cached, evictions. */
enum { STATS = 4 };
void stats_into(const tl_kv_pool *pool, uint32_t stats[STATS]);
void stats_are(const tl_kv_pool *pool, uint32_t free, uint32_t used, uint32_t cached, uint32_t evictions);

/* Fills or reads the whole of a block: K and V of all layers. */
void write_block(const tl_kv_pool *pool, uint32_t id, uint16_t seed);
int block_holds(const tl_kv_pool *pool, uint32_t id, uint16_t seed);

/* Makes a block full and registers it; the status of the last call. Unit role. */
tl_status fill_and_register(tl_kv_pool *pool, uint32_t id, uint64_t hash);

/* The text of the error slot names the function; empties the slot for the next call. */
void slot_names(const char *function);
void slot_is_empty(void);

#endif
