/* Random operations on a pool, the same in both roles: the pool carries them out in one, a model in the other.
 *
 * Ids are the pool's own choice, so nothing here depends on them: a script speaks of slots, each of which
 * holds one reference or none, and knows a block by the serial number that is written into it. */
#ifndef RT04_SCRIPT_H
#define RT04_SCRIPT_H

#include "ol_test.h"
#include "tinyllm/kv_pool.h"

enum { SLOTS = 24, HASHES = 10, MOST_TAKEN = 5 };

typedef enum { ALLOC, REF, UNREF, COW, SET_FILL, FILL, REGISTER, LOOKUP, READ, KINDS } kind;

typedef struct {
    kind kind;
    int slot;             /* a slot that holds, or for ALLOC and LOOKUP the first of `taken` */
    int taken[MOST_TAKEN]; /* empty slots that the operation may fill */
    uint32_t n;           /* blocks to allocate, or the fill to set */
    uint64_t hash;
} operation;

/* What came of it. SKIPPED: the contract leaves the outcome open, so nothing was done. */
enum { SKIPPED = -1 };
typedef struct {
    int64_t status, value;
    uint32_t stats[4];
} reply;

/* The pool, or the model. */
typedef struct machine machine;
machine *new_machine(tl_kv_cfg cfg);
reply apply(machine *m, const operation *op);
int holds(const machine *m, int slot);
void end_machine(machine *m);

#endif
