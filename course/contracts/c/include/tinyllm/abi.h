/* abi.h (rt.02): what every unit shares: status and type codes, the error slot and the allocator hook.
 *
 * The rules that hold for all headers (ownership, NULL, shapes, bits) are in c/ABI.md.
 */
#ifndef TINYLLM_ABI_H
#define TINYLLM_ABI_H

#include <stddef.h>
#include <stdint.h>

#define TL_ABI_VERSION 1u

/* Bytes of the error slot, the terminating NUL among them. */
#define TL_LAST_ERROR_CAP 256

/* The result of a call. The width is fixed, so that foreign callers need not know how a C compiler sizes an enum. */
typedef int32_t tl_status;

enum {
    TL_OK = 0,          /* done */
    TL_EINVAL = 1,      /* an argument is outside what the function accepts */
    TL_ENOMEM = 2,      /* the allocator gave nothing, or a size does not fit size_t */
    TL_ESHAPE = 3,      /* shapes that are valid one by one do not fit together */
    TL_EDTYPE = 4,      /* an element type that does not fit the operation */
    TL_EFULL = 5,       /* a container of fixed capacity has no room left */
    TL_ENOTFOUND = 6,   /* a look-up missed; not a fault, so the error slot stays as it was */
    TL_EFORMAT = 7,     /* malformed data */
    TL_EBUSY = 8,       /* the object is in use in a way that excludes this call */
    TL_EUNSUPPORTED = 9,/* well formed, but this version does not implement it */
    TL_EIO = 10         /* the operating system refused */
};

/* The type of stored elements. */
typedef int32_t tl_dtype;

enum {
    TL_F32 = 0,
    TL_F16 = 1,
    TL_BF16 = 2,
    TL_F8_E4M3 = 3,
    TL_F8_E5M2 = 4,
    TL_I8 = 5,
    TL_U8 = 6,
    TL_I32 = 7,
    TL_Q4_G = 8
};

/* A source of memory. 24 bytes on 64-bit targets.
 *
 * alloc: at least n bytes (n > 0) whose address is a multiple of align (a power of two), or NULL.
 * free:  takes back what alloc gave; is never called with NULL.
 * user:  handed to both unchanged; the hook's owner keeps it alive for as long as the hook is installed.
 */
typedef struct tl_allocator {
    void *(*alloc)(void *user, size_t n, size_t align);
    void (*free)(void *user, void *p);
    void *user;
} tl_allocator;

/* The TL_ABI_VERSION that the library was compiled with. */
uint32_t tl_abi_version(void);

/* The constant's own name, "TL_EINVAL" for TL_EINVAL; "TL_UNKNOWN" for a number that is no status.
 * Never NULL; the string is static. */
const char *tl_status_str(tl_status status);

/* The calling thread's last error, or "" if it has had none.
 *
 * A function that fails leaves its own name and the reason here. A success leaves the slot alone, so read it only after
 * a failure. The string belongs to the thread and stays valid until the thread's next error or its end.
 * Left open: every word beyond the function's name.
 */
const char *tl_last_error(void);

/* Copies message into the calling thread's slot, cut to TL_LAST_ERROR_CAP - 1 bytes; NULL empties the slot.
 * message may be the pointer that tl_last_error gave, or point into that string. */
void tl_set_last_error(const char *message);

/* Installs *allocator (copied) as the source of all memory; NULL brings malloc back.
 *
 * TL_EINVAL: alloc or free is NULL; the hook in place stays.
 * Process-wide and not synchronised: install it while no other thread allocates and nothing from the former hook lives,
 * for tl_free gives a pointer to the hook that is installed then.
 */
tl_status tl_set_allocator(const tl_allocator *allocator);

/* n bytes at a multiple of align from the installed hook, not cleared; the caller gives them back with tl_free.
 * NULL and the error slot: n is 0, align is not a power of two (0 is not), or the hook gave NULL. */
void *tl_alloc(size_t n, size_t align);

/* Gives p back to the installed hook. NULL is ignored and does not reach the hook. */
void tl_free(void *p);

#endif
