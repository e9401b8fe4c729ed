/* The part of the kit that is linked into a suite: registration, records, memory, allocator hook.
 * Records are the only way out of a test; their layout is described in ol/stream.py. */
#include "ol_test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ol_suite.h"

enum { MAX_TESTS = 512, MAX_BLOCKS = 1 << 16 };

static struct {
    const char *name;
    void (*body)(void);
} tests[MAX_TESTS];
static int n_tests;

static struct ol_context context;
static void *blocks[MAX_BLOCKS];
static int n_blocks;

static _Noreturn void kit_fault(const char *what) {
    fprintf(stderr, "ol test kit: %s\n", what);
    fflush(stderr);
    abort();
}

void ol_register(const char *name, void (*body)(void)) {
    if (n_tests == MAX_TESTS) kit_fault("too many tests in one suite");
    tests[n_tests].name = name;
    tests[n_tests].body = body;
    n_tests++;
}

uint64_t ol_seed(void) { return context.seed; }

/* ---- Records -------------------------------------------------------------------------------------- */

enum kind {
    SAW_NOTE = 1,
    SAW_STATUS = 2,
    SAW_ARRAY = 3,
    SAW_FACT = 4,
    SAW_END = 5,
    WANT_STATUS = 16,
    WANT_CLOSE = 17,
    WANT_ULP = 18,
    WANT_NAN = 19,
    WANT_BITS = 20,
    WANT_SAME = 21,
    WANT_FACT = 22,
    WANT_TEXT_WITH = 23
};

enum dtype { F32 = 0, F64 = 1, I64 = 2, U32 = 3, U16 = 4, U8 = 5, TEXT = 6 };
static const size_t dtype_size[] = {4, 8, 8, 4, 2, 1, 1};

typedef struct {
    unsigned char *at;
    size_t n, room;
} record;

static void put(record *r, const void *bytes, size_t n) {
    if (r->n + n > r->room) {
        r->room = 2 * (r->n + n) + 256;
        r->at = realloc(r->at, r->room);
        if (!r->at) kit_fault("out of memory for a record");
    }
    if (n) memcpy(r->at + r->n, bytes, n);
    r->n += n;
}

static void put_u8(record *r, unsigned v) { put(r, &(unsigned char){(unsigned char)v}, 1); }
static void put_i64(record *r, int64_t v) { put(r, &v, sizeof v); }
static void put_f64(record *r, double v) { put(r, &v, sizeof v); }

static void put_text(record *r, const char *text) {
    uint32_t n = (uint32_t)strlen(text);
    put(r, &n, sizeof n);
    put(r, text, n);
}

static record begin(enum kind kind, const char *name) {
    record r = {0};
    put(&r, &(uint32_t){0}, 4); /* the length, known at the end */
    put_u8(&r, kind);
    put_text(&r, name);
    return r;
}

static void end(record *r) {
    uint32_t body = (uint32_t)(r->n - 4);
    memcpy(r->at, &body, 4);
    for (size_t done = 0; done < r->n;) {
        ssize_t k = write(context.stream, r->at + done, r->n - done);
        if (k < 0 && errno == EINTR) continue;
        if (k <= 0) kit_fault("the stream is closed");
        done += (size_t)k;
    }
    free(r->at);
}

static void put_array(record *r, enum dtype dtype, const void *x, int64_t n) {
    put_u8(r, dtype);
    put_i64(r, n);
    put(r, x, (size_t)n * dtype_size[dtype]);
}

static void put_shape(record *r, ol_shape shape) {
    unsigned rank = 0;
    while (shape.dim[rank].axis) rank++;
    put_u8(r, rank);
    for (unsigned k = 0; k < rank; k++) {
        put_text(r, shape.dim[k].axis);
        put_i64(r, shape.dim[k].extent);
    }
}

static int64_t elements(ol_shape shape) {
    int64_t n = 1;
    for (int k = 0; shape.dim[k].axis; k++) n *= shape.dim[k].extent;
    return n;
}

static void saw(const char *name, enum dtype dtype, const void *x, ol_shape shape, int64_t n) {
    record r = begin(SAW_ARRAY, name);
    put_shape(&r, shape);
    put_array(&r, dtype, x, n);
    end(&r);
}

static void want_bits(const char *name, enum dtype dtype, const void *x, int64_t n) {
    record r = begin(WANT_BITS, name);
    put_array(&r, dtype, x, n);
    end(&r);
}

void ol_note(const char *format, ...) {
    char text[512];
    va_list ap;
    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    record r = begin(SAW_NOTE, text);
    end(&r);
}

void ol_saw_status(const char *name, int64_t status) {
    record r = begin(SAW_STATUS, name);
    put_i64(&r, status);
    end(&r);
}

void ol_want_status(const char *name, int64_t status) {
    record r = begin(WANT_STATUS, name);
    put_i64(&r, status);
    end(&r);
}

void ol_saw_fact(const char *name, int holds, const char *condition) {
    record r = begin(SAW_FACT, name);
    put_u8(&r, holds ? 1 : 0);
    put_text(&r, condition);
    end(&r);
}

void ol_want_fact(const char *name) {
    record r = begin(WANT_FACT, name);
    end(&r);
}

void ol_saw_f32(const char *name, const float *x, ol_shape s) { saw(name, F32, x, s, elements(s)); }
void ol_saw_i64(const char *name, const int64_t *x, ol_shape s) { saw(name, I64, x, s, elements(s)); }
void ol_saw_u32(const char *name, const uint32_t *x, ol_shape s) { saw(name, U32, x, s, elements(s)); }
void ol_saw_u16(const char *name, const uint16_t *x, ol_shape s) { saw(name, U16, x, s, elements(s)); }
void ol_saw_u8(const char *name, const uint8_t *x, ol_shape s) { saw(name, U8, x, s, elements(s)); }
void ol_saw_int(const char *name, int64_t value) { saw(name, I64, &value, (ol_shape){0}, 1); }

void ol_saw_text(const char *name, const char *text) {
    if (!text) text = "(NULL)";
    saw(name, TEXT, text, (ol_shape){0}, (int64_t)strlen(text));
}

void ol_want_close_f32(const char *name, const float *want, int64_t n, double rtol, double atol) {
    record r = begin(WANT_CLOSE, name);
    put_f64(&r, rtol);
    put_f64(&r, atol);
    put_array(&r, F32, want, n);
    end(&r);
}

void ol_want_ulp_f32(const char *name, const double *want, int64_t n, double max_ulp) {
    record r = begin(WANT_ULP, name);
    put_f64(&r, max_ulp);
    put_array(&r, F64, want, n);
    end(&r);
}

void ol_want_nan_f32(const char *name, int64_t n) {
    record r = begin(WANT_NAN, name);
    put_i64(&r, n);
    end(&r);
}

void ol_want_bits_f32(const char *name, const float *x, int64_t n) { want_bits(name, F32, x, n); }
void ol_want_i64(const char *name, const int64_t *x, int64_t n) { want_bits(name, I64, x, n); }
void ol_want_u32(const char *name, const uint32_t *x, int64_t n) { want_bits(name, U32, x, n); }
void ol_want_u16(const char *name, const uint16_t *x, int64_t n) { want_bits(name, U16, x, n); }
void ol_want_u8(const char *name, const uint8_t *x, int64_t n) { want_bits(name, U8, x, n); }
void ol_want_int(const char *name, int64_t value) { want_bits(name, I64, &value, 1); }

void ol_want_text(const char *name, const char *text) {
    want_bits(name, TEXT, text, (int64_t)strlen(text));
}

void ol_want_text_with(const char *name, const char *part) {
    record r = begin(WANT_TEXT_WITH, name);
    put_text(&r, part);
    end(&r);
}

void ol_want_same(const char *first, const char *second) {
    record r = begin(WANT_SAME, first);
    put_text(&r, second);
    end(&r);
}

/* ---- Inputs --------------------------------------------------------------------------------------- */

ol_rng ol_rng_at(uint64_t seed) { return (ol_rng){seed}; }

uint64_t ol_next(ol_rng *r) {
    uint64_t z = r->state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

float ol_unit_f32(ol_rng *r) { return (float)(ol_next(r) >> 40) * 0x1p-23f - 1.0f; }
uint32_t ol_below(ol_rng *r, uint32_t n) { return (uint32_t)((ol_next(r) >> 32) % n); }

/* k/1024 with |k| <= 1024 is exact in binary16, so its code needs no rounding. */
uint16_t ol_half(ol_rng *r) {
    int k = (int)((ol_next(r) >> 32) % 2049) - 1024;
    unsigned sign = k < 0 ? 0x8000u : 0u, magnitude = (unsigned)(k < 0 ? -k : k), exponent = 15;
    if (magnitude == 0) return (uint16_t)sign;
    while (magnitude < 1024) {
        magnitude <<= 1;
        exponent--;
    }
    return (uint16_t)(sign | exponent << 10 | (magnitude & 1023u));
}

void ol_shuffle_u32(ol_rng *r, uint32_t *x, uint32_t n) {
    for (uint32_t i = n; i-- > 1;) {
        uint32_t j = ol_below(r, i + 1), t = x[i];
        x[i] = x[j];
        x[j] = t;
    }
}

void ol_fill_unit_f32(ol_rng *r, float *x, int64_t n) {
    for (int64_t i = 0; i < n; i++) x[i] = ol_unit_f32(r);
}

void *ol_new(int64_t n, size_t size) {
    if (n_blocks == MAX_BLOCKS) kit_fault("too many blocks of ol_new in one test");
    size_t bytes = (size_t)n * size;
    void *p = malloc(bytes ? bytes : 1);
    if (!p) kit_fault("out of memory for a test's inputs");
    memset(p, 0, bytes ? bytes : 1);
    return blocks[n_blocks++] = p;
}

void ol_fill_sentinel_f32(float *x, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        uint32_t bits = UINT32_C(0x7FB00000) + (uint32_t)(i & 0xFFFF); /* a signalling NaN, numbered */
        memcpy(&x[i], &bits, sizeof bits);
    }
}

const unsigned char *ol_fixture(const char *name, size_t *n) {
    char path[4096];
    if (!context.fixtures) kit_fault("fixtures are read in the oracle role only");
    snprintf(path, sizeof path, "%s/%s", context.fixtures, name);
    FILE *f = fopen(path, "rb");
    if (!f) kit_fault("a fixture is missing");
    fseek(f, 0, SEEK_END);
    long size = ftell(f);
    rewind(f);
    unsigned char *bytes = ol_new(size, 1);
    if (fread(bytes, 1, (size_t)size, f) != (size_t)size) kit_fault("a fixture cannot be read");
    fclose(f);
    *n = (size_t)size;
    return bytes;
}

/* ---- Allocation ----------------------------------------------------------------------------------- */

/* The hook may be called from a pool's threads, so its counts are atomic. */
static _Atomic int64_t hook_allocs, hook_live, hook_fail_in, heap_allocs;

void ol_hook_fail_at(int64_t k) { hook_fail_in = k; }
int64_t ol_hook_allocs(void) { return hook_allocs; }
int64_t ol_hook_live(void) { return hook_live; }

void ol_threads_fail_at(int64_t k) { context.fail_thread_at(k); }

void *ol_hook_alloc(void *user, size_t n, size_t align) {
    (void)user;
    hook_allocs++;
    if (hook_fail_in > 0 && --hook_fail_in == 0) return NULL;
    void *p = NULL;
    if (posix_memalign(&p, align < sizeof p ? sizeof p : align, n) != 0) return NULL;
    hook_live++;
    return p;
}

void ol_hook_free(void *user, void *p) {
    (void)user;
    if (!p) return;
    hook_live--;
    free(p);
}

/* Both sanitizers' allocators offer these hooks; a plain build does not, hence weak. */
extern int __sanitizer_install_malloc_and_free_hooks(void (*)(const volatile void *, size_t),
                                                     void (*)(const volatile void *))
    __attribute__((weak));
static int heap_counted;
static void on_malloc(const volatile void *p, size_t n) {
    (void)p, (void)n;
    heap_allocs++;
}
static void on_free(const volatile void *p) { (void)p; }

int64_t ol_heap_allocs(void) { return heap_counted ? heap_allocs : -1; }

/* ---- For the supervisor --------------------------------------------------------------------------- */

static int count(void) { return n_tests; }
static const char *name(int k) { return tests[k].name; }

static void run(int k, const struct ol_context *ctx) {
    context = *ctx;
    heap_counted = __sanitizer_install_malloc_and_free_hooks &&
                   __sanitizer_install_malloc_and_free_hooks(on_malloc, on_free) != 0;
    tests[k].body();
    while (n_blocks > 0) free(blocks[--n_blocks]);
}

static void finish(void) {
    record r = begin(SAW_END, "");
    end(&r);
}

extern const struct ol_suite ol_suite_v1;
__attribute__((visibility("default"))) const struct ol_suite ol_suite_v1 = {count, name, run, finish};
