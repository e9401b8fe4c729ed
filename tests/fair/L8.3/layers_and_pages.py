# A class for a page and one for a layer; pages count their owners; one tl_kv_alloc fetches new blocks and copies together.
# ruff: noqa
from __future__ import annotations

import ctypes as ct
import itertools

import numpy as np


class OutOfBlocks(RuntimeError):
    pass


class KVStats(ct.Structure):
    _fields_ = [
        ("free", ct.c_uint32),
        ("used", ct.c_uint32),
        ("cached", ct.c_uint32),
        ("evictions", ct.c_uint32),
    ]


class Page:
    """A block of the pool and the number of sequences that list it."""

    def __init__(self, store: Store, block: int):
        self.store, self.block, self.owners = store, block, 1

    def share(self) -> Page:
        self.store.call("tl_kv_ref", None, ct.c_uint32(self.block))
        self.owners += 1
        return self

    def release(self) -> None:
        self.owners -= 1
        self.store.call("tl_kv_unref", ct.c_int32, ct.c_uint32(self.block))

    def cells(self, layer: int, is_v: int) -> np.ndarray:
        return self.store.views[self.block, layer, is_v]


class Views(dict):
    """Views on slabs, made at first use: their addresses stay."""

    def __init__(self, store: Store):
        super().__init__()
        self.store = store

    def __missing__(self, key):
        block, layer, is_v = key
        p = self.store.call(
            "tl_kv_block_ptr", ct.c_void_p, ct.c_uint32(block), ct.c_uint32(layer), ct.c_int(is_v)
        )
        h, b, d = self.store.shape
        raw = ct.cast(p, ct.POINTER(ct.c_uint16))
        self[key] = np.ctypeslib.as_array(raw, shape=(h, b, d)).view(np.float16)
        return self[key]


class Store:
    def __init__(self, lib, n_blocks, block, n_layers, heads, width):
        self.lib, self.shape, self.n_layers = lib, (heads, block, width), n_layers
        self.pool = ct.c_void_p()
        cfg = (ct.c_uint32 * 7)(n_blocks, block, n_layers, heads, width, 1, 1)
        create = lib["tl_kv_pool_create"]
        code = create(cfg, ct.byref(self.pool))
        if code == 2:
            raise MemoryError("no memory for the pool")
        if code:
            raise RuntimeError(code)
        self.views = Views(self)

    def call(self, name, result, *arguments):
        f = self.lib[name]
        f.restype = result
        return f(self.pool, *arguments)

    def take(self, n: int) -> list[Page]:
        ids = (ct.c_uint32 * max(n, 1))()
        if self.call("tl_kv_alloc", ct.c_int32, ct.c_uint32(n), ids):
            raise OutOfBlocks(f"{n} blocks")
        return [Page(self, ids[i]) for i in range(n)]

    def copy(self, old: Page, new: Page) -> None:
        for layer in range(self.n_layers):
            for is_v in (0, 1):
                new.cells(layer, is_v)[:] = old.cells(layer, is_v)


class Layer:
    def __init__(self, number: int, length: int = 0):
        self.number, self.length = number, length

    def write(self, pages: list[Page], k: np.ndarray, v: np.ndarray) -> None:
        for t in range(k.shape[1]):
            index, slot = divmod(self.length, pages[0].store.shape[1])
            pages[index].cells(self.number, 0)[:, slot] = k[:, t]
            pages[index].cells(self.number, 1)[:, slot] = v[:, t]
            self.length += 1

    def read(self, pages: list[Page], store: Store, is_v: int) -> np.ndarray:
        h, _, d = store.shape
        parts = [np.zeros((h, 0, d), dtype=np.float16), *(p.cells(self.number, is_v) for p in pages)]
        return np.concatenate(parts, axis=1)[:, : self.length].copy()


class Sequence:
    def __init__(self, pages: list[Page], layers: list[Layer]):
        self.pages, self.layers = pages, layers


class PagedKVCache:
    def __init__(self, lib, num_blocks, block_size, n_layers, n_kv_heads, d_head):
        for x in (num_blocks, block_size, n_layers, n_kv_heads, d_head):
            if x < 1 or x > 0xFFFF_FFFF:
                raise ValueError(x)
        self._store = Store(lib, num_blocks, block_size, n_layers, n_kv_heads, d_head)
        self._ids = itertools.count(1000, -3)
        self._seqs = {}

    def _find(self, seq_id) -> Sequence:
        self.pool  # noqa: B018
        return self._seqs[seq_id]

    def _layer(self, seq_id, layer) -> tuple[Sequence, Layer]:
        seq = self._find(seq_id)
        if layer not in range(len(seq.layers)):
            raise ValueError(f"no layer {layer}")
        return seq, seq.layers[layer]

    @property
    def pool(self):
        if self._store is None:
            raise RuntimeError("closed")
        return self._store.pool

    @property
    def num_free_blocks(self):
        s = self.stats()
        return s.free + s.cached

    def stats(self):
        self.pool  # noqa: B018
        s = KVStats()
        self._store.call("tl_kv_stats_get", None, ct.byref(s))
        return s

    def add_seq(self):
        self.pool  # noqa: B018
        seq_id = next(self._ids)
        self._seqs[seq_id] = Sequence([], [Layer(n) for n in range(self._store.n_layers)])
        return seq_id

    def fork(self, seq_id):
        old, new_id = self._find(seq_id), next(self._ids)
        layers = [Layer(x.number, x.length) for x in old.layers]
        self._seqs[new_id] = Sequence([p.share() for p in old.pages], layers)
        return new_id

    def append(self, seq_id, layer, k, v):
        seq, target = self._layer(seq_id, layer)
        store = self._store
        h, b, d = store.shape
        with np.errstate(all="ignore"):
            k, v = np.array(k).astype("f2"), np.array(v).astype("f2")
        if k.shape != v.shape or k.ndim != 3 or k.shape[0] != h or k.shape[2] != d:
            raise ValueError(f"k {k.shape}, v {v.shape}")
        if k.shape[1] == 0:
            return
        first, last = target.length // b, (target.length + k.shape[1] - 1) // b
        shared = [i for i in range(first, min(last + 1, len(seq.pages))) if seq.pages[i].owners > 1]
        fresh = store.take(len(shared) + max(last + 1 - len(seq.pages), 0))
        for i in shared:
            new = fresh.pop()
            store.copy(seq.pages[i], new)
            seq.pages[i].release()
            seq.pages[i] = new
        seq.pages += fresh
        target.write(seq.pages, k, v)
        whole = min(x.length for x in seq.layers)
        for i in range(first, last + 1):
            n = min(max(whole - i * b, 0), b)
            store.call("tl_kv_set_fill", ct.c_int32, ct.c_uint32(seq.pages[i].block), ct.c_uint32(n))

    def block_table(self, seq_id):
        return np.fromiter((p.block for p in self._find(seq_id).pages), dtype=np.uint32)

    def seq_len(self, seq_id, layer=0):
        return self._layer(seq_id, layer)[1].length

    def gather(self, seq_id, layer):
        seq, source = self._layer(seq_id, layer)
        return tuple(np.ascontiguousarray(source.read(seq.pages, self._store, is_v)) for is_v in (0, 1))

    def free(self, seq_id):
        self._find(seq_id)
        for p in self._seqs.pop(seq_id).pages:
            p.release()

    def close(self):
        if self._store is not None:
            self._store.call("tl_kv_pool_destroy", None)
        self._store, self._seqs = None, {}

    def __enter__(self):
        self.pool  # noqa: B018
        return self

    def __exit__(self, *error):
        self.close()
