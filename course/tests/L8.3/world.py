"""What the tests of L8.3 share in both roles: scripts of operations, and the pool as a C kernel sees it."""

import ctypes
from typing import NamedTuple

import numpy as np
from olrand import Rand

U32, POINTER = ctypes.c_uint32, ctypes.c_void_p


class Sizes(NamedTuple):
    """The arguments of a cache after `lib`."""

    num_blocks: int
    block_size: int
    n_layers: int
    n_kv_heads: int
    d_head: int


class Step(NamedTuple):
    """An operation of a script. Sequences are numbered in the order in which they begin."""

    verb: str
    seq: int = 0
    layer: int = 0
    T: int = 0

    def __str__(self):
        """In words, for a failure's note."""
        of = {"add": "add a sequence", "fork": f"fork #{self.seq}", "free": f"free #{self.seq}"}
        return of.get(self.verb, f"append {self.T} positions to layer {self.layer} of #{self.seq}")


def add():
    """A new sequence."""
    return Step("add")


def fork(seq):
    """A fork, which gets the next number."""
    return Step("fork", seq)


def free(seq):
    """The end of a sequence."""
    return Step("free", seq)


def append(seq, layer, T):
    """T positions of random values."""
    return Step("append", seq, layer, T)


def random_script(rand, sizes, n_steps):
    """Operations on up to six sequences at a time; some of the appends will not find enough blocks."""
    live, begun, script = [], 0, []
    for _ in range(n_steps):
        choice = rand.below(12)
        if not live or (choice < 3 and len(live) < 6):
            script.append(fork(live[rand.below(len(live))]) if live and choice else add())
            live.append(begun)
            begun += 1
        elif choice < 4:
            script.append(free(live.pop(rand.below(len(live)))))
        else:
            T = rand.below(3 * sizes.block_size + 1)
            script.append(append(live[rand.below(len(live))], rand.below(sizes.n_layers), T))
    return script


def values(seed, sizes, T):
    """K and V for T positions."""
    rand, shape = Rand(seed), (sizes.n_kv_heads, T, sizes.d_head)
    return rand.half(shape), rand.half(shape)


def outcome(call):
    """What came of an append."""
    from tinyllm.infer.paged import OutOfBlocks

    try:
        call()
    except OutOfBlocks:
        return "OutOfBlocks"
    return "done"


def do(cache, ids, step, k, v):
    """Carry out a step on the unit. `ids` holds the cache's id of every sequence so far."""
    if step.verb == "append":
        return outcome(lambda: cache.append(ids[step.seq], step.layer, k, v))
    if step.verb == "free":
        cache.free(ids[step.seq])
    else:
        ids.append(cache.fork(ids[step.seq]) if step.verb == "fork" else cache.add_seq())
    return "done"


class Pool:
    """The pool of a cache, through functions of its own."""

    def __init__(self, ol, cache):
        """Bind what tests call."""
        self.handle = cache.pool
        self._fill = self.function(ol, "tl_kv_fill", U32, U32)
        self._ptr = self.function(ol, "tl_kv_block_ptr", POINTER, U32, U32, ctypes.c_int)
        self._register = self.function(ol, "tl_kv_register", ctypes.c_int32, U32, ctypes.c_uint64)
        get_cfg = self.function(ol, "tl_kv_pool_cfg", None, POINTER)
        self.cfg = (U32 * 7)()
        get_cfg(self.handle, self.cfg)

    @staticmethod
    def function(ol, name, result, *arguments):
        """A function of the pool; its first parameter is the handle."""
        bound = ol.lib[name]
        bound.restype, bound.argtypes = result, (POINTER, *arguments)
        return bound

    def fills(self, table):
        """How many positions each block counts."""
        return np.array([self._fill(self.handle, block) for block in table], dtype=np.int64)

    def register(self, block, block_hash):
        """Enter a full block in the prefix index."""
        return self._register(self.handle, block, block_hash)

    def slab(self, block, layer, is_v):
        """[n_kv_heads, block_size, d_head], the pool's own memory."""
        _, block_size, _, n_kv_heads, d_head = self.cfg[:5]
        address = self._ptr(self.handle, block, layer, is_v)
        raw = (ctypes.c_uint16 * (n_kv_heads * block_size * d_head)).from_address(address)
        return np.frombuffer(raw, dtype=np.float16).reshape(n_kv_heads, block_size, d_head)

    def read(self, table, layer, is_v, length):
        """The first `length` positions of a table, as a kernel reads them."""
        _, block_size, _, n_kv_heads, d_head = self.cfg[:5]
        slabs = [self.slab(block, layer, is_v) for block in table[: -(-length // block_size)]]
        return np.concatenate([np.empty((n_kv_heads, 0, d_head), np.float16), *slabs], axis=1)[:, :length]


def numbered(tables):
    """Tables with their blocks numbered as they first appear, for a pool may give any ids."""
    numbers = {}
    return [
        np.array([numbers.setdefault(block, len(numbers)) for block in table], dtype=np.int64)
        for table in tables
    ]


def counted(free, used, cached, evictions):
    """The four counters of a pool in words."""
    return f"free {free}, used {used}, cached {cached}, evictions {evictions}"


def counters(stats):
    """The counters of `stats()` in words."""
    return counted(stats.free, stats.used, stats.cached, stats.evictions)


def opened(ol, sizes):
    """A cache of the unit, the ids of its sequences, which are none yet, and the pool beneath."""
    from tinyllm.infer.paged import PagedKVCache

    cache = PagedKVCache(ol.lib, *sizes)
    return cache, [], Pool(ol, cache)


class Heap(ctypes.Structure):
    """A `tl_allocator` that keeps what it gave until it is given back. Set while inside `with`."""

    ALLOC = ctypes.CFUNCTYPE(POINTER, POINTER, ctypes.c_size_t, ctypes.c_size_t)
    FREE = ctypes.CFUNCTYPE(None, POINTER, POINTER)
    _fields_ = [("alloc", ALLOC), ("free", FREE), ("user", POINTER)]

    def __init__(self, ol):
        """Hold nothing; give without end."""
        self.live, self.strange, self.budget = {}, 0, 1 << 30
        self._set = ol.lib["tl_set_allocator"]
        super().__init__(self.ALLOC(self.give), self.FREE(self.take), None)

    def give(self, user, n, align):
        """Fail once the budget is used up."""
        if self.budget == 0:
            return None
        self.budget -= 1
        memory = ctypes.create_string_buffer(n + align)
        address = -(-ctypes.addressof(memory) // align) * align
        self.live[address] = memory
        return address

    def take(self, user, address):
        """Count what was never given, or given back before."""
        if self.live.pop(address, None) is None:
            self.strange += 1

    def __enter__(self):
        """Become the allocator."""
        self._set(ctypes.byref(self))
        return self

    def __exit__(self, *error):
        """Leave it to malloc again."""
        self._set(None)
