"""L7.7 at its limits: accuracy, rows without keys, hidden values, large scores, empty sizes, refusals."""

import math

import numpy as np
from olrand import Rand
from test_window import ROWS, check_attention, check_mask, draw


def test_inputs_of_every_real_type(ol):
    whole = [np.rint(x) for x in draw(ol.seed, (1, 2, 3, 4), Hkv=1, Tk=3)]
    for dtype in ("int8", "uint16", "int64"):
        x = [abs(a).astype(dtype) for a in whole]
        check_attention(ol, dtype, *x, sink_logits=np.array([1, 0]))
    for dtype in ("float16", "float32", "float64", ">f4"):
        x = draw(ol.seed, (1, 2, 6, 64), Hkv=1, Tk=6, dtype=dtype)
        check_attention(ol, dtype, *x, sink_logits=Rand(ol.seed).half(2).astype(dtype))
    q, k, v = draw(ol.seed, (1, 2, 3, 4), Hkv=2, Tk=5)
    check_attention(ol, "lists", q.tolist(), k.tolist(), v.tolist(), q_offset=2, sink_logits=[1, 2])
    turned = [np.asfortranarray(q), k[:, :, ::-1], v.swapaxes(0, 1).copy().swapaxes(0, 1)]
    check_attention(ol, "arrays with other strides", *turned, q_offset=2)


def test_rows_that_see_no_key(ol):
    q = np.ones((2, 2, 3, 4))
    nothing = np.full((2, 1, 2, 4), np.nan)
    beyond = {"window": 1, "q_offset": 5}
    check_attention(ol, "past the keys", q, nothing, nothing, **beyond)
    check_attention(ol, "past the keys, sinks", q, nothing, nothing, sink_logits=[2.0, -800.0], **beyond)
    one_sink = [-math.inf, 0.5]
    check_attention(ol, "past the keys, one sink", q, nothing, nothing, sink_logits=one_sink, **beyond)
    _, k, v = draw(ol.seed, q.shape, Hkv=1, Tk=2)
    check_attention(ol, "only row 0 sees a key", q, k, v, window=1, q_offset=1)
    check_attention(ol, "only row 0, sinks", q, k, v, window=1, q_offset=1, sink_logits=one_sink)
    none = np.empty((2, 1, 0, 4))
    check_attention(ol, "no keys", q, none, none)
    check_attention(ol, "no keys, sinks", q, none, none, sink_logits=[0.25, -1.0])


def test_hidden_positions_have_no_influence(ol):
    q, k, v = draw(ol.seed, (1, 2, 3, 4), Hkv=1, Tk=12)
    junk = (np.nan, np.inf, -np.inf, 1e308)
    for hidden in (*range(2, 5), *range(10, 12)):  # rows at 7, 8, 9 see 0, 1 and from 5 on
        k[0, 0, hidden], v[0, 0, hidden] = junk[hidden % 4], junk[(hidden + 1) % 4]
    check_attention(ol, "junk where no row looks", q, k, v, window=3, n_sink=2, q_offset=7)
    q, k, v = draw(ol.seed, (1, 2, 4, 3), Hkv=1, Tk=4)
    k[0, 0, 2], v[0, 0, 2] = np.nan, np.inf
    check_attention(ol, "junk in the future of rows 0 and 1", q, k, v, rows=slice(0, 2))
    check_attention(ol, "junk behind the window of row 3", q, k, v, rows=slice(3, 4), window=1)


def test_large_scores_do_not_overflow(ol):
    one = np.ones((1, 2, 3, 1))
    for level in (-2000.0, 0.0, 2000.0):
        k = level + np.arange(3.0).reshape(1, 1, 3, 1)
        v = np.array([1.0, 2.0, 4.0]).reshape(1, 1, 3, 1)
        sinks = [level + 1, level - 1]
        check_attention(ol, f"scores at {level}", one, k, v, scale=1.0)
        check_attention(ol, f"scores and sinks at {level}", one, k, v, scale=1.0, sink_logits=sinks)
        far = [level + 3000, level - 3000]
        check_attention(ol, f"scores at {level}, far sinks", one, k, v, scale=1.0, sink_logits=far)
    steep = np.array([0.0, 1e6, -1e6]).reshape(1, 1, 3, 1)
    check_attention(ol, "scores a million apart", one, steep, np.ones((1, 1, 3, 1)), scale=1.0)


def test_empty_sizes(ol):
    for Tq, Tk in ((0, 3), (3, 0), (0, 0)):
        check_mask(ol, Tq, Tk, 2, 1, 4)
        check_mask(ol, Tq, Tk, None)
    check_attention(ol, "no batch", np.empty((0, 2, 3, 4)), *2 * [np.empty((0, 1, 5, 4))])
    check_attention(ol, "no heads", np.empty((2, 0, 3, 4)), *2 * [np.empty((2, 1, 5, 4))])
    check_attention(ol, "no queries", np.empty((2, 2, 0, 4)), *2 * [np.ones((2, 1, 5, 4))])


def test_arguments_stay_untouched_and_results_are_new(ol):
    x = [*draw(ol.seed, (1, 2, 3, 4), Hkv=2, Tk=3), np.array([0.5, -0.5])]
    names = ("q", "k", "v", "sink_logits")
    # At offset 20 a window of 1 hides all keys: lse is the sink logits then, but not their memory.
    for q_offset in (0, 20):
        ol.note(f"float64 arguments, window 1, q_offset {q_offset}")
        given = [a.copy() for a in x]
        if ol.unit:
            from tinyllm.modern.window import windowed_attention

            results = windowed_attention(*given[:3], window=1, sink_logits=given[3], q_offset=q_offset)
            shared = [
                n for n, a in zip(names, given, strict=True) for r in results if np.shares_memory(r, a)
            ]
            ol.saw_text("arguments whose memory a result shares", " ".join(shared))
            for name, a in zip(names, given, strict=True):
                ol.saw_f64(f"{name} after the call", a)
        if ol.oracle:
            ol.want_text("arguments whose memory a result shares", "")
            for name, a in zip(names, x, strict=True):
                ol.want_bits_f64(f"{name} after the call", a)
    for a in x:
        a.flags.writeable = False
    check_attention(ol, "arguments for reading only", *x[:3], window=2, sink_logits=x[3])


def call(**changes):
    """A call of windowed_attention that is valid but for `changes`."""
    from tinyllm.modern.window import windowed_attention

    shapes = {"q": (2, 4, 3, 5), "k": (2, 2, 6, 5), "v": (2, 2, 6, 5)}
    arrays = {name: np.zeros(changes.pop(name, shape)) for name, shape in shapes.items()}
    return windowed_attention(**arrays, **changes)


def test_refuses_wrong_shapes(ol):
    def refused(name, **changes):
        ol.raises(name, "ValueError", lambda: call(**changes))

    ol.note("q [2, 4, 3, 5], k and v [2, 2, 6, 5], but for one change")
    refused("q of rank 3", q=(4, 3, 5))
    refused("q of rank 5", q=(1, 2, 4, 3, 5))
    refused("k and v of rank 3", k=(2, 6, 5), v=(2, 6, 5))
    refused("more keys than values", k=(2, 2, 7, 5))
    refused("one value for all keys", v=(2, 2, 1, 5))
    refused("values wider than keys", v=(2, 2, 6, 7))
    refused("v with half of the KV heads", v=(2, 1, 6, 5))
    refused("a batch of 1 in k and v", k=(1, 2, 6, 5), v=(1, 2, 6, 5))
    refused("a batch of 1 in q", q=(1, 4, 3, 5))
    refused("k and v of width 1", k=(2, 2, 6, 1), v=(2, 2, 6, 1))
    refused("q of width 1", q=(2, 4, 3, 1))
    refused("width 0", q=(2, 4, 3, 0), k=(2, 2, 6, 0), v=(2, 2, 6, 0))
    refused("4 query heads, 3 KV heads", k=(2, 3, 6, 5), v=(2, 3, 6, 5))
    refused("4 query heads, 8 KV heads", k=(2, 8, 6, 5), v=(2, 8, 6, 5))
    refused("4 query heads, no KV head", k=(2, 0, 6, 5), v=(2, 0, 6, 5))


def test_refuses_wrong_options(ol):
    def refused(name, **changes):
        ol.raises(name, "ValueError", lambda: call(**changes))

    def mask(*arguments):
        from tinyllm.modern.window import sink_window_mask

        return sink_window_mask(*arguments)

    for n, name in enumerate(("Tq", "Tk", "n_sink", "q_offset")):
        sizes = [2, 3, 1, 4]
        sizes[n] = -1
        Tq, Tk, n_sink, q_offset = sizes
        ol.raises(
            f"sink_window_mask, {name} -1",
            "ValueError",
            lambda Tq=Tq, Tk=Tk, n_sink=n_sink, q_offset=q_offset: mask(Tq, Tk, 2, n_sink, q_offset),
        )
    ol.raises("no window, n_sink -1", "ValueError", lambda: mask(2, 3, None, -1))
    ol.raises("no queries, q_offset -1", "ValueError", lambda: mask(0, 3, None, 0, -1))
    ol.note("windowed_attention with 4 query heads")
    refused("n_sink -1", n_sink=-1)
    refused("q_offset -1", q_offset=-1)
    refused("one sink logit for all heads", sink_logits=[0.0])
    refused("a number as sink logit", sink_logits=0.5)
    refused("a sink logit for each KV head", sink_logits=[0.0, 1.0])
    refused("sink logits of rank 2", sink_logits=np.zeros((1, 4)))
    refused("a sink logit too many", sink_logits=[0.0] * 5)


def test_lse_lets_parts_be_merged(ol):
    q, k, v = draw(ol.seed, (1, 2, 3, 4), Hkv=2, Tk=10)
    sinks = np.array([0.5, -1.0])
    ol.note("keys 0 to 5 and keys 6 to 9 apart, merged by their lse; the sink counts in the first part")
    if ol.unit:
        from tinyllm.modern.window import windowed_attention

        old = windowed_attention(q, k[:, :, :6], v[:, :, :6], q_offset=7, sink_logits=sinks)
        new = windowed_attention(q, k[:, :, 6:], v[:, :, 6:], q_offset=1)
        lse = np.logaddexp(old[1], new[1])
        out = sum(np.exp(part_lse - lse)[..., None] * part for part, part_lse in (old, new))
        ol.saw_f64("merged out", out, (*ROWS, "d"))
        ol.saw_f64("merged lse", lse, ROWS)
    if ol.oracle:
        weights = np.exp(np.einsum("bhid,bhjd->bhij", q, k) / 2)  # 1 / sqrt(4)
        i, j = np.ogrid[:3, :10]
        weights = np.where(j <= 7 + i, weights, 0.0)
        total = weights.sum(axis=-1) + np.exp(sinks)[:, None]
        want = np.einsum("bhij,bhjd->bhid", weights, v) / total[..., None]
        ol.want_close_f64("merged out", want, rtol=1e-11, atol=1e-12)
        ol.want_close_f64("merged lse", np.log(total), rtol=1e-11, atol=1e-12)
