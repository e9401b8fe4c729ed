/* Wrong: sizes are rounded up to the alignment without a look at overflow, and so are the bytes counted as used. */
#include "tinyllm/arena.h"

#include <string.h>

enum {
    DEFAULT_BLOCK_BYTES = 1 << 20,
    DEFAULT_ALIGN = 64,
    MAX_ALIGN = 4096,
    FIRST_TABLE_CAP = 8
};

typedef struct {
    unsigned char *base;
    size_t size;
    size_t used;
} block;

struct tl_arena {
    size_t block_bytes;
    block *blocks; /* NULL until the first allocation */
    size_t n_blocks;
    size_t table_cap;
    size_t current; /* 0 while there are no blocks */
    size_t bytes_used;
    size_t bytes_reserved;
    size_t high_water;
};

tl_status tl_arena_create(size_t block_bytes, tl_arena **out) {
    if (!out) {
        tl_set_last_error("tl_arena_create: out is NULL");
        return TL_EINVAL;
    }
    *out = NULL;
    tl_arena *arena = tl_alloc(sizeof *arena, _Alignof(tl_arena));
    if (!arena) {
        tl_set_last_error("tl_arena_create: no memory for the arena");
        return TL_ENOMEM;
    }
    *arena = (tl_arena){.block_bytes = block_bytes ? block_bytes : DEFAULT_BLOCK_BYTES};
    *out = arena;
    return TL_OK;
}

/* Makes room in the table for one more block. On failure the table is what it was. */
static int grow_table(tl_arena *arena) {
    if (arena->n_blocks < arena->table_cap) return 1;
    if (arena->table_cap > SIZE_MAX / sizeof(block) / 2) return 0;
    size_t cap = arena->table_cap ? 2 * arena->table_cap : FIRST_TABLE_CAP;
    block *blocks = tl_alloc(cap * sizeof *blocks, _Alignof(block));
    if (!blocks) return 0;
    if (arena->blocks) memcpy(blocks, arena->blocks, arena->n_blocks * sizeof *blocks);
    tl_free(arena->blocks);
    arena->blocks = blocks;
    arena->table_cap = cap;
    return 1;
}

/* Appends an empty block that can hold n bytes. */
static int append_block(tl_arena *arena, size_t n) {
    size_t size = n > arena->block_bytes ? n : arena->block_bytes;
    if (size > SIZE_MAX - arena->bytes_reserved || !grow_table(arena)) return 0;
    unsigned char *base = tl_alloc(size, MAX_ALIGN);
    if (!base) return 0;
    arena->blocks[arena->n_blocks++] = (block){.base = base, .size = size};
    arena->bytes_reserved += size;
    return 1;
}

static size_t padding(size_t offset, size_t align) {
    return (align - offset % align) % align;
}

static int fits(const block *b, size_t n, size_t align) {
    size_t room = b->size - b->used;
    size_t pad = padding(b->used, align);
    return pad <= room && n <= room - pad;
}

/* The first block from the current one on that has room; n_blocks if none has. */
static size_t find_block(const tl_arena *arena, size_t n, size_t align) {
    size_t i = arena->current;
    while (i < arena->n_blocks && !fits(&arena->blocks[i], n, align)) i++;
    return i;
}

/* Moves the position to block i and beyond the n bytes that it hands out there. */
static void *take(tl_arena *arena, size_t i, size_t n, size_t align) {
    block *b = &arena->blocks[i];
    size_t pad = padding(b->used, align);
    void *p = b->base + b->used + pad;
    b->used += pad + n;
    arena->current = i;
    arena->bytes_used += pad + n;
    if (arena->bytes_used > arena->high_water) arena->high_water = arena->bytes_used;
    return p;
}

void *tl_arena_alloc(tl_arena *arena, size_t n, size_t align) {
    if (align == 0) align = DEFAULT_ALIGN;
    if (!arena || n == 0) {
        tl_set_last_error("tl_arena_alloc: arena is NULL or n is 0");
        return NULL;
    }
    if (align > MAX_ALIGN || (align & (align - 1)) != 0) {
        tl_set_last_error("tl_arena_alloc: align is not a power of two up to 4096");
        return NULL;
    }
    n = (n + align - 1) / align * align;
    size_t i = find_block(arena, n, align);
    if (i == arena->n_blocks && !append_block(arena, n)) {
        tl_set_last_error("tl_arena_alloc: no memory for another block");
        return NULL;
    }
    return take(arena, i, n, align);
}

tl_arena_mark tl_arena_mark_get(const tl_arena *arena) {
    tl_arena_mark mark = {0, 0};
    if (!arena) {
        tl_set_last_error("tl_arena_mark_get: arena is NULL");
    } else if (arena->n_blocks > 0) {
        mark.block = arena->current;
        mark.offset = arena->blocks[arena->current].used;
    }
    return mark;
}

/* No mark that is still good exceeds what its block holds, and none lies in a block above the current one. */
static int is_behind(const tl_arena *arena, tl_arena_mark mark) {
    if (arena->n_blocks == 0) return mark.block == 0 && mark.offset == 0;
    return mark.block <= arena->current && mark.offset <= arena->blocks[mark.block].used;
}

static void rewind_block(tl_arena *arena, size_t i, size_t used) {
    arena->bytes_used -= arena->blocks[i].used - used;
    arena->blocks[i].used = used;
}

void tl_arena_reset_to(tl_arena *arena, tl_arena_mark mark) {
    if (!arena) {
        tl_set_last_error("tl_arena_reset_to: arena is NULL");
        return;
    }
    if (!is_behind(arena, mark)) {
        tl_set_last_error("tl_arena_reset_to: the mark lies later than the arena's position");
        return;
    }
    if (arena->n_blocks == 0) return;
    for (size_t i = arena->current; i > mark.block; i--) rewind_block(arena, i, 0);
    rewind_block(arena, mark.block, mark.offset);
    arena->current = mark.block;
}

void tl_arena_stats_get(const tl_arena *arena, tl_arena_stats *out) {
    if (!arena || !out) {
        tl_set_last_error("tl_arena_stats_get: arena or out is NULL");
        return;
    }
    out->bytes_used = arena->bytes_used;
    out->bytes_reserved = arena->bytes_reserved;
    out->high_water = arena->high_water;
    out->n_blocks = arena->n_blocks;
}

void tl_arena_destroy(tl_arena *arena) {
    if (!arena) return;
    for (size_t i = 0; i < arena->n_blocks; i++) tl_free(arena->blocks[i].base);
    tl_free(arena->blocks);
    tl_free(arena);
}
