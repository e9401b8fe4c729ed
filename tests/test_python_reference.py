"""The Python reference against small independent models, and the files that come from it."""

from __future__ import annotations

import ctypes
import gc
import math
import shutil
import struct
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

for folder in ("reference/python", "course/testkit", "course/fixtures"):
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / folder))

import make_fixtures  # noqa: E402
from olrand import Rand  # noqa: E402
from tinyllm.infer.paged import KVStats, OutOfBlocks, PagedKVCache  # noqa: E402
from tinyllm.modern.window import sink_window_mask, windowed_attention  # noqa: E402

HEADS, WIDTH = 2, 3


@pytest.fixture(scope="module")
def lib(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """The reference pool; its own prototypes are as a stranger left them, of no use to us."""
    if shutil.which("cc") is None:
        pytest.skip("no C compiler")
    library = make_fixtures.build_library(tmp_path_factory.mktemp("lib"))
    library.tl_kv_alloc.argtypes = [ctypes.c_double]
    library.tl_kv_alloc.restype = ctypes.c_char_p
    return library


@pytest.fixture
def cache(lib: ctypes.CDLL) -> Iterator[PagedKVCache]:
    """Eight blocks of four positions, two layers."""
    with PagedKVCache(lib, 8, 4, 2, HEADS, WIDTH) as opened:
        yield opened


def values(start: int, n: int) -> NDArray[np.float16]:
    """[HEADS, n, WIDTH] values that tell head, position and element apart."""
    head, position, element = np.ogrid[:HEADS, start : start + n, :WIDTH]
    return np.asarray(position * 8 + head * 4 + element, dtype=np.float16)


def append(cache: PagedKVCache, seq: int, layer: int, n: int) -> None:
    """Append `values` and their negatives after what the layer holds."""
    x = values(cache.seq_len(seq, layer), n)
    cache.append(seq, layer, x, -x)


def fill(lib: ctypes.CDLL, cache: PagedKVCache, block: int) -> int:
    """Ask the pool how many positions of the block are complete."""
    function = lib["tl_kv_fill"]
    function.argtypes, function.restype = [ctypes.c_void_p, ctypes.c_uint32], ctypes.c_uint32
    return int(function(cache.pool, int(block)))


def slab(lib: ctypes.CDLL, cache: PagedKVCache, block: int, layer: int, is_v: int) -> Any:
    """One slab of a cache of block size 4, as C sees it."""
    function = lib["tl_kv_block_ptr"]
    function.argtypes = [ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_int]
    function.restype = ctypes.c_void_p
    address = function(cache.pool, int(block), layer, is_v)
    memory = (ctypes.c_uint16 * (HEADS * 4 * WIDTH)).from_address(address)
    return np.ctypeslib.as_array(memory).view(np.float16).reshape(HEADS, 4, WIDTH)


# olrand: numbers that every implementation must give


@pytest.mark.parametrize(
    ("seed", "first"),
    [
        (0, [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F, 0xF88BB8A8724C81EC]),
        (1234567, [6457827717110365317, 3203168211198807973, 9817491932198370423]),
    ],
)
def test_the_stream_is_splitmix64(seed: int, first: list[int]) -> None:
    one_by_one, at_once = Rand(seed), Rand(seed)
    assert [one_by_one.u64() for _ in first] == first
    assert at_once.u64s(len(first)).tolist() == first


def test_seeds_count_modulo_2_to_64() -> None:
    assert Rand(-1).u64() == Rand(2**64 - 1).u64() != Rand(1).u64()


def test_golden_values_of_seed_0() -> None:
    assert Rand(0).unit_f32(3).tolist() == [
        0xE220A8 / 2**23 - 1,
        0x6E789E / 2**23 - 1,
        0x06C45D / 2**23 - 1,
    ]
    assert (Rand(0).half(3) * 1024).tolist() == [941.0, -752.0, 168.0]
    rand = Rand(0)
    assert [rand.below(10) for _ in range(4)] == [3, 4, 4, 4]
    items = list(range(8))
    Rand(0).shuffle(items)
    assert items == [6, 0, 7, 2, 5, 4, 3, 1]


def test_arrays_hold_what_single_draws_give() -> None:
    arrays, singles = Rand(7), Rand(7)
    unit, half = arrays.unit_f32((2, 3)), arrays.half((4, 1, 2))
    assert unit.shape == (2, 3) and unit.dtype == np.float32
    assert half.shape == (4, 1, 2) and half.dtype == np.float16
    assert unit.ravel().tolist() == [float(singles.unit_f32()) for _ in range(6)]
    assert half.ravel().tolist() == [float(singles.half()) for _ in range(8)]
    assert arrays.u64s((0, 5)).shape == (0, 5)
    assert arrays.u64() == singles.u64()


def test_values_stay_in_range_and_are_exact() -> None:
    rand = Rand(3)
    unit, half = rand.unit_f32(20000).astype(float), rand.half(20000).astype(float) * 1024
    assert unit.min() >= -1 and unit.max() < 1 and unit.min() < -0.999 < 0.999 < unit.max()
    assert half.min() == -1024 and half.max() == 1024 and np.array_equal(half, np.round(half))
    assert {rand.below(3) for _ in range(100)} == {0, 1, 2}
    with pytest.raises(ValueError, match="below"):
        rand.below(0)


def test_shuffle_draws_once_per_step() -> None:
    shuffled, drawn = Rand(5), Rand(5)
    shuffled.shuffle(list("abcd"))
    for _ in range(3):
        drawn.u64()
    assert shuffled.u64() == drawn.u64()


# L7.7: attention by the definition, in plain loops


def sees(i: int, j: int, window: int | None, n_sink: int, q_offset: int) -> bool:
    position = q_offset + i
    first = position - window + 1 if window is not None and window > 0 else 0
    return j in range(position + 1) and (j in range(first, position + 1) or j in range(n_sink))


@pytest.mark.parametrize("window", [None, -3, 0, 1, 3, 50])
@pytest.mark.parametrize("n_sink", [0, 1, 4])
@pytest.mark.parametrize("q_offset", [0, 2, 9])
@pytest.mark.parametrize(("Tq", "Tk"), [(5, 7), (1, 10), (6, 1), (0, 3), (3, 0)])
def test_mask_shows_the_window_and_the_sinks(
    Tq: int, Tk: int, window: int | None, n_sink: int, q_offset: int
) -> None:
    mask = sink_window_mask(Tq, Tk, window, n_sink, q_offset)
    assert mask.dtype == np.bool_ and mask.shape == (Tq, Tk)
    want = [[sees(i, j, window, n_sink, q_offset) for j in range(Tk)] for i in range(Tq)]
    assert mask.tolist() == want


def test_mask_of_a_known_case() -> None:
    mask = sink_window_mask(3, 6, window=2, n_sink=1, q_offset=3)
    assert mask.astype(int).tolist() == [
        [1, 0, 1, 1, 0, 0],
        [1, 0, 0, 1, 1, 0],
        [1, 0, 0, 0, 1, 1],
    ]


@pytest.mark.parametrize("bad", [(-1, 2, 0), (2, -1, 0), (2, 2, -1)])
def test_mask_refuses_negative_numbers(bad: tuple[int, int, int]) -> None:
    with pytest.raises(ValueError, match="negative"):
        sink_window_mask(bad[0], bad[1], None, n_sink=bad[2])
    with pytest.raises(ValueError, match="negative"):
        sink_window_mask(1, 1, None, q_offset=-1)


@dataclass(frozen=True)
class Attention:
    """One call: shapes and options."""

    q: tuple[int, int, int, int]
    Hkv: int
    Tk: int
    options: dict[str, Any] = field(default_factory=dict)


CALLS = [
    Attention((2, 6, 5, 4), 2, 5),
    Attention((1, 4, 3, 5), 4, 9, {"q_offset": 6, "window": 4, "scale": 2.0}),
    Attention((1, 4, 6, 3), 1, 6, {"window": 1}),
    Attention((2, 6, 7, 3), 3, 4, {"window": 2, "n_sink": 1, "sink_logits": [0, 1, -2, 3, 9, -9]}),
    Attention((1, 2, 4, 3), 2, 2, {"window": 1, "q_offset": 0, "sink_logits": [-math.inf, 0.5]}),
    Attention((1, 2, 3, 2), 1, 0, {"sink_logits": [0.25, -1.0]}),
]


def dot(a: NDArray[Any], b: NDArray[Any]) -> float:
    return math.fsum(float(x) * float(y) for x, y in zip(a, b, strict=True))


def attend(
    row: NDArray[Any],
    k: NDArray[Any],
    v: NDArray[Any],
    seen: list[int],
    scale: float,
    sink: float | None,
) -> tuple[list[float], float]:
    """One query by the definition, without a shift."""
    weights = [math.exp(scale * dot(row, k[j])) for j in seen]
    total = math.fsum(weights) + (0.0 if sink is None else math.exp(sink))
    if total == 0.0:
        return [0.0] * len(row), -math.inf
    out = [dot(np.array(weights), v[seen, d]) / total for d in range(len(row))]
    return out, math.log(total)


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_attention_follows_the_definition(call: Attention, dtype: Any) -> None:
    B, H, Tq, D = call.q
    rand = Rand(11)
    q = rand.unit_f32(call.q).astype(dtype)
    k, v = (rand.unit_f32((B, call.Hkv, call.Tk, D)).astype(dtype) for _ in range(2))
    out, lse = windowed_attention(q, k, v, **call.options)
    assert out.dtype == lse.dtype == np.float64
    assert out.shape == q.shape and lse.shape == (B, H, Tq)
    option = call.options.get
    scale, sinks = option("scale", 1 / math.sqrt(D)), option("sink_logits", [None] * H)
    for b, h, i in np.ndindex(B, H, Tq):
        seen = [
            j
            for j in range(call.Tk)
            if sees(i, j, option("window"), option("n_sink", 0), option("q_offset", 0))
        ]
        g = h // (H // call.Hkv)
        want, want_lse = attend(q[b, h, i], k[b, g], v[b, g], seen, scale, sinks[h])
        np.testing.assert_allclose(out[b, h, i], want, rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(lse[b, h, i], want_lse, rtol=1e-12, atol=1e-14)


def test_attention_of_the_hand_example() -> None:
    q, k = [[[[1, 0]]]], [[[[1, 0], [0, 1], [1, 1]]]]
    v = [[[[1, 2], [3, 4], [5, 6]]]]
    out, lse = windowed_attention(q, k, v, q_offset=2, scale=1.0)
    np.testing.assert_allclose(out, [[[[3, 4]]]], rtol=1e-15)
    np.testing.assert_allclose(lse, [[[1 + math.log(2 + math.exp(-1))]]], rtol=1e-15)


def test_a_query_that_sees_nothing_gives_zeros() -> None:
    q, kv = np.ones((1, 2, 1, 3)), np.full((1, 1, 2, 3), np.nan)
    out, lse = windowed_attention(q, kv, kv, window=1, q_offset=5)
    assert np.array_equal(out, np.zeros_like(q)) and np.all(np.isneginf(lse))
    out, lse = windowed_attention(q, kv, kv, window=1, q_offset=5, sink_logits=[2.0, -1.0])
    assert np.array_equal(out, np.zeros_like(q)) and lse.tolist() == [[[2.0], [-1.0]]]


def test_hidden_positions_have_no_influence_and_large_scores_do_not_overflow() -> None:
    q, k = np.ones((1, 1, 1, 1)), np.array([np.nan, 2000.0, 2001.0, np.inf]).reshape(1, 1, 4, 1)
    v = np.array([np.nan, 1.0, 2.0, np.nan]).reshape(1, 1, 4, 1)
    out, lse = windowed_attention(q, k, v, window=2, q_offset=2)
    e = math.exp(-1)
    np.testing.assert_allclose(out.item(), (e + 2) / (1 + e), rtol=1e-14)
    np.testing.assert_allclose(lse.item(), 2001 + math.log(1 + e), rtol=1e-14)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("level", [-2000.0, 2000.0])
@pytest.mark.parametrize("above", [-1.0, 1.0])
def test_a_shift_of_scores_and_sink_shifts_lse_alone(level: float, above: float) -> None:
    one, k = np.ones((1, 1, 1, 1)), np.full((1, 1, 1, 1), level)
    out, lse = windowed_attention(one, k, one, sink_logits=[level + above])
    np.testing.assert_allclose(out.item(), 1 / (1 + math.exp(above)), rtol=1e-14)
    np.testing.assert_allclose(lse.item(), level + math.log(1 + math.exp(above)), rtol=1e-14)


@pytest.mark.filterwarnings("error")
def test_a_sink_far_above_the_scores_takes_all_weight() -> None:
    one = np.ones((1, 1, 1, 1))
    out, lse = windowed_attention(one, one, one, sink_logits=[2000.0])
    assert (out.item(), lse.item()) == (0.0, 2000.0)


def test_attention_leaves_its_arguments_alone() -> None:
    q, k, v = (Rand(s).unit_f32((1, 2, 2, 2)).astype(np.float64) for s in (1, 2, 3))
    before = [x.copy() for x in (q, k, v)]
    windowed_attention(q, k, v, window=1, sink_logits=[0.0, 1.0])
    assert all(np.array_equal(x, y) for x, y in zip((q, k, v), before, strict=True))


@pytest.mark.parametrize(
    ("q", "k", "v", "fault"),
    [
        ((1, 2, 3), (1, 2, 3, 4), (1, 2, 3, 4), "must be"),
        ((1, 2, 3, 4), (2, 3, 4), (2, 3, 4), "must be"),
        ((1, 2, 3, 4), (1, 2, 3, 4), (1, 2, 2, 4), "must be"),
        ((2, 2, 3, 4), (1, 2, 3, 4), (1, 2, 3, 4), "batch"),
        ((1, 2, 3, 4), (1, 2, 3, 5), (1, 2, 3, 5), "width"),
        ((1, 2, 3, 0), (1, 2, 3, 0), (1, 2, 3, 0), "width"),
        ((1, 3, 3, 4), (1, 2, 3, 4), (1, 2, 3, 4), "evenly"),
        ((1, 0, 3, 4), (1, 0, 3, 4), (1, 0, 3, 4), "evenly"),
    ],
)
def test_attention_refuses_wrong_shapes(
    q: tuple[int, ...], k: tuple[int, ...], v: tuple[int, ...], fault: str
) -> None:
    with pytest.raises(ValueError, match=fault):
        windowed_attention(np.zeros(q), np.zeros(k), np.zeros(v))


@pytest.mark.parametrize(
    "options", [{"sink_logits": [0.0]}, {"sink_logits": [[0.0], [0.0]]}, {"q_offset": -1}]
)
def test_attention_refuses_wrong_options(options: dict[str, Any]) -> None:
    x = np.zeros((1, 2, 3, 4))
    with pytest.raises(ValueError, match="|".join(options)):
        windowed_attention(x, x, x, **options)


@pytest.mark.parametrize("q", [(0, 2, 3, 4), (1, 0, 3, 4), (1, 2, 0, 4)])
def test_attention_accepts_empty_batches(q: tuple[int, int, int, int]) -> None:
    k = np.zeros((q[0], 2, 3, 4))
    out, lse = windowed_attention(np.zeros(q), k, k)
    assert out.shape == q and lse.shape == q[:3]


# L8.3: the cache against a model of dictionaries


@dataclass
class ModelSeq:
    """What a sequence must hold; a block is an object of its own, sharing is identity."""

    blocks: list[object] = field(default_factory=list)
    layers: list[list[int]] = field(default_factory=lambda: [[], []])

    def copy(self) -> ModelSeq:
        return ModelSeq(list(self.blocks), [list(layer) for layer in self.layers])


class Model:
    """A cache of `n_blocks` blocks of `size` positions; a value is a number per position."""

    def __init__(self, n_blocks: int, size: int) -> None:
        self.n_blocks, self.size = n_blocks, size
        self.seqs: dict[int, ModelSeq] = {}

    def used(self) -> set[object]:
        return {block for seq in self.seqs.values() for block in seq.blocks}

    def append(self, seq_id: int, layer: int, tags: list[int]) -> bool:
        """Append, or return False where the blocks do not suffice."""
        seq = self.seqs[seq_id]
        others = {b for i, s in self.seqs.items() if i != seq_id for b in s.blocks}
        first = len(seq.layers[layer])
        blocks = list(seq.blocks)
        for position in range(first, first + len(tags)):
            index = position // self.size
            if index == len(blocks):
                blocks.append(object())
            elif blocks[index] in others:
                blocks[index] = object()
        if len(others | set(blocks)) > self.n_blocks:
            return False
        seq.blocks, seq.layers[layer] = blocks, seq.layers[layer] + tags
        return True

    def fills(self, seq_id: int) -> list[int]:
        seq = self.seqs[seq_id]
        whole = set(range(min(len(layer) for layer in seq.layers)))
        return [len(whole & set(range(i * self.size, (i + 1) * self.size))) for i in range(len(seq.blocks))]


def encode(tags: list[int]) -> NDArray[np.float16]:
    """[HEADS, T, WIDTH] for tags below 300: every element of every position differs."""
    head, position, element = np.ogrid[:HEADS, : len(tags), :WIDTH]
    return np.asarray(np.array(tags, dtype=int)[position] * 6 + head * 3 + element, np.float16)


def assert_equals(lib: ctypes.CDLL, cache: PagedKVCache, model: Model) -> None:
    """Lengths, values, sharing, fills and counters all agree."""
    ids: dict[object, int] = {}
    for seq_id, seq in model.seqs.items():
        table = cache.block_table(seq_id)
        assert len(table) == len(seq.blocks)
        for block, real in zip(seq.blocks, table.tolist(), strict=True):
            assert ids.setdefault(block, real) == real, "sharing differs"
        assert [fill(lib, cache, block) for block in table] == model.fills(seq_id)
        for layer, tags in enumerate(seq.layers):
            assert cache.seq_len(seq_id, layer) == len(tags)
            k, v = cache.gather(seq_id, layer)
            assert np.array_equal(k, encode(tags)) and np.array_equal(v, -encode(tags))
    assert len(set(ids.values())) == len(ids), "two blocks became one"
    used = len(model.used())
    assert cache.stats() == KVStats(model.n_blocks - used, used, 0, 0)
    assert cache.num_free_blocks == model.n_blocks - used


def random_step(rand: Rand, cache: PagedKVCache, model: Model) -> str:
    """Do one operation on both and name it."""
    known = list(model.seqs)
    choice = rand.below(12)
    if not known or choice == 0:
        model.seqs[cache.add_seq()] = ModelSeq()
        return "add"
    seq_id = known[rand.below(len(known))]
    if choice == 1:
        model.seqs[cache.fork(seq_id)] = model.seqs[seq_id].copy()
        return "fork"
    if choice == 2:
        cache.free(seq_id)
        del model.seqs[seq_id]
        return "free"
    layer, tags = rand.below(2), [rand.below(300) for _ in range(rand.below(9))]
    if model.append(seq_id, layer, tags):
        cache.append(seq_id, layer, encode(tags), -encode(tags))
        return "append"
    with pytest.raises(OutOfBlocks):
        cache.append(seq_id, layer, encode(tags), -encode(tags))
    return "out of blocks"


@pytest.mark.parametrize("size", [1, 3, 4])
@pytest.mark.parametrize("seed", range(8))
def test_random_operations_agree_with_the_model(lib: ctypes.CDLL, seed: int, size: int) -> None:
    rand, model = Rand(seed), Model(14, size)
    seen = set()
    with PagedKVCache(lib, model.n_blocks, size, 2, HEADS, WIDTH) as cache:
        for _ in range(150):
            seen.add(random_step(rand, cache, model))
            assert_equals(lib, cache, model)
    assert seen == {"add", "fork", "free", "append", "out of blocks"}


def test_values_stand_in_the_pool_where_c_looks_for_them(lib: ctypes.CDLL, cache: PagedKVCache) -> None:
    seq = cache.add_seq()
    append(cache, seq, 1, 6)
    first, second = cache.block_table(seq)
    x = values(0, 6)
    assert np.array_equal(slab(lib, cache, first, 1, 0), x[:, :4])
    assert np.array_equal(slab(lib, cache, second, 1, 0)[:, :2], x[:, 4:])
    assert np.array_equal(slab(lib, cache, second, 1, 1)[:, :2], -x[:, 4:])
    slab(lib, cache, second, 1, 0)[1, 0, 2] = 99.0
    assert cache.gather(seq, 1)[0][1, 4, 2] == 99.0


def test_layers_take_their_blocks_once_and_complete_them_together(
    lib: ctypes.CDLL, cache: PagedKVCache
) -> None:
    seq = cache.add_seq()
    append(cache, seq, 0, 6)
    table = cache.block_table(seq)
    assert [fill(lib, cache, b) for b in table] == [0, 0]
    append(cache, seq, 1, 5)
    assert cache.block_table(seq).tolist() == table.tolist()
    assert cache.stats().used == 2
    assert [fill(lib, cache, b) for b in table] == [4, 1]
    assert (cache.seq_len(seq), cache.seq_len(seq, 1)) == (6, 5)


def test_a_fork_between_the_layers_copies_each_block_once(cache: PagedKVCache) -> None:
    parent = cache.add_seq()
    append(cache, parent, 0, 6)
    child = cache.fork(parent)
    assert cache.stats().used == 2
    append(cache, child, 1, 6)
    assert cache.stats().used == 4
    append(cache, parent, 1, 6)
    assert cache.stats().used == 4
    for seq in (parent, child):
        for layer in (0, 1):
            k, v = cache.gather(seq, layer)
            assert np.array_equal(k, values(0, 6)) and np.array_equal(v, -values(0, 6))


def test_only_touched_blocks_are_copied(cache: PagedKVCache) -> None:
    parent = cache.add_seq()
    for layer in (0, 1):
        append(cache, parent, layer, 6)
    child = cache.fork(parent)
    before = cache.block_table(parent)
    append(cache, child, 0, 4)
    assert cache.block_table(parent).tolist() == before.tolist()
    assert cache.block_table(child)[0] == before[0] and cache.block_table(child)[1] != before[1]
    assert len(cache.block_table(child)) == 3 and cache.stats().used == 4


def test_a_failed_append_changes_nothing(lib: ctypes.CDLL, cache: PagedKVCache) -> None:
    parent = cache.add_seq()
    append(cache, parent, 0, 22)
    append(cache, parent, 1, 3)
    child = cache.fork(parent)

    def everything() -> object:
        table = cache.block_table(child).tolist()
        lens = [cache.seq_len(child, layer) for layer in (0, 1)]
        pool = [slab(lib, cache, b, layer, 0).tobytes() for b in range(8) for layer in (0, 1)]
        return table, lens, [fill(lib, cache, b) for b in table], cache.stats(), pool

    before = everything()
    with pytest.raises(OutOfBlocks):
        append(cache, child, 1, 19)
    assert everything() == before
    append(cache, child, 1, 5)
    assert cache.stats() == KVStats(0, 8, 0, 0)
    cache.free(parent)
    assert cache.stats() == KVStats(2, 6, 0, 0)


def test_cached_blocks_count_as_free_and_a_failure_evicts_none(
    lib: ctypes.CDLL, cache: PagedKVCache
) -> None:
    register = lib["tl_kv_register"]
    register.argtypes = [ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint64]
    old, parent = cache.add_seq(), cache.add_seq()
    for layer in (0, 1):
        append(cache, old, layer, 8)
    for block in cache.block_table(old).tolist():
        assert register(cache.pool, block, 100 + block) == 0
    cache.free(old)
    append(cache, parent, 0, 12)
    child = cache.fork(parent)
    append(cache, child, 0, 8)
    assert cache.stats() == KVStats(1, 5, 2, 0) and cache.num_free_blocks == 3
    with pytest.raises(OutOfBlocks):
        append(cache, child, 1, 24)
    assert cache.stats() == KVStats(1, 5, 2, 0)
    append(cache, child, 1, 12)
    assert cache.stats() == KVStats(0, 8, 0, 2)


def test_empty_sequences_and_empty_appends(cache: PagedKVCache) -> None:
    seq = cache.add_seq()
    append(cache, seq, 0, 0)
    table = cache.block_table(seq)
    assert table.dtype == np.uint32 and table.shape == (0,)
    k, v = cache.gather(seq, 1)
    assert k.dtype == v.dtype == np.float16 and k.shape == v.shape == (HEADS, 0, WIDTH)
    assert cache.stats() == KVStats(8, 0, 0, 0)


def test_results_are_copies(cache: PagedKVCache) -> None:
    seq = cache.add_seq()
    append(cache, seq, 0, 3)
    table, (k, v) = cache.block_table(seq), cache.gather(seq, 0)
    table[:], k[:], v[:] = 77, 5.0, 5.0
    assert cache.block_table(seq)[0] != 77
    assert np.array_equal(cache.gather(seq, 0)[0], values(0, 3))
    assert np.array_equal(cache.gather(seq, 0)[1], -values(0, 3))
    assert k.flags.c_contiguous and v.flags.c_contiguous and table.flags.c_contiguous


@pytest.mark.filterwarnings("error")
def test_values_are_rounded_to_f16(cache: PagedKVCache) -> None:
    seq = cache.add_seq()
    k = np.full((HEADS, 1, WIDTH), 2049.0)
    v = np.full((HEADS, 1, WIDTH), 1e9, dtype=np.float32)
    cache.append(seq, 0, k, v)
    got_k, got_v = cache.gather(seq, 0)
    assert np.all(got_k == 2048.0) and np.all(np.isposinf(got_v))


@pytest.mark.parametrize(
    ("k", "v"),
    [
        ((HEADS, 2, WIDTH), (HEADS, 3, WIDTH)),
        ((HEADS + 1, 2, WIDTH), (HEADS + 1, 2, WIDTH)),
        ((HEADS, 2, WIDTH), (HEADS, 2, WIDTH + 1)),
        ((HEADS, WIDTH), (HEADS, WIDTH)),
    ],
)
def test_wrong_shapes_change_nothing(cache: PagedKVCache, k: tuple[int, ...], v: tuple[int, ...]) -> None:
    seq = cache.add_seq()
    with pytest.raises(ValueError):
        cache.append(seq, 0, np.zeros(k), np.zeros(v))
    assert cache.seq_len(seq) == 0 and cache.stats() == KVStats(8, 0, 0, 0)


@pytest.mark.parametrize("layer", [-1, 2])
def test_unknown_layers_are_refused(cache: PagedKVCache, layer: int) -> None:
    seq, x = cache.add_seq(), values(0, 1)
    for call in (
        lambda: cache.append(seq, layer, x, x),
        lambda: cache.gather(seq, layer),
        lambda: cache.seq_len(seq, layer),
    ):
        with pytest.raises(ValueError, match="layer"):
            call()


def test_unknown_sequences_are_key_errors_and_ids_are_never_used_again(
    cache: PagedKVCache,
) -> None:
    seq, x = cache.add_seq(), values(0, 1)
    cache.free(seq)
    assert cache.add_seq() != seq
    for call in (
        lambda: cache.append(seq, 0, x, x),
        lambda: cache.fork(seq),
        lambda: cache.free(seq),
        lambda: cache.gather(seq, 0),
        lambda: cache.seq_len(seq),
        lambda: cache.block_table(seq),
    ):
        with pytest.raises(KeyError):
            call()


def test_nothing_works_after_close_but_close(lib: ctypes.CDLL) -> None:
    cache, x = PagedKVCache(lib, 2, 4, 2, HEADS, WIDTH), values(0, 1)
    seq = cache.add_seq()
    append(cache, seq, 0, 3)
    cache.close()
    cache.close()
    for call in (
        lambda: cache.pool,
        lambda: cache.num_free_blocks,
        lambda: cache.stats(),
        lambda: cache.add_seq(),
        lambda: cache.append(seq, 0, x, x),
        lambda: cache.fork(seq),
        lambda: cache.free(seq),
        lambda: cache.gather(seq, 0),
        lambda: cache.seq_len(seq),
        lambda: cache.block_table(seq),
        lambda: cache.__enter__(),
    ):
        with pytest.raises(RuntimeError, match="closed"):
            call()


class Heap(ctypes.Structure):
    """A `tl_allocator` that keeps what it gave until it is given back; room for big aligns."""

    ALLOC = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t)
    FREE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
    _fields_ = [("alloc", ALLOC), ("free", FREE), ("user", ctypes.c_void_p)]

    def __init__(self) -> None:
        self.live: dict[int, Any] = {}
        super().__init__(self.ALLOC(self.give), self.FREE(self.take), None)

    def give(self, user: int, n: int, align: int) -> int:
        memory = ctypes.create_string_buffer(n + align)
        address = -(-ctypes.addressof(memory) // align) * align
        self.live[address] = memory
        return address

    def take(self, user: int, address: int) -> None:
        del self.live[address]


@pytest.mark.parametrize("how", ["close", "collect"])
def test_no_memory_stays_behind(lib: ctypes.CDLL, how: str) -> None:
    heap, set_allocator = Heap(), lib["tl_set_allocator"]
    assert set_allocator(ctypes.byref(heap)) == 0
    try:
        cache = PagedKVCache(lib, 2, 4, 2, HEADS, WIDTH)
        append(cache, cache.add_seq(), 0, 3)
        assert heap.live
        if how == "close":
            cache.close()
        else:
            del cache
            gc.collect()
        assert not heap.live
    finally:
        set_allocator(None)


def test_memory_errors_are_raised(lib: ctypes.CDLL) -> None:
    with pytest.raises(MemoryError):
        PagedKVCache(lib, 2**32 - 1, 2**32 - 1, 2**32 - 1, 1, 1)


def test_the_context_manager_closes_after_an_error(lib: ctypes.CDLL) -> None:
    with pytest.raises(ZeroDivisionError), PagedKVCache(lib, 2, 4, 1, 1, 1) as cache:
        raise ZeroDivisionError
    with pytest.raises(RuntimeError, match="closed"):
        cache.stats()


@pytest.mark.parametrize("bad", [0, -1, 2**32])
@pytest.mark.parametrize("place", range(5))
def test_dimensions_must_fit(lib: ctypes.CDLL, place: int, bad: int) -> None:
    sizes = [2, 2, 2, 2, 2]
    sizes[place] = bad
    with pytest.raises(ValueError):
        PagedKVCache(lib, *sizes)


def test_prototypes_of_other_callers_stay(lib: ctypes.CDLL, cache: PagedKVCache) -> None:
    append(cache, cache.add_seq(), 0, 1)
    assert lib.tl_kv_alloc.argtypes == [ctypes.c_double]
    assert lib.tl_kv_alloc.restype is ctypes.c_char_p


# the file fixtures


@pytest.fixture(scope="module")
def files() -> dict[str, bytes]:
    if shutil.which("cc") is None:
        pytest.skip("no C compiler")
    return make_fixtures.make_all()


def test_the_committed_files_are_what_the_reference_gives(files: dict[str, bytes]) -> None:
    assert len(files) == 6
    assert make_fixtures.stale_files(files) == []
    assert make_fixtures.stale_files({**files, "new.bin": b""}) == ["new.bin"]
    name = min(files)
    assert make_fixtures.stale_files({**files, name: files[name] + b"x"}) == [name]


def test_the_files_hold_what_their_format_says(files: dict[str, bytes]) -> None:
    for data in files.values():
        assert len(data) < 32 * 1024 and data[:8] == b"OLFIX\0\0\1"
        B, H, Hkv, D, block, n_blocks, n_layers, layer = struct.unpack_from("<8I", data, 8)
        window, seed, scale, max_blocks = struct.unpack_from("<qQfI", data, 40)
        lens = struct.unpack_from(f"<{B}I", data, 64)
        tables = np.frombuffer(data, "<u4", B * max_blocks, 64 + 4 * B).reshape(B, max_blocks)
        start = -(-(64 + 4 * B * (1 + max_blocks)) // 8) * 8
        want = np.frombuffer(data, "<f8", offset=start).reshape(B, H, D)
        used = [tables[s, : -(-n // block)].tolist() for s, n in enumerate(lens)]
        flat = [block_id for row in used for block_id in row]
        assert len(set(flat)) == len(flat) and max(flat) < n_blocks
        assert (tables == 0xFFFFFFFF).sum() == tables.size - len(flat)
        assert any(a > b for row in used for a, b in pairwise(row)), "tables are not shuffled"
        rand = Rand(seed)
        q = rand.unit_f32((B, H, D))
        for s, n in enumerate(lens):
            drawn = [(rand.half((Hkv, n, D)), rand.half((Hkv, n, D))) for _ in range(n_layers)]
            k, v = (x.astype(float) for x in drawn[layer])
            seen = [j for j in range(n) if sees(n - 1, j, window, 0, 0)]
            for h in range(H):
                g = h // (H // Hkv)
                out, _ = attend(q[s, h], k[g], v[g], seen, scale, None)
                np.testing.assert_allclose(want[s, h], out, rtol=0, atol=1e-9)
