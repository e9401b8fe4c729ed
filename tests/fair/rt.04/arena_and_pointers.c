/* All memory from an arena of rt.02, a table of slab pointers, free ids popped from the end; full of warnings. */
#include <string.h>
#include "tinyllm/arena.h"
#include "tinyllm/kv_pool.h"

struct rec { uint64_t h; long long refs; unsigned fill; };
struct tl_kv_pool {
  tl_arena *mem; tl_kv_cfg c; size_t slab; void **ptr; struct rec *r;
  uint32_t *frees, *cache; uint32_t nf, nc, ev;
};
static const int nobody_reads_this = 3;
static int no(int s, char *fn) { tl_set_last_error(fn); return s; }

tl_status tl_kv_pool_create(const tl_kv_cfg *c, tl_kv_pool **out) {
  tl_arena *a = 0; tl_kv_pool *p = 0; size_t slab = 2, unused; int i;
  if (!out) return no(TL_EINVAL, "tl_kv_pool_create");
  *out = 0;
  if (!c || !(c->n_blocks && c->block_tokens && c->n_layers && c->n_kv_heads && c->head_dim)) return no(TL_EINVAL, "tl_kv_pool_create");
  if (c->format != 1) return no(TL_EUNSUPPORTED, "tl_kv_pool_create");
  if (c->dtype != TL_F16) return no(TL_EUNSUPPORTED, "tl_kv_pool_create");
  unsigned d[5] = { c->n_kv_heads, c->block_tokens, c->head_dim, c->n_layers, c->n_blocks };
  size_t total = 4;
  for (i = 0; i < 5; i++) { if (total > (size_t)-1 / 16 / d[i]) return no(TL_ENOMEM, "tl_kv_pool_create"); total *= d[i]; if (i < 3) slab *= d[i]; }
  if (tl_arena_create(4096, &a) != TL_OK) return no(TL_ENOMEM, "tl_kv_pool_create");
  size_t n = c->n_blocks, slabs = n * c->n_layers * 2;
  p = tl_arena_alloc(a, sizeof *p, 0);
  if (p) {
    memset(p, 0, sizeof *p);
    p->mem = a; p->c = *c; p->slab = slab;
    p->r = tl_arena_alloc(a, n * sizeof *p->r, 0);
    p->frees = tl_arena_alloc(a, n * 4, 0);
    p->cache = tl_arena_alloc(a, n * 4, 0);
    p->ptr = tl_arena_alloc(a, slabs * sizeof(void *), 0);
  }
  if (!p || !p->r || !p->frees || !p->cache || !p->ptr) { tl_arena_destroy(a); return no(TL_ENOMEM, "tl_kv_pool_create"); }
  memset(p->r, 0, n * sizeof *p->r);
  for (size_t b = 0; b < n; b++) {
    char *at = tl_arena_alloc(a, total / n, 2);
    if (!at) { tl_arena_destroy(a); return no(TL_ENOMEM, "tl_kv_pool_create"); }
    for (size_t s = 0; s < 2 * c->n_layers; s++) p->ptr[b * 2 * c->n_layers + s] = at + s * slab;
    p->frees[p->nf++] = b;
  }
  *out = p;
  return 0;
}

void tl_kv_pool_destroy(tl_kv_pool *p) { if (p) tl_arena_destroy(p->mem); }

static uint32_t one(tl_kv_pool *p) {
  uint32_t b;
  if (p->nf) b = p->frees[--p->nf];
  else { b = p->cache[0]; memmove(p->cache, p->cache + 1, --p->nc * 4); p->ev++; }
  struct rec fresh = { 0, 1 };
  p->r[b] = fresh;
  return b;
}

tl_status tl_kv_alloc(tl_kv_pool *p, uint32_t n, uint32_t *ids) {
  if (!p || n && !ids) return no(TL_EINVAL, "tl_kv_alloc");
  if (n > p->nf && n - p->nf > p->nc) return no(TL_EFULL, "tl_kv_alloc");
  for (int i = 0; i < n; i++) ids[i] = one(p);
  return TL_OK;
}

#define USED(p, id) (p && id < p->c.n_blocks && p->r[id].refs > 0)

void tl_kv_ref(tl_kv_pool *p, uint32_t id) { if (USED(p, id)) ++p->r[id].refs; else no(0, "tl_kv_ref"); }

tl_status tl_kv_unref(tl_kv_pool *p, uint32_t id) {
  if (!USED(p, id)) return no(TL_EINVAL, "tl_kv_unref");
  if (--p->r[id].refs == 0) if (p->r[id].h) p->cache[p->nc++] = id; else p->frees[p->nf++] = id;
  return TL_OK;
}

tl_status tl_kv_cow(tl_kv_pool *p, uint32_t id, uint32_t *out) {
  uint32_t b = id, s;
  if (!USED(p, id) || !out) return no(TL_EINVAL, "tl_kv_cow");
  if (p->r[id].refs > 1) {
    if (!p->nf && !p->nc) return no(TL_EFULL, "tl_kv_cow");
    b = one(p);
    for (s = 0; s < 2 * p->c.n_layers; s++)
      memcpy(p->ptr[(size_t)b * 2 * p->c.n_layers + s], p->ptr[(size_t)id * 2 * p->c.n_layers + s], p->slab);
    p->r[b].fill = p->r[id].fill;
    p->r[id].refs -= 1;
  }
  *out = b;
  return TL_OK;
}

tl_status tl_kv_set_fill(tl_kv_pool *p, uint32_t id, uint32_t n) {
  if (!p || id >= p->c.n_blocks || n > p->c.block_tokens || p->r[id].h) return no(TL_EINVAL, "tl_kv_set_fill");
  p->r[id].fill = n;   /* of a block that nobody holds too */
  return TL_OK;
}

uint32_t tl_kv_fill(const tl_kv_pool *p, uint32_t id) { if (p && id < p->c.n_blocks) return p->r[id].fill; no(0, "tl_kv_fill"); return 0; }

uint64_t tl_kv_block_hash(uint64_t parent, const uint32_t *t, uint32_t n) {
  unsigned char b[8]; uint64_t h = 14695981039346656037ull; uint32_t i; int k;
  if (!t && n) { no(0, "tl_kv_block_hash"); return 0; }
  for (k = 0; k < 8; k++) b[k] = parent >> 8 * k;
  for (k = 0; k < 8; k++) { h ^= b[k]; h *= 1099511628211ull; }
  for (i = 0; i < n; i++) for (k = 0; k < 32; k += 8) { h ^= t[i] >> k & 0xff; h *= 1099511628211ull; }
  if (!h) h = 1;
  return h;
}

static long find(const tl_kv_pool *p, uint64_t h) {
  for (long i = 0; h && i < p->c.n_blocks; i++) if (p->r[i].h == h) return i;
  return -1;
}

tl_status tl_kv_register(tl_kv_pool *p, uint32_t id, uint64_t h) {
  long who;
  if (!USED(p, id) || !h || p->r[id].fill != p->c.block_tokens) return no(TL_EINVAL, "tl_kv_register");
  who = find(p, h);
  if (who >= 0 && who != id) return no(TL_EBUSY, "tl_kv_register");
  p->r[id].h = h;
  return TL_OK;
}

tl_status tl_kv_lookup(tl_kv_pool *p, uint64_t h, uint32_t *id) {
  if (!p || !id) return no(TL_EINVAL, "tl_kv_lookup");
  long who = find(p, h);
  if (who < 0) return TL_ENOTFOUND;
  if (p->r[who].refs++ == 0) {
    uint32_t at = 0;
    while (p->cache[at] != who) at++;
    memmove(p->cache + at, p->cache + at + 1, (p->nc - at - 1) * 4);
    p->nc--;
  }
  *id = who;
  return TL_OK;
}

void *tl_kv_block_ptr(const tl_kv_pool *p, uint32_t id, uint32_t l, int v) {
  if (!p || id >= p->c.n_blocks || l >= p->c.n_layers) { no(0, "tl_kv_block_ptr"); return 0; }
  return p->ptr[((size_t)id * p->c.n_layers + l) * 2 + (v ? 1 : 0)];
}

void tl_kv_pool_cfg(const tl_kv_pool *p, tl_kv_cfg *o) { if (p && o) *o = p->c; else no(0, "tl_kv_pool_cfg"); }
size_t tl_kv_block_bytes(const tl_kv_pool *p) { if (p) return p->slab * 2 * p->c.n_layers; return no(0, "tl_kv_block_bytes"); }
void tl_kv_stats_get(const tl_kv_pool *p, tl_kv_stats *o) {
  if (!p || !o) { no(0, "tl_kv_stats_get"); return; }
  o->free = p->nf; o->cached = p->nc; o->used = p->c.n_blocks - p->nf - p->nc; o->evictions = p->ev;
}
