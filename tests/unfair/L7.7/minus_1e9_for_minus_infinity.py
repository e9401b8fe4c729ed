# Hidden scores get -1e9 added instead of being left out: rows that see nothing average everything, hidden NaN spreads.
# ruff: noqa
import numpy as np


def sink_window_mask(Tq, Tk, window, n_sink=0, q_offset=0):
    if min(Tq, Tk, n_sink, q_offset) < 0:
        raise ValueError("negative")
    p, j = q_offset + np.arange(Tq)[:, None], np.arange(Tk)
    if window is None or window <= 0:
        return j <= p
    return (j <= p) & ((p - j < window) | (j < n_sink))


def windowed_attention(q, k, v, window=None, n_sink=0, sink_logits=None, q_offset=0, scale=None):
    q, k, v = (np.asarray(x, dtype=np.float64) for x in (q, k, v))
    if q.ndim != 4 or k.ndim != 4 or k.shape != v.shape:
        raise ValueError("rank")
    B, H, Tq, D = q.shape
    Hkv, Tk = k.shape[1:3]
    if k.shape[0] != B or k.shape[3] != D or D == 0 or Hkv == 0 or H % Hkv:
        raise ValueError("shapes")
    k, v = (np.repeat(x, H // Hkv, axis=1) for x in (k, v))
    mask = sink_window_mask(Tq, Tk, window, n_sink, q_offset)
    s = np.einsum("bhid,bhjd->bhij", q, k) * (1 / np.sqrt(D) if scale is None else scale)
    s = s + np.where(mask, 0, -1e9)
    sinks = np.full(H, -np.inf) if sink_logits is None else np.asarray(sink_logits, dtype=np.float64)
    if sinks.shape != (H,):
        raise ValueError("sinks")
    top = np.maximum(s.max(axis=-1, initial=-np.inf), sinks[:, None])
    w = np.exp(s - top[..., None])
    total = w.sum(-1) + np.exp(sinks[:, None] - top)
    return np.einsum("bhij,bhjd->bhid", w, v) / total[..., None], top + np.log(total)
