/* honest: helper macros of every kind: stringification, pasting, X-macros, variadic ones, _Generic */
#define _GNU_SOURCE
#include "tinyllm/attention.h"
#include "tinyllm/numerics.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define STR2(x) #x
#define STR(x) STR2(x)
#define WHERE __FILE__ ":" STR(__LINE__)
#define CAT2(a, b) a##b
#define CAT(a, b) CAT2(a, b)
#define UNIQUE(name) CAT(name, __COUNTER__)
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b)               \
    ({                          \
        __typeof__(a) x_ = (a); \
        __typeof__(b) y_ = (b); \
        x_ > y_ ? x_ : y_;      \
    })
#define ABS(x) _Generic((x), float: absf_, double: absd_, default: absl_)(x)
#define COUNT(...) (sizeof((int[]){__VA_ARGS__}) / sizeof(int))
#define FAIL(status, ...) return fail(status, __func__, __VA_ARGS__)
#define CHECK(cond, status)                                                        \
    do {                                                                           \
        if (!(cond)) FAIL(status, "%s is false at %s (asm listing not shown)", #cond, WHERE); \
    } while (0)
#define STATUSES(X) X(OK) X(EINVAL) X(ESHAPE) X(EUNSUPPORTED)
#define NAME(s) case TL_##s: return "TL_" #s;
#define FOR_EACH(i, n) for (int64_t i = 0; i < (n); i++)
#define DEFINE_SUM(T, suffix)                                       \
    static T sum_##suffix(const T *x, int64_t n) {                  \
        T total = 0;                                                \
        FOR_EACH(CAT(k, suffix), n) total += x[CAT(k, suffix)];     \
        return total;                                               \
    }

#if defined(__GNUC__) || defined(__clang__)
#define UNUSED __attribute__((unused))
#define PRINTF_LIKE(f, a) __attribute__((format(printf, f, a), cold))
#else
#define UNUSED
#define PRINTF_LIKE(f, a)
#endif

#if defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L && !defined(__STDC_NO_ATOMICS__)
#include <stdatomic.h>
#endif

static inline UNUSED float absf_(float x) { return x < 0 ? -x : x; }
static inline UNUSED double absd_(double x) { return x < 0 ? -x : x; }
static inline UNUSED long long absl_(long long x) { return x < 0 ? -x : x; }
DEFINE_SUM(float, f32)
DEFINE_SUM(int32_t, i32)

static const char *name_of(tl_status status) {
    switch (status) {
        STATUSES(NAME)
    default: return "?";
    }
}

PRINTF_LIKE(3, 4) static tl_status fail(tl_status status, const char *function, const char *format, ...) {
    char text[TL_LAST_ERROR_CAP], reason[TL_LAST_ERROR_CAP / 2];
    va_list given;
    va_start(given, format);
    vsnprintf(reason, sizeof reason, format, given);
    va_end(given);
    snprintf(text, sizeof text, "%s: %s (%s)", function, reason, name_of(status));
    tl_set_last_error(text);
    return status;
}

tl_status tl_paged_attn_decode_f32(const float *q, const tl_kv_pool *kv, uint32_t layer, const uint32_t *tables,
                                   int32_t max_blocks, const int32_t *lens, float *out, int64_t B, int64_t H,
                                   int64_t Hkv, int64_t D, float scale, int64_t window, tl_pool *tp) {
    CHECK(kv != NULL, TL_EINVAL);
    CHECK(Hkv > 0 && H % Hkv == 0, TL_ESHAPE);
    assert(max_blocks >= 0 && "the caller has checked");
    int UNIQUE(spare) UNUSED = 0;
    int UNIQUE(spare) UNUSED = 1;
    (void)tables, (void)window, (void)tp, (void)layer;
    float total = sum_f32(q, B * H * D);
    FOR_EACH(i, B * H * D) out[i] = MIN(q[i], scale) + ABS(total) + (float)MAX(sum_i32(lens, B), 0);
    return COUNT(1, 2, 3) == 3 ? TL_OK : TL_EINVAL;
}
