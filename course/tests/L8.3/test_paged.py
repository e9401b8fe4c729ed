"""L8.3: scripts of operations on the cache, and on a model of lists in the oracle."""

import numpy as np
from olrand import Rand
from world import (
    Sizes,
    add,
    append,
    counted,
    counters,
    do,
    fork,
    free,
    numbered,
    opened,
    outcome,
    random_script,
    values,
)

HEADS = ("head", "position", "d")


def live_after(script):
    """The sequences that live after each step."""
    begun, live = 0, []
    for step in script:
        if step.verb in ("add", "fork"):
            live.append(begun)
            begun += 1
        if step.verb == "free":
            live.remove(step.seq)
        yield list(live)


def new_model(ol, sizes):
    """The oracle's cache: a block is an object, and being shared is being in two lists."""
    if ol.oracle:

        class Model:
            def __init__(self):
                self.tables, self.layers = [], []

            def do(self, step, k, v):
                if step.verb == "append":
                    return self.append(step, k, v)
                if step.verb == "free":
                    self.tables[step.seq] = []
                elif step.verb == "fork":
                    self.tables.append(list(self.tables[step.seq]))
                    self.layers.append(list(self.layers[step.seq]))
                else:
                    self.tables.append([])
                    self.layers.append([values(0, sizes, 0)] * sizes.n_layers)
                return "done"

            def append(self, step, k, v):
                old_k, old_v = self.layers[step.seq][step.layer]
                others = {b for s, t in enumerate(self.tables) if s != step.seq for b in t}
                table = list(self.tables[step.seq])
                for position in range(old_k.shape[1], old_k.shape[1] + step.T):
                    index = position // sizes.block_size
                    if index == len(table):
                        table.append(object())
                    elif table[index] in others:
                        table[index] = object()
                if len(others.union(table)) > sizes.num_blocks:
                    return "OutOfBlocks"
                both = (np.concatenate(pair, axis=1) for pair in ((old_k, k), (old_v, v)))
                self.tables[step.seq], self.layers[step.seq][step.layer] = table, tuple(both)
                return "done"

            def lens(self, seq):
                return [k.shape[1] for k, _ in self.layers[seq]]

            def fills(self, seq):
                whole, b = min(self.lens(seq)), sizes.block_size
                return [min(max(whole - b * i, 0), b) for i in range(len(self.tables[seq]))]

            def counters(self):
                used = len({b for table in self.tables for b in table})
                return [sizes.num_blocks - used, used, 0, 0]

        return Model()
    return None


def judge_bookkeeping(ol, sizes, live, unit, model):
    """Lengths, tables, fills and counters."""
    if ol.unit:
        cache, ids, pool = unit
        tables = [cache.block_table(ids[s]) for s in live]
        for s, table, numbers in zip(live, tables, numbered(map(list, tables)), strict=True):
            lens = [cache.seq_len(ids[s], layer) for layer in range(sizes.n_layers)]
            ol.saw_i64(f"seq_len(#{s}) by layer", np.array(lens, dtype=np.int64), ("layer",))
            ol.saw_i64(f"block_table(#{s}), numbered by first appearance", numbers, ("block",))
            ol.saw_i64(f"fills of the blocks of #{s}", pool.fills(table), ("block",))
        ol.saw_text("stats()", counters(cache.stats()))
        ol.saw_int("num_free_blocks", cache.num_free_blocks)
    if ol.oracle:
        for s, numbers in zip(live, numbered([model.tables[s] for s in live]), strict=True):
            ol.want_i64(f"seq_len(#{s}) by layer", model.lens(s))
            ol.want_i64(f"block_table(#{s}), numbered by first appearance", numbers)
            ol.want_i64(f"fills of the blocks of #{s}", model.fills(s))
        ol.want_text("stats()", counted(*model.counters()))
        ol.want_int("num_free_blocks", model.counters()[0])


def judge_values(ol, sizes, s, unit, model):
    """K and V of a sequence, from gather and from the pool."""
    for layer in range(sizes.n_layers):
        names = [
            f"{x} of #{s}, layer {layer}, from {where}" for where in ("gather", "the pool") for x in "KV"
        ]
        if ol.unit:
            cache, ids, pool = unit
            gathered = cache.gather(ids[s], layer)
            table, length = cache.block_table(ids[s]).tolist(), cache.seq_len(ids[s], layer)
            read = [pool.read(table, layer, is_v, length) for is_v in (0, 1)]
            for name, x in zip(names, (*gathered, *read), strict=True):
                ol.saw_u16(name, x, HEADS)
        if ol.oracle:
            for name, x in zip(names, model.layers[s][layer] * 2, strict=True):
                ol.want_u16(name, x)


def play(ol, sizes, script, *, values_at_each_step=True):
    """Run a script in both roles and judge the cache after each of its steps."""
    ol.note(f"{sizes}")
    unit, model = None, new_model(ol, sizes)
    if ol.unit:
        unit = cache, ids, _ = opened(ol, sizes)
    for n, (step, live) in enumerate(zip(script, live_after(script), strict=True)):
        ol.note(f"blocks of {sizes.block_size}, step {n + 1}: {step}")
        k, v = values(ol.seed + 1000 * n, sizes, step.T)
        if ol.unit:
            ol.saw_text("what came of it", do(cache, ids, step, k, v))
        if ol.oracle:
            ol.want_text("what came of it", model.do(step, k, v))
        judge_bookkeeping(ol, sizes, live, unit, model)
        for s in live:
            if values_at_each_step or s == step.seq or n == len(script) - 1:
                judge_values(ol, sizes, s, unit, model)
    if ol.unit:
        ol.saw_int("ids that were given twice", len(ids) - len(set(ids)))
        cache.close()
    if ol.oracle:
        ol.want_int("ids that were given twice", 0)


def test_hand_example(ol):
    x = np.arange(1.0, 7.0).reshape(1, 6, 1)
    ol.note("section 3: four blocks of two positions, one layer, one head of width 1")
    if ol.unit:
        cache, _, _ = opened(ol, Sizes(4, 2, 1, 1, 1))

        def see(when, *ids):
            tables = numbered(cache.block_table(s).tolist() for s in ids)
            keys = [cache.gather(s, 0)[0].ravel().astype(np.int64) for s in ids]
            ol.saw_i64(f"{when}: tables, blocks numbered by first appearance", np.concatenate(tables))
            ol.saw_i64(f"{when}: keys", np.concatenate(keys))
            ol.saw_int(f"{when}: free blocks", cache.num_free_blocks)

        a = cache.add_seq()
        cache.append(a, 0, x[:, :3], -x[:, :3])
        see("a appends 1, 2, 3", a)
        b = cache.fork(a)
        see("b is a fork of a", a, b)
        cache.append(b, 0, x[:, 3:4], -x[:, 3:4])
        see("b appends 4", a, b)
        cache.append(a, 0, x[:, 4:5], -x[:, 4:5])
        see("a appends 5", a, b)
        cache.append(b, 0, x[:, 4:], -x[:, 4:])
        see("b appends 5, 6", a, b)
        ol.saw_text("a appends 6", outcome(lambda: cache.append(a, 0, x[:, 5:], -x[:, 5:])))
        see("after that", a, b)
        ol.saw_u16("values of b", cache.gather(b, 0)[1], HEADS)
        cache.close()
    if ol.oracle:

        def want(when, tables, keys, free_blocks):
            ol.want_i64(f"{when}: tables, blocks numbered by first appearance", tables)
            ol.want_i64(f"{when}: keys", keys)
            ol.want_int(f"{when}: free blocks", free_blocks)

        want("a appends 1, 2, 3", [0, 1], [1, 2, 3], 2)
        want("b is a fork of a", [0, 1, 0, 1], [1, 2, 3, 1, 2, 3], 2)
        want("b appends 4", [0, 1, 0, 2], [1, 2, 3, 1, 2, 3, 4], 1)
        want("a appends 5", [0, 1, 0, 2], [1, 2, 3, 5, 1, 2, 3, 4], 1)
        want("b appends 5, 6", [0, 1, 0, 2, 3], [1, 2, 3, 5, 1, 2, 3, 4, 5, 6], 0)
        ol.want_text("a appends 6", "OutOfBlocks")
        want("after that", [0, 1, 0, 2, 3], [1, 2, 3, 5, 1, 2, 3, 4, 5, 6], 0)
        ol.want_u16("values of b", np.float16([-1, -2, -3, -4, -5, -6]))


def test_forks_share_until_one_writes(ol):
    script = [add(), append(0, 0, 6), append(0, 1, 6), fork(0), append(1, 0, 3), append(1, 1, 3)]
    script += [append(0, 0, 1), append(0, 1, 1), fork(1), fork(1), append(2, 0, 4), append(3, 1, 1)]
    script += [free(0), append(1, 0, 9), free(1), free(3), append(2, 1, 2), free(2)]
    play(ol, Sizes(24, 4, 2, 2, 3), script)


def test_a_lagging_layer_copies_each_block_it_reaches(ol):
    script = [add(), append(0, 0, 11), append(0, 1, 5), fork(0), append(1, 2, 9), append(1, 1, 4)]
    script += [append(0, 2, 3), append(0, 1, 7), append(0, 2, 8), fork(0), append(2, 0, 1), append(2, 2, 1)]
    play(ol, Sizes(24, 4, 3, 2, 3), script)


def test_fills_count_what_every_layer_holds(ol):
    script = [add(), append(0, 0, 9), append(0, 1, 2), append(0, 2, 5), append(0, 1, 1), append(0, 1, 6)]
    script += [append(0, 2, 4), append(0, 0, 3), append(0, 1, 3), append(0, 2, 3), add(), append(1, 2, 4)]
    script += [append(1, 1, 4), fork(1), append(2, 0, 4), append(1, 0, 3)]
    play(ol, Sizes(16, 4, 3, 1, 2), script)


def test_appends_of_every_length(ol):
    for block_size in (1, 2, 5):
        sizes = Sizes(64, block_size, 1, 3, 2)
        lengths = [T for first in range(block_size + 1) for T in (first, 2 * block_size - 1, 1, 0)]
        play(ol, sizes, [add(), add(), *(append(n % 2, 0, T) for n, T in enumerate(lengths))])
    for T in (1, 4, 5, 16):
        play(ol, Sizes(8, 4, 1, 1, 8), [add(), append(0, 0, T), append(0, 0, 4)])


def test_the_last_block_can_be_used(ol):
    script = [add(), append(0, 0, 8), append(0, 0, 1), append(0, 1, 5), fork(0), append(1, 1, 1)]
    script += [free(0), append(1, 1, 3), append(1, 0, 1), free(1), add(), append(2, 1, 8), append(2, 0, 8)]
    play(ol, Sizes(2, 4, 2, 2, 3), script)


def test_a_failed_append_changes_nothing(ol):
    grown = [add(), append(0, 0, 22), append(0, 1, 3), fork(0)]
    script = [append(1, 1, 9), append(1, 1, 19), append(1, 0, 7), append(1, 1, 5), append(0, 1, 1)]
    script += [append(0, 1, 6), append(1, 1, 13), add(), append(2, 0, 1), free(0), append(1, 1, 1)]
    play(ol, Sizes(8, 4, 2, 2, 3), grown + script)
    play(ol, Sizes(3, 4, 1, 1, 1), [add(), append(0, 0, 2), fork(0), append(1, 0, 7), append(1, 0, 6)])


def test_random_operations_agree_with_a_model(ol):
    for block_size in (1, 3, 4):
        sizes = Sizes(14, block_size, 3, 2, 3)
        script = random_script(Rand(ol.seed + block_size), sizes, 60)
        play(ol, sizes, script, values_at_each_step=False)
