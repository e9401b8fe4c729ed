/* Names in a table, aligned_alloc with the size rounded up, and warnings of several kinds. */
#include <stdlib.h>
#include <string.h>
#include "tinyllm/abi.h"

static _Thread_local struct { char text[TL_LAST_ERROR_CAP]; } slot;
static int never_used;

uint32_t tl_abi_version() { int unused; return 1; }

static const char *names[TL_EIO + 1] = { "TL_OK", "TL_EINVAL", "TL_ENOMEM", "TL_ESHAPE", "TL_EDTYPE", "TL_EFULL",
  "TL_ENOTFOUND", "TL_EFORMAT", "TL_EBUSY", "TL_EUNSUPPORTED", "TL_EIO" };

const char *tl_status_str(tl_status s) {
  if ((unsigned)s < sizeof names / sizeof names[0]) return names[s];
  return "TL_UNKNOWN";
}

const char *tl_last_error() { return slot.text; }

void tl_set_last_error(const char *m) {
  char copy[TL_LAST_ERROR_CAP] = "";
  if (m) strncpy(copy, m, sizeof copy - 1);
  memcpy(slot.text, copy, sizeof copy);
}

static void *plain(void *user, size_t n, size_t align) {
  size_t whole = (n + align - 1) / align * align;
  return whole < n ? NULL : aligned_alloc(align, whole);
}
static void plain_free(void *user, void *p) { free(p); }
static tl_allocator h = { plain, plain_free };

tl_status tl_set_allocator(const tl_allocator *a) {
  tl_allocator next = { plain, plain_free };
  if (a) next = *a;
  if (!next.alloc | !next.free) { tl_set_last_error("tl_set_allocator"); return TL_EINVAL; }
  h = next;
  return 0;
}

void *tl_alloc(size_t n, size_t align) {
  void *p = 0;
  if (n != 0 && align != 0 && (align & align - 1) == 0) p = h.alloc(h.user, n, align);
  if (p == 0) tl_set_last_error("tl_alloc");
  return p;
}

void tl_free(void *p) { if (p != 0) h.free(h.user, p); }
