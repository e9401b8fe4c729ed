/* Alignment of its own on top of malloc: the address that malloc gave stands before the one handed out. */
#include "tinyllm/abi.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static _Thread_local char *slot_end;
static _Thread_local char slot[TL_LAST_ERROR_CAP];

#define NAME(x) \
    if (status == x) return #x
const char *tl_status_str(tl_status status) {
    NAME(TL_OK);
    NAME(TL_EINVAL);
    NAME(TL_ENOMEM);
    NAME(TL_ESHAPE);
    NAME(TL_EDTYPE);
    NAME(TL_EFULL);
    NAME(TL_ENOTFOUND);
    NAME(TL_EFORMAT);
    NAME(TL_EBUSY);
    NAME(TL_EUNSUPPORTED);
    NAME(TL_EIO);
    return "TL_UNKNOWN";
}

uint32_t tl_abi_version(void) { return TL_ABI_VERSION; }
const char *tl_last_error(void) { return slot; }

void tl_set_last_error(const char *message) {
    slot_end = slot;
    while (message && *message && slot_end < slot + TL_LAST_ERROR_CAP - 1) *slot_end++ = *message++;
    *slot_end = 0;
}

static void *shifted(void *user, size_t n, size_t align) {
    (void)user;
    if (align < sizeof(void *)) align = sizeof(void *);
    if (n > SIZE_MAX - align - sizeof(void *)) return NULL;
    char *raw = malloc(n + align + sizeof(void *));
    if (!raw) return NULL;
    uintptr_t first = (uintptr_t)raw + sizeof(void *);
    char *p = raw + sizeof(void *) + (align - first % align) % align;
    memcpy(p - sizeof(void *), &raw, sizeof raw);
    return p;
}

static void unshift(void *user, void *p) {
    (void)user;
    char *raw;
    memcpy(&raw, (char *)p - sizeof(void *), sizeof raw);
    free(raw);
}

static tl_allocator hook = {shifted, unshift, NULL};

tl_status tl_set_allocator(const tl_allocator *allocator) {
    if (!allocator) hook = (tl_allocator){shifted, unshift, NULL};
    else if (allocator->alloc && allocator->free) hook = *allocator;
    else return tl_set_last_error("tl_set_allocator: a function is missing"), TL_EINVAL;
    return TL_OK;
}

void *tl_alloc(size_t n, size_t align) {
    void *p = n == 0 || align == 0 || (align & (align - 1)) != 0 ? NULL : hook.alloc(hook.user, n, align);
    return p ? p : (tl_set_last_error("tl_alloc: nothing"), NULL);
}

void tl_free(void *p) {
    if (p) hook.free(hook.user, p);
}
