"""L8.3 and the C pool beneath: who holds the values, what is cached, who frees the memory."""

import ctypes

import numpy as np
from world import Heap, Sizes, counted, counters, opened, outcome, values

HEADS = ("head", "position", "d")
STATS = "stats()"
SIZES = Sizes(8, 4, 2, 2, 3)


def test_values_stand_in_the_pool_alone(ol):
    k, v = values(ol.seed, SIZES, 6)
    ol.note(f"{SIZES}: 6 positions in layer 1; then the pool's cells are changed from outside")
    if ol.unit:
        cache, _, pool = opened(ol, SIZES)
        seq = cache.add_seq()
        cache.append(seq, 1, k, v)
        table = cache.block_table(seq).tolist()
        for is_v, name in enumerate("KV"):
            for n, block in enumerate(table):
                ol.saw_u16(f"{name} slab of block {n}", pool.slab(block, 1, is_v)[:, : 4 - 2 * n], HEADS)
            pool.slab(table[1], 1, is_v)[1, 0, 2] = 9 + is_v
        for name, x in zip("KV", cache.gather(seq, 1), strict=True):
            ol.saw_u16(f"{name} from gather, once the pool has changed", x, HEADS)
    if ol.oracle:
        for is_v, (name, x) in enumerate(zip("KV", (k, v), strict=True)):
            ol.want_u16(f"{name} slab of block 0", x[:, :4])
            ol.want_u16(f"{name} slab of block 1", x[:, 4:])
            x[1, 4, 2] = 9 + is_v
            ol.want_u16(f"{name} from gather, once the pool has changed", x)


def test_pool_is_what_was_asked_for(ol):
    for sizes in (Sizes(1, 1, 1, 1, 1), Sizes(5, 16, 3, 4, 7)):
        ol.note(f"{sizes}")
        if ol.unit:
            cache, _, pool = opened(ol, sizes)
            ol.saw_text("a c_void_p", isinstance(cache.pool, ctypes.c_void_p))
            ol.saw_u32("tl_kv_pool_cfg(pool)", np.array(pool.cfg, dtype=np.uint32))
            ol.saw_text(STATS, counters(cache.stats()))
        if ol.oracle:
            TL_F16, TL_KV_FORMAT_V1 = 1, 1
            ol.want_text("a c_void_p", "True")
            ol.want_u32("tl_kv_pool_cfg(pool)", [*sizes, TL_F16, TL_KV_FORMAT_V1])
            ol.want_text(STATS, counted(sizes.num_blocks, 0, 0, 0))


def test_cached_blocks_count_as_free(ol):
    ol.note("2 registered blocks of a freed sequence, 5 blocks of two forks, 1 free block")
    if ol.unit:
        cache, _, pool = opened(ol, SIZES)

        def append(seq, layer, T):
            return outcome(lambda: cache.append(seq, layer, *values(ol.seed, SIZES, T)))

        def see(when, came):
            ol.saw_text(when, came)
            ol.saw_text(f"{when}: {STATS}", counters(cache.stats()))
            ol.saw_int(f"{when}: num_free_blocks", cache.num_free_blocks)

        old, parent = cache.add_seq(), cache.add_seq()
        append(old, 0, 8)
        append(old, 1, 8)
        registered = [pool.register(block, 100 + n) for n, block in enumerate(cache.block_table(old))]
        cache.free(old)
        append(parent, 0, 12)
        child = cache.fork(parent)
        see("register", repr(registered))
        see("append that needs 2", append(child, 0, 8))
        table = cache.block_table(child).tolist()
        see("append that needs 4", append(child, 1, 24))
        ol.saw_text(
            "table after the failure", "same" if table == cache.block_table(child).tolist() else "other"
        )
        see("append that needs 3", append(child, 1, 12))
    if ol.oracle:

        def want(when, came, stats):
            ol.want_text(when, came)
            ol.want_text(f"{when}: {STATS}", counted(*stats))
            ol.want_int(f"{when}: num_free_blocks", stats[0] + stats[2])

        want("register", "[0, 0]", [3, 3, 2, 0])
        want("append that needs 2", "done", [1, 5, 2, 0])
        want("append that needs 4", "OutOfBlocks", [1, 5, 2, 0])
        ol.want_text("table after the failure", "same")
        want("append that needs 3", "done", [0, 8, 0, 2])


def test_a_registered_prefix_can_be_extended(ol):
    x = [values(ol.seed + n, SIZES, T) for n, T in enumerate((6, 3, 2))]
    ol.note("a full block is registered in the prefix index, then its sequence and a fork of it go on")
    if ol.unit:
        cache, _, pool = opened(ol, SIZES)
        seq = cache.add_seq()
        for layer in (0, 1):
            cache.append(seq, layer, *x[0])
        ol.saw_int("tl_kv_register", pool.register(cache.block_table(seq)[0], 77))
        child = cache.fork(seq)
        for layer in (0, 1):
            cache.append(seq, layer, *x[1])
            cache.append(child, layer, *x[2])
        for name, s in (("sequence", seq), ("fork", child)):
            ol.saw_i64(f"fills of the {name}", pool.fills(cache.block_table(s)))
            ol.saw_u16(f"K of the {name}", cache.gather(s, 1)[0], HEADS)
        cache.free(seq)
        cache.free(child)
        ol.saw_text(STATS, counters(cache.stats()))
    if ol.oracle:
        ol.want_int("tl_kv_register", 0)
        for name, more, fills in (("sequence", 1, [4, 4, 1]), ("fork", 2, [4, 4])):
            ol.want_i64(f"fills of the {name}", fills)
            ol.want_u16(f"K of the {name}", np.concatenate([x[0][0], x[more][0]], axis=1))
        ol.want_text(STATS, counted(7, 0, 1, 0))


def test_a_failed_append_leaves_the_pools_cells_alone(ol):
    ol.note("a fork whose append needs 3 copies and 2 new blocks where 2 are free")

    def cells(cache, pool, seq):
        """All that the sequence's blocks hold, and which blocks they are."""
        table = cache.block_table(seq).tolist()
        slabs = [pool.slab(b, layer, is_v).tobytes() for b in table for layer in (0, 1) for is_v in (0, 1)]
        return [table, slabs, pool.fills(table).tolist()]

    if ol.unit:
        cache, _, pool = opened(ol, SIZES)
        parent = cache.add_seq()
        cache.append(parent, 0, *values(ol.seed, SIZES, 24))
        cache.append(parent, 1, *values(ol.seed, SIZES, 13))
        child = cache.fork(parent)
        before = [cells(cache, pool, seq) for seq in (parent, child)]
        came = outcome(lambda: cache.append(child, 1, *values(ol.seed + 1, SIZES, 19)))
        ol.saw_text("append", came)
        after = [cells(cache, pool, seq) for seq in (parent, child)]
        ol.saw_text("tables, cells and fills", "same" if before == after else "changed")
    if ol.oracle:
        ol.want_text("append", "OutOfBlocks")
        ol.want_text("tables, cells and fills", "same")


def test_two_caches_do_not_meet(ol):
    k, v = values(ol.seed, SIZES, 5)
    ol.note("two caches of one library; a sequence is freed in one of them")
    if ol.unit:
        (first, _, _), (second, _, _) = opened(ol, SIZES), opened(ol, SIZES)
        seqs = first.add_seq(), second.add_seq()
        first.append(seqs[0], 0, k, v)
        second.append(seqs[1], 0, v, k)
        first.free(seqs[0])
        ol.saw_u16("K in the second", second.gather(seqs[1], 0)[0], HEADS)
        first.close()
        ol.saw_u16("K in the second, the first closed", second.gather(seqs[1], 0)[0], HEADS)
        ol.saw_text(STATS, counters(second.stats()))
        second.close()
    if ol.oracle:
        ol.want_u16("K in the second", v)
        ol.want_u16("K in the second, the first closed", v)
        ol.want_text(STATS, counted(6, 2, 0, 0))


def test_memory_is_given_back(ol):
    ol.note("every allocation of the pool goes through a hook that counts")
    if ol.unit:
        with Heap(ol) as heap:
            cache, _, _ = opened(ol, SIZES)
            ol.saw_text("something is held while open", bool(heap.live))
            cache.append(cache.add_seq(), 0, *values(ol.seed, SIZES, 3))
            cache.close()
            ol.saw_int("held after close", len(heap.live))
            cache.close()
            ol.saw_int("freed twice", heap.strange)
            came = []
            for heap.budget in range(32):
                try:
                    opened(ol, SIZES)[0].close()
                except MemoryError:
                    came.append("MemoryError")
                    continue
                came.append("opened")
                break
            ol.saw_text("one allocation after the other fails", " ".join(dict.fromkeys(came)))
            ol.saw_int("held after the failures", len(heap.live))
    if ol.oracle:
        ol.want_text("something is held while open", "True")
        ol.want_int("held after close", 0)
        ol.want_int("freed twice", 0)
        ol.want_text("one allocation after the other fails", "MemoryError opened")
        ol.want_int("held after the failures", 0)


def test_prototypes_of_other_callers_stay(ol):
    names = ["tl_kv_pool_create", "tl_kv_alloc", "tl_kv_block_ptr", "tl_kv_stats_get", "tl_kv_unref"]
    names += ["tl_kv_cow", "tl_kv_set_fill", "tl_kv_ref", "tl_kv_pool_destroy", "tl_last_error"]
    ol.note("somebody else has declared other prototypes on lib.NAME, of no use to the unit")
    if ol.unit:
        for name in names:
            function = getattr(ol.lib, name)
            function.argtypes, function.restype = [ctypes.c_double], ctypes.c_char_p
        cache, _, _ = opened(ol, SIZES)
        seq = cache.add_seq()
        cache.append(seq, 0, *values(ol.seed, SIZES, 3))
        child = cache.fork(seq)
        cache.append(child, 0, *values(ol.seed, SIZES, 3))
        cache.free(seq)
        cache.close()
        functions = [getattr(ol.lib, name) for name in names]
        kept = [f.argtypes == [ctypes.c_double] and f.restype is ctypes.c_char_p for f in functions]
        changed = [name for name, same in zip(names, kept, strict=True) if not same]
        ol.saw_text("functions whose prototypes changed", " ".join(changed))
    if ol.oracle:
        ol.want_text("functions whose prototypes changed", "")
