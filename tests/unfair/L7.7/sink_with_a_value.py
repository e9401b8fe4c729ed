# The sink logit becomes a key of its own and takes a place in the softmax, but its value is the first value, not nothing.
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
    sinks = np.full(H, -np.inf) if sink_logits is None else np.asarray(sink_logits, dtype=np.float64)
    if sinks.shape != (H,):
        raise ValueError("sinks")
    mask = sink_window_mask(Tq, Tk, window, n_sink, q_offset)
    out, lse = np.zeros(q.shape), np.full((B, H, Tq), -np.inf)
    for b, h, i in np.ndindex(B, H, Tq):
        seen, g = mask[i], h // (H // Hkv)
        s = k[b, g, seen] @ q[b, h, i] * (1 / np.sqrt(D) if scale is None else scale)
        top = max(s.max(initial=-np.inf), sinks[h])
        if top > -np.inf:
            w = np.exp(s - top)
            total = w.sum() + np.exp(sinks[h] - top)
            out[b, h, i] = w @ v[b, g, seen] / total
            if Tk:
                out[b, h, i] += np.exp(sinks[h] - top) / total * v[b, g, 0]
            lse[b, h, i] = top + np.log(total)
    return out, lse
