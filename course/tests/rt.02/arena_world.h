/* What the tests of the arena share: a hook that refuses what no machine has, and looks at an arena.
 * All of it is for the unit role; in the oracle role follow_the_hook does nothing. */
#ifndef RT02_ARENA_WORLD_H
#define RT02_ARENA_WORLD_H

#include "ol_test.h"
#include "tinyllm/arena.h"

/* Installs ol_hook_alloc behind a limit of 1 GiB. */
void follow_the_hook(void);
int64_t largest_request(void); /* that the hook has been asked for, in bytes */

int64_t used_of(const tl_arena *arena);
int64_t blocks_of(const tl_arena *arena);
int64_t reserved_of(const tl_arena *arena);
int64_t high_water_of(const tl_arena *arena);

/* All that an arena says of itself: its four stats and the two fields of its mark. Zeros for NULL. */
enum { STATE = 6 };
void look_at(const tl_arena *arena, int64_t state[STATE]);

#endif
