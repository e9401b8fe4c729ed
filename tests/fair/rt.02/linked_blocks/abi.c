/* A slot made by pthread_key_create, names found by search, and malloc's hook as a pair of tests. */
#include "tinyllm/abi.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    tl_status status;
    const char *name;
} names[] = {
    {TL_EIO, "TL_EIO"},           {TL_EUNSUPPORTED, "TL_EUNSUPPORTED"}, {TL_EBUSY, "TL_EBUSY"},
    {TL_EFORMAT, "TL_EFORMAT"},   {TL_ENOTFOUND, "TL_ENOTFOUND"},       {TL_EFULL, "TL_EFULL"},
    {TL_EDTYPE, "TL_EDTYPE"},     {TL_ESHAPE, "TL_ESHAPE"},             {TL_ENOMEM, "TL_ENOMEM"},
    {TL_EINVAL, "TL_EINVAL"},     {TL_OK, "TL_OK"},
};

static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static tl_allocator installed;
static int has_hook;

static void make_key(void) {
    if (pthread_key_create(&key, free) != 0) abort();
}

uint32_t tl_abi_version(void) { return TL_ABI_VERSION; }

const char *tl_status_str(tl_status status) {
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        if (names[k].status == status) return names[k].name;
    return "TL_UNKNOWN";
}

const char *tl_last_error(void) {
    pthread_once(&once, make_key);
    const char *slot = pthread_getspecific(key);
    return slot ? slot : "";
}

void tl_set_last_error(const char *message) {
    pthread_once(&once, make_key);
    char *slot = pthread_getspecific(key);
    if (!slot) {
        slot = calloc(1, TL_LAST_ERROR_CAP);
        if (!slot) return;
        pthread_setspecific(key, slot);
    }
    size_t n = message ? strlen(message) : 0;
    if (n >= TL_LAST_ERROR_CAP) n = TL_LAST_ERROR_CAP - 1;
    if (n) memmove(slot, message, n);
    slot[n] = 0;
}

tl_status tl_set_allocator(const tl_allocator *allocator) {
    if (allocator && (allocator->alloc == NULL || allocator->free == NULL)) {
        tl_set_last_error("tl_set_allocator: half a hook");
        return TL_EINVAL;
    }
    has_hook = allocator != NULL;
    if (allocator) memcpy(&installed, allocator, sizeof installed);
    return TL_OK;
}

void *tl_alloc(size_t n, size_t align) {
    void *p = NULL;
    int power = 0;
    for (size_t one = 1; one; one <<= 1) power |= one == align;
    if (n && power) {
        if (has_hook)
            p = installed.alloc(installed.user, n, align);
        else if (posix_memalign(&p, align < 16 ? 16 : align, n))
            p = NULL;
    }
    if (!p) tl_set_last_error("tl_alloc failed");
    return p;
}

void tl_free(void *p) {
    if (!p) return;
    if (has_hook) installed.free(installed.user, p);
    else free(p);
}
