/* What the tests of L9.3 share: attention problems, calls on them, and oracles.
 *
 * A world is drawn in both roles from the same numbers. Keys and values that no query of the world may see
 * are junk: NaN or huge, so that a wrong read shows in the output. */
#ifndef L93_WORLD_H
#define L93_WORLD_H

#include "ol_test.h"
#include "tinyllm.h"

typedef struct {
    int64_t B, H, Hkv, Tq, Tk, D;
    float scale;
    int64_t q_offset;
    int causal;
    int64_t window;
    int sink; /* not 0: one sink logit per head */
    int64_t Br, Bc;
} shape;

typedef struct {
    shape s;
    float *q;           /* [B][H][Tq][D] */
    float *k, *v;       /* [B][Hkv][Tk][D] */
    float *sink_logits; /* [H], or NULL */
    float *o;           /* [B][H][Tq][D] */
    float *lse;         /* [B][H][Tq] */
} world;

/* Positions first .. end - 1; nothing if first >= end. */
typedef struct {
    int64_t first, end;
} range;

/* ---- Building --------------------------------------------------------------------------------------- */

/* Everything from ol_seed(); q, k, v and sinks in [-1, 1). */
world new_world(shape s);

int64_t rows(const world *w);     /* B * H * Tq */
int64_t out_size(const world *w); /* rows * D */
int64_t kv_size(const world *w);

range visible(const shape *s, int64_t i); /* the keys that query i sees */

/* ---- Calling ---------------------------------------------------------------------------------------- */

/* The arguments of tl_flash_attn_fwd_f32, by the names of the header. */
typedef struct {
    const float *q, *k, *v;
    float *o, *lse;
    int64_t B, H, Hkv, Tq, Tk, D;
    float scale;
    int64_t q_offset;
    int causal;
    int64_t window;
    const float *sink_logits;
    int64_t Br, Bc;
    tl_arena *scratch;
    tl_pool *tp;
} call;

/* A call on the whole world, with neither scratch nor threads. */
call call_on(const world *w);
tl_status attend(call c);                   /* makes it; unit role only */
void gives_status(tl_status wanted, call c); /* makes it, to be judged by its status */

void note_world(const char *what, const world *w);
void clear_outputs(world *w); /* sentinels in o and lse */
ol_shape o_dims(const world *w);
ol_shape lse_dims(const world *w);

/* ---- Wanted values: oracle role --------------------------------------------------------------------- */

/* Softmax over the visible keys in float64. */
void naive(const world *w, float *o, float *lse);

/* The header's order of operations for o; lse is that of naive(). */
void in_order(const world *w, float *o, float *lse);

/* ---- Whole checks ----------------------------------------------------------------------------------- */

/* Streams w->o and w->lse as "o" and "lse", to be close to naive(). */
void outputs_are_close(const world *w);

/* The same with the bits of in_order(); lse is close. */
void outputs_have_the_bits(const world *w);

/* A call of its own, and one of the two checks. */
void world_is_close(shape s, const char *what);
void world_gives_bits(shape s, const char *what);

/* ---- An allocator hook that also looks -------------------------------------------------------------- */

/* Everything goes on to the hook of the kit. Requests of a gigabyte and more are refused. */
void watch_allocations(void);
void stop_watching(void);
int64_t bytes_asked(void);     /* since watch_allocations */
int64_t foreign_calls(void);   /* from threads other than the one that called watch_allocations */

#endif
