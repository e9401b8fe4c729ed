# All scores at once with einsum, masks through np.where; products at hidden places are replaced, not multiplied by 0.
# ruff: noqa
import numpy as np


def sink_window_mask(Tq, Tk, window, n_sink=0, q_offset=0):
    for number in (Tq, Tk, n_sink, q_offset):
        if number < 0:
            raise ValueError(f"{number} is negative")
    p = np.arange(q_offset, q_offset + Tq).reshape(-1, 1)
    j = np.arange(Tk).reshape(1, -1)
    if window is None or window <= 0:
        return j <= p
    return (j <= p) & ((j > p - window) | (j < n_sink))


def windowed_attention(q, k, v, window=None, n_sink=0, sink_logits=None, q_offset=0, scale=None):
    q = np.array(q, dtype=float)
    k = np.array(k, dtype=float)
    v = np.array(v, dtype=float)
    if not q.ndim == k.ndim == v.ndim == 4:
        raise ValueError("rank")
    if k.shape != v.shape:
        raise ValueError("k and v differ")
    B, H, Tq, D = q.shape
    if D == 0 or k.shape[0] != B or k.shape[3] != D:
        raise ValueError("batch or width")
    Hkv, Tk = k.shape[1], k.shape[2]
    if Hkv < 1 or H % Hkv:
        raise ValueError("heads")
    see = sink_window_mask(Tq, Tk, window, n_sink, q_offset)
    k = np.repeat(k, H // Hkv, axis=1)
    v = np.repeat(v, H // Hkv, axis=1)
    with np.errstate(all="ignore"):
        s = np.einsum("bhid,bhjd->bhij", q, k) * (D**-0.5 if scale is None else scale)
        s = np.where(see, s, -np.inf)
        if sink_logits is None:
            sink = np.full((1, H, 1, 1), -np.inf)
        else:
            sink = np.array(sink_logits, dtype=float)
            if sink.shape != (H,):
                raise ValueError("sink_logits")
            sink = sink.reshape(1, H, 1, 1)
        everything = np.concatenate([np.broadcast_to(sink, (B, H, Tq, 1)), s], axis=-1)
        lse = np.logaddexp.reduce(everything, axis=-1)
        w = np.exp(s - np.where(lse == -np.inf, 0, lse)[..., None])
        products = w[..., None] * v[:, :, None]
        out = np.where(see[..., None], products, 0).sum(axis=3)
    return out, lse
