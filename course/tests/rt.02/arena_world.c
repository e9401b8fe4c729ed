#include "arena_world.h"

#include <string.h>

static size_t largest;

static void *limited_alloc(void *user, size_t n, size_t align) {
    if (n > largest) largest = n;
    return n > (size_t)1 << 30 ? NULL : ol_hook_alloc(user, n, align);
}

void follow_the_hook(void) {
    OL_UNIT { tl_set_allocator(&(tl_allocator){limited_alloc, ol_hook_free, NULL}); }
}

int64_t largest_request(void) { return (int64_t)largest; }

static tl_arena_stats stats_of(const tl_arena *arena) {
    tl_arena_stats stats;
    memset(&stats, 0xEE, sizeof stats);
    tl_arena_stats_get(arena, &stats);
    return stats;
}

int64_t used_of(const tl_arena *arena) { return (int64_t)stats_of(arena).bytes_used; }
int64_t blocks_of(const tl_arena *arena) { return (int64_t)stats_of(arena).n_blocks; }
int64_t reserved_of(const tl_arena *arena) { return (int64_t)stats_of(arena).bytes_reserved; }
int64_t high_water_of(const tl_arena *arena) { return (int64_t)stats_of(arena).high_water; }

void look_at(const tl_arena *arena, int64_t state[STATE]) {
    memset(state, 0, STATE * sizeof *state);
    if (!arena) return;
    tl_arena_stats stats = stats_of(arena);
    tl_arena_mark mark = tl_arena_mark_get(arena);
    const size_t all[STATE] = {stats.bytes_used, stats.bytes_reserved, stats.high_water, stats.n_blocks, mark.offset,
                               mark.block};
    for (int k = 0; k < STATE; k++) state[k] = (int64_t)all[k];
}
