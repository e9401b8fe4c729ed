#include "ol_test.h"
#include "tiny.h"

OL_TEST(sums) {
    ol_rng r = ol_rng_at(ol_seed());
    float *x = ol_new(7, sizeof *x), *y = ol_new(7, sizeof *y);
    ol_fill_unit_f32(&r, x, 7);
    ol_note("n=7");
    OL_STATUS(0, tiny_sum_f32(x, y, 7));
    OL_UNIT { ol_saw_f32("y", y, OL_DIMS({"i", 7})); }
    OL_ORACLE {
        for (int i = 0; i < 7; i++) y[i] = (float)(2.0 * x[i] + (double)x[i] * x[i]);
        ol_want_close_f32("y", y, 7, 1e-6, 1e-7);
    }
}

OL_TEST(refuses_a_negative_size) {
    float *x = ol_new(3, sizeof *x), *y = ol_new(3, sizeof *y);
    ol_fill_sentinel_f32(y, 3);
    OL_STATUS(1, tiny_sum_f32(x, y, -1));
    OL_UNIT { ol_saw_f32("y", y, OL_DIMS({"i", 3})); }
    OL_ORACLE { ol_want_bits_f32("y", y, 3); }
}
