/* Calls that are to be refused, one fault at a time, and the valid ones next to them. */
#include "world.h"

static world small_world(void) {
    return new_world((shape){.B = 3, .H = 4, .Hkv = 2, .D = 6, .block = 4, .layers = 2, .layer = 1, .window = 6,
                             .scale = 0.6f, .lens = {5, 1, 11}});
}

/* ---- Faults ----------------------------------------------------------------------------------------- */

static void refuse_null_pointers(world *w) {
    call c = call_on(w);
    c.q = NULL;
    call_is_refused(w, "q NULL", TL_EINVAL, c);
    c = call_on(w);
    c.kv = NULL;
    call_is_refused(w, "kv NULL", TL_EINVAL, c);
    c = call_on(w);
    c.block_tables = NULL;
    call_is_refused(w, "block_tables NULL", TL_EINVAL, c);
    c.B = c.max_blocks = 1;
    c.ctx_lens = w->lens + 1;
    call_is_refused(w, "block_tables NULL, max_blocks 1, one sequence of one position", TL_EINVAL, c);
    c = call_on(w);
    c.ctx_lens = NULL;
    call_is_refused(w, "ctx_lens NULL", TL_EINVAL, c);
    c = call_on(w);
    c.out = NULL;
    call_is_refused(w, "out NULL", TL_EINVAL, c);
}

static void refuse_negative_sizes(world *w) {
    call c = call_on(w);
    c.B = -1;
    call_is_refused(w, "B -1", TL_EINVAL, c);
    c.B = INT64_MIN;
    call_is_refused(w, "B INT64_MIN", TL_EINVAL, c);
    c = call_on(w);
    c.H = -4;
    call_is_refused(w, "H -4, a multiple of Hkv", TL_EINVAL, c);
    c = call_on(w);
    c.max_blocks = -1;
    call_is_refused(w, "max_blocks -1", TL_EINVAL, c);
    c.max_blocks = INT32_MIN;
    call_is_refused(w, "max_blocks INT32_MIN", TL_EINVAL, c);
}

/* A negative Hkv or D is not the pool's either, so either status is right; 1 stands for both. */
static void refuse_negative_widths(world *w) {
    for (int k = 0; k < 2; k++) {
        call c = call_on(w);
        if (k == 0) c.Hkv = -2;
        else c.D = -6;
        ol_note(k == 0 ? "refused: Hkv -2" : "refused: D -6");
        ol_fill_sentinel_f32(w->out, out_size(w));
        OL_UNIT {
            tl_status status = decode(c);
            ol_saw_int("TL_EINVAL or TL_ESHAPE", status == TL_EINVAL || status == TL_ESHAPE);
            ol_saw_f32("untouched out", w->out, out_dims(w));
        }
        OL_ORACLE {
            ol_want_int("TL_EINVAL or TL_ESHAPE", 1);
            ol_want_bits_f32("untouched out", w->out, out_size(w));
        }
    }
}

static void accept_no_sequence(world *w) {
    call c = call_on(w);
    c.B = 0;
    ol_note("B 0, max_blocks 0");
    c.max_blocks = 0;
    ol_fill_sentinel_f32(w->out, out_size(w));
    OL_UNIT {
        ol_saw_status("tl_paged_attn_decode_f32", decode(c));
        ol_saw_f32("untouched out", w->out, out_dims(w));
    }
    OL_ORACLE {
        ol_want_status("tl_paged_attn_decode_f32", TL_OK);
        ol_want_bits_f32("untouched out", w->out, out_size(w));
    }
}

OL_TEST(null_pointers_and_negative_sizes) {
    world w = small_world();
    open_pool(&w);
    refuse_null_pointers(&w);
    refuse_negative_sizes(&w);
    refuse_negative_widths(&w);
    accept_no_sequence(&w);
    call_gives_bits(&w, "without a fault", flash);
    close_pool(&w);
}

/* How many blocks a context needs has to be counted in 64 bits. */
OL_TEST(contexts_that_cannot_fit) {
    static const int32_t blocks[] = {1, 7, 16};
    for (int k = 0; k < 3; k++) {
        const int32_t full = 3 * blocks[k];
        world w = new_world((shape){.B = 2, .H = 1, .Hkv = 1, .D = 2, .block = blocks[k], .scale = 1.0f,
                                    .lens = {1, full}});
        open_pool(&w);
        w.lens[0] = INT32_MAX;
        call_is_refused(&w, "INT32_MAX positions", TL_EINVAL, call_on(&w));
        w.lens[0] = 1;
        w.lens[1] = full + 1;
        call_is_refused(&w, "one position more than the table has room for", TL_EINVAL, call_on(&w));
        w.lens[1] = full;
        call_gives_bits(&w, "a table that is full", flash);
        close_pool(&w);
    }
}

/* rt.04 makes no such pool, so one is pretended. */
OL_TEST(refuses_another_format) {
    static const struct {
        uint32_t format;
        tl_dtype dtype;
        const char *why;
    } other[] = {
        {2, TL_F16, "format 2"},
        {0, TL_F16, "format 0"},
        {2, TL_F8_E4M3, "format 2 of fp8"},
        {TL_KV_FORMAT_V1, TL_F8_E4M3, "fp8 in format 1"},
        {TL_KV_FORMAT_V1, TL_BF16, "bf16 in format 1"},
        {TL_KV_FORMAT_V1, TL_F32, "float32 in format 1"},
    };
    world w = small_world();
    open_pool(&w);
    for (int k = 0; k < 6; k++) {
        pretend_format = 1;
        pretended_format = other[k].format;
        pretended_dtype = other[k].dtype;
        call_is_refused(&w, other[k].why, TL_EUNSUPPORTED, call_on(&w));
        pretend_format = 0;
    }
    call_gives_bits(&w, "format 1 of f16", flash);
    close_pool(&w);
}
