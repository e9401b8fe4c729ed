/* The tests of hashes: how they are computed, registered, looked up, and lost to evictions. */
#include "blocks.h"

/* ---- tl_kv_block_hash ------------------------------------------------------------------------------- */

/* FNV-1a over bytes that are laid out first. */
static uint64_t fnv1a(uint64_t parent, const uint32_t *toks, uint32_t n) {
    unsigned char *bytes = ol_new(8 + 4 * (int64_t)n, 1);
    for (int i = 0; i < 8; i++) bytes[i] = (unsigned char)(parent >> (8 * i));
    for (uint32_t k = 0; k < 4 * n; k++) bytes[8 + k] = (unsigned char)(toks[k / 4] >> (8 * (k % 4)));
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (uint32_t k = 0; k < 8 + 4 * n; k++) h = (h ^ bytes[k]) * UINT64_C(0x100000001b3);
    return h ? h : 1;
}

static void hash_is_fnv(uint64_t parent, const uint32_t *toks, uint32_t n) {
    ol_note("parent 0x%llx, %u tokens", (unsigned long long)parent, n);
    OL_UNIT { ol_saw_i64("hash", (int64_t[]){(int64_t)tl_kv_block_hash(parent, toks, n)}, OL_DIMS({"value", 1})); }
    OL_ORACLE { ol_want_i64("hash", (int64_t[]){(int64_t)fnv1a(parent, toks, n)}, 1); }
}

OL_TEST(hashes_are_fnv1a) {
    ol_rng r = ol_rng_at(ol_seed());
    hash_is_fnv(0, NULL, 0);
    hash_is_fnv(1, NULL, 0);
    hash_is_fnv(UINT64_C(0xFEDCBA9876543210), NULL, 0);
    hash_is_fnv(UINT64_C(0x3608874253b96bd5), NULL, 0); /* the bytes whose FNV-1a is 0 */
    for (uint32_t n = 1; n <= 64; n = 2 * n + 1) {
        uint32_t *toks = ol_new(n, sizeof *toks);
        for (uint32_t i = 0; i < n; i++) toks[i] = (uint32_t)ol_next(&r);
        hash_is_fnv(0, toks, n);
        hash_is_fnv(ol_next(&r), toks, n);
    }
    ol_note("two blocks in a chain");
    OL_UNIT {
        uint64_t first = tl_kv_block_hash(0, (uint32_t[]){1, 2}, 2);
        ol_saw_i64("hash", (int64_t[]){(int64_t)tl_kv_block_hash(first, (uint32_t[]){3, 4}, 2)}, OL_DIMS({"value", 1}));
        tl_set_last_error(NULL);
        ol_saw_int("hash of NULL", (int64_t)tl_kv_block_hash(0, NULL, 1));
    }
    OL_ORACLE {
        uint64_t first = fnv1a(0, (uint32_t[]){1, 2}, 2);
        ol_want_i64("hash", (int64_t[]){(int64_t)fnv1a(first, (uint32_t[]){3, 4}, 2)}, 1);
        ol_want_int("hash of NULL", 0);
    }
    slot_names("tl_kv_block_hash");
}

/* ---- Registering and looking up --------------------------------------------------------------------- */

static void register_gives(tl_kv_pool *pool, uint32_t id, uint64_t hash, tl_status wanted, const char *why) {
    ol_note("register, %s", why);
    OL_UNIT { tl_set_last_error(NULL); }
    OL_STATUS(wanted, tl_kv_register(pool, id, hash));
    if (wanted == TL_OK) slot_is_empty();
    else slot_names("tl_kv_register");
}

/* `wanted_id` is only known in the unit role. */
static void lookup_hits(tl_kv_pool *pool, uint64_t hash, uint32_t wanted_id, const char *why) {
    uint32_t id = 0xDEADu;
    ol_note("lookup, %s", why);
    OL_STATUS(TL_OK, tl_kv_lookup(pool, hash, &id));
    OL_UNIT { ol_saw_int("it is the registered block", id == wanted_id); }
    OL_ORACLE { ol_want_int("it is the registered block", 1); }
}

static void lookup_misses(tl_kv_pool *pool, uint64_t hash, const char *why) {
    uint32_t id = 0xDEADu;
    ol_note("lookup, %s", why);
    OL_UNIT { tl_set_last_error("an older error"); }
    OL_STATUS(TL_ENOTFOUND, tl_kv_lookup(pool, hash, &id));
    OL_UNIT {
        ol_saw_int("untouched id", id);
        ol_saw_text("slot", tl_last_error());
    }
    OL_ORACLE {
        ol_want_int("untouched id", 0xDEADu);
        ol_want_text("slot", "an older error");
    }
}

OL_TEST(register_and_lookup) {
    tl_kv_pool *pool = new_pool(plain_cfg(4, 4));
    uint32_t id[3] = {0, 0, 0};
    lookup_misses(pool, 0, "hash 0");
    lookup_misses(pool, 5, "an empty pool");
    OL_STATUS(TL_OK, tl_kv_alloc(pool, 3, id));
    register_gives(pool, id[0], 5, TL_EINVAL, "an empty block");
    OL_STATUS(TL_OK, tl_kv_set_fill(pool, id[0], 3));
    register_gives(pool, id[0], 5, TL_EINVAL, "3 of 4 positions");
    lookup_misses(pool, 5, "after refusals");
    OL_UNIT {
        for (int k = 0; k < 3; k++) {
            write_block(pool, id[k], (uint16_t)k);
            tl_kv_set_fill(pool, id[k], 4);
        }
    }
    register_gives(pool, id[0], 0, TL_EINVAL, "hash 0");
    register_gives(pool, 4, 5, TL_EINVAL, "block 4 of 4");
    register_gives(pool, UINT32_MAX, 5, TL_EINVAL, "block UINT32_MAX");
    register_gives(pool, id[0], 5, TL_OK, "a full block");
    register_gives(pool, id[0], 5, TL_OK, "the same again");
    register_gives(pool, id[1], 5, TL_EBUSY, "a hash that a used block holds");
    register_gives(pool, id[1], 6, TL_OK, "another hash");
    lookup_hits(pool, 5, id[0], "a used block: now it has two references");
    lookup_misses(pool, 7, "a hash that nobody registered");
    stats_are(pool, 1, 3, 0, 0);

    OL_STATUS(TL_OK, tl_kv_unref(pool, id[0]));
    stats_are(pool, 1, 3, 0, 0);
    OL_STATUS(TL_OK, tl_kv_unref(pool, id[0]));
    stats_are(pool, 1, 2, 1, 0);
    register_gives(pool, id[2], 5, TL_EBUSY, "a hash that a cached block holds");
    register_gives(pool, id[0], 5, TL_EINVAL, "a cached block itself");
    lookup_hits(pool, 5, id[0], "a cached block comes back");
    stats_are(pool, 1, 3, 0, 0);
    OL_UNIT {
        ol_saw_int("fill", tl_kv_fill(pool, id[0]));
        ol_saw_int("content survived", block_holds(pool, id[0], 0));
    }
    OL_ORACLE {
        ol_want_int("fill", 4);
        ol_want_int("content survived", 1);
    }
    OL_STATUS(TL_OK, tl_kv_unref(pool, id[2]));
    stats_are(pool, 2, 2, 0, 0);
    register_gives(pool, id[2], 8, TL_EINVAL, "a free block");
    ol_note("lookup to NULL");
    OL_STATUS(TL_EINVAL, tl_kv_lookup(pool, 5, NULL));
    slot_names("tl_kv_lookup");
    stats_are(pool, 2, 2, 0, 0);
    end_pool(pool);
}

/* ---- Eviction --------------------------------------------------------------------------------------- */

enum { BLOCKS = 8 };

/* The place of an id in `of`, as blocks are told apart by when they were made. */
static uint32_t place(const uint32_t *of, uint32_t id) {
    for (uint32_t k = 0; k < BLOCKS; k++)
        if (of[k] == id) return k;
    return BLOCKS;
}

/* Eight registered blocks are dropped in a drawn order; two are revived and dropped again. */
OL_TEST(evicts_least_recently_used_first) {
    ol_rng r = ol_rng_at(ol_seed());
    uint32_t order[BLOCKS], id[BLOCKS] = {0}, evicted[BLOCKS] = {0}, two[2] = {0, 0}, hit = 0;
    tl_kv_pool *pool = new_pool(plain_cfg(BLOCKS, 2));
    for (uint32_t k = 0; k < BLOCKS; k++) order[k] = k;
    ol_shuffle_u32(&r, order, BLOCKS);
    ol_note("dropped in the order %u %u %u %u %u %u %u %u; then the first and the fourth of them are found and dropped again",
            order[0], order[1], order[2], order[3], order[4], order[5], order[6], order[7]);
    OL_UNIT {
        tl_kv_alloc(pool, BLOCKS, id);
        for (uint32_t k = 0; k < BLOCKS; k++) fill_and_register(pool, id[k], 100 + k);
        for (uint32_t k = 0; k < BLOCKS; k++) tl_kv_unref(pool, id[order[k]]);
        for (uint32_t k = 0; k <= 3; k += 3) {
            tl_kv_lookup(pool, 100 + order[k], &hit);
            tl_kv_unref(pool, hit);
        }
    }
    stats_are(pool, 0, 0, BLOCKS, 0);
    OL_UNIT {
        for (uint32_t k = 0; k < 4; k++) {
            tl_kv_alloc(pool, 1, &hit);
            evicted[k] = place(id, hit);
        }
        tl_kv_alloc(pool, 2, two);
        uint32_t x = place(id, two[0]), y = place(id, two[1]);
        evicted[4] = x < y ? x : y, evicted[5] = x < y ? y : x;
        for (uint32_t k = 6; k < BLOCKS; k++) {
            tl_kv_alloc(pool, 1, &hit);
            evicted[k] = place(id, hit);
        }
        ol_saw_u32("evicted in this order", evicted, OL_DIMS({"eviction", BLOCKS}));
    }
    OL_ORACLE {
        static const int then[] = {1, 2, 4, 5, 6, 7, 0, 3};
        for (int k = 0; k < BLOCKS; k++) evicted[k] = order[then[k]];
        if (evicted[4] > evicted[5]) { /* two at once come in either order */
            hit = evicted[4];
            evicted[4] = evicted[5];
            evicted[5] = hit;
        }
        ol_want_u32("evicted in this order", evicted, BLOCKS);
    }
    stats_are(pool, 0, BLOCKS, 0, BLOCKS);
    for (uint64_t k = 0; k < BLOCKS; k++) lookup_misses(pool, 100 + k, "of an evicted block");
    register_gives(pool, 0, 100, TL_EINVAL, "an evicted block is empty");
    end_pool(pool);
}

OL_TEST(free_blocks_go_before_cached_ones) {
    tl_kv_pool *pool = new_pool(plain_cfg(4, 1));
    uint32_t id[4] = {0, 0, 0, 0}, more[3] = {0, 0, 0}, hit = 0;
    OL_STATUS(TL_OK, tl_kv_alloc(pool, 4, id));
    ol_note("two of four become cached, then two free");
    OL_UNIT {
        for (int k = 0; k < 2; k++) fill_and_register(pool, id[k], 1 + (uint64_t)k);
        for (int k = 0; k < 4; k++) tl_kv_unref(pool, id[k]);
    }
    stats_are(pool, 2, 0, 2, 0);
    OL_STATUS(TL_OK, tl_kv_alloc(pool, 2, more));
    stats_are(pool, 0, 2, 2, 0);
    OL_STATUS(TL_OK, tl_kv_alloc(pool, 1, more + 2));
    stats_are(pool, 0, 3, 1, 1);
    lookup_misses(pool, 1, "the older of the cached ones");
    lookup_hits(pool, 2, id[1], "the younger one");
    ol_note("the hash of the evicted block is free again");
    OL_UNIT {
        tl_kv_set_fill(pool, more[0], 1);
        ol_saw_status("register", tl_kv_register(pool, more[0], 1));
        ol_saw_status("lookup", tl_kv_lookup(pool, 1, &hit));
        ol_saw_int("it is the new block", hit == more[0]);
    }
    OL_ORACLE {
        ol_want_status("register", TL_OK);
        ol_want_status("lookup", TL_OK);
        ol_want_int("it is the new block", 1);
    }
    end_pool(pool);
}

/* ---- Hashes that collide in a table ----------------------------------------------------------------- */

enum { MANY = 60 };

/* Every hash is looked up: found[k] is the place of the block that came, MANY for a miss. */
static void find_all(tl_kv_pool *pool, const uint64_t *hash, const uint32_t *id, uint32_t *found) {
    for (uint32_t k = 0; k < MANY; k++) {
        uint32_t hit = 0;
        found[k] = MANY;
        if (tl_kv_lookup(pool, hash[k], &hit) != TL_OK) continue;
        for (uint32_t i = 0; i < MANY; i++)
            if (id[i] == hit) found[k] = i;
        tl_kv_unref(pool, hit);
    }
}

static void hashes_stay_apart(const char *what, const uint64_t *hash) {
    tl_kv_pool *pool = new_pool(plain_cfg(MANY, 1));
    uint32_t id[MANY] = {0}, all[MANY], half[MANY], taken[MANY / 2];
    ol_note("%d registered blocks whose hashes share %s; then every second one is evicted", MANY, what);
    OL_UNIT {
        tl_kv_alloc(pool, MANY, id);
        for (int k = 0; k < MANY; k++) fill_and_register(pool, id[k], hash[k]);
        find_all(pool, hash, id, all);
        for (int k = 0; k < MANY; k += 2) tl_kv_unref(pool, id[k]);
        tl_kv_alloc(pool, MANY / 2, taken);
        find_all(pool, hash, id, half);
        ol_saw_u32("blocks found", all, OL_DIMS({"hash", MANY}));
        ol_saw_u32("found after the evictions", half, OL_DIMS({"hash", MANY}));
    }
    OL_ORACLE {
        for (uint32_t k = 0; k < MANY; k++) all[k] = k, half[k] = k % 2 ? k : MANY;
        ol_want_u32("blocks found", all, MANY);
        ol_want_u32("found after the evictions", half, MANY);
    }
    stats_are(pool, 0, MANY, 0, MANY / 2);
    end_pool(pool);
}

OL_TEST(colliding_hashes_stay_apart) {
    uint64_t low[MANY], high[MANY], same[MANY];
    for (uint64_t k = 0; k < MANY; k++) {
        low[k] = (k + 1) << 32 | 0x1234;
        high[k] = UINT64_C(0xABCDEF01) << 32 | (k + 1) * 64;
        same[k] = (k + 1) * 0x100000001u; /* equal halves */
    }
    hashes_stay_apart("the low 32 bits", low);
    hashes_stay_apart("the high 32 bits and the low 6", high);
    hashes_stay_apart("a fold of their halves", same);
}
