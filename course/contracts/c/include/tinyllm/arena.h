/* arena.h (rt.02): scratch memory that is handed out upwards and taken back by rewinding to a mark.
 *
 * An arena owns a sequence of blocks and a position in it (a block and an offset). Memory that it hands out stays valid
 * until the arena is rewound below it or destroyed. Not thread-safe: one thread at a time.
 */
#ifndef TINYLLM_ARENA_H
#define TINYLLM_ARENA_H

#include <stddef.h>

#include "tinyllm/abi.h"

typedef struct tl_arena tl_arena;

/* A position. 16 bytes on 64-bit targets. Meaningful only to the arena that gave it. */
typedef struct tl_arena_mark {
    size_t offset; /* bytes in use in that block */
    size_t block;  /* index of the block, in order of creation */
} tl_arena_mark;

/* 32 bytes on 64-bit targets.
 * Left open: whether the tail of a block that was skipped for want of room counts as used, and what a block has beyond
 * block_bytes so that a stricter alignment than 16 can be met in it. */
typedef struct tl_arena_stats {
    size_t bytes_used;     /* handed out and not rewound, with the padding that alignment took */
    size_t bytes_reserved; /* sum of the blocks' sizes */
    size_t high_water;     /* the largest bytes_used so far; rewinding does not lower it */
    size_t n_blocks;       /* blocks owned, in use or kept for later */
} tl_arena_stats;

/* An empty arena whose blocks have block_bytes each (0: 1 MiB). The first block is made by the first allocation.
 *
 * On TL_OK *out is the caller's, to be given to tl_arena_destroy; after a failure it is NULL.
 * TL_EINVAL: out is NULL. TL_ENOMEM: no memory.
 */
tl_status tl_arena_create(size_t block_bytes, tl_arena **out);

/* n bytes at a multiple of align (0: 64; else a power of two up to 4096), not cleared. They belong to the arena.
 *
 * A request larger than the arena's block_bytes gets a block of its own. Blocks that a rewind left behind are used
 * again before new ones are made, but the position only moves upwards: a block that it has passed waits for a rewind.
 * NULL and the error slot: arena is NULL, n is 0, align is none of the above, or a needed block cannot be had.
 * After a failure position, blocks and stats are what they were.
 */
void *tl_arena_alloc(tl_arena *arena, size_t n, size_t align);

/* The present position; {0, 0} before the first allocation. */
tl_arena_mark tl_arena_mark_get(const tl_arena *arena);

/* Rewinds to a mark taken earlier: everything handed out since is given up, every block is kept.
 * The present position itself is accepted. A mark that lies later than the arena stands, such as one that an earlier
 * rewind went below, is refused: the error slot is set and nothing moves. */
void tl_arena_reset_to(tl_arena *arena, tl_arena_mark mark);

/* Fills *out. */
void tl_arena_stats_get(const tl_arena *arena, tl_arena_stats *out);

/* Frees every block and the arena. NULL is ignored. */
void tl_arena_destroy(tl_arena *arena);

#endif
