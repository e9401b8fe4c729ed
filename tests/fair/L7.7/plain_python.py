# Lists, math.fsum and one loop per index; numpy only at the border.
# ruff: noqa
import math

import numpy as np


def _sees(p, j, window, n_sink):
    if j > p:
        return False
    if window is None or window <= 0:
        return True
    return j < n_sink or p - j < window


def sink_window_mask(Tq, Tk, window, n_sink=0, q_offset=0):
    if any(n < 0 for n in (Tq, Tk, n_sink, q_offset)):
        raise ValueError("a size or an offset is negative")
    rows = [[_sees(q_offset + i, j, window, n_sink) for j in range(Tk)] for i in range(Tq)]
    return np.array(rows, dtype=bool).reshape(Tq, Tk)


class _Row:
    def __init__(self, q, scale, sink):
        self.q, self.scale, self.sink = q, scale, sink

    def over(self, keys, vals):
        s = [self.scale * math.fsum(a * b for a, b in zip(self.q, k)) for k in keys]
        top = max(s + [self.sink])
        if top == -math.inf:
            return [0.0] * len(self.q), -math.inf
        w = [math.exp(x - top) for x in s]
        z = math.fsum(w) + math.exp(self.sink - top)
        out = [math.fsum(a * v[d] for a, v in zip(w, vals)) / z for d in range(len(self.q))]
        return out, top + math.log(z)


def windowed_attention(q, k, v, window=None, n_sink=0, sink_logits=None, q_offset=0, scale=None):
    shapes = [np.shape(x) for x in (q, k, v)]
    if len(shapes[0]) != 4 or len(shapes[1]) != 4 or shapes[1] != shapes[2]:
        raise ValueError(str(shapes))
    (B, H, Tq, D), (B2, Hkv, Tk, D2) = shapes[:2]
    if B != B2 or D != D2 or D == 0 or Hkv == 0 or H % Hkv:
        raise ValueError(str(shapes))
    if sink_logits is not None and np.shape(sink_logits) != (H,):
        raise ValueError("sink_logits is not [H]")
    sinks = [-math.inf] * H if sink_logits is None else [float(x) for x in sink_logits]
    mask = sink_window_mask(Tq, Tk, window, n_sink, q_offset).tolist()
    q, k, v = (np.asarray(x, dtype=np.float64).tolist() for x in (q, k, v))
    c = 1 / math.sqrt(D) if scale is None else float(scale)
    out, lse = np.zeros((B, H, Tq, D)), np.zeros((B, H, Tq))
    for b in range(B):
        for h in range(H):
            g = h * Hkv // H
            for i in range(Tq):
                seen = [j for j in range(Tk) if mask[i][j]]
                row = _Row(q[b][h][i], c, sinks[h])
                out[b, h, i], lse[b, h, i] = row.over(
                    [k[b][g][j] for j in seen], [v[b][g][j] for j in seen]
                )
    return out, lse
