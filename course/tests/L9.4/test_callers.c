/* Calls that meet other calls. */
#include "world.h"

#include <pthread.h>
#include <stdlib.h>

/* So much to do that the threads meet: with less one does it all, and TSan sees nothing. */
static world busy_world(void) {
    return new_world((shape){.B = 8, .H = 8, .Hkv = 2, .D = 4, .block = 16, .scale = 0.6f,
                             .lens = {90, 17, 64, 33, 5, 128, 70, 41}});
}

/* ---- A busy pool ------------------------------------------------------------------------------------ */

typedef struct {
    call c;
    tl_status status;
} inner_call;

static void decode_inside(void *ctx, int64_t lo, int64_t hi, int worker) {
    inner_call *inner = ctx;
    (void)lo, (void)hi, (void)worker;
    inner->status = decode(inner->c);
}

/* From inside a range of the pool, the pool refuses. A kernel that does not use the pool for this batch
 * answers instead; then its answer has to be right, and where it was refused the call is made again. */
OL_TEST(busy_pool_is_passed_on) {
    tl_pool *tp = NULL;
    world w = busy_world();
    OL_STATUS(TL_OK, tl_pool_create(2, &tp));
    open_pool(&w);
    note_world("inside a range of the same pool", &w);
    OL_UNIT {
        inner_call inner = {.c = call_on(&w)};
        inner.c.tp = tp;
        ol_saw_status("outer status", tl_parallel_for(tp, 1, 1, decode_inside, &inner));
        ol_saw_int("TL_EBUSY or TL_OK", inner.status == TL_EBUSY || inner.status == TL_OK);
        if (inner.status == TL_EBUSY) decode(inner.c);
        ol_saw_f32("out", w.out, out_dims(&w));
        tl_pool_destroy(tp);
    }
    OL_ORACLE {
        flash(&w, w.out);
        ol_want_status("outer status", TL_OK);
        ol_want_int("TL_EBUSY or TL_OK", 1);
        ol_want_bits_f32("out", w.out, out_size(&w));
    }
    close_pool(&w);
}

/* ---- Two callers ------------------------------------------------------------------------------------ */

typedef struct {
    call c;
    pthread_barrier_t *start;
} caller;

static void *decode_many(void *arg) {
    const caller *me = arg;
    pthread_barrier_wait(me->start);
    for (int k = 0; k < 4; k++) decode(me->c);
    return NULL;
}

static void decode_from_two_threads(call first, call second) {
    pthread_barrier_t start;
    pthread_t thread;
    pthread_barrier_init(&start, NULL, 2);
    caller a = {first, &start}, b = {second, &start};
    if (pthread_create(&thread, NULL, decode_many, &a) != 0) abort();
    decode_many(&b);
    pthread_join(thread, NULL);
    pthread_barrier_destroy(&start);
}

/* One pool of blocks, two threads, each with an output of its own: a kernel keeps nothing between calls. */
OL_TEST(two_callers_at_once) {
    world w = busy_world();
    open_pool(&w);
    note_world("from two threads", &w);
    OL_UNIT {
        float *out = ol_new(out_size(&w), sizeof *out);
        call first = call_on(&w), second = call_on(&w);
        second.out = out;
        decode_from_two_threads(first, second);
        ol_saw_f32("first caller's out", w.out, out_dims(&w));
        ol_saw_f32("second caller's out", out, out_dims(&w));
    }
    OL_ORACLE {
        flash(&w, w.out);
        ol_want_bits_f32("first caller's out", w.out, out_size(&w));
        ol_want_bits_f32("second caller's out", w.out, out_size(&w));
    }
    close_pool(&w);
}
