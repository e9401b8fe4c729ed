/* Wrong: when the hook has nothing, memory comes from malloc behind its back. */
#include "tinyllm/abi.h"

#include <stdlib.h>
#include <string.h>

static _Thread_local char last_error[TL_LAST_ERROR_CAP];

uint32_t tl_abi_version(void) {
    return TL_ABI_VERSION;
}

const char *tl_status_str(tl_status status) {
    switch (status) {
    case TL_OK: return "TL_OK";
    case TL_EINVAL: return "TL_EINVAL";
    case TL_ENOMEM: return "TL_ENOMEM";
    case TL_ESHAPE: return "TL_ESHAPE";
    case TL_EDTYPE: return "TL_EDTYPE";
    case TL_EFULL: return "TL_EFULL";
    case TL_ENOTFOUND: return "TL_ENOTFOUND";
    case TL_EFORMAT: return "TL_EFORMAT";
    case TL_EBUSY: return "TL_EBUSY";
    case TL_EUNSUPPORTED: return "TL_EUNSUPPORTED";
    case TL_EIO: return "TL_EIO";
    default: return "TL_UNKNOWN";
    }
}

const char *tl_last_error(void) {
    return last_error;
}

void tl_set_last_error(const char *message) {
    if (!message) message = "";
    size_t n = 0;
    while (n < TL_LAST_ERROR_CAP - 1 && message[n] != '\0') n++;
    memmove(last_error, message, n); /* message may lie in the slot itself */
    last_error[n] = '\0';
}

/* posix_memalign wants a multiple of the pointer's size; a stricter alignment than asked for is fine. */
static void *default_alloc(void *user, size_t n, size_t align) {
    (void)user;
    void *p = NULL;
    if (align < sizeof(void *)) align = sizeof(void *);
    return posix_memalign(&p, align, n) == 0 ? p : NULL;
}

static void default_free(void *user, void *p) {
    (void)user;
    free(p);
}

static const tl_allocator default_hook = {default_alloc, default_free, NULL};
static tl_allocator hook = {default_alloc, default_free, NULL};

tl_status tl_set_allocator(const tl_allocator *allocator) {
    if (!allocator) {
        hook = default_hook;
        return TL_OK;
    }
    if (!allocator->alloc || !allocator->free) {
        tl_set_last_error("tl_set_allocator: alloc and free must both be given");
        return TL_EINVAL;
    }
    hook = *allocator;
    return TL_OK;
}

void *tl_alloc(size_t n, size_t align) {
    if (n == 0) {
        tl_set_last_error("tl_alloc: n is 0");
        return NULL;
    }
    if (align == 0 || (align & (align - 1)) != 0) {
        tl_set_last_error("tl_alloc: align is not a power of two");
        return NULL;
    }
    void *p = hook.alloc(hook.user, n, align);
    if (!p) p = default_alloc(NULL, n, align);
    if (!p) tl_set_last_error("tl_alloc: the allocator gave no memory");
    return p;
}

void tl_free(void *p) {
    if (p) hook.free(hook.user, p);
}
