# The running softmax of FlashAttention in float64: one key after the other, for all rows that see it.
# ruff: noqa
from __future__ import annotations

import numpy as np


def _window(window: int | None) -> int | None:
    return window if window and window > 0 else None


def sink_window_mask(Tq, Tk, window, n_sink=0, q_offset=0):
    if Tq < 0 or Tk < 0 or n_sink < 0 or q_offset < 0:
        raise ValueError("negative")
    mask = np.zeros((Tq, Tk), dtype=bool)
    w = _window(window)
    for i in range(Tq):
        p = q_offset + i
        end = min(p + 1, Tk)
        start = 0 if w is None else max(p - w + 1, 0)
        mask[i, min(start, end) : end] = True
        mask[i, : min(n_sink, end)] = True
    return mask


def windowed_attention(q, k, v, window=None, n_sink=0, sink_logits=None, q_offset=0, scale=None):
    q, k, v = np.asarray(q), np.asarray(k), np.asarray(v)
    if (
        q.ndim != 4
        or k.ndim != 4
        or v.shape != k.shape
        or q.shape[0] != k.shape[0]
        or q.shape[3] != k.shape[3]
    ):
        raise ValueError(f"q {q.shape}, k {k.shape}, v {v.shape}")
    B, H, Tq, D = q.shape
    _, Hkv, Tk, _ = k.shape
    if D == 0 or Hkv == 0 or H % Hkv != 0:
        raise ValueError(f"q {q.shape}, k {k.shape}")
    mask = sink_window_mask(Tq, Tk, window, n_sink, q_offset)
    if scale is None:
        scale = 1 / np.sqrt(np.float64(D))
    m = np.full((B, H, Tq), -np.inf)
    total = np.zeros((B, H, Tq))
    if sink_logits is not None:
        sink_logits = np.asarray(sink_logits, dtype=np.float64)
        if sink_logits.shape != (H,):
            raise ValueError("sink_logits")
        m = np.where(np.isneginf(m), sink_logits[None, :, None], m)
        total = np.where(np.isneginf(m), 0.0, 1.0)
    acc = np.zeros((B, H, Tq, D))
    head = np.arange(H) // max(H // Hkv, 1)
    for j in range(Tk):
        rows = np.flatnonzero(mask[:, j])
        if rows.size == 0:
            continue
        kj = k[:, head, j].astype(np.float64)[:, :, None]
        vj = v[:, head, j].astype(np.float64)[:, :, None]
        s = scale * (q[:, :, rows].astype(np.float64) * kj).sum(-1)
        old = m[:, :, rows]
        new = np.maximum(old, s)
        alpha = np.where(np.isneginf(old), 0.0, np.exp(np.where(np.isneginf(old), 0.0, old - new)))
        w = np.exp(s - new)
        m[:, :, rows] = new
        total[:, :, rows] = total[:, :, rows] * alpha + w
        acc[:, :, rows] = acc[:, :, rows] * alpha[..., None] + w[..., None] * vj
    empty = total == 0
    safe = np.where(empty, 1.0, total)
    return acc / safe[..., None], np.where(empty, -np.inf, np.where(empty, 0.0, m) + np.log(safe))
