/* NaN: it takes its whole row and no other. */
#include "rows.h"

#include <math.h>
#include <string.h>

enum { ROWS = 5, COLS = 11 };

/* The kinds of rows that a NaN may stand in. */
enum { NUMBERS, REST_MINUS_INF, REST_NAN, N_KINDS };
static const char *const kind_name[] = {"between numbers", "between -inf", "between NaNs"};

/* Row 2 of m, with a NaN in column c. */
static void spoil(matrix *m, int kind, int64_t c) {
    float *row = m->x + 2 * COLS;
    for (int64_t i = 0; i < COLS && kind != NUMBERS; i++) row[i] = kind == REST_NAN ? NAN : -INFINITY;
    row[c] = c % 2 ? -NAN : NAN;
}

/* The rows beside row 2, one after the other. */
static void others(const float *y, float *into) {
    memcpy(into, y, 2 * COLS * sizeof *y);
    memcpy(into + 2 * COLS, y + 3 * COLS, (ROWS - 3) * COLS * sizeof *y);
}

static void nan_takes_its_row(int online, int kind, int64_t c) {
    ol_rng r = ol_rng_at(ol_seed());
    matrix m = new_matrix(ROWS, COLS);
    fill_scaled(&r, &m, 5.0f);
    ol_note("%s: NaN in row 2, column %d, %s", name_of(online), (int)c, kind_name[kind]);
    OL_UNIT {
        float without[(ROWS - 1) * COLS], with[(ROWS - 1) * COLS];
        softmax(online, m.x, m.y, ROWS, COLS);
        others(m.y, without);
        spoil(&m, kind, c);
        ol_fill_sentinel_f32(m.y, size_of(&m));
        ol_saw_status("status", softmax(online, m.x, m.y, ROWS, COLS));
        others(m.y, with);
        ol_saw_f32("row 2", m.y + 2 * COLS, OL_DIMS({"column", COLS}));
        ol_saw_f32("other rows, before the NaN", without, OL_DIMS({"other row", ROWS - 1}, {"column", COLS}));
        ol_saw_f32("other rows", with, OL_DIMS({"other row", ROWS - 1}, {"column", COLS}));
    }
    OL_ORACLE {
        ol_want_status("status", TL_OK);
        ol_want_nan_f32("row 2", COLS);
        ol_want_same("other rows, before the NaN", "other rows");
    }
}

OL_TEST(nan_takes_its_row_and_no_other) {
    for (int online = 0; online < 2; online++)
        for (int kind = 0; kind < N_KINDS; kind++)
            for (int64_t c = 0; c < COLS; c++) nan_takes_its_row(online, kind, c);
}
