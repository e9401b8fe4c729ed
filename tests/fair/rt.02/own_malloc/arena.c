/* Block records in chunks of 8, 16, 32 …, which never move; everything else in two functions. */
#include "tinyllm/arena.h"

#include <string.h>

enum { CHUNKS = 40 };

typedef struct {
    unsigned char *base;
    size_t size, used;
} record;

struct tl_arena {
    size_t block_bytes, n, at, used, high, reserved;
    record *chunk[CHUNKS];
};

/* Record k: chunk c holds 8 << c records, and those before it 8 * (2^c - 1). */
static record *nth(const tl_arena *a, size_t k) {
    int c = 0;
    while (k >= (size_t)8 << c) k -= (size_t)8 << c++;
    return &a->chunk[c][k];
}

tl_status tl_arena_create(size_t block_bytes, tl_arena **out) {
    tl_status status = out ? TL_OK : TL_EINVAL;
    tl_arena *a = out ? *out = tl_alloc(sizeof *a, 64) : NULL;
    if (out && !a) status = TL_ENOMEM;
    if (status != TL_OK) tl_set_last_error("tl_arena_create: no out, or no memory");
    else memset(a, 0, sizeof *a), a->block_bytes = block_bytes ? block_bytes : 1u << 20;
    return status;
}

void *tl_arena_alloc(tl_arena *a, size_t n, size_t align) {
    align = align ? align : 64;
    if (!a || n == 0 || align > 4096 || (align & (align - 1)) != 0 || n > SIZE_MAX / 2) {
        tl_set_last_error("tl_arena_alloc: an argument is bad");
        return NULL;
    }
    for (size_t k = a->at; k < a->n; k++) {
        record *b = nth(a, k);
        size_t from = (b->used + align - 1) / align * align;
        if (from + n > b->size) continue;
        a->used += from + n - b->used;
        b->used = from + n;
        a->at = k;
        if (a->high < a->used) a->high = a->used;
        return b->base + from;
    }
    int c = 0;
    for (size_t first = 0; a->n >= first + ((size_t)8 << c); c++) first += (size_t)8 << c;
    if (!a->chunk[c]) a->chunk[c] = tl_alloc(((size_t)8 << c) * sizeof(record), 64);
    size_t size = n < a->block_bytes ? a->block_bytes : n;
    unsigned char *base = a->chunk[c] ? tl_alloc(size, 4096) : NULL;
    if (!base) {
        tl_set_last_error("tl_arena_alloc: the allocator has nothing");
        return NULL;
    }
    a->at = a->n++;
    *nth(a, a->at) = (record){base, size, n};
    a->reserved += size;
    a->used += n;
    if (a->high < a->used) a->high = a->used;
    return base;
}

tl_arena_mark tl_arena_mark_get(const tl_arena *a) {
    if (!a) tl_set_last_error("tl_arena_mark_get: NULL");
    return a && a->n ? (tl_arena_mark){.block = a->at, .offset = nth(a, a->at)->used} : (tl_arena_mark){0, 0};
}

void tl_arena_reset_to(tl_arena *a, tl_arena_mark mark) {
    int behind = a && (a->n ? mark.block <= a->at && mark.offset <= nth(a, mark.block)->used : !mark.block && !mark.offset);
    if (!behind) {
        tl_set_last_error("tl_arena_reset_to: no arena, or a mark from the future");
        return;
    }
    while (a->n) {
        record *b = nth(a, a->at);
        size_t keep = a->at == mark.block ? mark.offset : 0;
        a->used -= b->used - keep;
        b->used = keep;
        if (a->at == mark.block) return;
        a->at--;
    }
}

void tl_arena_stats_get(const tl_arena *a, tl_arena_stats *out) {
    if (!a || !out) tl_set_last_error("tl_arena_stats_get: NULL");
    else *out = (tl_arena_stats){.bytes_used = a->used, .bytes_reserved = a->reserved, .high_water = a->high, .n_blocks = a->n};
}

void tl_arena_destroy(tl_arena *a) {
    for (size_t k = 0; a && k < a->n; k++) tl_free(nth(a, k)->base);
    for (int c = 0; a && c < CHUNKS; c++) tl_free(a->chunk[c]);
    tl_free(a);
}
