"""A KV cache in blocks: sequences are lists of block ids, values live in the C pool.

Python owns the bookkeeping (tables and lengths), the pool owns memory, reference counts and
copies. Keys and values are reached through numpy views on the pool's slabs and are never kept
here, so a C kernel that reads `pool` and `block_table` sees exactly what was appended.
"""

from __future__ import annotations

import ctypes
import weakref
from collections import Counter
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

_Half = NDArray[np.float16]

_TL_OK, _TL_ENOMEM, _TL_EFULL = 0, 2, 5
_TL_F16 = 1
_TL_KV_FORMAT_V1 = 1


class OutOfBlocks(RuntimeError):
    """The pool holds fewer blocks than an append needs."""


@dataclass(frozen=True)
class KVStats:
    """A count of the pool's blocks by state, and of evictions so far."""

    free: int
    used: int
    cached: int
    evictions: int


class _Cfg(ctypes.Structure):
    _fields_ = [
        ("n_blocks", ctypes.c_uint32),
        ("block_tokens", ctypes.c_uint32),
        ("n_layers", ctypes.c_uint32),
        ("n_kv_heads", ctypes.c_uint32),
        ("head_dim", ctypes.c_uint32),
        ("dtype", ctypes.c_int32),
        ("format", ctypes.c_uint32),
    ]


class _Stats(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint32) for name in ("free", "used", "cached", "evictions")]


class _Pool:
    """The C pool with exceptions for statuses and numpy views for slabs."""

    def __init__(self, lib: ctypes.CDLL, cfg: _Cfg) -> None:
        self._bind(lib)
        self.handle = ctypes.c_void_p()
        self._checked(self._create(ctypes.byref(cfg), ctypes.byref(self.handle)))
        # The finalizer runs once: at close, or when a cache that nobody closed is collected.
        self.destroy = weakref.finalize(self, self._destroy, self.handle)
        self._slab_shape = (cfg.n_kv_heads, cfg.block_tokens, cfg.head_dim)

    def _bind(self, lib: ctypes.CDLL) -> None:
        # lib["name"] makes a function object of its own, whereas lib.name is shared by everyone
        # who holds lib: prototypes set on that one would collide with those of other callers.
        def function(name: str, result: Any, *arguments: Any) -> Any:
            bound = lib[name]
            bound.restype, bound.argtypes = result, arguments
            return bound

        status, u32 = ctypes.c_int32, ctypes.c_uint32
        pool, out = ctypes.c_void_p, ctypes.c_void_p
        self._create = function("tl_kv_pool_create", status, out, out)
        self._destroy = function("tl_kv_pool_destroy", None, pool)
        self._alloc = function("tl_kv_alloc", status, pool, u32, out)
        self._ref = function("tl_kv_ref", None, pool, u32)
        self._unref = function("tl_kv_unref", status, pool, u32)
        self._cow = function("tl_kv_cow", status, pool, u32, out)
        self._set_fill = function("tl_kv_set_fill", status, pool, u32, u32)
        self._ptr = function("tl_kv_block_ptr", ctypes.c_void_p, pool, u32, u32, ctypes.c_int)
        self._stats = function("tl_kv_stats_get", None, pool, out)
        self._last_error = function("tl_last_error", ctypes.c_char_p)

    def _checked(self, status: int) -> None:
        if status == _TL_OK:
            return
        text = self._last_error().decode(errors="replace")
        kind = {_TL_EFULL: OutOfBlocks, _TL_ENOMEM: MemoryError}.get(status, RuntimeError)
        raise kind(f"status {status}: {text}")

    def alloc(self, n: int) -> list[int]:
        ids = (ctypes.c_uint32 * n)()
        if n > 0:
            self._checked(self._alloc(self.handle, n, ids))
        return list(ids)

    def ref(self, block: int) -> None:
        self._ref(self.handle, block)

    def unref(self, block: int) -> None:
        self._checked(self._unref(self.handle, block))

    def cow(self, block: int) -> int:
        own = ctypes.c_uint32()
        self._checked(self._cow(self.handle, block, ctypes.byref(own)))
        return own.value

    def set_fill(self, block: int, n_tokens: int) -> None:
        self._checked(self._set_fill(self.handle, block, n_tokens))

    def slab(self, block: int, layer: int, is_v: bool) -> _Half:
        """The live [n_kv_heads, block_tokens, head_dim] slab; dead once the pool is destroyed."""
        address = self._ptr(self.handle, block, layer, is_v)
        size = int(np.prod(self._slab_shape)) * np.dtype(np.float16).itemsize
        memory = (ctypes.c_uint8 * size).from_address(address)
        return np.frombuffer(memoryview(memory), dtype=np.float16).reshape(self._slab_shape)

    def stats(self) -> KVStats:
        raw = _Stats()
        self._stats(self.handle, ctypes.byref(raw))
        return KVStats(raw.free, raw.used, raw.cached, raw.evictions)


@dataclass
class _Sequence:
    """Block ids in position order, and how many positions each layer has written."""

    table: list[int]
    lens: list[int]


class PagedKVCache:
    """Sequences over one pool of blocks; the contract has the rules."""

    def __init__(
        self,
        lib: ctypes.CDLL,
        num_blocks: int,
        block_size: int,
        n_layers: int,
        n_kv_heads: int,
        d_head: int,
    ) -> None:
        """Create an empty pool of `num_blocks` blocks."""
        sizes = (num_blocks, block_size, n_layers, n_kv_heads, d_head)
        if not all(1 <= size < 1 << 32 for size in sizes):
            raise ValueError(f"every dimension must be at least 1 and fit 32 bits, got {sizes}")
        self._pool = _Pool(lib, _Cfg(*sizes, _TL_F16, _TL_KV_FORMAT_V1))
        self._block_size, self._n_layers = block_size, n_layers
        self._n_kv_heads, self._d_head = n_kv_heads, d_head
        self._seqs: dict[int, _Sequence] = {}
        self._next_id = 0
        # How many tables name a block. The pool counts too, but does not tell; an append must
        # know how many copies it will need before it takes the first.
        self._holders: Counter[int] = Counter()

    @property
    def pool(self) -> ctypes.c_void_p:
        """The `tl_kv_pool *` for C kernels; valid until close."""
        return self._open().handle

    @property
    def num_free_blocks(self) -> int:
        """Blocks that appends can still take: free ones and cached ones, which get evicted."""
        stats = self.stats()
        return stats.free + stats.cached

    def stats(self) -> KVStats:
        """Count the pool's blocks by state."""
        return self._open().stats()

    def add_seq(self) -> int:
        """Start an empty sequence and return its id."""
        self._open()
        return self._insert(_Sequence([], [0] * self._n_layers))

    def fork(self, seq_id: int) -> int:
        """Start a sequence that shares every block of `seq_id` and return its id."""
        parent = self._seq(seq_id)
        for block in parent.table:
            self._pool.ref(block)
        self._holders.update(parent.table)
        return self._insert(_Sequence(parent.table.copy(), parent.lens.copy()))

    def append(self, seq_id: int, layer: int, k: ArrayLike, v: ArrayLike) -> None:
        """Write the next T positions of one layer, all of them or none."""
        seq = self._seq(seq_id)
        self._check_layer(layer)
        pair = [self._as_half(name, x) for name, x in (("k", k), ("v", v))]
        n_new = pair[0].shape[1]
        if pair[1].shape[1] != n_new:
            raise ValueError(f"k holds {n_new} positions, v holds {pair[1].shape[1]}")
        if n_new == 0:
            return
        start = seq.lens[layer]
        self._own_blocks(seq, start, start + n_new)
        for is_v, values in enumerate(pair):
            self._write(seq, layer, bool(is_v), values)
        seq.lens[layer] += n_new
        self._update_fills(seq, start, start + n_new)

    def block_table(self, seq_id: int) -> NDArray[np.uint32]:
        """The ids of the sequence's blocks in position order, a copy."""
        return np.array(self._seq(seq_id).table, dtype=np.uint32)

    def seq_len(self, seq_id: int, layer: int = 0) -> int:
        """How many positions the layer holds."""
        seq = self._seq(seq_id)
        self._check_layer(layer)
        return seq.lens[layer]

    def gather(self, seq_id: int, layer: int) -> tuple[_Half, _Half]:
        """Keys and values of one layer, contiguous, as copies [n_kv_heads, len, d_head]."""
        seq = self._seq(seq_id)
        self._check_layer(layer)
        return self._read(seq, layer, is_v=False), self._read(seq, layer, is_v=True)

    def free(self, seq_id: int) -> None:
        """Forget a sequence; blocks that no other sequence shares return to the pool."""
        seq = self._seq(seq_id)
        del self._seqs[seq_id]
        self._holders.subtract(seq.table)
        for block in seq.table:
            self._pool.unref(block)

    def close(self) -> None:
        """Forget every sequence and destroy the pool; a second call does nothing."""
        self._seqs.clear()
        self._pool.destroy()

    def __enter__(self) -> PagedKVCache:
        """Enter with an open cache."""
        self._open()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close, whatever happened inside."""
        self.close()

    def _open(self) -> _Pool:
        if not self._pool.destroy.alive:
            raise RuntimeError("the cache is closed")
        return self._pool

    def _seq(self, seq_id: int) -> _Sequence:
        self._open()
        return self._seqs[seq_id]

    def _insert(self, seq: _Sequence) -> int:
        seq_id, self._next_id = self._next_id, self._next_id + 1
        self._seqs[seq_id] = seq
        return seq_id

    def _check_layer(self, layer: int) -> None:
        if not 0 <= layer < self._n_layers:
            raise ValueError(f"layer {layer} does not exist; there are {self._n_layers}")

    def _as_half(self, name: str, values: ArrayLike) -> _Half:
        with np.errstate(over="ignore"):
            half = np.asarray(values).astype(np.float16)
        if half.ndim != 3 or (half.shape[0], half.shape[2]) != (self._n_kv_heads, self._d_head):
            raise ValueError(f"{name} must be [{self._n_kv_heads}, T, {self._d_head}], got {half.shape}")
        return half

    def _blocks_of(self, start: int, end: int) -> range:
        """The logical blocks that positions start..end-1 (at least one) fall into."""
        return range(start // self._block_size, (end - 1) // self._block_size + 1)

    def _own_blocks(self, seq: _Sequence, start: int, end: int) -> None:
        """Give the sequence blocks of its own for positions start..end-1, or change nothing."""
        touched = self._blocks_of(start, end)
        present = [i for i in touched if i < len(seq.table)]
        n_fresh = len(touched) - len(present)
        n_copies = sum(self._holders[seq.table[i]] > 1 for i in present)
        if n_fresh + n_copies > self.num_free_blocks:
            raise OutOfBlocks(
                f"{n_fresh} new blocks and {n_copies} copies needed, {self.num_free_blocks} left"
            )
        for i in present:
            self._holders[seq.table[i]] -= 1
            seq.table[i] = self._pool.cow(seq.table[i])
            self._holders[seq.table[i]] += 1
        fresh = self._pool.alloc(n_fresh)
        self._holders.update(fresh)
        seq.table.extend(fresh)

    def _update_fills(self, seq: _Sequence, start: int, end: int) -> None:
        """Publish how far every layer has come in the blocks of positions start..end-1."""
        complete = min(seq.lens)
        for i in self._blocks_of(start, end):
            fill = min(max(complete - i * self._block_size, 0), self._block_size)
            self._pool.set_fill(seq.table[i], fill)

    def _write(self, seq: _Sequence, layer: int, is_v: bool, values: _Half) -> None:
        """Copy values [n_kv_heads, T, d_head] to the positions after the layer's last."""
        start = seq.lens[layer]
        end = start + values.shape[1]
        for i in self._blocks_of(start, end):
            base = i * self._block_size
            lo, hi = max(start, base), min(end, base + self._block_size)
            slab = self._pool.slab(seq.table[i], layer, is_v)
            slab[:, lo - base : hi - base] = values[:, lo - start : hi - start]

    def _read(self, seq: _Sequence, layer: int, is_v: bool) -> _Half:
        length = seq.lens[layer]
        out = np.empty((self._n_kv_heads, length, self._d_head), dtype=np.float16)
        for base in range(0, length, self._block_size):
            part = out[:, base : base + self._block_size]
            block = seq.table[base // self._block_size]
            part[:] = self._pool.slab(block, layer, is_v)[:, : part.shape[1]]
        return out
