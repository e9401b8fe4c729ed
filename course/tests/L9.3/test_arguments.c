/* Which calls are refused, and what a call must leave alone. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "world.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define NAME "tl_flash_attn_fwd_f32"

/* ---- Refusals --------------------------------------------------------------------------------------- */

static void leaves_no_trace(world *w) {
    OL_UNIT {
        ol_saw_text("error slot", tl_last_error());
        ol_saw_f32("untouched o", w->o, o_dims(w));
        ol_saw_f32("untouched lse", w->lse, lse_dims(w));
    }
    OL_ORACLE {
        clear_outputs(w);
        ol_want_text_with("error slot", NAME);
        ol_want_bits_f32("untouched o", w->o, out_size(w));
        ol_want_bits_f32("untouched lse", w->lse, rows(w));
    }
}

static void is_refused(world *w, const char *why, tl_status wanted, call c) {
    ol_note("refused: %s", why);
    clear_outputs(w);
    OL_UNIT { tl_set_last_error(NULL); }
    gives_status(wanted, c);
    leaves_no_trace(w);
}

/* No H is negative without being below Hkv too, so either status will do. */
static void refuse_negative_heads(world *w) {
    ol_note("refused: H -2");
    clear_outputs(w);
    OL_UNIT {
        call c = call_on(w);
        c.H = -2;
        tl_set_last_error(NULL);
        tl_status status = attend(c);
        ol_saw_fact("status", status == TL_EINVAL || status == TL_ESHAPE, "TL_EINVAL or TL_ESHAPE");
    }
    OL_ORACLE { ol_want_fact("status"); }
    leaves_no_trace(w);
}

static void refuse_negatives(world *w) {
    static const char *const name[] = {"B", "Tq", "Tk", "D", "q_offset", "Hkv"};
    for (int n = 0; n < 11; n++) { /* Hkv INT64_MIN would not divide H, which is another fault */
        call c = call_on(w);
        int64_t *size[] = {&c.B, &c.Tq, &c.Tk, &c.D, &c.q_offset, &c.Hkv};
        char why[64] = "";
        *size[n / 2] = n % 2 ? INT64_MIN : -1;
        strcat(strcat(why, name[n / 2]), n % 2 ? " INT64_MIN" : " -1");
        is_refused(w, why, TL_EINVAL, c);
    }
    refuse_negative_heads(w);
}

static void refuse_null(world *w) {
    call c = call_on(w);
    c.q = NULL;
    is_refused(w, "q NULL", TL_EINVAL, c);
    c = call_on(w);
    c.k = NULL;
    is_refused(w, "k NULL", TL_EINVAL, c);
    c = call_on(w);
    c.v = NULL;
    is_refused(w, "v NULL", TL_EINVAL, c);
    c = call_on(w);
    c.o = NULL;
    is_refused(w, "o NULL", TL_EINVAL, c);
}

static void refuse_heads(world *w) {
    static const int64_t heads[][2] = {{4, 0}, {4, 3}, {4, 8}, {3, 2}, {1, 2}, {5, 4}};
    for (int n = 0; n < 6; n++) {
        call c = call_on(w);
        c.H = heads[n][0], c.Hkv = heads[n][1];
        is_refused(w, n == 0 ? "Hkv 0" : "H is no multiple of Hkv", TL_ESHAPE, c);
    }
}

OL_TEST(bad_arguments_are_refused) {
    world w = new_world((shape){.B = 2, .H = 4, .Hkv = 2, .Tq = 3, .Tk = 5, .D = 4, .scale = 1.0f, .causal = 1,
                                .q_offset = 2, .sink = 1, .Br = 2, .Bc = 2});
    refuse_negatives(&w);
    refuse_null(&w);
    refuse_heads(&w);
    world one = new_world((shape){.B = 1, .H = 1, .Hkv = 1, .Tq = 1, .Tk = 1, .D = 1, .scale = 1.0f});
    refuse_null(&one); /* every tensor has one element */
    note_world("without a fault", &w);
    clear_outputs(&w);
    gives_status(TL_OK, call_on(&w));
    outputs_have_the_bits(&w);
}

/* ---- Outputs ---------------------------------------------------------------------------------------- */

enum { MARGIN = 40 };

/* The outputs lie inside larger arrays, whose margins keep their sentinels. */
static void keeps_to_its_outputs(world *w) {
    const int64_t n_o = out_size(w), n_lse = rows(w);
    float *o = ol_new(n_o + 2 * MARGIN, sizeof *o), *lse = ol_new(n_lse + 2 * MARGIN, sizeof *lse);
    call c = call_on(w);
    c.o = o + MARGIN, c.lse = lse + MARGIN;
    note_world("outputs inside larger arrays", w);
    ol_fill_sentinel_f32(o, n_o + 2 * MARGIN);
    ol_fill_sentinel_f32(lse, n_lse + 2 * MARGIN);
    gives_status(TL_OK, c);
    OL_ORACLE { in_order(w, o + MARGIN, lse + MARGIN); }
    for (int64_t n = 0; n < n_lse; n++) lse[MARGIN + n] = 0.0f; /* judged elsewhere */
    OL_UNIT {
        ol_saw_f32("o and its margins", o, OL_DIMS({"float", n_o + 2 * MARGIN}));
        ol_saw_f32("margins of lse", lse, OL_DIMS({"float", n_lse + 2 * MARGIN}));
    }
    OL_ORACLE {
        ol_want_bits_f32("o and its margins", o, n_o + 2 * MARGIN);
        ol_want_bits_f32("margins of lse", lse, n_lse + 2 * MARGIN);
    }
}

static void lse_may_be_null(world *w) {
    call c = call_on(w);
    c.lse = NULL;
    note_world("lse NULL", w);
    clear_outputs(w);
    gives_status(TL_OK, c);
    OL_UNIT { ol_saw_f32("o without lse", w->o, o_dims(w)); }
    OL_ORACLE {
        in_order(w, w->o, w->lse);
        ol_want_bits_f32("o without lse", w->o, out_size(w));
    }
}

static const shape BOTH = {.B = 2, .H = 4, .Hkv = 2, .Tq = 7, .Tk = 20, .D = 6, .scale = 0.7f, .q_offset = 13,
                           .causal = 1, .window = 9, .sink = 1, .Br = 4, .Bc = 8};

OL_TEST(writes_its_outputs_and_no_more) {
    world w = new_world(BOTH);
    keeps_to_its_outputs(&w);
    lse_may_be_null(&w);
    w = new_world((shape){.B = 1, .H = 2, .Hkv = 1, .Tq = 3, .Tk = 4, .D = 1, .scale = 1.0f});
    lse_may_be_null(&w);
}

/* ---- Inputs ----------------------------------------------------------------------------------------- */

static void inputs_are_what_they_were(const world *w, const world *drawn) {
    OL_UNIT {
        ol_saw_f32("q after the call", w->q, o_dims(w));
        ol_saw_f32("k after the call", w->k, OL_DIMS({"float", kv_size(w)}));
        ol_saw_f32("v after the call", w->v, OL_DIMS({"float", kv_size(w)}));
        ol_saw_f32("sink_logits after the call", w->sink_logits, OL_DIMS({"head", w->s.H}));
    }
    OL_ORACLE {
        ol_want_bits_f32("q after the call", drawn->q, out_size(w));
        ol_want_bits_f32("k after the call", drawn->k, kv_size(w));
        ol_want_bits_f32("v after the call", drawn->v, kv_size(w));
        ol_want_bits_f32("sink_logits after the call", drawn->sink_logits, w->s.H);
    }
}

/* A copy of n floats in pages that cannot be written, at their end. Unit role. */
static const float *sealed(const float *x, int64_t n) {
    const size_t bytes = (size_t)n * sizeof *x, room = (bytes + 65535) / 65536 * 65536;
    char *pages = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) abort();
    memcpy(pages + room - bytes, x, bytes);
    if (mprotect(pages, room, PROT_READ) != 0) abort();
    return (const float *)(const void *)(pages + room - bytes);
}

/* Also when it is put back before anybody looks. */
OL_TEST(never_writes_its_inputs) {
    world w = new_world(BOTH), drawn = new_world(BOTH);
    note_world("ordinary inputs", &w);
    gives_status(TL_OK, call_on(&w));
    inputs_are_what_they_were(&w, &drawn);
    note_world("inputs that cannot be written: SIGSEGV here is a write to one of them", &w);
    clear_outputs(&w);
    OL_UNIT {
        call c = call_on(&w);
        c.q = sealed(w.q, out_size(&w));
        c.k = sealed(w.k, kv_size(&w));
        c.v = sealed(w.v, kv_size(&w));
        c.sink_logits = sealed(w.sink_logits, w.s.H);
        ol_saw_status("status", attend(c));
    }
    OL_ORACLE { ol_want_status("status", TL_OK); }
    outputs_have_the_bits(&w);
}
