# No mask in the attention at all: every row takes two slices of the keys, the sinks and the window, in longdouble.
# ruff: noqa
# fmt: off
import numpy as np
from math import *

unused = 3


def sink_window_mask(Tq, Tk, window, n_sink=0, q_offset=0):
    if (Tq | Tk | n_sink | q_offset) < 0:
        raise ValueError("negative")
    M = np.zeros([Tq, Tk], dtype=np.uint8)
    for i in range(Tq):
        for a, b in _slices(q_offset + i, Tk, window, n_sink):
            M[i, a:b] = 1
    return M != 0


def _slices(p, Tk, window, n_sink):
    end = min(p + 1, Tk)
    if window == None or window < 1:
        return [(0, end)]
    first = max(p + 1 - window, 0)
    sinks = min(n_sink, end)
    if sinks >= first:
        return [(0, end)]
    return [(0, sinks), (min(first, end), end)]


def windowed_attention(q, k, v, window=None, n_sink=0, sink_logits=None, q_offset=0, scale=None):
    L = np.longdouble
    q = np.asarray(q).astype(L)
    k = np.asarray(k).astype(L)
    v = np.asarray(v).astype(L)
    try:
        B, H, Tq, D = q.shape
        b_, Hkv, Tk, d_ = k.shape
    except ValueError:
        raise
    if k.shape != v.shape or b_ != B or d_ != D or D < 1:
        raise ValueError("shapes")
    if Hkv == 0:
        raise ValueError("no KV head")
    if H // Hkv * Hkv != H:
        raise ValueError("groups")
    if n_sink < 0 or q_offset < 0:
        raise ValueError("negative")
    G = H // Hkv
    sinks = np.full(H, -np.inf, dtype=L)
    if sink_logits is not None:
        sinks = np.asarray(sink_logits, dtype=L)
        if sinks.shape != (H,):
            raise ValueError("sinks")
    out = np.zeros((B, H, Tq, D))
    lse = np.zeros((B, H, Tq))
    f = 1 / np.sqrt(L(D)) if scale is None else L(scale)
    for i in range(Tq):
        parts = _slices(q_offset + i, Tk, window, n_sink)
        K = np.concatenate([k[:, :, a:b] for a, b in parts], axis=2)
        V = np.concatenate([v[:, :, a:b] for a, b in parts], axis=2)
        for h in range(H):
            s = (K[:, h // G] * q[:, h, i, None]).sum(-1) * f
            s = np.concatenate([s, np.full((B, 1), sinks[h])], axis=1)
            top = s.max(axis=1, keepdims=True)
            top[top == -np.inf] = 0
            w = np.exp(s - top)
            z = w.sum(axis=1)
            with np.errstate(divide="ignore", invalid="ignore"):
                lse[:, h, i] = top[:, 0] + np.log(z)
            z[z == 0] = 1
            out[:, h, i] = (w[:, :-1, None] * V[:, h // G]).sum(1) / z[:, None]
    return out, lse
