# A fork copies the last, half-filled block at once instead of when somebody writes: memory for forks that never part.
# ruff: noqa
import ctypes
import secrets

import numpy as np


class OutOfBlocks(RuntimeError):
    """No blocks."""


class KVStats:
    def __init__(self, free, used, cached, evictions):
        self.free, self.used, self.cached, self.evictions = free, used, cached, evictions


_U32 = ctypes.c_uint32
_P = ctypes.c_void_p
_PROTOTYPES = {
    "tl_kv_pool_create": (ctypes.c_int32, _P, _P),
    "tl_kv_pool_destroy": (None, _P),
    "tl_kv_alloc": (ctypes.c_int32, _P, _U32, _P),
    "tl_kv_ref": (None, _P, _U32),
    "tl_kv_unref": (ctypes.c_int32, _P, _U32),
    "tl_kv_cow": (ctypes.c_int32, _P, _U32, _P),
    "tl_kv_fill": (_U32, _P, _U32),
    "tl_kv_set_fill": (ctypes.c_int32, _P, _U32, _U32),
    "tl_kv_block_ptr": (_P, _P, _U32, _U32, ctypes.c_int),
    "tl_kv_block_bytes": (ctypes.c_size_t, _P),
    "tl_kv_stats_get": (None, _P, _P),
}


class PagedKVCache:
    def __init__(self, lib, num_blocks, block_size, n_layers, n_kv_heads, d_head):
        sizes = [num_blocks, block_size, n_layers, n_kv_heads, d_head]
        if min(sizes) < 1 or max(sizes) >= 2**32:
            raise ValueError(f"sizes {sizes}")
        self._f = {n: ctypes.CFUNCTYPE(*types)((n, lib)) for n, types in _PROTOTYPES.items()}
        self._pool = None
        cfg = np.array([*sizes, 1, 1], dtype=np.uint32)
        out = ctypes.c_void_p()
        status = self._f["tl_kv_pool_create"](cfg.ctypes.data, ctypes.addressof(out))
        if status:
            raise (MemoryError if status == 2 else RuntimeError)(f"status {status}")
        self._pool = out
        self._b, self._L = block_size, n_layers
        slab = ("f2", (n_kv_heads, block_size, d_head))
        self._record = np.dtype([(f"{x}{n}", *slab) for n in range(n_layers) for x in "kv"])
        assert self._record.itemsize == self._f["tl_kv_block_bytes"](out)
        self._all = {}

    def _do(self, name, *arguments):
        return self._f[name](self.pool, *arguments)

    def _block(self, block):
        address = self._do("tl_kv_block_ptr", block, 0, 0)
        raw = (ctypes.c_char * self._record.itemsize).from_address(address)
        return np.ndarray((), dtype=self._record, buffer=raw)

    @property
    def pool(self):
        if self._pool is None:
            raise RuntimeError("this cache is closed")
        return self._pool

    def stats(self):
        raw = np.zeros(4, dtype=np.uint32)
        self._do("tl_kv_stats_get", raw.ctypes.data)
        return KVStats(*raw.tolist())

    @property
    def num_free_blocks(self):
        now = self.stats()
        return now.cached + now.free

    def _begin(self, state):
        seq_id = secrets.randbits(62)
        while seq_id in self._all:
            seq_id = secrets.randbits(62)
        self._all[seq_id] = state
        return seq_id

    def _state(self, seq_id, layer=0):
        self.pool
        state = self._all[seq_id]
        if state is None:
            raise KeyError(seq_id)
        if not isinstance(layer, (int, np.integer)) or layer < 0 or layer >= self._L:
            raise ValueError(f"layer {layer}")
        return state

    def add_seq(self):
        self.pool
        return self._begin(((), (0,) * self._L))

    def fork(self, seq_id):
        state = self._state(seq_id)
        for block in state[0]:
            self._do("tl_kv_ref", block)
        table, lens = state
        if table and max(lens) % self._b:
            own = np.zeros(1, dtype=np.uint32)
            if self._do("tl_kv_cow", table[-1], own.ctypes.data):
                raise OutOfBlocks("no block for the fork")
            table = (*table[:-1], int(own[0]))
        return self._begin((table, lens))

    def _owners(self, block):
        return sum(block in state[0] for state in self._all.values() if state)

    def append(self, seq_id, layer, k, v):
        table, lens = self._state(seq_id, layer)
        with np.errstate(over="ignore"):
            k, v = np.asarray(k).astype(np.float16), np.asarray(v).astype(np.float16)
        n_heads, _, width = self._record["k0"].shape
        if k.ndim != 3 or k.shape[::2] != (n_heads, width) or v.shape != k.shape:
            raise ValueError(f"k {k.shape} and v {v.shape}")
        start, end = lens[layer], lens[layer] + k.shape[1]
        if start == end:
            return
        touched = range(start // self._b, -(-end // self._b))
        copies = [i for i in touched if i < len(table) and self._owners(table[i]) > 1]
        n_new = max(touched[-1] + 1 - len(table), 0)
        if len(copies) + n_new > self.num_free_blocks:
            raise OutOfBlocks(f"{len(copies)} + {n_new}")
        table = list(table)
        word = np.zeros(max(n_new, 1), dtype=np.uint32)
        for i in copies:
            self._do("tl_kv_cow", table[i], word.ctypes.data)
            table[i] = int(word[0])
        if n_new:
            self._do("tl_kv_alloc", n_new, word.ctypes.data)
            table += word.tolist()
        for i in touched:
            base, record = i * self._b, self._block(table[i])
            lo, hi = max(base, start), min(base + self._b, end)
            record[f"k{layer}"][:, lo - base : hi - base] = k[:, lo - start : hi - start]
            record[f"v{layer}"][:, lo - base : hi - base] = v[:, lo - start : hi - start]
        lens = (*lens[:layer], end, *lens[layer + 1 :])
        for i, block in enumerate(table):
            fill = int(np.clip(min(lens) - i * self._b, 0, self._b))
            if self._do("tl_kv_fill", block) != fill:
                self._do("tl_kv_set_fill", block, fill)
        self._all[seq_id] = (tuple(table), lens)

    def block_table(self, seq_id):
        return np.asarray(self._state(seq_id)[0], dtype=np.uint32)

    def seq_len(self, seq_id, layer=0):
        return self._state(seq_id, layer)[1][layer]

    def gather(self, seq_id, layer):
        table, lens = self._state(seq_id, layer)
        n_heads, _, width = self._record["k0"].shape
        blocks = np.array([self._block(b) for b in table], dtype=self._record)
        return tuple(
            blocks[f"{x}{layer}"]
            .swapaxes(0, 1)
            .reshape(n_heads, -1, width)[:, : lens[layer]]
            .copy(order="C")
            if len(table)
            else np.empty((n_heads, 0, width), dtype=np.float16)
            for x in "kv"
        )

    def free(self, seq_id):
        for block in self._state(seq_id)[0]:
            self._do("tl_kv_unref", block)
        self._all[seq_id] = None  # remembered, so that no id is given twice

    def close(self):
        if self._pool is not None:
            self._do("tl_kv_pool_destroy")
        self._pool = None

    def __enter__(self):
        self.pool
        return self

    def __exit__(self, kind, error, trace):
        self.close()
        return False
