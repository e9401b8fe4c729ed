/* The pool against a model of it, over long random scripts. */
#include <string.h>

#include "blocks.h"
#include "script.h"

/* Hashes that a table can confuse: the same low bits, the same high bits, and real ones. */
static void draw_hashes(uint64_t hash[HASHES]) {
    for (uint64_t k = 0; k < HASHES; k++) {
        uint32_t token = (uint32_t)k;
        (void)token;
        hash[k] = k < 4 ? (k + 1) << 40 : k < 7 ? UINT64_C(0xABCDEF0000000000) + k : (k + 1) * UINT64_C(0x9E3779B97F4A7C15);
    }
}

static int pick(const machine *m, ol_rng *r, int want_held, int after) {
    int start = after >= 0 ? after + 1 : (int)ol_below(r, SLOTS);
    for (int k = 0; k < SLOTS; k++) {
        int s = (start + k) % SLOTS;
        if (holds(m, s) == want_held) return s;
    }
    return -1;
}

static int draw_operation(const machine *m, ol_rng *r, const uint64_t hash[HASHES], operation *op) {
    static const kind often[] = {ALLOC, ALLOC, REF, UNREF, UNREF, UNREF, COW, COW, SET_FILL, SET_FILL, SET_FILL, FILL,
                                 REGISTER, REGISTER, REGISTER, LOOKUP, LOOKUP, READ};
    op->kind = often[ol_below(r, sizeof often / sizeof *often)];
    op->hash = hash[ol_below(r, HASHES)];
    op->n = op->kind == ALLOC ? 1 + ol_below(r, MOST_TAKEN) : ol_below(r, 2) ? 4 : ol_below(r, 7);
    int held = pick(m, r, 1, -1), empty = pick(m, r, 0, -1), n_empty = 0;
    for (int s = 0; s < SLOTS; s++) n_empty += !holds(m, s);
    for (int k = 0, s = empty; k < MOST_TAKEN && s >= 0; k++, s = pick(m, r, 0, s)) op->taken[k] = s;
    int fills_slots = op->kind == ALLOC ? (int)op->n : op->kind == REF || op->kind == LOOKUP;
    op->slot = op->kind == ALLOC || op->kind == LOOKUP ? empty : held;
    return op->slot >= 0 && fills_slots <= n_empty;
}

static void run_script(tl_kv_cfg cfg, int64_t n_ops) {
    enum { ROW = 4 };
    ol_rng r = ol_rng_at(ol_seed() + cfg.n_blocks);
    machine *m = new_machine(cfg);
    uint64_t hash[HASHES];
    int64_t(*row)[ROW] = ol_new(n_ops, sizeof *row);
    uint32_t(*stats)[STATS] = ol_new(n_ops, sizeof *stats);
    draw_hashes(hash);
    for (int64_t k = 0; k < n_ops; k++) {
        operation op = {.n = 0};
        while (!draw_operation(m, &r, hash, &op)) continue;
        reply got = apply(m, &op);
        memcpy(row[k], (int64_t[]){op.kind, op.slot, got.status, got.value}, sizeof row[k]);
        memcpy(stats[k], got.stats, sizeof stats[k]);
    }
    ol_note("%lld operations: 0 alloc, 1 ref, 2 unref, 3 cow, 4 set_fill, 5 fill, 6 register, 7 lookup, 8 read",
            (long long)n_ops);
    OL_UNIT {
        ol_saw_i64("replies", row[0], OL_DIMS({"operation", n_ops}, {"kind, slot, status, value", ROW}));
        ol_saw_u32("stats", stats[0], OL_DIMS({"operation", n_ops}, {"free, used, cached, evictions", STATS}));
    }
    OL_ORACLE {
        ol_want_i64("replies", row[0], n_ops * ROW);
        ol_want_u32("stats", stats[0], n_ops * STATS);
    }
    end_machine(m);
}

OL_TEST(agrees_with_a_model_for_10000_operations) {
    run_script(plain_cfg(12, 4), 10000);
    run_script(plain_cfg(3, 4), 2000);
    run_script(plain_cfg(1, 4), 500);
}
