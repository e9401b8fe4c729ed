/* The machine of the unit role: scripts are carried out by the pool under test. */
#include "script.h"

#ifdef OL_ROLE_UNIT

#include "blocks.h"

enum { NONE = -1 };

struct machine {
    tl_kv_pool *pool;
    int64_t id[SLOTS];  /* NONE: the slot is empty */
    uint64_t *hash;     /* [n_blocks]: what was registered; 0 for a block that was handed out since */
    uint16_t next_serial;
};

machine *new_machine(tl_kv_cfg cfg) {
    machine *m = ol_new(1, sizeof *m);
    m->pool = new_pool(cfg);
    m->hash = ol_new(cfg.n_blocks, sizeof *m->hash);
    for (int s = 0; s < SLOTS; s++) m->id[s] = NONE;
    return m;
}

void end_machine(machine *m) { end_pool(m->pool); }

int holds(const machine *m, int slot) { return m->id[slot] != NONE; }

static uint16_t serial_of(const machine *m, uint32_t id) { return *(uint16_t *)tl_kv_block_ptr(m->pool, id, 0, 0); }

static void begin_life(machine *m, int slot, uint32_t id) {
    m->id[slot] = id;
    m->hash[id] = 0;
    *(uint16_t *)tl_kv_block_ptr(m->pool, id, 0, 0) = m->next_serial++;
}

static tl_status alloc(machine *m, const operation *op) {
    uint32_t ids[MOST_TAKEN];
    tl_status status = tl_kv_alloc(m->pool, op->n, ids);
    if (status == TL_OK)
        for (uint32_t i = 0; i < op->n; i++) begin_life(m, op->taken[i], ids[i]);
    return status;
}

/* The value tells whether the block is the same one, and what the new one holds. */
static tl_status cow(machine *m, int slot, int64_t *value) {
    uint32_t id = (uint32_t)m->id[slot], out = id;
    tl_status status = tl_kv_cow(m->pool, id, &out);
    *value = status == TL_OK ? 2 * serial_of(m, out) + (out == id) : 0;
    if (status == TL_OK && out != id) begin_life(m, slot, out);
    return status;
}

static tl_status enter(machine *m, const operation *op) {
    uint32_t id = (uint32_t)m->id[op->slot];
    if (m->hash[id] && m->hash[id] != op->hash) return SKIPPED;
    tl_status status = tl_kv_register(m->pool, id, op->hash);
    if (status == TL_OK) m->hash[id] = op->hash;
    return status;
}

static tl_status look_up(machine *m, const operation *op, int64_t *value) {
    uint32_t id = 0;
    tl_status status = tl_kv_lookup(m->pool, op->hash, &id);
    if (status != TL_OK) return status;
    m->id[op->taken[0]] = id;
    *value = serial_of(m, id);
    return status;
}

reply apply(machine *m, const operation *op) {
    reply r = {TL_OK, 0, {0}};
    uint32_t id = (uint32_t)m->id[op->slot];
    switch (op->kind) {
    case ALLOC: r.status = alloc(m, op); break;
    case REF: tl_kv_ref(m->pool, id), m->id[op->taken[0]] = id; break;
    case UNREF: r.status = tl_kv_unref(m->pool, id), m->id[op->slot] = NONE; break;
    case COW: r.status = cow(m, op->slot, &r.value); break;
    case SET_FILL: r.status = tl_kv_set_fill(m->pool, id, op->n); break;
    case FILL: r.value = tl_kv_fill(m->pool, id); break;
    case REGISTER: r.status = enter(m, op); break;
    case LOOKUP: r.status = look_up(m, op, &r.value); break;
    default: r.value = serial_of(m, id); break;
    }
    stats_into(m->pool, r.stats);
    return r;
}

#endif
