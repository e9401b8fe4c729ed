"""L8.3: a paged KV cache, sequences over the block pool of `tinyllm/kv_pool.h`.

Position j of a sequence lives in slot j % block_size of the block that its table names at index
j // block_size. The cache keeps tables and lengths; keys and values stand only in the C pool and
are written and read through numpy views on `tl_kv_block_ptr`, so that a C kernel given `pool` and
`block_table(seq_id)` reads what was appended.

Every layer has its own length. A model appends the same positions to layer 0, then to layer 1, and
so on; the first layer to reach a position gets the block, the others write into it.

One thread at a time, like the pool beneath. After `close`, everything but `close` raises
RuntimeError.
"""

import ctypes
from dataclasses import dataclass
from types import TracebackType

import numpy as np
from numpy.typing import ArrayLike, NDArray

class OutOfBlocks(RuntimeError):
    """The pool cannot give the blocks that an append needs; the cache is as it was before."""

@dataclass(frozen=True)
class KVStats:
    """The pool's counters (`tl_kv_stats`); free + used + cached is num_blocks at all times."""

    free: int
    used: int
    cached: int
    evictions: int

class PagedKVCache:
    def __init__(
        self,
        lib: ctypes.CDLL,
        num_blocks: int,
        block_size: int,
        n_layers: int,
        n_kv_heads: int,
        d_head: int,
    ) -> None:
        """Create a pool of `num_blocks` blocks of `block_size` positions, f16, format 1.

        `lib` exposes the functions of rt.02 and rt.04. Others may use the same handle, so declare
        every prototype you call and do not disturb theirs: `lib["name"]` makes a function object
        of its own, `lib.name` is shared.

        ValueError: a dimension is below 1 or does not fit 32 bits. MemoryError: no memory.
        """

    @property
    def pool(self) -> ctypes.c_void_p:
        """The `tl_kv_pool *`, owned by the cache and valid until `close`."""

    @property
    def num_free_blocks(self) -> int:
        """How many blocks appends can still take: the free ones and the cached ones."""

    def stats(self) -> KVStats:
        """Read the pool's counters, a snapshot."""

    def add_seq(self) -> int:
        """Start an empty sequence; it takes no block yet. The id returned is never used again."""

    def fork(self, seq_id: int) -> int:
        """Start a sequence with the content and the lengths of `seq_id`; return its id.

        Both tables name the same blocks, each of which gains a reference; nothing is copied and
        no block is taken. From then on neither sequence sees what is appended to the other.
        KeyError: no such sequence.
        """

    def append(self, seq_id: int, layer: int, k: ArrayLike, v: ArrayLike) -> None:
        """Write T more positions of one layer, after the last that this layer holds.

        k and v are [n_kv_heads, T, d_head] of any real dtype, rounded to float16 (to nearest
        even; beyond its range to infinity, without a warning). T may be 0: nothing happens.

        A block is taken only where the table has none for a position. A block that is written
        and shared with another sequence is copied first (`tl_kv_cow`, once per block, with all its
        layers); only the writer's table changes. This concerns every block the write touches, not
        only the last: a layer that lags behind may reach back over several shared blocks.
        Afterwards the fill (`tl_kv_fill`) of each block counts the positions in it that every
        layer holds.

        OutOfBlocks: fewer blocks are left than new blocks and copies need; then nothing has
        changed: neither tables, lengths, values and fills nor references and `stats`. (References
        that somebody else took on the pool's blocks are outside this promise.) KeyError: no such
        sequence. ValueError: no such layer, a wrong shape, or k and v of different T; nothing has
        changed either.
        """

    def block_table(self, seq_id: int) -> NDArray[np.uint32]:
        """Copy the block ids in position order: uint32 [n], contiguous, n = 0 when empty.

        n blocks cover the longest layer. A later append may replace ids, so ask again before each
        use. KeyError: no such sequence.
        """

    def seq_len(self, seq_id: int, layer: int = 0) -> int:
        """Count the positions that the layer holds. KeyError, ValueError: as in `append`."""

    def gather(self, seq_id: int, layer: int) -> tuple[NDArray[np.float16], NDArray[np.float16]]:
        """Copy the layer's keys and values in position order: (K, V), float16.

        Each is contiguous, [n_kv_heads, len, d_head] with len = seq_len(seq_id, layer), which may
        be 0. Later appends do not change what was returned. KeyError, ValueError: as in `append`.
        """

    def free(self, seq_id: int) -> None:
        """Forget the sequence and drop its reference on each of its blocks.

        Blocks that a fork still names stay. KeyError: no such sequence, also when freed before.
        """

    def close(self) -> None:
        """Forget every sequence and destroy the pool. Calling it again does nothing."""

    def __enter__(self) -> PagedKVCache:
        """Return the cache itself."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the cache, also after an error, which is passed on."""
