"""L7.7: which keys a query may see, and attention over them, against the definition in plain loops."""

import math

import numpy as np
from olrand import Rand

POSITIONS = ("query", "key")
ROWS = ("batch", "head", "query")


def check_mask(ol, *arguments, **options):
    """One call of sink_window_mask, and key by key what the definition says."""
    given = [str(a) for a in arguments] + [f"{name}={value}" for name, value in options.items()]
    call = f"sink_window_mask({', '.join(given)})"
    ol.note(call)
    if ol.unit:
        from tinyllm.modern.window import sink_window_mask

        mask = sink_window_mask(*arguments, **options)
        ol.saw_form(f"type and shape of {call}", mask)
        ol.saw_u8(call, mask, POSITIONS)
    if ol.oracle:
        names = ("Tq", "Tk", "window", "n_sink", "q_offset")
        told = {"n_sink": 0, "q_offset": 0, **dict(zip(names, arguments, strict=False)), **options}

        def visible(p, j):
            cuts = told["window"] is not None and told["window"] > 0
            is_new = not cuts or p - told["window"] < j
            return j <= p and (is_new or j < told["n_sink"])

        rows = range(told["q_offset"], told["q_offset"] + told["Tq"])
        want = [[visible(p, j) for j in range(told["Tk"])] for p in rows]
        ol.want_form(f"type and shape of {call}", "bool", (told["Tq"], told["Tk"]))
        ol.want_u8(call, np.array(want, dtype=bool))


def check_attention(ol, name, q, k, v, *, rows=slice(None), rtol=1e-11, atol=1e-12, **options):
    """One call of windowed_attention, and row by row what the definition gives; `rows` of the queries
    are judged."""
    sizes = [list(np.shape(x)) for x in (q, k, v)]
    ol.note(f"{name}: q {sizes[0]}, k {sizes[1]}, v {sizes[2]}, {options}")
    if ol.unit:
        from tinyllm.modern.window import windowed_attention

        out, lse = windowed_attention(q, k, v, **options)
        ol.saw_form(f"{name}: type and shape of out", out)
        ol.saw_form(f"{name}: type and shape of lse", lse)
        ol.saw_f64(f"{name}: out", out[:, :, rows], (*ROWS, "d"))
        ol.saw_f64(f"{name}: lse", lse[:, :, rows], ROWS)
    if ol.oracle:
        q, k, v = (np.array(x, dtype=np.float64) for x in (q, k, v))
        (B, H, Tq, D), (Hkv, Tk) = q.shape, k.shape[1:3]
        option = {"window": None, "n_sink": 0, "q_offset": 0, "scale": None, **options}
        scale = 1 / math.sqrt(D) if option["scale"] is None else option["scale"]
        sinks = [float(x) for x in options.get("sink_logits", [-math.inf] * H)]
        window = Tk + Tq + option["q_offset"]  # cuts nothing
        if option["window"] is not None and option["window"] > 0:
            window = option["window"]
        want, want_lse = np.zeros((B, H, Tq, D)), np.empty((B, H, Tq))
        for b, h, i in np.ndindex(B, H, Tq):
            g, p = h // (H // Hkv), option["q_offset"] + i
            seen = [j for j in range(min(p + 1, Tk)) if p - window < j or j < option["n_sink"]]
            scores = [scale * math.fsum(q[b, h, i] * k[b, g, j]) for j in seen]
            top = max([*scores, sinks[h]])
            want_lse[b, h, i] = top
            if top > -math.inf:
                weights = [math.exp(s - top) for s in scores]
                total = math.fsum([*weights, math.exp(sinks[h] - top)])
                want_lse[b, h, i] = top + math.log(total)
                columns = v[b, g, seen].T
                want[b, h, i] = [math.fsum(np.multiply(weights, x)) / total for x in columns]
        ol.want_form(f"{name}: type and shape of out", "float64", want.shape)
        ol.want_form(f"{name}: type and shape of lse", "float64", want_lse.shape)
        ol.want_close_f64(f"{name}: out", want[:, :, rows], rtol=rtol, atol=atol)
        ol.want_close_f64(f"{name}: lse", want_lse[:, :, rows], rtol=rtol, atol=atol)


def draw(seed, q_shape, Hkv, Tk, dtype=np.float64):
    """Inputs from a seed."""
    rand, (B, _, _, D) = Rand(seed), q_shape
    shapes = (q_shape, (B, Hkv, Tk, D), (B, Hkv, Tk, D))
    return [(3 * rand.unit_f32(shape)).astype(dtype) for shape in shapes]


def test_hand_example(ol):
    q = np.array([1.0, 0.0]).reshape(1, 1, 1, 2)
    k = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.0, 0.0]]).reshape(1, 1, 4, 2)
    v = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]]).reshape(1, 1, 4, 2)
    sees = {"window": 2, "n_sink": 1, "q_offset": 3}
    ol.note("section 3: the query at position 3 sees keys 2 and 3, and key 0, which is a sink")
    if ol.unit:
        from tinyllm.modern.window import sink_window_mask, windowed_attention

        ol.saw_u8("mask", sink_window_mask(1, 4, **sees), POSITIONS)
        out, lse = windowed_attention(q, k, v, scale=1.0, **sees)
        ol.saw_f64("out", out, (*ROWS, "d"))
        ol.saw_f64("lse", lse, ROWS)
        out, lse = windowed_attention(q, k, v, scale=1.0, sink_logits=[1.0], **sees)
        ol.saw_f64("out with a sink logit of 1", out, (*ROWS, "d"))
        ol.saw_f64("lse with a sink logit of 1", lse, ROWS)
    if ol.oracle:
        w = 0.36787944117144233  # exp(-1)
        ol.want_u8("mask", [1, 0, 1, 1])
        ol.want_close_f64("out", [(6 + 7 * w) / (2 + w), (8 + 8 * w) / (2 + w)], rtol=1e-14, atol=0)
        ol.want_close_f64("lse", [1.8619948040582512], rtol=1e-14, atol=0)
        want = [(6 + 7 * w) / (3 + w), (8 + 8 * w) / (3 + w)]
        ol.want_close_f64("out with a sink logit of 1", want, rtol=1e-14, atol=0)
        ol.want_close_f64("lse with a sink logit of 1", [2.2142833003627604], rtol=1e-14, atol=0)


def test_mask_follows_the_definition(ol):
    for Tq, Tk in ((5, 7), (1, 10), (6, 1)):
        for window in (None, 1, 3, 50):
            for n_sink, q_offset in ((0, 0), (1, 2), (4, 0), (2, 9)):
                check_mask(ol, Tq, Tk, window, n_sink, q_offset)
    check_mask(ol, 4, 6, 2)
    check_mask(ol, 3, 6, window=2, n_sink=1, q_offset=3)


def test_windows_that_cut_nothing(ol):
    x = draw(ol.seed, (1, 2, 4, 3), Hkv=2, Tk=9)
    for window in (None, 0, -1, -7, 9, 2**63 - 1):
        check_mask(ol, 4, 9, window, 0, 5)
        check_attention(ol, f"window {window}", *x, window=window, q_offset=5)


def test_positions_far_from_the_origin(ol):
    far = 2**40
    check_mask(ol, 3, 4, None, 0, far)
    check_mask(ol, 3, 4, 5, 0, far)
    check_mask(ol, 3, 4, 5, 2, far)
    check_mask(ol, 3, 4, far, 0, far)
    check_mask(ol, 3, 4, 2, 2**62, 0)


def test_attention_matches_plain_loops(ol):
    calls = {
        "causal": ((2, 3, 6, 4), 3, 6, {}),
        "a chunk of a prefill": ((1, 2, 5, 4), 2, 17, {"q_offset": 12}),
        "one query to decode": ((3, 2, 1, 8), 1, 21, {"q_offset": 20, "window": 6}),
        "more keys than queries see": ((1, 2, 3, 4), 2, 9, {"q_offset": 2, "window": 2, "scale": 0.7}),
        "window and sinks": ((1, 4, 12, 5), 2, 12, {"window": 3, "n_sink": 2}),
        "sink logits": ((2, 4, 7, 3), 2, 7, {"window": 4, "sink_logits": [0.5, -2.0, 3.0, 0.0]}),
        "all at once": (
            (2, 6, 9, 5),
            3,
            14,
            {
                "window": 4,
                "n_sink": 1,
                "q_offset": 5,
                "scale": 1.3,
                "sink_logits": np.array([0, 1, -2, 3, 9, -9], dtype=np.float32),
            },
        ),
    }
    for n, (name, (q_shape, Hkv, Tk, options)) in enumerate(calls.items()):
        check_attention(ol, name, *draw(ol.seed + n, q_shape, Hkv, Tk), **options)


def test_groups_read_their_own_kv_head(ol):
    for n, (H, Hkv) in enumerate(((6, 2), (6, 3), (4, 1), (5, 5), (8, 4))):
        x = draw(ol.seed + n, (2, H, 3, 4), Hkv, 5)
        sinks = Rand(ol.seed + n).unit_f32(H)
        check_attention(ol, f"{H} query heads, {Hkv} KV heads", *x, q_offset=2)
        check_attention(ol, f"{H}:{Hkv} with sinks", *x, q_offset=2, window=2, sink_logits=sinks)


def test_chunks_of_queries_agree_with_one_call(ol):
    q, k, v = draw(ol.seed, (1, 2, 11, 4), Hkv=1, Tk=11)
    options = {"window": 4, "n_sink": 2, "sink_logits": [0.25, -1.0]}
    check_attention(ol, "one call", q, k, v, **options)
    for first, last in ((0, 3), (3, 4), (4, 11)):
        check_attention(
            ol, f"queries {first} to {last - 1}", q[:, :, first:last], k, v, q_offset=first, **options
        )


def test_scales_of_every_kind(ol):
    x = draw(ol.seed, (1, 2, 4, 9), Hkv=1, Tk=4)
    for scale in (None, 0.0, 1.0, -1.5, 25.0, 1e-30):
        check_attention(ol, f"scale {scale}", *x, scale=scale, sink_logits=[0.7, -0.3])
