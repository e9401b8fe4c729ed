/* The machine of the oracle role: the contract as a table of blocks, searched from end to end. */
#include "script.h"

#ifdef OL_ROLE_ORACLE

#include "blocks.h"

enum { NONE = -1 };

typedef struct {
    int64_t refs;
    uint64_t hash;
    uint32_t fill;
    uint16_t serial;
    int64_t cached_at; /* when the last reference was dropped */
} block;

struct machine {
    tl_kv_cfg cfg;
    block *block;
    int64_t at[SLOTS]; /* index of the slot's block; NONE: empty */
    int64_t clock;
    uint32_t evictions;
    uint16_t next_serial;
};

machine *new_machine(tl_kv_cfg cfg) {
    machine *m = ol_new(1, sizeof *m);
    new_pool(cfg); /* wants its status */
    m->cfg = cfg;
    m->block = ol_new(cfg.n_blocks, sizeof *m->block);
    for (int s = 0; s < SLOTS; s++) m->at[s] = NONE;
    return m;
}

void end_machine(machine *m) { (void)m; }

int holds(const machine *m, int slot) { return m->at[slot] != NONE; }

static int is_free(const block *b) { return b->refs == 0 && b->hash == 0; }
static int is_cached(const block *b) { return b->refs == 0 && b->hash != 0; }

static uint32_t count(const machine *m, int (*is)(const block *)) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->cfg.n_blocks; i++) n += is(&m->block[i]) != 0;
    return n;
}

static uint32_t available(const machine *m) { return count(m, is_free) + count(m, is_cached); }

static int64_t find_hash(const machine *m, uint64_t hash) {
    for (uint32_t i = 0; i < m->cfg.n_blocks; i++)
        if (m->block[i].hash == hash) return i;
    return NONE;
}

/* Any free block, or else the one that has been cached longest. Somebody has made sure of one. */
static void take(machine *m, int slot, uint32_t fill) {
    int64_t best = NONE;
    for (uint32_t i = 0; i < m->cfg.n_blocks; i++)
        if (is_free(&m->block[i])) best = i;
    for (uint32_t i = 0; best == NONE || !is_free(&m->block[best]); i++) {
        if (i == m->cfg.n_blocks) break;
        if (is_cached(&m->block[i]) && (best == NONE || m->block[i].cached_at < m->block[best].cached_at)) best = i;
    }
    m->evictions += is_cached(&m->block[best]) != 0;
    m->block[best] = (block){.refs = 1, .fill = fill, .serial = m->next_serial++};
    m->at[slot] = best;
}

static void drop(machine *m, block *b) {
    if (--b->refs == 0) b->cached_at = ++m->clock;
}

static tl_status alloc(machine *m, const operation *op) {
    if (op->n > available(m)) return TL_EFULL;
    for (uint32_t i = 0; i < op->n; i++) take(m, op->taken[i], 0);
    return TL_OK;
}

static tl_status cow(machine *m, int slot, int64_t *value) {
    block *b = &m->block[m->at[slot]];
    if (b->refs > 1 && available(m) == 0) return TL_EFULL;
    *value = 2 * b->serial + (b->refs == 1);
    if (b->refs == 1) return TL_OK;
    drop(m, b);
    take(m, slot, b->fill);
    return TL_OK;
}

static tl_status set_fill(const machine *m, block *b, uint32_t n) {
    if (b->hash || n > m->cfg.block_tokens) return TL_EINVAL;
    b->fill = n;
    return TL_OK;
}

static tl_status enter(machine *m, block *b, uint64_t hash) {
    if (b->hash && b->hash != hash) return SKIPPED;
    if (hash == 0 || b->fill != m->cfg.block_tokens) return TL_EINVAL;
    if (b->hash != hash && find_hash(m, hash) != NONE) return TL_EBUSY;
    b->hash = hash;
    return TL_OK;
}

static tl_status look_up(machine *m, const operation *op, int64_t *value) {
    int64_t hit = op->hash ? find_hash(m, op->hash) : NONE;
    if (hit == NONE) return TL_ENOTFOUND;
    m->block[hit].refs++;
    m->at[op->taken[0]] = hit;
    *value = m->block[hit].serial;
    return TL_OK;
}

reply apply(machine *m, const operation *op) {
    reply r = {TL_OK, 0, {0}};
    block *b = m->at[op->slot] == NONE ? NULL : &m->block[m->at[op->slot]];
    switch (op->kind) {
    case ALLOC: r.status = alloc(m, op); break;
    case REF: b->refs++, m->at[op->taken[0]] = m->at[op->slot]; break;
    case UNREF: drop(m, b), m->at[op->slot] = NONE; break;
    case COW: r.status = cow(m, op->slot, &r.value); break;
    case SET_FILL: r.status = set_fill(m, b, op->n); break;
    case FILL: r.value = b->fill; break;
    case REGISTER: r.status = enter(m, b, op->hash); break;
    case LOOKUP: r.status = look_up(m, op, &r.value); break;
    default: r.value = b->serial; break;
    }
    r.stats[0] = count(m, is_free);
    r.stats[2] = count(m, is_cached);
    r.stats[1] = m->cfg.n_blocks - r.stats[0] - r.stats[2];
    r.stats[3] = m->evictions;
    return r;
}

#endif
