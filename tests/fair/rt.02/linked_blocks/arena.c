/* Blocks in a list, each behind its own header; addresses are aligned, not offsets, and a tail counts as used. */
#include "tinyllm/arena.h"

typedef struct node {
    struct node *next;
    size_t index, size, used;
    unsigned char bytes[];
} node;

struct tl_arena {
    size_t block_bytes, n_blocks, reserved, before, high; /* before: used in the blocks below the present one */
    node *first, *now;
};

tl_status tl_arena_create(size_t block_bytes, tl_arena **out) {
    if (out) {
        *out = tl_alloc(sizeof **out, _Alignof(tl_arena));
        if (*out) {
            **out = (tl_arena){0};
            (*out)->block_bytes = block_bytes ? block_bytes : 1024 * 1024;
            return TL_OK;
        }
    }
    tl_set_last_error("tl_arena_create");
    return out ? TL_ENOMEM : TL_EINVAL;
}

/* Where an n-byte piece would begin in a block; size + 1 if it does not fit. */
static size_t place(const node *b, size_t n, size_t align) {
    uintptr_t at = (uintptr_t)b->bytes + b->used;
    size_t pad = (size_t)(-at & (align - 1)), room = b->size - b->used;
    return pad <= room && n <= room - pad ? b->used + pad : b->size + 1;
}

static node *new_node(tl_arena *a, size_t n, size_t align) {
    size_t most = n > a->block_bytes ? n : a->block_bytes;
    if (n + align < n || n + align > SIZE_MAX / 2) return NULL;
    /* what alignment may cost beyond the block's usual size is added only where it is needed */
    size_t size = align > 16 && n + align > most ? n + align : most;
    node *b = tl_alloc(sizeof *b + size, 64);
    if (!b) return NULL;
    *b = (node){.index = a->n_blocks, .size = size};
    return b;
}

void *tl_arena_alloc(tl_arena *a, size_t n, size_t align) {
    if (!align) align = 64;
    if (!a || !n || align > 4096 || (align & (align - 1))) {
        tl_set_last_error("tl_arena_alloc: bad argument");
        return NULL;
    }
    node *b = a->now, *last = b;
    while (b && place(b, n, align) > b->size) {
        last = b;
        b = b->next;
    }
    if (!b) {
        if (!(b = new_node(a, n, align))) {
            tl_set_last_error("tl_arena_alloc: no memory");
            return NULL;
        }
        if (last) last->next = b;
        else a->first = a->now = b;
        a->n_blocks++;
        a->reserved += b->size;
    }
    while (a->now != b) {
        a->now->used = a->now->size; /* the tail is lost until a rewind */
        a->before += a->now->size;
        a->now = a->now->next;
    }
    size_t at = place(b, n, align);
    b->used = at + n;
    if (a->before + b->used > a->high) a->high = a->before + b->used;
    return b->bytes + at;
}

tl_arena_mark tl_arena_mark_get(const tl_arena *a) {
    if (!a) tl_set_last_error("tl_arena_mark_get");
    if (!a || !a->now) return (tl_arena_mark){0, 0};
    return (tl_arena_mark){a->now->used, a->now->index};
}

void tl_arena_reset_to(tl_arena *a, tl_arena_mark mark) {
    if (!a || mark.block > (a->now ? a->now->index : 0)) goto refuse;
    if (!a->now) {
        if (mark.offset) goto refuse;
        return;
    }
    node *b = a->first;
    size_t before = 0;
    while (b->index < mark.block) before += b->size, b = b->next;
    if (mark.offset > b->used) goto refuse;
    for (node *later = b->next; later && later->index <= a->now->index; later = later->next) later->used = 0;
    b->used = mark.offset;
    a->now = b;
    a->before = before;
    return;
refuse:
    tl_set_last_error("tl_arena_reset_to: not a mark that lies behind");
}

void tl_arena_stats_get(const tl_arena *a, tl_arena_stats *out) {
    if (!a || !out) {
        tl_set_last_error("tl_arena_stats_get");
        return;
    }
    *out = (tl_arena_stats){a->before + (a->now ? a->now->used : 0), a->reserved, a->high, a->n_blocks};
}

void tl_arena_destroy(tl_arena *a) {
    if (!a) return;
    for (node *b = a->first, *next; b; b = next) {
        next = b->next;
        tl_free(b);
    }
    tl_free(a);
}
