"""The test kit for Python: everything that a test of the course may use, as the fixture `ol`.

It is the twin of ol_test.h. A test's source runs in two processes. In the unit role it makes the calls
and streams what it saw; in the oracle role, which never opens the unit, it streams what is wanted. The
judge pairs the two by test, name and occurrence:

    def test_doubles_each_element(ol):
        x = Rand(ol.seed).unit_f32((3, 4))                 # the same inputs in both roles
        if ol.unit:
            from tinyllm.twice import twice                # a unit is imported inside the test
            ol.saw_f32("y", twice(x), ("row", "column"))
        if ol.oracle:                                      # the unit's process never holds this block
            ol.want_close_f32("y", x + x, rtol=1e-6, atol=0)
        ol.raises("no input", "TypeError", lambda: twice(None))

Every check is judged, also after one has failed. Every observation needs its wish and every wish its
observation. An exception that leaves the test ends it, and it has failed.
"""

import ctypes
import operator
import os
import struct
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from olrecord import Dtype, Kind, as_codes, as_raw, condition_text, form, put_array, put_text, utf8

Axes = Sequence[str] | None
"""What an index on each axis counts: ("sequence", "head", "d"). None: i, j, k, …, for any rank."""


class KitFault(BaseException):
    """The test misuses the kit: a fault of the course, never of the unit."""


class Ol:
    """The fixture. `unit` and `oracle` tell the role, `seed` decides all inputs."""

    def __init__(self, *, stream: int, seed: int, fixtures: str | None, lib: ctypes.CDLL) -> None:
        """Stand in the oracle role where there are fixtures, else in the unit role."""
        self._stream = stream
        self._fixtures = fixtures
        self.seed = seed
        self.oracle = fixtures is not None
        self.unit = not self.oracle
        self.lib = lib
        """Finds the functions of every C unit that was opened."""

    def _put(self, kind: Kind, name: str, *parts: bytes) -> None:
        body = bytes([kind]) + put_text(name) + b"".join(parts)
        left = memoryview(struct.pack("<I", len(body)) + body)
        while left:
            left = left[os.write(self._stream, left) :]

    def _saw(self, kind: Kind, name: str, *parts: bytes) -> None:
        if not self.unit:
            raise KitFault(f"{name}: only the unit role sees; put this under `if ol.unit`")
        self._put(kind, name, *parts)

    def _want(self, kind: Kind, name: str, *parts: bytes) -> None:
        if not self.oracle:
            raise KitFault(f"{name}: only the oracle role wants; put this under `if ol.oracle`")
        self._put(kind, name, *parts)

    # ---- Statements that stand outside of both roles ----------------------------------------------

    def note(self, text: str) -> None:
        """Say what is being called, with its sizes; a failure that follows is shown under it."""
        self._put(Kind.SAW_NOTE, text)

    def status(self, name: str, wanted: int, call: Callable[[], int]) -> None:
        """Make the call in the unit role and judge the status that it returns."""
        if self.unit:
            self._saw(Kind.SAW_STATUS, name, struct.pack("<q", call()))
        else:
            self._want(Kind.WANT_STATUS, name, struct.pack("<q", wanted))

    def raises(self, name: str, exception_name: str, call: Callable[[], object]) -> None:
        """Judge the type of what the call raises in the unit role; a subclass of it will do."""
        if self.oracle:
            self.want_text(name, exception_name)
            return
        came = "nothing"
        try:
            call()
        except Exception as error:
            kind = type(error)
            is_one = exception_name in (k.__name__ for k in kind.__mro__)
            came = exception_name if is_one else f"{kind.__name__}: {error}"[:500]
        self.saw_text(name, came)

    def holds(self, name: str, condition: Callable[[], object]) -> None:
        """Judge a property that only the unit's process can see. Prefer an array for the oracle."""
        if self.unit:
            holds = bool(condition())
            self._saw(Kind.SAW_FACT, name, bytes([holds]), put_text(condition_text(condition, name)))
        else:
            self._want(Kind.WANT_FACT, name)

    # ---- Observations (unit role) -----------------------------------------------------------------

    def _saw_array(self, name: str, x: Any, dtype: Dtype, axes: Axes, types: tuple[str, ...]) -> None:
        """An array of another type or rank than the test expects is seen as the text of its form."""
        known = isinstance(x, (np.ndarray, np.generic)) and x.dtype.newbyteorder("=").name in types
        if not known or (axes is not None and len(axes) != x.ndim):
            self.saw_text(name, form(x))
            return
        names = "ijklmn"[: x.ndim] if axes is None else axes
        pairs = zip(names, x.shape, strict=True)
        shape = b"".join(put_text(axis) + struct.pack("<q", extent) for axis, extent in pairs)
        array = put_array(dtype, as_raw(dtype, as_codes(x)))
        self._saw(Kind.SAW_ARRAY, name, bytes([len(names)]), shape, array)

    def saw_f32(self, name: str, x: object, axes: Axes = None) -> None:
        """Stream a float32 array."""
        self._saw_array(name, x, Dtype.F32, axes, ("float32",))

    def saw_f64(self, name: str, x: object, axes: Axes = None) -> None:
        """Stream a float64 array."""
        self._saw_array(name, x, Dtype.F64, axes, ("float64",))

    def saw_i64(self, name: str, x: object, axes: Axes = None) -> None:
        """Stream an int64 array."""
        self._saw_array(name, x, Dtype.I64, axes, ("int64",))

    def saw_u32(self, name: str, x: object, axes: Axes = None) -> None:
        """Stream a uint32 array."""
        self._saw_array(name, x, Dtype.U32, axes, ("uint32",))

    def saw_u16(self, name: str, x: object, axes: Axes = None) -> None:
        """Stream a uint16 array, or the codes of a float16 array."""
        self._saw_array(name, x, Dtype.U16, axes, ("uint16", "float16"))

    def saw_u8(self, name: str, x: object, axes: Axes = None) -> None:
        """Stream a uint8 array, or a bool array as zeros and ones."""
        self._saw_array(name, x, Dtype.U8, axes, ("uint8", "bool"))

    def saw_int(self, name: str, value: object) -> None:
        """Stream a whole number, as an array of one; anything else is seen as the text of its form."""
        try:
            data = struct.pack("<q", operator.index(value))  # type: ignore[arg-type]
        except (TypeError, struct.error):
            self.saw_text(name, form(value))
            return
        self._saw(Kind.SAW_ARRAY, name, b"\0", put_array(Dtype.I64, data))

    def saw_text(self, name: str, text: object) -> None:
        """Stream a text; None and whatever else is no text is seen as its repr."""
        shown = text if isinstance(text, str) else repr(text)
        self._saw(Kind.SAW_ARRAY, name, b"\0", put_array(Dtype.TEXT, utf8(shown)))

    def saw_form(self, name: str, x: object) -> None:
        """Stream type and shape, which the other observations of an array do not tell."""
        self.saw_text(name, form(x))

    # ---- Wishes (oracle role) ---------------------------------------------------------------------

    def _close(self, name: str, want: ArrayLike, rtol: float, atol: float, dtype: Dtype) -> None:
        tolerances = struct.pack("<dd", rtol, atol)
        self._want(Kind.WANT_CLOSE, name, tolerances, put_array(dtype, as_raw(dtype, want)))

    def want_close_f32(self, name: str, want: ArrayLike, rtol: float, atol: float) -> None:
        """|got - want| <= atol + rtol * |want| for each element; NaN never passes, inf only as inf."""
        self._close(name, want, rtol, atol, Dtype.F32)

    def want_close_f64(self, name: str, want: ArrayLike, rtol: float, atol: float) -> None:
        """The same for an observation of float64."""
        self._close(name, want, rtol, atol, Dtype.F64)

    def want_ulp_f32(self, name: str, want: ArrayLike, max_ulp: float) -> None:
        """At most max_ulp units in the last place (float32) from the float64 value."""
        self._want(
            Kind.WANT_ULP, name, struct.pack("<d", max_ulp), put_array(Dtype.F64, as_raw(Dtype.F64, want))
        )

    def want_nan_f32(self, name: str, n: int) -> None:
        """Every one of n elements is a NaN, of any sign and payload."""
        self._want(Kind.WANT_NAN, name, struct.pack("<q", n))

    def _same_bits(self, name: str, want: ArrayLike, dtype: Dtype) -> None:
        self._want(Kind.WANT_BITS, name, put_array(dtype, as_raw(dtype, want)))

    def want_bits_f32(self, name: str, want: ArrayLike) -> None:
        """The same bits: -0 is not 0, and a NaN equals only itself."""
        self._same_bits(name, want, Dtype.F32)

    def want_bits_f64(self, name: str, want: ArrayLike) -> None:
        """The same for an observation of float64."""
        self._same_bits(name, want, Dtype.F64)

    def want_i64(self, name: str, want: ArrayLike) -> None:
        """These numbers."""
        self._same_bits(name, want, Dtype.I64)

    def want_u32(self, name: str, want: ArrayLike) -> None:
        """These numbers."""
        self._same_bits(name, want, Dtype.U32)

    def want_u16(self, name: str, want: ArrayLike) -> None:
        """These numbers, or the codes of a float16 array."""
        self._same_bits(name, as_codes(want), Dtype.U16)

    def want_u8(self, name: str, want: ArrayLike) -> None:
        """These numbers; a bool array as zeros and ones."""
        self._same_bits(name, want, Dtype.U8)

    def want_int(self, name: str, value: int) -> None:
        """This number."""
        self._same_bits(name, value, Dtype.I64)

    def want_text(self, name: str, text: str) -> None:
        """This text."""
        self._want(Kind.WANT_BITS, name, put_array(Dtype.TEXT, utf8(text)))

    def want_text_with(self, name: str, part: str) -> None:
        """A text that contains this one."""
        self._want(Kind.WANT_TEXT_WITH, name, put_text(part))

    def want_form(self, name: str, dtype: str, shape: Sequence[int]) -> None:
        """An array of this type and shape, for `saw_form`."""
        self.want_text(name, f"{np.dtype(dtype)} {[int(n) for n in shape]}")

    def want_same(self, first: str, second: str) -> None:
        """Two arrays that the unit produced hold the same bits, whatever these are."""
        self._want(Kind.WANT_SAME, first, put_text(second))

    def sentinel_f32(self, shape: int | Sequence[int]) -> NDArray[np.float32]:
        """An array of a pattern that no kernel produces, so that "untouched" can be judged by bits."""
        count = int(np.prod(shape))
        codes = np.uint32(0x7FB0_0000) + (np.arange(count, dtype=np.uint32) & np.uint32(0xFFFF))
        return codes.view(np.float32).reshape(shape)

    def fixture(self, name: str) -> bytes:
        """The bytes of a file in course/fixtures/ID. Oracle role only."""
        if self._fixtures is None:
            raise KitFault(f"{name}: fixtures are read in the oracle role only")
        return (Path(self._fixtures) / name).read_bytes()

    def raised(self, kind: str, text: str) -> None:
        """Record the exception that ended the test."""
        self._put(Kind.SAW_RAISED, kind, put_text(text))

    def left(self, what: str) -> None:
        """Record what the unit has changed in its process and not put back."""
        self._put(Kind.SAW_LEFT, what)

    def finish(self) -> None:
        """Record that the test came to its end."""
        self._put(Kind.SAW_END, "")
