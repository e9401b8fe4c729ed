/* The four narrow formats, as their definition gives them, and a model of both conversions.
 *
 * The model knows no bit tricks: it computes what each code is worth in float64, where all of these values are exact,
 * and looks for the nearest one. It is called in the oracle role only. */
#ifndef M097_FORMATS_H
#define M097_FORMATS_H

#include "ol_test.h"

enum { F16, BF16, E4M3, E5M2, N_FORMATS };

/* A magnitude is a code without its sign bit. */
typedef struct {
    const char *name;
    int fraction_bits, bias;
    uint32_t sign;     /* the sign bit of a code */
    uint32_t beyond;   /* the first magnitude after the largest finite one */
    uint32_t overflow; /* the magnitude that finite values beyond the largest give */
    uint32_t infinity; /* the magnitude that infinities give */
    uint32_t nan;      /* the code that any NaN gives */
} format;

extern const format formats[N_FORMATS];

int64_t codes_of(const format *f); /* 256 or 65536 */
int is_nan_code(const format *f, uint32_t code);

/* Oracle role. */
double value_of(const format *f, uint32_t magnitude); /* as if exponents had no upper end */
float decoded(const format *f, uint32_t code);        /* not for NaN codes */
uint16_t encoded(const format *f, float x);

/* Unit role: the functions under test, by format. */
uint16_t encode(int format, float x);
float decode(int format, uint32_t code);

float float_of_bits(uint32_t bits);

#endif
