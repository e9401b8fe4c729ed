/* The test kit: everything that a test of the course may use.
 *
 * A test's source is compiled twice and runs in two processes. The UNIT role links the student's unit,
 * makes the calls and streams what it saw. The ORACLE role never holds the unit; it computes what is
 * wanted and streams that. The judge, in a third place, pairs the two by test, name and occurrence: the
 * k-th observation called "o" is judged by the k-th wish called "o". So a test reads as one piece:
 *
 *     OL_TEST(doubles_each_element) {
 *         world w = build_world(ol_seed());              // the same inputs in both roles
 *         OL_STATUS(TL_OK, tl_double_f32(w.x, w.n, w.y)); // made in one role, judged by the other
 *         OL_UNIT   { ol_saw_f32("y", w.y, OL_DIMS({"i", w.n})); }
 *         OL_ORACLE { ol_want_close_f32("y", naive_double(&w), w.n, 1e-6, 0); }
 *     }
 *
 * Every check is judged, also after one has failed. Every observation needs its wish and every wish its
 * observation: the judge reports what is missing. Names are short nouns a student can read. */
#ifndef OL_TEST_H
#define OL_TEST_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#if defined(OL_ROLE_UNIT) == defined(OL_ROLE_ORACLE)
#error "compile a test with exactly one of -DOL_ROLE_UNIT and -DOL_ROLE_ORACLE"
#endif

/* ---- Tests and roles ------------------------------------------------------------------------------ */

/* Defines and registers a test. The catalogue (course/modules/ID.toml) lists it as "c:name". */
#define OL_TEST(name_)                                                                                  \
    static void ol_body_##name_(void);                                                                  \
    __attribute__((constructor)) static void ol_enter_##name_(void) {                                   \
        ol_register(#name_, ol_body_##name_);                                                           \
    }                                                                                                   \
    static void ol_body_##name_(void)

/* A block that only one role compiles; the other role's process does not hold it. */
#ifdef OL_ROLE_UNIT
#define OL_UNIT if (1)
#define OL_ORACLE if (0)
#else
#define OL_UNIT if (0)
#define OL_ORACLE if (1)
#endif

/* The seed of this run: 0 for `ol check`, fresh for grading. All inputs must follow from it. */
uint64_t ol_seed(void);

/* ---- Statements that stand outside OL_UNIT and OL_ORACLE ------------------------------------------ */

/* Makes the call and judges the status that it returns. The call is only evaluated in the unit role,
 * the wanted status only in the oracle role. The text of the call is the name of the check. */
#ifdef OL_ROLE_UNIT
#define OL_STATUS(wanted_, call_) ol_saw_status(#call_, (call_))
#else
#define OL_STATUS(wanted_, call_) ol_want_status(#call_, (wanted_))
#endif

/* A property that only the unit's process can see, such as "out is untouched" or "nothing allocated".
 * Prefer an array that the oracle judges: a property is the unit's own word. */
#ifdef OL_ROLE_UNIT
#define OL_HOLDS(name_, condition_) ol_saw_fact((name_), (condition_) ? 1 : 0, #condition_)
#else
#define OL_HOLDS(name_, condition_) ol_want_fact(name_)
#endif

/* Says what is being called, with its sizes; a failure that follows is shown under it. printf-like. */
void ol_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- Observations (unit role) --------------------------------------------------------------------- */

typedef struct {
    const char *axis; /* what an index on this axis counts: "sequence", "head", "d" */
    int64_t extent;
} ol_dim;

typedef struct {
    ol_dim dim[5]; /* ends at the first NULL axis */
} ol_shape;

/* OL_DIMS({"sequence", B}, {"head", H}, {"d", D}): at most four axes, row-major. */
#define OL_DIMS(...) ((ol_shape){{__VA_ARGS__, {NULL, 0}}})

void ol_saw_status(const char *name, int64_t status);
void ol_saw_fact(const char *name, int holds, const char *condition);
void ol_saw_f32(const char *name, const float *x, ol_shape shape);
void ol_saw_i64(const char *name, const int64_t *x, ol_shape shape);
void ol_saw_u32(const char *name, const uint32_t *x, ol_shape shape);
void ol_saw_u16(const char *name, const uint16_t *x, ol_shape shape);
void ol_saw_u8(const char *name, const uint8_t *x, ol_shape shape);
void ol_saw_int(const char *name, int64_t value);     /* an array of one */
void ol_saw_text(const char *name, const char *text); /* NULL is seen as the text "(NULL)" */

/* ---- Wishes (oracle role) ------------------------------------------------------------------------- */

void ol_want_status(const char *name, int64_t status);
void ol_want_fact(const char *name);

/* |got - want| <= atol + rtol * |want| for each element. A NaN on either side never passes; infinities
 * pass only where both are the same. */
void ol_want_close_f32(const char *name, const float *want, int64_t n, double rtol, double atol);

/* At most max_ulp units in the last place (float32) from the float64 value. NaN never passes. */
void ol_want_ulp_f32(const char *name, const double *want, int64_t n, double max_ulp);

/* Every element is a NaN, of any sign and payload. */
void ol_want_nan_f32(const char *name, int64_t n);

/* The same bits: -0 is not 0, and a NaN equals only itself. */
void ol_want_bits_f32(const char *name, const float *want, int64_t n);
void ol_want_i64(const char *name, const int64_t *want, int64_t n);
void ol_want_u32(const char *name, const uint32_t *want, int64_t n);
void ol_want_u16(const char *name, const uint16_t *want, int64_t n);
void ol_want_u8(const char *name, const uint8_t *want, int64_t n);
void ol_want_int(const char *name, int64_t value);
void ol_want_text(const char *name, const char *text);
/* The text that was seen contains this one. */
void ol_want_text_with(const char *name, const char *part);

/* Two arrays that the unit produced hold the same bits, whatever these are. Each wish over a name takes
 * the next observation of that name, or the latest one when there is no next: an array that is compared
 * with several others in one test is streamed once, one that is made anew is streamed each time. `first`
 * may also be judged by a wish of its own. */
void ol_want_same(const char *first, const char *second);

/* ---- Inputs --------------------------------------------------------------------------------------- */

/* splitmix64; the same numbers as course/testkit/olrand.py. */
typedef struct {
    uint64_t state;
} ol_rng;

ol_rng ol_rng_at(uint64_t seed);
uint64_t ol_next(ol_rng *r);
float ol_unit_f32(ol_rng *r);                /* in [-1, 1), a multiple of 2^-23 */
uint16_t ol_half(ol_rng *r);                 /* binary16 code of k/1024, k in [-1024, 1024] */
uint32_t ol_below(ol_rng *r, uint32_t n);    /* in [0, n), n > 0 */
void ol_shuffle_u32(ol_rng *r, uint32_t *x, uint32_t n);
void ol_fill_unit_f32(ol_rng *r, float *x, int64_t n);

/* n * size zeroed bytes, exactly that many, so that a sanitizer sees one past the end. Freed after the
 * test. Never NULL, also for n = 0. */
void *ol_new(int64_t n, size_t size);

/* Fills x with a pattern that no kernel produces, so that "untouched" can be judged by bits. */
void ol_fill_sentinel_f32(float *x, int64_t n);

/* The bytes of a file in course/fixtures/ID; *n is its size. Oracle role only. */
const unsigned char *ol_fixture(const char *name, size_t *n);

/* ---- Allocation ----------------------------------------------------------------------------------- */

/* Two functions with the shape of the course's allocator hook. They count, keep what is live, and can
 * fail the k-th allocation from now (1 = the next; 0 = none). `user` is not used. */
void *ol_hook_alloc(void *user, size_t n, size_t align);
void ol_hook_free(void *user, void *p);
void ol_hook_fail_at(int64_t k);
int64_t ol_hook_allocs(void); /* since the start of the test */
int64_t ol_hook_live(void);   /* allocated and not freed */

/* Makes the k-th pthread_create from now fail with EAGAIN, whoever calls it (1 = the next; 0 = none). */
void ol_threads_fail_at(int64_t k);

/* Calls of malloc and its kin since the start of the test, whoever made them; -1 where no sanitizer
 * counts them. */
int64_t ol_heap_allocs(void);

/* ---- Not for tests -------------------------------------------------------------------------------- */

void ol_register(const char *name, void (*body)(void));

#endif
