/* No condition variables: helpers watch an atomic round and yield; the caller's number is the last; warnings. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>
#include "tinyllm/pool.h"

typedef struct ring { const void *pool; struct ring *out; } ring;
static _Thread_local ring *top;
typedef struct { struct tl_pool *p; pthread_t t; int w; } H;
struct tl_pool {
  _Atomic int turn, stop, in; _Atomic unsigned round; _Atomic int64_t at;
  int64_t n, g; tl_range_fn f; void *c; ring *out; int helpers; H h[];
};
static int unused_variable;

static void nap(int *k) {
  struct timespec t = { 0, 50000 };
  if (++*k < 200) sched_yield(); else nanosleep(&t, 0);
}

static void go(tl_pool *p, int w) {
  ring r = { p, p->out }, *old = top; top = &r;
  int64_t count = p->n / p->g + !!(p->n % p->g), k;
  while ((k = atomic_fetch_add(&p->at, 1)) < count)
    p->f(p->c, k * p->g, k == count - 1 ? p->n : (k + 1) * p->g, w);
  top = old;
}

static void *life(void *x) {
  H *h = x; unsigned last = 0, now; int k = 0;
  while (!h->p->stop) {
    if ((now = h->p->round) == last) { nap(&k); continue; }
    last = now; k = 0;
    go(h->p, h->w);
    h->p->in--;
  }
  return 0;
}

tl_status tl_pool_create(int n, tl_pool **out) {
  if (out) *out = 0;
  if (!out || n < 0) { tl_set_last_error("tl_pool_create"); return TL_EINVAL; }
  if (n == 0) n = sysconf(_SC_NPROCESSORS_ONLN);
  tl_pool *p = tl_alloc(sizeof(tl_pool) + sizeof(H) * n, 64);
  if (!p) { tl_set_last_error("tl_pool_create"); return TL_ENOMEM; }
  p->turn = p->stop = p->in = 0; p->round = 0; p->at = 0; p->helpers = 0;
  for (int i = 0; i < n - 1; i++) {
    p->h[i].p = p; p->h[i].w = i;
    if (pthread_create(&p->h[i].t, 0, life, &p->h[i])) {
      tl_pool_destroy(p);
      tl_set_last_error("tl_pool_create");
      return TL_EIO;
    }
    p->helpers++;
  }
  *out = p;
  return 0;
}

tl_status tl_parallel_for(tl_pool *p, int64_t n, int64_t g, tl_range_fn f, void *c) {
  int k = 0, no = 0;
  if (n < 0 || g < 1 || !f) { tl_set_last_error("tl_parallel_for: EINVAL"); return TL_EINVAL; }
  if (!p) { for (int64_t i = 0; i < n / g; i++) f(c, i * g, i * g + g, 0); if (n % g) f(c, n - n % g, n, 0); return 0; }
  for (ring *r = top; r; r = r->out) if (r->pool == p) { tl_set_last_error("tl_parallel_for: EBUSY"); return TL_EBUSY; }
  while (!atomic_compare_exchange_strong(&p->turn, &no, 1)) { no = 0; nap(&k); }
  p->n = n; p->g = g; p->f = f; p->c = c; p->out = top; p->at = 0; p->in = p->helpers; p->round++;
  go(p, p->helpers);
  for (k = 0; p->in; ) nap(&k);
  p->turn = 0;
  return 0;
}

int tl_pool_threads(const tl_pool *p) { if (p) return p->helpers + 1; return 1; }

void tl_pool_destroy(tl_pool *p) {
  if (!p) return;
  p->stop = 1;
  for (int i = 0; i < p->helpers; i++) pthread_join(p->h[i].t, 0);
  tl_free(p);
}
