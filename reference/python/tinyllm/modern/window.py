"""Attention with a sliding window and sinks, written for clarity and accuracy.

This is what the fast kernels are compared with, so it takes no shortcut: float64 throughout, one
query position at a time, and only the keys which that position may see.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

_Floats = NDArray[np.float64]


def sink_window_mask(
    Tq: int, Tk: int, window: int | None, n_sink: int = 0, q_offset: int = 0
) -> NDArray[np.bool_]:
    """Which of Tk keys each of Tq queries may see; the contract has the rules."""
    if min(Tq, Tk, n_sink, q_offset) < 0:
        raise ValueError("Tq, Tk, n_sink and q_offset must not be negative")
    query = q_offset + np.arange(Tq)[:, None]
    key = np.arange(Tk)[None, :]
    visible = key <= query
    if window is not None and window > 0:
        visible &= (query - key < window) | (key < n_sink)
    return visible


def windowed_attention(
    q: ArrayLike,
    k: ArrayLike,
    v: ArrayLike,
    window: int | None = None,
    n_sink: int = 0,
    sink_logits: ArrayLike | None = None,
    q_offset: int = 0,
    scale: float | None = None,
) -> tuple[_Floats, _Floats]:
    """Attention output [B, H, Tq, D] and log-sum-exp [B, H, Tq], both float64."""
    q, k, v = (np.asarray(x, dtype=np.float64) for x in (q, k, v))
    _check_shapes(q, k, v)
    B, H, Tq, D = q.shape
    Hkv, Tk = k.shape[1:3]
    mask = sink_window_mask(Tq, Tk, window, n_sink, q_offset)
    sinks = _sink_row(sink_logits, H).reshape(Hkv, -1)
    factor = 1.0 / math.sqrt(D) if scale is None else scale
    # Consecutive query heads share a KV head, so splitting H puts each group beside its keys.
    grouped = (q * factor).reshape(B, Hkv, H // Hkv, Tq, D)
    out = np.empty_like(grouped)
    lse = np.empty(grouped.shape[:-1])
    for i, seen in enumerate(mask):
        out[..., i, :], lse[..., i] = _attend(grouped[..., i, :], k[:, :, seen], v[:, :, seen], sinks)
    return out.reshape(q.shape), lse.reshape(B, H, Tq)


def _attend(q: _Floats, k: _Floats, v: _Floats, sinks: _Floats) -> tuple[_Floats, _Floats]:
    """One scaled query per head, q [B, Hkv, G, D], against keys k, v [B, Hkv, n, D]."""
    scores = q @ k.swapaxes(-1, -2)
    top = np.maximum(scores.max(axis=-1, initial=-np.inf), sinks)
    # Where nothing is visible the maximum is -inf, and -inf - -inf would be NaN.
    shift = np.where(np.isneginf(top), 0.0, top)
    weights = np.exp(scores - shift[..., None])
    total = weights.sum(axis=-1) + np.exp(sinks - shift)
    nothing = total == 0.0
    out = (weights @ v) / np.where(nothing, 1.0, total)[..., None]
    lse = np.where(nothing, -np.inf, shift + np.log(np.where(nothing, 1.0, total)))
    return out, lse


def _sink_row(sink_logits: ArrayLike | None, H: int) -> _Floats:
    """One logit per head; no sink is a logit of -inf, whose weight is zero."""
    if sink_logits is None:
        return np.full(H, -np.inf)
    sinks = np.asarray(sink_logits, dtype=np.float64)
    if sinks.shape != (H,):
        raise ValueError(f"sink_logits must have shape ({H},), got {sinks.shape}")
    return sinks


def _check_shapes(q: _Floats, k: _Floats, v: _Floats) -> None:
    if q.ndim != 4 or k.ndim != 4 or k.shape != v.shape:
        raise ValueError(
            f"q must be [B, H, Tq, D] and k, v [B, Hkv, Tk, D]; got {q.shape}, {k.shape}, {v.shape}"
        )
    B, H, _, D = q.shape
    Hkv = k.shape[1]
    if (k.shape[0], k.shape[3]) != (B, D) or D == 0:
        raise ValueError(f"k {k.shape} must have the batch and the width of q {q.shape}")
    if Hkv == 0 or H % Hkv != 0:
        raise ValueError(f"{H} query heads cannot share {Hkv} KV heads evenly")
