/* The tests of blocks as such: references, fill, copies, and failures that change nothing. */
#include <string.h>

#include "blocks.h"

/* ---- Section 3 -------------------------------------------------------------------------------------- */

static const uint32_t tokens[] = {7, 9};
enum { STEPS = 8, FACTS = 7 };

static void walk_example(tl_kv_pool *pool) {
    uint32_t stats[STEPS][STATS], ids[2] = {9, 9}, copy = 9, hit = 9, last = 9, none = 9;
    uint64_t hash = tl_kv_block_hash(0, tokens, 2);
    tl_kv_alloc(pool, 2, ids);
    stats_into(pool, stats[0]);
    uint32_t a = ids[0], fills[2];
    write_block(pool, a, 1);
    fill_and_register(pool, a, hash);
    stats_into(pool, stats[1]);
    tl_kv_ref(pool, a);
    tl_kv_cow(pool, a, &copy);
    stats_into(pool, stats[2]);
    fills[0] = tl_kv_fill(pool, a), fills[1] = tl_kv_fill(pool, copy);
    int copied = block_holds(pool, copy, 1);
    tl_kv_unref(pool, a);
    stats_into(pool, stats[3]);
    tl_status found = tl_kv_lookup(pool, hash, &hit);
    stats_into(pool, stats[4]);
    tl_kv_unref(pool, a);
    stats_into(pool, stats[5]);
    tl_kv_alloc(pool, 1, &last);
    stats_into(pool, stats[6]);
    tl_status gone = tl_kv_lookup(pool, hash, &none);
    stats_into(pool, stats[7]);
    ol_saw_u32("stats", stats[0], OL_DIMS({"step", STEPS}, {"free, used, cached, evictions", STATS}));
    ol_saw_u32("fill of A and of its copy", fills, OL_DIMS({"block", 2}));
    ol_saw_status("lookup", found);
    ol_saw_status("lookup after the eviction", gone);
    ol_saw_i64("hash", &(int64_t){(int64_t)hash}, OL_DIMS({"value", 1}));
    ol_saw_i64("facts", (int64_t[FACTS]){ids[0] < 3 && ids[1] < 3, ids[0] != ids[1], copy != a && copy != ids[1], copied,
                                         hit == a, last == a, none == 9},
               OL_DIMS({"ids are below 3, A is not B, C is new, C has A's content, the hit is A, the last is A, no hit", FACTS}));
}

OL_TEST(hand_example) {
    tl_kv_pool *pool = new_pool(plain_cfg(3, 2));
    ol_note("section 3: A and B, A registered and copied, dropped, found, dropped, evicted");
    OL_UNIT { walk_example(pool); }
    OL_ORACLE {
        static const uint32_t stats[] = {1, 2, 0, 0, 1, 2, 0, 0, 0, 3, 0, 0, 0, 2, 1, 0,
                                         0, 3, 0, 0, 0, 2, 1, 0, 0, 3, 0, 1, 0, 3, 0, 1};
        uint64_t hash = UINT64_C(0xCAFFD6E94815271B); /* of eight zeros, 7 0 0 0 and 9 0 0 0 */
        ol_want_u32("stats", stats, STEPS * STATS);
        ol_want_u32("fill of A and of its copy", (uint32_t[]){2, 2}, 2);
        ol_want_status("lookup", TL_OK);
        ol_want_status("lookup after the eviction", TL_ENOTFOUND);
        ol_want_i64("hash", (int64_t[]){(int64_t)hash}, 1);
        ol_want_i64("facts", (int64_t[]){1, 1, 1, 1, 1, 1, 1}, FACTS);
    }
    end_pool(pool);
}

/* ---- References ------------------------------------------------------------------------------------- */

static void unref_gives(tl_kv_pool *pool, uint32_t id, tl_status wanted, const char *why) {
    ol_note("unref, %s", why);
    OL_UNIT { tl_set_last_error(NULL); }
    OL_STATUS(wanted, tl_kv_unref(pool, id));
    if (wanted == TL_OK) slot_is_empty();
    else slot_names("tl_kv_unref");
}

static void ref_gives(tl_kv_pool *pool, uint32_t id, int is_fine, const char *why) {
    ol_note("ref, %s", why);
    OL_UNIT {
        tl_set_last_error(NULL);
        tl_kv_ref(pool, id);
    }
    if (is_fine) slot_is_empty();
    else slot_names("tl_kv_ref");
}

OL_TEST(references_are_counted) {
    tl_kv_pool *pool = new_pool(plain_cfg(4, 2));
    uint32_t id[2] = {0, 0};
    OL_STATUS(TL_OK, tl_kv_alloc(pool, 2, id));
    uint32_t fresh = 0;
    while (fresh == id[0] || fresh == id[1]) fresh++;
    unref_gives(pool, fresh, TL_EINVAL, "of a block that was never taken");
    ref_gives(pool, fresh, 0, "of a block that was never taken");
    ref_gives(pool, id[0], 1, "once more");
    ref_gives(pool, id[0], 1, "and again");
    unref_gives(pool, id[0], TL_OK, "3 to 2");
    unref_gives(pool, id[0], TL_OK, "2 to 1");
    stats_are(pool, 2, 2, 0, 0);
    unref_gives(pool, id[0], TL_OK, "the last one");
    stats_are(pool, 3, 1, 0, 0);
    unref_gives(pool, id[0], TL_EINVAL, "one too many");
    ref_gives(pool, id[0], 0, "of a block that nobody holds");
    unref_gives(pool, 4, TL_EINVAL, "block 4 of 4");
    unref_gives(pool, UINT32_MAX, TL_EINVAL, "block UINT32_MAX");
    ref_gives(pool, 4, 0, "block 4 of 4");
    ref_gives(pool, UINT32_MAX, 0, "block UINT32_MAX");
    stats_are(pool, 3, 1, 0, 0);

    ol_note("70,000 references more, and their ends");
    OL_UNIT {
        int64_t ended = 0;
        for (int k = 0; k < 70000; k++) tl_kv_ref(pool, id[1]);
        for (int k = 0; k < 70000; k++) ended += tl_kv_unref(pool, id[1]) == TL_OK;
        ol_saw_int("ended", ended);
    }
    OL_ORACLE { ol_want_int("ended", 70000); }
    stats_are(pool, 3, 1, 0, 0);

    ol_note("a cached block");
    OL_UNIT { ol_saw_status("register", fill_and_register(pool, id[1], 5)); }
    OL_ORACLE { ol_want_status("register", TL_OK); }
    unref_gives(pool, id[1], TL_OK, "the last one of a registered block");
    stats_are(pool, 3, 0, 1, 0);
    unref_gives(pool, id[1], TL_EINVAL, "of a cached block");
    ref_gives(pool, id[1], 0, "of a cached block");
    stats_are(pool, 3, 0, 1, 0);
    end_pool(pool);
}

/* ---- Fill ------------------------------------------------------------------------------------------- */

static void fill_gives(tl_kv_pool *pool, uint32_t id, uint32_t n, tl_status wanted, uint32_t then) {
    ol_note("set_fill %u of 8", n);
    OL_UNIT { tl_set_last_error(NULL); }
    OL_STATUS(wanted, tl_kv_set_fill(pool, id, n));
    if (wanted != TL_OK) slot_names("tl_kv_set_fill");
    OL_UNIT { ol_saw_int("fill", tl_kv_fill(pool, id)); }
    OL_ORACLE { ol_want_int("fill", then); }
}

OL_TEST(fill_has_limits) {
    tl_kv_pool *pool = new_pool(plain_cfg(2, 8));
    uint32_t id = 0, again[2] = {0, 0};
    OL_STATUS(TL_OK, tl_kv_alloc(pool, 1, &id));
    OL_UNIT { ol_saw_int("fill at first", tl_kv_fill(pool, id)); }
    OL_ORACLE { ol_want_int("fill at first", 0); }
    fill_gives(pool, id, 5, TL_OK, 5);
    fill_gives(pool, id, 9, TL_EINVAL, 5);
    fill_gives(pool, id, UINT32_MAX, TL_EINVAL, 5);
    fill_gives(pool, id, 0, TL_OK, 0);
    fill_gives(pool, id, 8, TL_OK, 8);
    OL_STATUS(TL_OK, tl_kv_register(pool, id, 77));
    fill_gives(pool, id, 8, TL_EINVAL, 8);
    fill_gives(pool, id, 3, TL_EINVAL, 8);
    ol_note("block 2 of 2");
    OL_STATUS(TL_EINVAL, tl_kv_set_fill(pool, 2, 1));
    slot_names("tl_kv_set_fill");
    OL_UNIT { ol_saw_int("fill", tl_kv_fill(pool, 2)); }
    OL_ORACLE { ol_want_int("fill", 0); }
    slot_names("tl_kv_fill");
    ol_note("both blocks anew: the old fill is gone");
    OL_STATUS(TL_OK, tl_kv_unref(pool, id));
    OL_STATUS(TL_OK, tl_kv_alloc(pool, 2, again));
    OL_UNIT { ol_saw_int("fills", tl_kv_fill(pool, again[0]) + tl_kv_fill(pool, again[1])); }
    OL_ORACLE { ol_want_int("fills", 0); }
    end_pool(pool);
}

/* ---- Allocation ------------------------------------------------------------------------------------- */

static void alloc_is_refused(tl_kv_pool *pool, uint32_t n, uint32_t *ids, tl_status wanted) {
    ol_note("alloc of %u blocks%s", n, ids ? "" : " to NULL");
    for (int k = 0; ids && k < 8; k++) ids[k] = 0xDEADu;
    OL_UNIT { tl_set_last_error(NULL); }
    OL_STATUS(wanted, tl_kv_alloc(pool, n, ids));
    slot_names("tl_kv_alloc");
    if (!ids) return;
    OL_UNIT { ol_saw_u32("untouched ids", ids, OL_DIMS({"id", 8})); }
    OL_ORACLE { ol_want_u32("untouched ids", ids, 8); }
}

/* Two used, two cached, one free. */
OL_TEST(alloc_is_all_or_nothing) {
    tl_kv_pool *pool = new_pool(plain_cfg(5, 2));
    uint32_t id[4] = {0, 0, 0, 0}, ids[8], hit = 0;
    OL_STATUS(TL_OK, tl_kv_alloc(pool, 4, id));
    OL_UNIT {
        for (int k = 0; k < 2; k++) {
            fill_and_register(pool, id[k], 10 + (uint64_t)k);
            tl_kv_unref(pool, id[k]);
        }
    }
    stats_are(pool, 1, 2, 2, 0);
    alloc_is_refused(pool, 4, ids, TL_EFULL);
    alloc_is_refused(pool, 5, ids, TL_EFULL);
    alloc_is_refused(pool, UINT32_MAX, ids, TL_EFULL);
    alloc_is_refused(pool, 2, NULL, TL_EINVAL);
    alloc_is_refused(pool, 1, NULL, TL_EINVAL);
    stats_are(pool, 1, 2, 2, 0);
    ol_note("no blocks");
    OL_STATUS(TL_OK, tl_kv_alloc(pool, 0, NULL));
    stats_are(pool, 1, 2, 2, 0);
    ol_note("the cached blocks are still found");
    OL_STATUS(TL_OK, tl_kv_lookup(pool, 10, &hit));
    OL_STATUS(TL_OK, tl_kv_unref(pool, hit));
    ol_note("three blocks are left: one free, two to evict");
    OL_STATUS(TL_OK, tl_kv_alloc(pool, 3, ids));
    stats_are(pool, 0, 5, 0, 2);
    OL_UNIT {
        int64_t seen[5] = {0};
        for (int k = 0; k < 3; k++) seen[ids[k] < 5 ? ids[k] : 0]++;
        for (int k = 2; k < 4; k++) seen[id[k] < 5 ? id[k] : 0]++;
        ol_saw_i64("owners of each block", seen, OL_DIMS({"block", 5}));
    }
    OL_ORACLE { ol_want_i64("owners of each block", (int64_t[]){1, 1, 1, 1, 1}, 5); }
    alloc_is_refused(pool, 1, ids, TL_EFULL);
    end_pool(pool);
}

/* ---- Copy on write ---------------------------------------------------------------------------------- */

static void cow_is_refused(tl_kv_pool *pool, uint32_t id, uint32_t *out, tl_status wanted, const char *why) {
    ol_note("cow, %s", why);
    if (out) *out = 0xDEADu;
    OL_UNIT { tl_set_last_error(NULL); }
    OL_STATUS(wanted, tl_kv_cow(pool, id, out));
    slot_names("tl_kv_cow");
    OL_UNIT { ol_saw_int("untouched out", out ? *out : 0xDEADu); }
    OL_ORACLE { ol_want_int("untouched out", 0xDEADu); }
}

static void facts_hold(const int64_t *facts, int64_t n, const char *axis) {
    OL_UNIT { ol_saw_i64("facts", facts, OL_DIMS({axis, n})); }
    OL_ORACLE {
        int64_t *ones = ol_new(n, sizeof *ones);
        for (int64_t k = 0; k < n; k++) ones[k] = 1;
        ol_want_i64("facts", ones, n);
    }
}

OL_TEST(copy_on_write) {
    tl_kv_cfg cfg = {.n_blocks = 4, .block_tokens = 4, .n_layers = 2, .n_kv_heads = 3, .head_dim = 5,
                     .dtype = TL_F16, .format = TL_KV_FORMAT_V1};
    tl_kv_pool *pool = new_pool(cfg);
    uint32_t a = 0, out = 0xDEADu, copy = 0, rest[2] = {0, 0};
    int64_t facts[5] = {0};
    OL_STATUS(TL_OK, tl_kv_alloc(pool, 1, &a));
    OL_UNIT {
        write_block(pool, a, 1);
        tl_kv_set_fill(pool, a, 3);
    }
    ol_note("one reference");
    OL_STATUS(TL_OK, tl_kv_cow(pool, a, &out));
    OL_UNIT { facts[0] = out == a, facts[1] = block_holds(pool, a, 1), facts[2] = tl_kv_fill(pool, a) == 3; }
    facts_hold(facts, 3, "same id, same content, same fill");
    stats_are(pool, 3, 1, 0, 0);

    ol_note("three references");
    OL_UNIT { tl_kv_ref(pool, a), tl_kv_ref(pool, a); }
    OL_STATUS(TL_OK, tl_kv_cow(pool, a, &copy));
    stats_are(pool, 2, 2, 0, 0);
    OL_UNIT {
        facts[0] = copy != a, facts[1] = block_holds(pool, copy, 1), facts[2] = tl_kv_fill(pool, copy) == 3;
        write_block(pool, copy, 2);
        tl_kv_set_fill(pool, copy, 4);
        facts[3] = block_holds(pool, a, 1), facts[4] = tl_kv_fill(pool, a) == 3;
    }
    facts_hold(facts, 5, "new id, content copied, fill copied, old content untouched, old fill untouched");
    ol_note("the old block has two references left, its copy one");
    OL_STATUS(TL_OK, tl_kv_unref(pool, copy));
    OL_STATUS(TL_OK, tl_kv_unref(pool, a));
    stats_are(pool, 3, 1, 0, 0);

    ol_note("a registered block with one reference, then with two: the copy is not registered");
    OL_UNIT {
        fill_and_register(pool, a, 99);
        tl_kv_cow(pool, a, &out);
        facts[0] = out == a;
        tl_kv_ref(pool, a);
        tl_kv_cow(pool, a, &copy);
        facts[1] = copy != a, facts[2] = tl_kv_set_fill(pool, copy, 1) == TL_OK;
        facts[3] = tl_kv_lookup(pool, 99, &out) == TL_OK && out == a;
        tl_kv_unref(pool, a);
    }
    facts_hold(facts, 4, "same id, then another, the copy's fill can be set, the hash finds the old block");
    stats_are(pool, 2, 2, 0, 0);

    cow_is_refused(pool, 4, &out, TL_EINVAL, "block 4 of 4");
    cow_is_refused(pool, a, NULL, TL_EINVAL, "out NULL");
    ol_note("the two free blocks are taken");
    OL_STATUS(TL_OK, tl_kv_alloc(pool, 2, rest));
    OL_UNIT { tl_kv_ref(pool, copy); }
    cow_is_refused(pool, copy, &out, TL_EFULL, "a copy, but no block is left");
    stats_are(pool, 0, 4, 0, 0);
    OL_STATUS(TL_OK, tl_kv_unref(pool, a));
    stats_are(pool, 0, 3, 1, 0);
    cow_is_refused(pool, a, &out, TL_EINVAL, "of a cached block");
    ol_note("a copy that takes the cached block");
    OL_STATUS(TL_OK, tl_kv_cow(pool, copy, &out));
    OL_UNIT { facts[0] = out == a, facts[1] = tl_kv_fill(pool, out) == 1; }
    facts_hold(facts, 2, "the evicted block, fill copied");
    stats_are(pool, 0, 4, 0, 1);
    ol_note("its hash is gone");
    OL_STATUS(TL_ENOTFOUND, tl_kv_lookup(pool, 99, &out));
    OL_STATUS(TL_OK, tl_kv_unref(pool, copy));
    cow_is_refused(pool, copy, &out, TL_EINVAL, "of a free block");
    end_pool(pool);
}
