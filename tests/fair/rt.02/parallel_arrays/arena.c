/* Three arrays that grow by one block at a time, sums computed when asked for, blocks cleared when made. */
#include <string.h>
#include "tinyllm/arena.h"

struct tl_arena {
  size_t block_bytes, n, cur, high;
  char **base;
  size_t *size, *used;
};

tl_status tl_arena_create(size_t block_bytes, tl_arena **out)
{
  struct tl_arena *a;
  if (!out) { tl_set_last_error("tl_arena_create: out"); return TL_EINVAL; }
  a = tl_alloc(sizeof *a, 16);
  *out = a;
  if (!a) { tl_set_last_error("tl_arena_create: memory"); return TL_ENOMEM; }
  memset(a, 0, sizeof *a);
  a->block_bytes = block_bytes;
  if (block_bytes == 0) a->block_bytes = 1 << 20;
  return TL_OK;
}

static size_t sum(const size_t *x, size_t n) { size_t s = 0; while (n) s += x[--n]; return s; }

static int one_more(tl_arena *a, size_t need)
{
  size_t k = a->n, bytes = need > a->block_bytes ? need : a->block_bytes;
  char **base = tl_alloc((k + 1) * sizeof *base, 16);
  size_t *size = tl_alloc((k + 1) * sizeof *size, 16), *used = tl_alloc((k + 1) * sizeof *used, 16);
  char *block = base && size && used ? tl_alloc(bytes, 4096) : 0;
  if (!block) { tl_free(base); tl_free(size); tl_free(used); return 0; }
  for (size_t i = 0; i < k; i++) base[i] = a->base[i], size[i] = a->size[i], used[i] = a->used[i];
  base[k] = memset(block, 0, bytes); size[k] = bytes; used[k] = 0;
  tl_free(a->base); tl_free(a->size); tl_free(a->used);
  a->base = base; a->size = size; a->used = used; a->n = k + 1;
  return 1;
}

void *tl_arena_alloc(tl_arena *a, size_t n, size_t align)
{
  if (align == 0) align = 64;
  int bits = 0;
  for (size_t x = align; x; x >>= 1) bits += x & 1;
  if (!a || n == 0 || bits != 1 || align > 4096) { tl_set_last_error("tl_arena_alloc: arguments"); return 0; }
  for (size_t k = a->cur; ; k++) {
    if (k == a->n && !one_more(a, n)) { tl_set_last_error("tl_arena_alloc: memory"); return 0; }
    size_t at = (a->used[k] + align - 1) & -align;
    if (at > a->size[k] || a->size[k] - at < n) continue;
    a->cur = k;
    a->used[k] = at + n;
    size_t now = sum(a->used, k + 1);
    a->high = now > a->high ? now : a->high;
    return a->base[k] + at;
  }
}

tl_arena_mark tl_arena_mark_get(const tl_arena *a)
{
  tl_arena_mark m = { 0 };
  if (!a) { tl_set_last_error("tl_arena_mark_get"); return m; }
  if (a->n) m.block = a->cur, m.offset = a->used[a->cur];
  return m;
}

void tl_arena_reset_to(tl_arena *a, tl_arena_mark m)
{
  tl_arena_mark now = tl_arena_mark_get(a);
  if (!a || m.block > now.block || (m.block == now.block && m.offset > now.offset)
      || (a->n && m.offset > a->used[m.block])) { tl_set_last_error("tl_arena_reset_to"); return; }
  if (a->n == 0) return;
  a->used[m.block] = m.offset;
  for (a->cur = m.block; now.block > m.block; now.block--) a->used[now.block] = 0;
}

void tl_arena_stats_get(const tl_arena *a, tl_arena_stats *out)
{
  if (!a || !out) { tl_set_last_error("tl_arena_stats_get"); return; }
  out->n_blocks = a->n;
  out->bytes_reserved = sum(a->size, a->n);
  out->bytes_used = sum(a->used, a->n);
  out->high_water = a->high;
}

void tl_arena_destroy(tl_arena *a)
{
  if (a) {
    while (a->n) tl_free(a->base[--a->n]);
    tl_free(a->base); tl_free(a->size); tl_free(a->used); tl_free(a);
  }
}
