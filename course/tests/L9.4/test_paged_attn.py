"""L9.4 from Python: the cache of L8.3 writes the blocks, the kernel reads them."""

import ctypes

import numpy as np

TL_OK = 0
Q = [1.0, 0.0]
K = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]
V = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]


def decode(lib):
    """The kernel with its prototype."""
    pointer, i64 = ctypes.c_void_p, ctypes.c_int64
    kernel = lib["tl_paged_attn_decode_f32"]
    kernel.restype = ctypes.c_int32
    kernel.argtypes = [pointer, pointer, ctypes.c_uint32, pointer, ctypes.c_int32, pointer, pointer]
    kernel.argtypes += [i64, i64, i64, i64, ctypes.c_float, i64, pointer]
    return kernel


def write(cache):
    """Section 3 of the chapter, a position at a time, while another sequence takes blocks in between."""
    neighbour, seq = cache.add_seq(), cache.add_seq()
    noise = np.full((1, 2, 2), 7.0)
    for k, v in zip(K, V, strict=True):
        cache.append(neighbour, 0, noise, -noise)
        cache.append(seq, 0, np.reshape(k, (1, 1, 2)), np.reshape(v, (1, 1, 2)))
    return seq


def test_hand_example(ol):
    q = np.array(Q, dtype=np.float32).reshape(1, 1, 2)
    out = ol.sentinel_f32((1, 1, 2))
    lens = np.array([len(K)], dtype=np.int32)
    ol.note("section 3 written through PagedKVCache: D = 2, blocks of 2 positions, one sequence of 3")
    if ol.unit:
        from tinyllm.infer.paged import PagedKVCache

        cache = PagedKVCache(ol.lib, num_blocks=8, block_size=2, n_layers=1, n_kv_heads=1, d_head=2)
        seq = write(cache)
        table = np.ascontiguousarray(cache.block_table(seq), dtype=np.uint32)
        ol.saw_int("positions in the cache", cache.seq_len(seq))
        ol.saw_int("blocks in the table", len(table))
        kernel, pool = decode(ol.lib), cache.pool
    ol.status(
        "tl_paged_attn_decode_f32(q, cache.pool, 0, cache.block_table(seq), ...)",
        TL_OK,
        lambda: kernel(
            *(q.ctypes.data, pool, 0, table.ctypes.data, len(table), lens.ctypes.data, out.ctypes.data),
            *(1, 1, 1, 2, 1.0, 0, None),
        ),
    )
    if ol.unit:
        ol.saw_f32("out", out, ("sequence", "head", "d"))
        ol.saw_f32("out, by hand", out, ("sequence", "head", "d"))
    if ol.oracle:
        from tinyllm.modern.window import windowed_attention

        k, v = np.reshape(K, (1, 1, 3, 2)), np.reshape(V, (1, 1, 3, 2))
        want, _ = windowed_attention(q[:, :, None], k, v, q_offset=2, scale=1.0)
        ol.want_int("positions in the cache", 3)
        ol.want_int("blocks in the table", 2)
        ol.want_close_f32("out", want, rtol=0, atol=1e-6)
        ol.want_close_f32("out, by hand", [3.0, 4.0], rtol=0, atol=1e-6)
