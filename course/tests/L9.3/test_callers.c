/* Who calls: from inside a range of a pool, and from two threads at once. */
#include "world.h"

#include <pthread.h>
#include <stdlib.h>

/* ---- A busy pool ------------------------------------------------------------------------------------ */

typedef struct {
    call c;
    tl_status status;
    int explained;
} inner_call;

static void attend_inside(void *ctx, int64_t lo, int64_t hi, int worker) {
    inner_call *inner = ctx;
    (void)lo, (void)hi, (void)worker;
    tl_set_last_error(NULL);
    inner->status = attend(inner->c);
    inner->explained = tl_last_error()[0] != '\0';
}

/* Streams how the call ends inside a range of `outer`. Where the pool was busy the call is made again, so that o and
 * lse hold an answer either way. Unit role. */
static void saw_inner(tl_pool *outer, call c) {
    inner_call inner = {.c = c};
    ol_saw_status("outer status", tl_parallel_for(outer, 1, 1, attend_inside, &inner));
    const int busy = inner.status == TL_EBUSY;
    ol_saw_fact("tl_flash_attn_fwd_f32", inner.status == TL_OK || (busy && c.tp == outer),
                "TL_OK, or TL_EBUSY from the outer pool");
    ol_saw_fact("error slot", !busy || inner.explained, "says who was busy");
    if (busy) attend(c);
}

static void call_inside(world *w, tl_pool *outer, tl_pool *tp, tl_arena *arena) {
    clear_outputs(w);
    call c = call_on(w);
    c.tp = tp, c.scratch = arena;
    OL_UNIT {
        tl_arena_mark before = tl_arena_mark_get(arena), after;
        saw_inner(outer, c);
        after = tl_arena_mark_get(arena);
        ol_saw_fact("scratch", before.block == after.block && before.offset == after.offset, "is rewound");
    }
    OL_ORACLE {
        ol_want_status("outer status", TL_OK);
        ol_want_fact("tl_flash_attn_fwd_f32");
        ol_want_fact("error slot");
        ol_want_fact("scratch");
    }
    outputs_have_the_bits(w);
}

/* A kernel that does not share this call out answers where the pool would have been busy; then the answer is judged. */
OL_TEST(a_busy_pool_is_passed_on) {
    tl_pool *tp = NULL, *other = NULL;
    tl_arena *arena = NULL;
    world w = new_world((shape){.B = 2, .H = 8, .Hkv = 4, .Tq = 64, .Tk = 64, .D = 8, .scale = 1.0f, .causal = 1,
                                .Br = 16, .Bc = 32});
    OL_STATUS(TL_OK, tl_pool_create(3, &tp));
    OL_STATUS(TL_OK, tl_pool_create(2, &other));
    OL_STATUS(TL_OK, tl_arena_create(0, &arena));
    note_world("inside a range of the same pool", &w);
    call_inside(&w, tp, tp, arena);
    note_world("inside a range of another pool", &w);
    call_inside(&w, tp, other, arena);
    OL_UNIT {
        tl_arena_destroy(arena);
        tl_pool_destroy(other);
        tl_pool_destroy(tp);
    }
}

/* ---- Two callers ------------------------------------------------------------------------------------ */

typedef struct {
    call c;
    pthread_barrier_t *start;
} caller;

static void *attend_often(void *arg) {
    const caller *me = arg;
    pthread_barrier_wait(me->start);
    for (int k = 0; k < 8; k++) attend(me->c);
    return NULL;
}

static void attend_from_two_threads(call first, call second) {
    pthread_barrier_t start;
    pthread_t thread;
    pthread_barrier_init(&start, NULL, 2);
    caller here = {first, &start}, there = {second, &start};
    if (pthread_create(&thread, NULL, attend_often, &there) != 0) abort();
    attend_often(&here);
    pthread_join(thread, NULL);
    pthread_barrier_destroy(&start);
}

/* The second caller has the queries of the first with the other sign. */
OL_TEST(two_callers_at_once) {
    world w = new_world((shape){.B = 1, .H = 2, .Hkv = 1, .Tq = 30, .Tk = 80, .D = 16, .scale = 1.0f, .causal = 1,
                                .q_offset = 50, .Br = 8, .Bc = 16});
    world v = new_world(w.s);
    for (int64_t n = 0; n < out_size(&v); n++) v.q[n] = -v.q[n];
    clear_outputs(&w);
    clear_outputs(&v);
    note_world("from two threads, each with queries and outputs of its own", &w);
    OL_UNIT { attend_from_two_threads(call_on(&w), call_on(&v)); }
    outputs_have_the_bits(&w);
    outputs_have_the_bits(&v);
}
