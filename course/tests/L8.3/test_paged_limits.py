"""L8.3 at its limits: element types, copies, refusals, what is closed."""

import warnings

import numpy as np
from world import Sizes, counted, counters, opened, values

HEADS = ("head", "position", "d")
SIZES = Sizes(8, 4, 2, 2, 3)


def test_values_are_rounded_to_binary16(ol):
    tie = 1 + 2.0**-11
    numbers = [tie, tie + 2.0**-40, tie + 2.0**-10, -2049, 65519, 65520, -1e9, 2.0**-24, 2.0**-25, 1e-30]
    numbers += [0.1, -0.0, np.inf, -np.inf]
    given = {"float64": numbers, "float32": np.float32(numbers), "float16": np.float16([0.1, -2, 65504])}
    given |= {"int64": [1, -2049, 70000], "int8": np.int8([-128, 127, 3]), ">f4": np.array(numbers, ">f4")}
    shapes = {name: (2, len(x), 3) for name, x in given.items()}
    given = {n: np.moveaxis(np.broadcast_to(np.asarray(x), (2, 3, len(x))), 2, 1) for n, x in given.items()}
    given["lists"] = np.arange(12).reshape(2, 2, 3).tolist()
    for name, x in given.items():
        ol.note(f"k and v of {name}, {shapes.get(name, (2, 2, 3))}; warnings are errors")
        minus = np.negative(x)
        if ol.unit:
            cache, _, _ = opened(ol, SIZES)
            seq = cache.add_seq()
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                cache.append(seq, 0, x, minus.tolist() if name == "lists" else minus)
            k, v = cache.gather(seq, 0)
            ol.saw_u16(f"K of {name}", k, HEADS)
            ol.saw_u16(f"V of {name}", v, HEADS)
        if ol.oracle:
            with np.errstate(over="ignore"):
                ol.want_u16(f"K of {name}", np.asarray(x).astype(np.float16))
                ol.want_u16(f"V of {name}", minus.astype(np.float16))


def test_results_are_copies(ol):
    (k, v), (more, _) = values(ol.seed, SIZES, 3), values(ol.seed + 1, SIZES, 1)
    ol.note("3 positions in a block of 4; what was returned is overwritten, then one more is appended")
    if ol.unit:
        cache, _, pool = opened(ol, SIZES)
        seq = cache.add_seq()
        stats = cache.stats()
        cache.append(seq, 0, k, v)
        table, (k0, v0) = cache.block_table(seq), cache.gather(seq, 0)
        for name, x in (("block_table", table), ("K", k0), ("V", v0)):
            ol.saw_form(f"type and shape of {name}", x)
            ol.saw_text(f"{name} is contiguous", x.flags.c_contiguous)
        kept = k0.copy()
        table[:], k0[:], v0[:] = 77, 5.0, 5.0
        ol.saw_u16("K gathered again", cache.gather(seq, 0)[0], HEADS)
        ol.saw_u16("V in the pool", pool.read(cache.block_table(seq), 0, 1, 3), HEADS)
        k1, _ = cache.gather(seq, 0)
        cache.append(seq, 0, more, more)
        cache.close()
        ol.saw_u16("K gathered before the last append, after close", k1, HEADS)
        ol.saw_u16("K, a copy of the first", kept, HEADS)
        ol.saw_text("stats() of before the first append", counters(stats))
    if ol.oracle:
        for name, dtype, shape in (
            ("block_table", "uint32", (1,)),
            *((n, "float16", (2, 3, 3)) for n in "KV"),
        ):
            ol.want_form(f"type and shape of {name}", dtype, shape)
            ol.want_text(f"{name} is contiguous", "True")
        ol.want_u16("K gathered again", k)
        ol.want_u16("V in the pool", v)
        ol.want_u16("K gathered before the last append, after close", k)
        ol.want_u16("K, a copy of the first", k)
        ol.want_text("stats() of before the first append", counted(8, 0, 0, 0))


def test_arguments_stay_untouched(ol):
    k, v = (x.astype(np.float16) for x in values(ol.seed, SIZES, 7))
    ol.note("7 positions of float16, for reading only; then the caller's arrays are overwritten")
    if ol.unit:
        cache, _, _ = opened(ol, SIZES)
        seq = cache.add_seq()
        mine = k.copy(), v.copy()
        for x in mine:
            x.flags.writeable = False
        cache.append(seq, 0, *mine)
        for name, x in zip("kv", mine, strict=True):
            ol.saw_u16(f"{name} after append", x, HEADS)
            x.flags.writeable = True
            x[:] = 3
        for name, x in zip("KV", cache.gather(seq, 0), strict=True):
            ol.saw_u16(name, x, HEADS)
    if ol.oracle:
        for name, x in zip("kvKV", (k, v, k, v), strict=True):
            ol.want_u16(f"{name} after append" if name in "kv" else name, x)


def test_empty_sequences_and_appends(ol):
    ol.note("a sequence of nothing, appends of no positions, and a fork of it")
    if ol.unit:
        cache, _, _ = opened(ol, SIZES)
        seq, full = cache.add_seq(), cache.add_seq()
        cache.append(seq, 0, *values(ol.seed, SIZES, 0))
        cache.append(seq, 1, np.zeros((2, 0, 3)), np.zeros((2, 0, 3)))
        child = cache.fork(seq)
        for name, s in (("sequence", seq), ("fork", child)):
            ol.saw_form(f"block_table of the {name}", cache.block_table(s))
            for x, array in zip("KV", cache.gather(s, 1), strict=True):
                ol.saw_form(f"{x} of the {name}", array)
            ol.saw_int(f"seq_len of the {name}, no layer given", cache.seq_len(s))
        cache.append(full, 0, *values(ol.seed, SIZES, 6))
        shared = cache.fork(full)
        cache.append(shared, 0, *values(ol.seed, SIZES, 0))
        cache.append(shared, 1, *values(ol.seed, SIZES, 0))
        ol.saw_text("counters after appends of nothing to a fork", counters(cache.stats()))
        cache.free(seq)
        cache.free(child)
        ol.saw_text("counters after freeing the empty ones", counters(cache.stats()))
    if ol.oracle:
        for name in ("sequence", "fork"):
            ol.want_form(f"block_table of the {name}", "uint32", (0,))
            for x in "KV":
                ol.want_form(f"{x} of the {name}", "float16", (2, 0, 3))
            ol.want_int(f"seq_len of the {name}, no layer given", 0)
        ol.want_text("counters after appends of nothing to a fork", counted(6, 2, 0, 0))
        ol.want_text("counters after freeing the empty ones", counted(6, 2, 0, 0))


def test_wrong_shapes_change_nothing(ol):
    wrong = {
        "v longer than k": ((2, 2, 3), (2, 3, 3)),
        "one value for three keys": ((2, 3, 3), (2, 1, 3)),
        "one key for three values": ((2, 1, 3), (2, 3, 3)),
        "no key, one value": ((2, 0, 3), (2, 1, 3)),
        "a head too many": ((3, 2, 3), (3, 2, 3)),
        "one head for all": ((1, 2, 3), (1, 2, 3)),
        "a wider v": ((2, 2, 3), (2, 2, 4)),
        "width 1": ((2, 2, 1), (2, 2, 1)),
        "positions before heads": ((4, 2, 3), (4, 2, 3)),
        "rank 2": ((2, 3), (2, 3)),
        "rank 4": ((1, 2, 2, 3), (1, 2, 2, 3)),
        "numbers": ((), ()),
    }
    cache = seq = None
    ol.note(f"{SIZES}: k and v are [2, T, 3]; one position is there already")
    k, v = values(ol.seed, SIZES, 1)
    if ol.unit:
        cache, _, _ = opened(ol, SIZES)
        seq = cache.add_seq()
        cache.append(seq, 0, k, v)
    for name, (k_shape, v_shape) in wrong.items():
        given = np.zeros(k_shape), np.zeros(v_shape)
        ol.raises(
            f"{name}: k {k_shape}, v {v_shape}", "ValueError", lambda x=given: cache.append(seq, 0, *x)
        )
    if ol.unit:
        ol.saw_int("seq_len afterwards", cache.seq_len(seq))
        ol.saw_text("counters afterwards", counters(cache.stats()))
        ol.saw_u16("K afterwards", cache.gather(seq, 0)[0], HEADS)
    if ol.oracle:
        ol.want_int("seq_len afterwards", 1)
        ol.want_text("counters afterwards", counted(7, 1, 0, 0))
        ol.want_u16("K afterwards", k)


def test_unknown_layers_are_refused(ol):
    cache = seq = None
    k, v = values(ol.seed, SIZES, 1)
    ol.note("two layers, 0 and 1")
    if ol.unit:
        cache, _, _ = opened(ol, SIZES)
        seq = cache.add_seq()
    for layer in (-1, -2, 2, 99, 2**32):
        ol.raises(f"append to layer {layer}", "ValueError", lambda n=layer: cache.append(seq, n, k, v))
        ol.raises(
            f"append nothing, layer {layer}", "ValueError", lambda n=layer: append_nothing(cache, seq, n)
        )
        ol.raises(f"gather layer {layer}", "ValueError", lambda n=layer: cache.gather(seq, n))
        ol.raises(f"seq_len of layer {layer}", "ValueError", lambda n=layer: cache.seq_len(seq, n))
    if ol.unit:
        ol.saw_text("counters afterwards", counters(cache.stats()))
    if ol.oracle:
        ol.want_text("counters afterwards", counted(8, 0, 0, 0))


def append_nothing(cache, seq, layer):
    """T is 0."""
    cache.append(seq, layer, *values(0, SIZES, 0))


def calls_on(cache, seq):
    """Every method that takes a sequence."""
    k, v = values(0, SIZES, 1)
    return {
        "append": lambda: cache.append(seq, 0, k, v),
        "fork": lambda: cache.fork(seq),
        "free": lambda: cache.free(seq),
        "gather": lambda: cache.gather(seq, 0),
        "seq_len": lambda: cache.seq_len(seq),
        "block_table": lambda: cache.block_table(seq),
    }


def test_unknown_sequences_are_refused(ol):
    cache, unknown = None, {"a freed sequence": 0, "a freed fork": 0, "-1": 0, "an id never given": 0}
    ol.note("three sequences; two of them are freed, and two others begin")
    if ol.unit:
        cache, ids, _ = opened(ol, SIZES)
        ids += [cache.add_seq(), cache.add_seq()]
        cache.append(ids[0], 0, *values(ol.seed, SIZES, 5))
        ids.append(cache.fork(ids[0]))
        cache.free(ids[0])
        cache.free(ids[2])
        ids += [cache.add_seq(), cache.fork(ids[1])]
        ol.saw_int("ids that were given twice", len(ids) - len(set(ids)))
        never = max(ids) + 1
        unknown = dict(zip(unknown, (ids[0], ids[2], never if -1 in ids else -1, never), strict=True))
    for name, seq in unknown.items():
        for method, call in calls_on(cache, seq).items():
            ol.raises(f"{method} of {name}", "KeyError", call)
    if ol.unit:
        ol.saw_text("counters afterwards", counters(cache.stats()))
        ol.saw_int("length of the one that lives", cache.seq_len(ids[1]))
    if ol.oracle:
        ol.want_int("ids that were given twice", 0)
        ol.want_text("counters afterwards", counted(8, 0, 0, 0))
        ol.want_int("length of the one that lives", 0)


def test_dimensions_must_fit(ol):
    names = Sizes._fields
    for place, name in enumerate(names):
        for bad in (0, -1, 2**32, 2**32 + 1):
            sizes = Sizes(*(bad if n == place else 2 for n in range(5)))
            ol.raises(f"{name} {bad}", "ValueError", lambda sizes=sizes: opened(ol, sizes))
    most = 2**32 - 1
    huge = Sizes(most, most, most, 1, 1)
    ol.raises("more bytes than there are addresses", "MemoryError", lambda: opened(ol, huge))


def test_nothing_works_after_close_but_close(ol):
    cache = seq = None
    ol.note("a cache with one sequence, closed twice")
    if ol.unit:
        cache, _, _ = opened(ol, SIZES)
        seq = cache.add_seq()
        cache.append(seq, 0, *values(ol.seed, SIZES, 3))
        cache.close()
        cache.close()
    calls = {
        **calls_on(cache, seq),
        "pool": lambda: cache.pool,
        "num_free_blocks": lambda: cache.num_free_blocks,
        "stats": lambda: cache.stats(),
        "add_seq": lambda: cache.add_seq(),
        "with": lambda: cache.__enter__(),
    }
    for name, call in calls.items():
        ol.raises(name, "RuntimeError", call)


def test_context_manager_closes_after_an_error(ol):
    def fails(error):
        with opened(ol, SIZES)[0] as cache:
            caches.append(cache)
            raise error

    caches = []
    ol.note("a block of `with` that ends, and blocks that raise")
    if ol.unit:
        from tinyllm.infer.paged import OutOfBlocks

        cache, _, _ = opened(ol, SIZES)
        with cache as entered:
            ol.saw_text("what `with` gives", "the cache" if entered is cache else "something else")
        caches.append(cache)
        ol.saw_text("OutOfBlocks is a RuntimeError", issubclass(OutOfBlocks, RuntimeError))
    ol.raises("a ZeroDivisionError inside", "ZeroDivisionError", lambda: fails(ZeroDivisionError()))
    ol.raises("an OutOfBlocks inside", "OutOfBlocks", lambda: fails(OutOfBlocks()))
    for n, name in enumerate(("no error", "a ZeroDivisionError", "an OutOfBlocks")):
        ol.raises(f"stats() after {name}", "RuntimeError", lambda n=n: caches[n].stats())
    if ol.oracle:
        ol.want_text("what `with` gives", "the cache")
        ol.want_text("OutOfBlocks is a RuntimeError", "True")
