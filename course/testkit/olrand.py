"""The course's random numbers: splitmix64, the same stream in Python and in C.

A test or a fixture names a seed instead of storing its inputs, so both languages must draw the
same values in the same order. Every value costs one 64-bit draw. An array is filled in row-major
order and holds exactly what drawing its elements one by one would have given.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T")
Shape = int | tuple[int, ...]

MASK = 0xFFFF_FFFF_FFFF_FFFF
GAMMA = 0x9E37_79B9_7F4A_7C15
MIX1 = 0xBF58_476D_1CE4_E5B9
MIX2 = 0x94D0_49BB_1331_11EB


class Rand:
    """A stream of draws; two objects with one seed give the same stream."""

    def __init__(self, seed: int) -> None:
        """Start the stream of `seed`, of which the low 64 bits count."""
        self._state = seed & MASK

    def u64(self) -> int:
        """Draw 64 random bits."""
        self._state = (self._state + GAMMA) & MASK
        z = self._state
        z = ((z ^ (z >> 30)) * MIX1) & MASK
        z = ((z ^ (z >> 27)) * MIX2) & MASK
        return z ^ (z >> 31)

    def u64s(self, shape: Shape) -> NDArray[np.uint64]:
        """Draw an array of 64-bit values; arithmetic wraps as it does in C."""
        n = int(np.prod(shape, dtype=np.int64))
        z = np.arange(1, n + 1, dtype=np.uint64) * np.uint64(GAMMA) + np.uint64(self._state)
        self._state = (self._state + n * GAMMA) & MASK
        z = (z ^ (z >> np.uint64(30))) * np.uint64(MIX1)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(MIX2)
        return (z ^ (z >> np.uint64(31))).reshape(shape)

    def unit_f32(self, shape: Shape = ()) -> NDArray[np.float32]:
        """Draw multiples of 2^-23 in [-1, 1), each exact in float32; shape () gives one value."""
        bits = self.u64s(shape) >> np.uint64(40)
        return np.asarray(bits.astype(np.float64) * 2.0**-23 - 1.0, dtype=np.float32)

    def half(self, shape: Shape = ()) -> NDArray[np.float16]:
        """Draw k/1024 for whole k in [-1024, 1024], each exact in float16; () gives one value."""
        k = (self.u64s(shape) >> np.uint64(32)) % np.uint64(2049)
        return np.asarray((k.astype(np.float64) - 1024.0) / 1024.0, dtype=np.float16)

    def below(self, n: int) -> int:
        """Draw a whole number in [0, n), for n in [1, 2^32]."""
        if not 1 <= n <= 1 << 32:
            raise ValueError(f"below: n must lie in [1, 2^32], got {n}")
        return (self.u64() >> 32) % n

    def shuffle(self, items: list[T]) -> None:
        """Permute in place: Fisher-Yates from the last item down, one draw per step."""
        for i in range(len(items) - 1, 0, -1):
            j = self.below(i + 1)
            items[i], items[j] = items[j], items[i]
