"""L7.7: attention with a sliding window and attention sinks, the specification in numpy.

The C kernels are compared with these two functions, so accuracy counts here and speed does not.
Nothing is written to an argument, and results never share memory with one.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

def sink_window_mask(
    Tq: int, Tk: int, window: int | None, n_sink: int = 0, q_offset: int = 0
) -> NDArray[np.bool_]:
    """Say which keys each query may see: bool [Tq, Tk], True where visible.

    Query i stands at position p = q_offset + i, key j at position j. Key j is visible when

    - it is not in the future: j <= p; and
    - it is among the newest `window` positions, p itself included (p - window < j), or it is one
      of the first `n_sink` positions (j < n_sink). A window that is None, zero or negative cuts
      nothing.

    A sink is still causal: a query before it does not see it. Tq or Tk may be 0, which gives an
    empty mask. ValueError: Tq, Tk, n_sink or q_offset is negative.
    """

def windowed_attention(
    q: ArrayLike,
    k: ArrayLike,
    v: ArrayLike,
    window: int | None = None,
    n_sink: int = 0,
    sink_logits: ArrayLike | None = None,
    q_offset: int = 0,
    scale: float | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Attend under `sink_window_mask(Tq, Tk, window, n_sink, q_offset)`; return (out, lse).

    q is [B, H, Tq, D]; k and v are [B, Hkv, Tk, D]; any real dtype, converted to float64 before
    the first product. Query head h reads KV head h // (H // Hkv). out [B, H, Tq, D] and
    lse [B, H, Tq] are float64 whatever the inputs are: rounding the specification to float32
    would cost its callers half of their tolerance.

    For a query of head h and the keys j that it sees, with s_j = scale * (q . k_j):

        lse = log(sum_j exp(s_j) + exp(sink_logits[h]))
        out = sum_j exp(s_j - lse) * v_j

    `scale` None means 1 / sqrt(D). `sink_logits`, [H] or None, is a score without a value: it
    takes weight away from the keys and is not multiplied by `scale`; None leaves its term out.
    (`n_sink` keeps real positions visible and is a different thing.) Large scores must not
    overflow: shift by the maximum. A query that sees no key has out 0 and lse
    `sink_logits[h]`, which is -inf without a sink. What stands at an invisible position, NaN
    included, has no influence.

    B, H, Tq and Tk may be 0. ValueError: q, k or v is not of rank 4; k and v differ in shape;
    k and q differ in B or D; D is 0; Hkv is 0 or does not divide H; sink_logits is not [H]; or a
    number that `sink_window_mask` refuses.
    """
