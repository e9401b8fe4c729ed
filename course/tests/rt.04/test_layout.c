/* The tests of where a block's elements lie, of pools of any size, and of what create and NULL give. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include <string.h>
#include <sys/mman.h>

#include "blocks.h"

/* ---- Layout ----------------------------------------------------------------------------------------- */

static void pointer_is_refused(tl_kv_pool *pool, uint32_t id, uint32_t layer) {
    ol_note("block %u of 3, layer %u of 2", id, layer);
    OL_UNIT {
        tl_set_last_error(NULL);
        ol_saw_int("pointer is NULL", tl_kv_block_ptr(pool, id, layer, 0) == NULL);
    }
    OL_ORACLE { ol_want_int("pointer is NULL", 1); }
    slot_names("tl_kv_block_ptr");
}

/* For every block and slab: bytes from the block's first slab. */
static void saw_slabs(const tl_kv_pool *pool) {
    int64_t at[3][4], odd = 0;
    for (uint32_t id = 0; id < 3; id++)
        for (uint32_t slab = 0; slab < 4; slab++) {
            unsigned char *p = tl_kv_block_ptr(pool, id, slab / 2, slab % 2);
            at[id][slab] = p - (unsigned char *)tl_kv_block_ptr(pool, id, 0, 0);
            odd += (int64_t)((uintptr_t)p % 2);
        }
    ol_saw_i64("bytes from the block's start", at[0], OL_DIMS({"block", 3}, {"layer", 2}, {"K, V", 2}));
    ol_saw_int("odd addresses", odd);
}

OL_TEST(slabs_lie_as_format_1_says) {
    tl_kv_cfg cfg = {.n_blocks = 3, .block_tokens = 4, .n_layers = 2, .n_kv_heads = 5, .head_dim = 3,
                     .dtype = TL_F16, .format = TL_KV_FORMAT_V1};
    tl_kv_pool *pool = new_pool(cfg);
    uint32_t id = 0;
    OL_UNIT {
        saw_slabs(pool);
        ol_saw_int("bytes of a block", (int64_t)tl_kv_block_bytes(pool));
        for (uint32_t k = 0; k < 3; k++) write_block(pool, k, (uint16_t)(100 * k));
        int64_t kept[3];
        for (uint32_t k = 0; k < 3; k++) kept[k] = block_holds(pool, k, (uint16_t)(100 * k));
        ol_saw_i64("blocks that keep their own content", kept, OL_DIMS({"block", 3}));
        void *v = tl_kv_block_ptr(pool, 1, 1, 1), *k = tl_kv_block_ptr(pool, 1, 1, 0);
        int is_v[] = {-1, 2, 256, INT32_MIN};
        int64_t same = 0;
        for (int i = 0; i < 4; i++) same += tl_kv_block_ptr(pool, 1, 1, is_v[i]) == v;
        ol_saw_int("values of is_v that mean V", same);
        tl_kv_alloc(pool, 1, &id);
        tl_kv_unref(pool, id);
        ol_saw_int("the address stays", tl_kv_block_ptr(pool, 1, 1, 0) == k);
    }
    OL_ORACLE {
        static const int64_t at[] = {0, 120, 240, 360, 0, 120, 240, 360, 0, 120, 240, 360};
        ol_want_i64("bytes from the block's start", at, 12);
        ol_want_int("odd addresses", 0);
        ol_want_int("bytes of a block", 480);
        ol_want_i64("blocks that keep their own content", (int64_t[]){1, 1, 1}, 3);
        ol_want_int("values of is_v that mean V", 4);
        ol_want_int("the address stays", 1);
    }
    pointer_is_refused(pool, 3, 0);
    pointer_is_refused(pool, UINT32_MAX, 0);
    pointer_is_refused(pool, 0, 2);
    pointer_is_refused(pool, 0, UINT32_MAX);
    end_pool(pool);
}

/* ---- Pools beyond 4 GiB ----------------------------------------------------------------------------- */

/* Memory that exists only where it is touched. The size stands in a page before it. */
enum { PAGE = 4096 };

static void *lazy_alloc(void *user, size_t n, size_t align) {
    (void)user, (void)align;
    if (n > (size_t)1 << 36) return NULL;
    size_t *start = mmap(NULL, n + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start == MAP_FAILED) return NULL;
    *start = n + PAGE;
    return (unsigned char *)start + PAGE;
}

static void lazy_free(void *user, void *p) {
    (void)user;
    size_t *start = (size_t *)((unsigned char *)p - PAGE);
    munmap(start, *start);
}

/* Writes a number of its own to the first and last element of every slab, and reads all of them again. */
static void corners_are_apart(tl_kv_cfg cfg) {
    tl_kv_pool *pool = new_pool(cfg);
    int64_t n_slabs = 2 * (int64_t)cfg.n_blocks * cfg.n_layers;
    size_t elements = (size_t)cfg.n_kv_heads * cfg.block_tokens * cfg.head_dim;
    uint16_t *corners = ol_new(2 * n_slabs, sizeof *corners);
    OL_UNIT {
        for (int write = 1; write >= 0; write--)
            for (uint32_t k = 0; k < 2 * n_slabs; k++) {
                uint32_t slab = k / 2 % (2 * cfg.n_layers), id = k / 2 / (2 * cfg.n_layers);
                uint16_t *x = tl_kv_block_ptr(pool, id, slab / 2, slab % 2);
                if (k % 2) x += elements - 1;
                if (write) *x = (uint16_t)k;
                else corners[k] = *x;
            }
        ol_saw_i64("bytes of a block", (int64_t[]){(int64_t)tl_kv_block_bytes(pool)}, OL_DIMS({"value", 1}));
        ol_saw_u16("corners", corners, OL_DIMS({"slab", n_slabs}, {"first, last", 2}));
    }
    OL_ORACLE {
        for (int64_t k = 0; k < 2 * n_slabs; k++) corners[k] = (uint16_t)k;
        ol_want_i64("bytes of a block", (int64_t[]){4 * (int64_t)cfg.n_layers * (int64_t)elements}, 1);
        ol_want_u16("corners", corners, 2 * n_slabs);
    }
    end_pool(pool);
}

/* Powers of two, so that a product cut to 32 bits is the address of another corner. */
OL_TEST(pools_beyond_4_gib) {
    tl_kv_cfg many = {.n_blocks = 6, .block_tokens = 1 << 15, .n_layers = 4, .n_kv_heads = 8, .head_dim = 256,
                      .dtype = TL_F16, .format = TL_KV_FORMAT_V1};
    tl_kv_cfg wide = {.n_blocks = 2, .block_tokens = 1 << 18, .n_layers = 2, .n_kv_heads = 64, .head_dim = 128,
                      .dtype = TL_F16, .format = TL_KV_FORMAT_V1};
    OL_UNIT { tl_set_allocator(&(tl_allocator){lazy_alloc, lazy_free, NULL}); }
    corners_are_apart(many);
    corners_are_apart(wide);
}

/* ---- Making pools ----------------------------------------------------------------------------------- */

static size_t most;

static void *limited_alloc(void *user, size_t n, size_t align) {
    return n > most ? NULL : ol_hook_alloc(user, n, align);
}

static void create_gives(const char *why, const tl_kv_cfg *cfg, tl_status wanted) {
    tl_kv_pool *pool = (tl_kv_pool *)&pool;
    ol_note("create, %s", why);
    OL_UNIT { tl_set_last_error(NULL); }
    OL_STATUS(wanted, tl_kv_pool_create(cfg, &pool));
    slot_names("tl_kv_pool_create");
    OL_UNIT { ol_saw_i64("out is NULL, blocks live", (int64_t[]){pool == NULL, ol_hook_live()}, OL_DIMS({"fact", 2})); }
    OL_ORACLE { ol_want_i64("out is NULL, blocks live", (int64_t[]){1, 0}, 2); }
}

static void dimensions_are_checked(void) {
    static const char *const name[] = {"n_blocks 0", "block_tokens 0", "n_layers 0", "n_kv_heads 0", "head_dim 0"};
    for (int k = 0; k < 5; k++) {
        tl_kv_cfg cfg = plain_cfg(4, 4);
        uint32_t *dim[] = {&cfg.n_blocks, &cfg.block_tokens, &cfg.n_layers, &cfg.n_kv_heads, &cfg.head_dim};
        *dim[k] = 0;
        create_gives(name[k], &cfg, TL_EINVAL);
    }
}

/* n_blocks, block_tokens, n_layers, n_kv_heads, head_dim: in 64 bits the sizes wrap to what stands behind them. */
static const uint32_t too_large[][5] = {
    {43, 2668527489u, 1, 2389, 16823},       /* 260 bytes */
    {17, 2162171, 97, 2, 646724095},         /* 424 */
    {1, 1, 43405, 2147418113, 49477},        /* 4 */
    {1, 1, 2, 4238122609u, 544071803},       /* 600 */
    {2, 3148975706u, 2, 1, 366125881},       /* 160 */
    {4, UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX},
    {UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX},
};

static void sizes_are_checked(void) {
    for (int k = 0; k < 7; k++) {
        const uint32_t *d = too_large[k];
        tl_kv_cfg cfg = {d[0], d[1], d[2], d[3], d[4], TL_F16, TL_KV_FORMAT_V1};
        create_gives("a size beyond size_t", &cfg, TL_ENOMEM);
    }
}

/* The k-th allocation fails; a pool may need fewer. */
static void memory_is_checked(int k) {
    tl_kv_cfg cfg = plain_cfg(4, 4);
    tl_kv_pool *pool = (tl_kv_pool *)&pool;
    ol_note("create, allocation %d fails", k);
    OL_UNIT {
        ol_hook_fail_at(k);
        tl_status status = tl_kv_pool_create(&cfg, &pool);
        ol_hook_fail_at(0);
        if (k == 1) ol_saw_status("status", status);
        OL_HOLDS("out tells the same as the status", (status == TL_OK) == (pool != NULL));
        OL_HOLDS("the status is TL_OK or TL_ENOMEM", status == TL_OK || status == TL_ENOMEM);
        if (status == TL_OK && pool) memset(tl_kv_block_ptr(pool, 3, 0, 0), 1, tl_kv_block_bytes(pool));
        tl_kv_pool_destroy(pool);
        ol_saw_int("blocks live", ol_hook_live());
    }
    OL_ORACLE {
        if (k == 1) ol_want_status("status", TL_ENOMEM);
        ol_want_fact("out tells the same as the status");
        ol_want_fact("the status is TL_OK or TL_ENOMEM");
        ol_want_int("blocks live", 0);
    }
}

OL_TEST(create_checks_everything) {
    tl_kv_cfg cfg = plain_cfg(4, 4);
    most = (size_t)1 << 30;
    OL_UNIT { tl_set_allocator(&(tl_allocator){limited_alloc, ol_hook_free, NULL}); }
    create_gives("cfg NULL", NULL, TL_EINVAL);
    ol_note("create, out NULL");
    OL_STATUS(TL_EINVAL, tl_kv_pool_create(&cfg, NULL));
    slot_names("tl_kv_pool_create");
    dimensions_are_checked();
    cfg.dtype = TL_F32;
    create_gives("float32 elements", &cfg, TL_EUNSUPPORTED);
    cfg.dtype = TL_F8_E4M3;
    create_gives("fp8 elements", &cfg, TL_EUNSUPPORTED);
    cfg = plain_cfg(4, 4);
    cfg.format = 2;
    create_gives("format 2", &cfg, TL_EUNSUPPORTED);
    cfg.format = 0;
    create_gives("format 0", &cfg, TL_EUNSUPPORTED);
    sizes_are_checked();
    for (int k = 1; k <= 8; k++) memory_is_checked(k);
}

OL_TEST(only_create_allocates) {
    tl_kv_cfg cfg = plain_cfg(6, 2), kept = {0};
    tl_kv_pool *pool = NULL;
    follow_the_hook();
    OL_STATUS(TL_OK, tl_kv_pool_create(&cfg, &pool));
    cfg.n_blocks = 1; /* the pool has a copy */
    ol_note("alloc, fill, register, cow, unref, lookup, evict: no allocation");
    OL_UNIT {
        int64_t made = ol_hook_allocs(), heap = ol_heap_allocs();
        uint32_t id[6], out;
        for (uint64_t round = 0; round < 3; round++) {
            tl_kv_alloc(pool, 5, id);
            for (int k = 0; k < 5; k++) fill_and_register(pool, id[k], 5 * round + (uint64_t)k + 1);
            tl_kv_ref(pool, id[0]);
            tl_kv_cow(pool, id[0], &out);
            tl_kv_unref(pool, out);
            for (int k = 0; k < 5; k++) tl_kv_unref(pool, id[k]);
            if (tl_kv_lookup(pool, 5 * round + 2, &out) == TL_OK) tl_kv_unref(pool, out);
        }
        heap = ol_heap_allocs() - heap;
        OL_HOLDS("the pool comes from the hook", made > 0);
        ol_saw_i64("calls of the hook, of malloc", (int64_t[]){ol_hook_allocs() - made, heap}, OL_DIMS({"source", 2}));
        tl_kv_pool_cfg(pool, &kept);
        ol_saw_u32("configuration", (uint32_t[]){kept.n_blocks, kept.block_tokens, kept.n_layers, kept.n_kv_heads,
                                                 kept.head_dim, (uint32_t)kept.dtype, kept.format},
                   OL_DIMS({"field", 7}));
        tl_kv_pool_destroy(pool);
        ol_saw_int("live after destroy", ol_hook_live());
    }
    OL_ORACLE {
        ol_want_fact("the pool comes from the hook");
        ol_want_i64("calls of the hook, of malloc", (int64_t[]){0, 0}, 2);
        ol_want_u32("configuration", (uint32_t[]){6, 2, 1, 1, 2, TL_F16, 1}, 7);
        ol_want_int("live after destroy", 0);
    }
}

OL_TEST(null_pools) {
    uint32_t id = 0;
    ol_note("functions without a pool");
    OL_UNIT { tl_set_last_error(NULL); }
    OL_STATUS(TL_EINVAL, tl_kv_alloc(NULL, 1, &id));
    slot_names("tl_kv_alloc");
    OL_STATUS(TL_EINVAL, tl_kv_unref(NULL, 0));
    slot_names("tl_kv_unref");
    OL_STATUS(TL_EINVAL, tl_kv_cow(NULL, 0, &id));
    slot_names("tl_kv_cow");
    OL_STATUS(TL_EINVAL, tl_kv_set_fill(NULL, 0, 1));
    slot_names("tl_kv_set_fill");
    OL_STATUS(TL_EINVAL, tl_kv_register(NULL, 0, 1));
    slot_names("tl_kv_register");
    OL_STATUS(TL_EINVAL, tl_kv_lookup(NULL, 1, &id));
    slot_names("tl_kv_lookup");
    OL_UNIT { tl_kv_ref(NULL, 0); }
    slot_names("tl_kv_ref");
    OL_UNIT { ol_saw_int("fill", tl_kv_fill(NULL, 0)); }
    slot_names("tl_kv_fill");
    OL_UNIT { ol_saw_int("pointer is NULL", tl_kv_block_ptr(NULL, 0, 0, 0) == NULL); }
    slot_names("tl_kv_block_ptr");
    OL_UNIT { ol_saw_int("bytes of a block", (int64_t)tl_kv_block_bytes(NULL)); }
    slot_names("tl_kv_block_bytes");
    OL_UNIT { tl_kv_pool_cfg(NULL, &(tl_kv_cfg){0}); }
    slot_names("tl_kv_pool_cfg");
    OL_UNIT { tl_kv_stats_get(NULL, &(tl_kv_stats){0}); }
    slot_names("tl_kv_stats_get");
    OL_UNIT { tl_kv_pool_destroy(NULL); }
    slot_is_empty();
    OL_ORACLE {
        ol_want_int("fill", 0);
        ol_want_int("pointer is NULL", 1);
        ol_want_int("bytes of a block", 0);
    }
}
