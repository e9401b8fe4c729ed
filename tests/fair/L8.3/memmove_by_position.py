# Raw memmove for each head and position, a dictionary per position, blocks copied one at a time and handed back on failure.
# ruff: noqa
# fmt: off
import ctypes, math
import numpy as np

class OutOfBlocks(RuntimeError): pass

class KVStats:
    free = used = cached = evictions = 0

class S(ctypes.Structure):
    _fields_ = [(n, ctypes.c_uint32) for n in ('free', 'used', 'cached', 'evictions')]

class PagedKVCache:
    def __init__(self, lib, num_blocks, block_size, n_layers, n_kv_heads, d_head):
        self.closed = True
        self.c = c = (num_blocks, block_size, n_layers, n_kv_heads, d_head)
        for x in c:
            if not (0 < x <= 4294967295): raise ValueError('dimension %r' % (x,))
        P = ctypes.c_void_p
        I = ctypes.c_int32
        U = ctypes.c_uint32
        def f(name, res, *args):
            g = lib[name]; g.restype = res; g.argtypes = args; return g
        self.f_create = f('tl_kv_pool_create', I, P, P)
        self.f_destroy = f('tl_kv_pool_destroy', None, P)
        self.f_alloc = f('tl_kv_alloc', I, P, U, P)
        self.f_ref = f('tl_kv_ref', None, P, U)
        self.f_unref = f('tl_kv_unref', I, P, U)
        self.f_cow = f('tl_kv_cow', I, P, U, P)
        self.f_fill = f('tl_kv_set_fill', I, P, U, U)
        self.f_ptr = f('tl_kv_block_ptr', P, P, U, U, ctypes.c_int)
        self.f_stats = f('tl_kv_stats_get', None, P, P)
        class Cfg(ctypes.Structure):
            _fields_ = [('a', U * 5), ('t', I), ('f', U)]
        self._p = P()
        cfg = Cfg((U * 5)(*c), 1, 1)
        st = self.f_create(ctypes.byref(cfg), ctypes.byref(self._p))
        if st != 0:
            raise MemoryError() if st == 2 else RuntimeError(st)
        self.closed = False
        self.where = {}     # id -> list of blocks
        self.n = {}         # (id, layer) -> length
        self.users = {}     # block -> set of ids
        self.last = 0

    def alive(self):
        if self.closed: raise RuntimeError('closed')

    def known(self, s, layer=0):
        self.alive()
        if s not in self.where: raise KeyError(s)
        if not 0 <= layer < self.c[2]: raise ValueError('layer')

    pool = property(lambda self: (self.alive(), self._p)[1])
    num_free_blocks = property(lambda self: self.stats().free + self.stats().cached)

    def stats(self):
        self.alive()
        s = S(); self.f_stats(self._p, ctypes.byref(s))
        r = KVStats()
        r.free, r.used, r.cached, r.evictions = s.free, s.used, s.cached, s.evictions
        return r

    def add_seq(self):
        self.alive()
        self.last += 1
        self.where[self.last] = []
        for l in range(self.c[2]): self.n[self.last, l] = 0
        return self.last

    def fork(self, s):
        self.known(s)
        t = self.add_seq()
        for b in self.where[s]:
            self.f_ref(self._p, b); self.users[b].add(t); self.where[t].append(b)
        for l in range(self.c[2]): self.n[t, l] = self.n[s, l]
        return t

    def address(self, b, layer, is_v, head, slot):
        return self.f_ptr(self._p, b, layer, is_v) + 2 * self.c[4] * (head * self.c[1] + slot)

    def append(self, s, layer, k, v):
        self.known(s, layer)
        _, B, L, H, D = self.c
        old = np.seterr(over='ignore')
        try:
            kv = [np.ascontiguousarray(np.asarray(x).astype(np.float16)) for x in (k, v)]
        finally:
            np.seterr(**old)
        if [np.asarray(x).ndim for x in (k, v)] != [3, 3] or kv[0].shape != kv[1].shape: raise ValueError('shape')
        if kv[0].shape[0] != H or kv[0].shape[2] != D: raise ValueError('shape')
        T = kv[0].shape[1]
        n = self.n[s, layer]
        table = self.where[s]
        need = 0
        for i in sorted({j // B for j in range(n, n + T)}):
            if i >= len(table) or len(self.users[table[i]]) > 1: need += 1
        if need > self.num_free_blocks: raise OutOfBlocks('%d needed' % need)
        for j in range(n, n + T):
            i = j // B
            w = ctypes.c_uint32()
            if i == len(table):
                if self.f_alloc(self._p, 1, ctypes.byref(w)): raise AssertionError
                self.users[w.value] = {s}; table.append(w.value)
            elif len(self.users[table[i]]) > 1:
                b = table[i]
                if self.f_cow(self._p, b, ctypes.byref(w)): raise AssertionError
                self.users[b].discard(s); self.users[w.value] = {s}; table[i] = w.value
            for is_v in 0, 1:
                for h in range(H):
                    src = kv[is_v].ctypes.data + 2 * D * (h * T + j - n)
                    ctypes.memmove(self.address(table[i], layer, is_v, h, j % B), src, 2 * D)
            self.n[s, layer] += 1
            whole = min(self.n[s, l] for l in range(L))
            self.f_fill(self._p, table[i], max(0, min(B, whole - i * B)))

    def block_table(self, s):
        self.known(s)
        return np.array(self.where[s], dtype='uint32')

    def seq_len(self, s, layer=0):
        self.known(s, layer)
        return self.n[s, layer]

    def gather(self, s, layer):
        self.known(s, layer)
        _, B, L, H, D = self.c
        n = self.n[s, layer]
        out = []
        for is_v in 0, 1:
            a = np.empty((H, n, D), np.float16)
            for h in range(H):
                for j in range(n):
                    ctypes.memmove(a.ctypes.data + 2 * D * (h * n + j), self.address(self.where[s][j // B], layer, is_v, h, j % B), 2 * D)
            out.append(a)
        return tuple(out)

    def free(self, s):
        self.known(s)
        for b in self.where.pop(s):
            self.users[b].discard(s)
            self.f_unref(self._p, b)

    def close(self):
        if not self.closed:
            self.closed = True
            self.f_destroy(self._p)
            self._p = None

    def __enter__(self):
        self.alive()
        return self

    def __exit__(self, *a):
        self.close()
