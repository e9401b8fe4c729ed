/* What the tests of L9.4 share: a paged cache with a query for each sequence, calls on it, and oracles.
 *
 * A world is drawn in both roles from the same numbers. `cells` is its cache, in the layout of the pool's
 * blocks. The unit role copies the cells into a pool and calls the kernel; the oracle role has no pool and
 * computes from the cells. A cell that holds no position of any sequence is junk: huge or NaN, so that a
 * wrong read shows in the output. */
#ifndef L94_WORLD_H
#define L94_WORLD_H

#include "ol_test.h"
#include "tinyllm.h"

enum { MOST_SEQUENCES = 16 };

typedef struct {
    int64_t B, H, Hkv, D;
    int64_t block;          /* positions per block */
    int64_t n_blocks;       /* 0: what the sequences need, and some spare ones */
    int64_t layers, layer;  /* of the pool, and the one to read; layers 0 means 1 */
    int64_t shared;         /* blocks at the start of every sequence that all of them share */
    int64_t window;
    float scale;
    int32_t lens[MOST_SEQUENCES];
} shape;

typedef struct {
    shape s;
    int64_t max_blocks;
    float *q;         /* [B][H][D] */
    uint32_t *tables; /* [B][max_blocks]; what a sequence does not need names a block of junk */
    int32_t *lens;    /* [B] */
    uint16_t *cells;  /* [n_blocks][layers][K, V][Hkv][block][D] */
    float *out;       /* [B][H][D], filled with the kit's sentinel */
    tl_kv_pool *kv;   /* NULL in the oracle role */
} world;

/* ---- Building --------------------------------------------------------------------------------------- */

/* Everything from ol_seed(). */
world new_world(shape s);

/* Queries, keys and values from `seed`, in the order of the fixtures (course/fixtures/make_fixtures.py);
 * the tables still from ol_seed(), for the answer does not depend on them. */
world new_world_at(shape s, uint64_t seed);

/* The D elements of one position of one KV head. */
uint16_t *cell(const world *w, uint32_t id, int64_t layer, int is_v, int64_t g, int64_t slot);
uint16_t *cell_at(const world *w, int64_t b, int is_v, int64_t g, int64_t j); /* in the layer to read */

void junk_all(world *w);

/* Turns positions that the window hides into junk. For worlds without shared blocks. */
void junk_before_windows(world *w);

int64_t blocks_needed(const world *w, int64_t b);
int64_t first_visible(const world *w, int64_t b);
int64_t out_size(const world *w);

/* A pool that holds the cells. Unit role; in the other one these do nothing. */
void open_pool(world *w);
void close_pool(world *w);

/* ---- Calling ---------------------------------------------------------------------------------------- */

/* The arguments of tl_paged_attn_decode_f32, by the names of the header. */
typedef struct {
    const float *q;
    const tl_kv_pool *kv;
    uint32_t layer;
    const uint32_t *block_tables;
    int32_t max_blocks;
    const int32_t *ctx_lens;
    float *out;
    int64_t B, H, Hkv, D;
    float scale;
    int64_t window;
    tl_pool *tp;
} call;

/* A call on the whole world, without threads. */
call call_on(const world *w);
tl_status decode(call c); /* makes it; unit role only */

void note_world(const char *what, const world *w);
ol_shape out_dims(const world *w);

/* Until it is set back to 0, tl_kv_pool_cfg answers with this format and dtype for every pool. */
extern int pretend_format;
extern uint32_t pretended_format;
extern tl_dtype pretended_dtype;

/* ---- Wanted values: oracle role --------------------------------------------------------------------- */

/* Each writes [B][H][D]. */
void naive(const world *w, float *want);    /* gathered keys, softmax of L9.2, weighted sum of values */
void flash(const world *w, float *want);    /* L9.3 on the gathered cache, Bc = block */
void in_order(const world *w, float *want); /* the header's order of operations, with pieces of 256 */

/* ---- Whole checks ----------------------------------------------------------------------------------- */

typedef void oracle(const world *w, float *want);

/* One call on an open pool: its status, and the bits of its output. */
void call_gives_bits(world *w, const char *what, oracle *wanted);

/* The same with a pool of its own. */
void world_gives_bits(world *w, const char *what, oracle *wanted);

/* A call that is refused: with that status, in the error slot, and without a write to out. */
void call_is_refused(world *w, const char *why, tl_status wanted, call c);

#endif
