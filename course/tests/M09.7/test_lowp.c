/* Codes: what each one is worth, and that it comes back. Codes of all four formats are seen as 16-bit numbers. */
#include "formats.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>

/* ---- Section 3 -------------------------------------------------------------------------------------- */

/* Each line of the chapter's example: a number, and its code in a format. */
static const struct {
    float x;
    int format;
    uint16_t code;
} by_hand[] = {
    {0.3f, F16, 0x34CD},           {0.3f, BF16, 0x3E9A},          {0.3f, E4M3, 0x2A},    {0.3f, E5M2, 0x35},
    {1.0f + 0x1p-11f, F16, 0x3C00}, {1.0f + 0x3p-11f, F16, 0x3C02}, {1.0625f, E4M3, 0x38}, {1.1875f, E4M3, 0x3A},
    {0x1p-25f, F16, 0x0000},       {0x3p-25f, F16, 0x0002},       {-0x1p-25f, F16, 0x8000},
    {65519.0f, F16, 0x7BFF},       {65520.0f, F16, 0x7C00},       {500.0f, E4M3, 0x7E},  {65520.0f, E5M2, 0x7B},
};
enum { N_BY_HAND = sizeof by_hand / sizeof *by_hand };

static const struct {
    int format;
    uint16_t code;
    float x;
} back_by_hand[] = {
    {F16, 0x34CD, 0x1.334p-2f}, {BF16, 0x3E9A, 0x1.34p-2f}, {E4M3, 0x2A, 0.3125f}, {E5M2, 0x35, 0.3125f},
    {F16, 0x0002, 0x1p-23f},    {F16, 0x8000, -0.0f},       {E4M3, 0x7E, 448.0f},  {E5M2, 0x7B, 57344.0f},
};
enum { N_BACK = sizeof back_by_hand / sizeof *back_by_hand };

OL_TEST(hand_example) {
    for (int i = 0; i < N_BY_HAND; i++) {
        ol_note("tl_f32_to_%s(%.9g), or %a", formats[by_hand[i].format].name, (double)by_hand[i].x,
                (double)by_hand[i].x);
        OL_UNIT { ol_saw_int("code", encode(by_hand[i].format, by_hand[i].x)); }
        OL_ORACLE { ol_want_int("code", by_hand[i].code); }
    }
    for (int i = 0; i < N_BACK; i++) {
        ol_note("tl_%s_to_f32(0x%04X)", formats[back_by_hand[i].format].name, back_by_hand[i].code);
        OL_UNIT {
            float x = decode(back_by_hand[i].format, back_by_hand[i].code);
            ol_saw_f32("value", &x, OL_DIMS({"value", 1}));
        }
        OL_ORACLE { ol_want_bits_f32("value", &back_by_hand[i].x, 1); }
    }
}

/* ---- Decoding --------------------------------------------------------------------------------------- */

/* All codes of a format: exact values, and any NaN for the NaN codes. */
static void decodes_all(int k) {
    const format *f = &formats[k];
    int64_t n = codes_of(f), n_nan = 0;
    float *value = ol_new(n, sizeof *value), *nan = ol_new(n, sizeof *nan);
    ol_note("tl_%s_to_f32 of all %d codes; a NaN code stands as 0 in \"value\"", f->name, (int)n);
    for (int64_t code = 0; code < n; code++) {
        int is_nan = is_nan_code(f, (uint32_t)code);
        OL_UNIT { *(is_nan ? &nan[n_nan] : &value[code]) = decode(k, (uint32_t)code); }
        OL_ORACLE { value[code] = is_nan ? 0.0f : decoded(f, (uint32_t)code); }
        n_nan += is_nan;
    }
    OL_UNIT {
        ol_saw_f32("value", value, OL_DIMS({"code", n}));
        ol_saw_f32("values of the NaN codes", nan, OL_DIMS({"NaN code", n_nan}));
    }
    OL_ORACLE {
        ol_want_bits_f32("value", value, n);
        ol_want_nan_f32("values of the NaN codes", n_nan);
    }
}

OL_TEST(decodes_every_f16_code) { decodes_all(F16); }
OL_TEST(decodes_every_bf16_code) { decodes_all(BF16); }

OL_TEST(decodes_every_fp8_code) {
    decodes_all(E4M3);
    decodes_all(E5M2);
}

/* ---- There and back --------------------------------------------------------------------------------- */

enum { ALL_CODES = 2 * 65536 + 2 * 256 };

/* Every `step`-th code of each format. */
static void round_trip(uint16_t *back, int64_t step) {
    for (int k = 0; k < N_FORMATS; k++)
        for (int64_t code = 0; code < codes_of(&formats[k]); code += step)
            *back++ = encode(k, decode(k, (uint32_t)code));
}

static void want_codes_themselves(uint16_t *want, int64_t step) {
    for (int k = 0; k < N_FORMATS; k++)
        for (int64_t code = 0; code < codes_of(&formats[k]); code += step)
            *want++ = (uint16_t)(is_nan_code(&formats[k], (uint32_t)code) ? formats[k].nan : code);
}

OL_TEST(every_code_comes_back) {
    uint16_t *back = ol_new(ALL_CODES, sizeof *back);
    OL_UNIT { round_trip(back, 1); }
    OL_ORACLE { want_codes_themselves(back, 1); }
    for (int k = 0; k < N_FORMATS; k++) {
        int64_t n = codes_of(&formats[k]);
        ol_note("tl_f32_to_%s(tl_%s_to_f32(code)) is the code, or the one NaN code", formats[k].name, formats[k].name);
        OL_UNIT { ol_saw_u16("code after the round trip", back, OL_DIMS({"code", n})); }
        OL_ORACLE { ol_want_u16("code after the round trip", back, n); }
        back += n;
    }
}

/* ---- NaN -------------------------------------------------------------------------------------------- */

enum { N_PAYLOADS = 23 + 3 };

/* Quiet and signalling; among them those whose payload would be cut off by a shift. */
static uint32_t payload(int k) {
    static const uint32_t others[] = {0x7FFFFF, 0x3FFFFF, 0x400001};
    return k < 23 ? UINT32_C(1) << k : others[k - 23];
}

OL_TEST(a_nan_of_any_kind_gives_one_code) {
    for (int k = 0; k < N_FORMATS; k++) {
        uint16_t *code = ol_new(2 * N_PAYLOADS, sizeof *code);
        ol_note("tl_f32_to_%s of NaNs: payload bits 0 to 22 alone, all, all but the quiet bit, first and last",
                formats[k].name);
        for (int i = 0; i < 2 * N_PAYLOADS; i++) {
            uint32_t sign = i < N_PAYLOADS ? 0 : UINT32_C(0x80000000);
            float nan = float_of_bits(sign | 0x7F800000 | payload(i % N_PAYLOADS));
            OL_UNIT { code[i] = encode(k, nan); }
            OL_ORACLE { code[i] = (uint16_t)formats[k].nan; }
        }
        OL_UNIT { ol_saw_u16("code", code, OL_DIMS({"sign", 2}, {"payload", N_PAYLOADS})); }
        OL_ORACLE { ol_want_u16("code", code, 2 * N_PAYLOADS); }
    }
}

/* ---- Threads ---------------------------------------------------------------------------------------- */

/* Some of the codes are enough: what is shared is met by the first. */
enum { N_THREADS = 4, THREAD_STEP = 16, THREAD_CODES = ALL_CODES / THREAD_STEP };

typedef struct {
    pthread_barrier_t *start, *met;
    uint16_t *back;
} converter;

/* One code of each format first, and nobody goes on before all have that behind them: ThreadSanitizer remembers
 * only the latest accesses of a thread. */
static void *convert(void *arg) {
    const converter *me = arg;
    pthread_barrier_wait(me->start);
    for (int k = 0; k < N_FORMATS; k++) me->back[k] = encode(k, decode(k, 1));
    pthread_barrier_wait(me->met);
    round_trip(me->back, THREAD_STEP);
    return NULL;
}

/* The very first calls of the process, from all threads at once: a table that is filled on first use is not
 * ready, or not seen, by the others. */
static void convert_on_threads(uint16_t *back) {
    pthread_t thread[N_THREADS];
    converter each[N_THREADS];
    pthread_barrier_t start, met;
    pthread_barrier_init(&start, NULL, N_THREADS);
    pthread_barrier_init(&met, NULL, N_THREADS);
    for (int t = 0; t < N_THREADS; t++) {
        each[t] = (converter){&start, &met, back + t * THREAD_CODES};
        if (pthread_create(&thread[t], NULL, convert, &each[t]) != 0) abort();
    }
    for (int t = 0; t < N_THREADS; t++) pthread_join(thread[t], NULL);
    pthread_barrier_destroy(&start);
    pthread_barrier_destroy(&met);
}

OL_TEST(threads_share_no_state) {
    uint16_t *back = ol_new(N_THREADS * THREAD_CODES, sizeof *back);
    ol_note("every %dth code there and back on %d threads at once", THREAD_STEP, N_THREADS);
    OL_UNIT {
        convert_on_threads(back);
        ol_saw_u16("codes of all threads", back, OL_DIMS({"thread", N_THREADS}, {"code, format after format", THREAD_CODES}));
    }
    OL_ORACLE {
        for (int t = 0; t < N_THREADS; t++) want_codes_themselves(back + t * THREAD_CODES, THREAD_STEP);
        ol_want_u16("codes of all threads", back, N_THREADS * THREAD_CODES);
    }
}
