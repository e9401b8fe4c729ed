"""Comparisons: one observation against one wish. Pure.

Each is written so that NaN fails it, and tells the first bad element in the array's own coordinates.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ol.manifest import Way
from ol.stream import SIZES, Axis, Dtype, Kind, Record
from ol.verdict import Failure

NUMPY = {
    Dtype.F32: "<f4",
    Dtype.F64: "<f8",
    Dtype.I64: "<i8",
    Dtype.U32: "<u4",
    Dtype.U16: "<u2",
    Dtype.U8: "u1",
}

_SENTINEL = 0x7FB00000
"""The upper half of what ol_fill_sentinel_f32 writes: numbered signalling NaNs."""


def compare(got: Record, wish: Record, note: str, statuses: tuple[str, ...]) -> Iterator[Failure]:
    """The failure of an observation against its wish, or nothing."""
    match wish.kind, got.kind:
        case Kind.WANT_STATUS, Kind.SAW_STATUS:
            if got.status != wish.status:
                names = [_status(s, statuses) for s in (wish.status, got.status)]
                yield Failure(way=Way.CHECK, check=wish.name, expected=names[0], got=names[1], note=note)
        case Kind.WANT_FACT, Kind.SAW_FACT:
            if not got.holds:
                yield Failure(
                    way=Way.CHECK,
                    check=wish.name,
                    expected=got.text,
                    got="it does not hold",
                    note=note,
                )
        case Kind.WANT_TEXT_WITH, Kind.SAW_ARRAY if got.dtype is Dtype.TEXT:
            text = got.data.decode("utf-8", "replace")
            if wish.text not in text:
                yield Failure(
                    way=Way.CHECK,
                    check=wish.name,
                    expected=f"a text with {wish.text!r}",
                    got=repr(text),
                    note=note,
                )
        case Kind.WANT_BITS, Kind.SAW_ARRAY:
            yield from _bits(got, wish.dtype, wish.data, note)
        case ((Kind.WANT_CLOSE | Kind.WANT_ULP | Kind.WANT_NAN), Kind.SAW_ARRAY):
            yield from _floats(got, wish, note)
        case _:
            yield Failure(
                way=Way.CHECK,
                check=wish.name,
                expected=wish.kind.name.lower(),
                got=got.kind.name.lower(),
                note=note,
            )


def _status(code: int, statuses: tuple[str, ...]) -> str:
    return statuses[code] if 0 <= code < len(statuses) else f"{code}, which is no status"


def _wrong_size(got: Record, dtype: Dtype, n: int, note: str) -> Failure | None:
    have = len(got.data) // SIZES[got.dtype]
    if got.dtype is dtype and have == n:
        return None
    return Failure(
        way=Way.CHECK,
        check=got.name,
        expected=f"{n} values of {dtype.name.lower()}",
        got=_form(got, have),
        note=note,
    )


def _form(got: Record, n: int) -> str:
    """A Python test sees what is not the array it expects as a text, which says what it is."""
    if got.dtype is Dtype.TEXT:
        return got.data.decode("utf-8", "replace")
    return f"{n} values of {got.dtype.name.lower()}"


def _bits(got: Record, dtype: Dtype, want: bytes, note: str) -> Iterator[Failure]:
    if dtype is Dtype.TEXT and got.dtype is Dtype.TEXT:
        if got.data != want:
            texts = [repr(t.decode("utf-8", "replace")) for t in (want, got.data)]
            yield Failure(way=Way.CHECK, check=got.name, expected=texts[0], got=texts[1], note=note)
        return
    if wrong := _wrong_size(got, dtype, len(want) // SIZES[dtype], note):
        yield wrong
    elif got.data != want:
        size = SIZES[dtype]
        rows = (np.frombuffer(d, np.uint8).reshape(-1, size) for d in (got.data, want))
        bad = np.flatnonzero((next(rows) != next(rows)).any(axis=1))
        yield _first(got, dtype, want, bad, note, bits=True)


def same_bits(first: Record, second: Record, note: str) -> Iterator[Failure]:
    """The failure of two observations that must hold the same bits, or nothing."""
    for failure in _bits(second, first.dtype, first.data, note):
        yield replace(failure, check=f"{second.name}, bit for bit as {first.name}")


def _floats(got: Record, wish: Record, note: str) -> Iterator[Failure]:
    n = wish.count if wish.kind is Kind.WANT_NAN else len(wish.data) // SIZES[wish.dtype]
    dtype = wish.dtype if wish.kind is Kind.WANT_CLOSE else Dtype.F32
    if wrong := _wrong_size(got, dtype, n, note):
        yield wrong
        return
    with np.errstate(invalid="ignore"):  # a signalling NaN
        have = np.frombuffer(got.data, NUMPY[dtype]).astype(np.float64)
    if wish.kind is Kind.WANT_NAN:
        want = np.full(n, np.nan)
        good = np.isnan(have)
    else:
        want = np.frombuffer(wish.data, NUMPY[wish.dtype]).astype(np.float64)
        good = _close(have, want, wish) if wish.kind is Kind.WANT_CLOSE else _ulp(have, want, wish.atol)
    bad = np.flatnonzero(~good)
    if bad.size:
        yield _first(got, Dtype.F64, want.tobytes(), bad, note, bits=False, wish=wish)


def _close(have: NDArray[np.float64], want: NDArray[np.float64], wish: Record) -> NDArray[np.bool_]:
    with np.errstate(invalid="ignore", over="ignore"):
        near = np.abs(have - want) <= wish.atol + wish.rtol * np.abs(want)
    good: NDArray[np.bool_] = np.where(np.isfinite(want) & np.isfinite(have), near, have == want)
    return good


def _ulp(have: NDArray[np.float64], want: NDArray[np.float64], most: float) -> NDArray[np.bool_]:
    """Distance in units of float32's spacing at the wanted value."""
    with np.errstate(invalid="ignore", over="ignore"):
        unit = np.spacing(np.abs(want.astype(np.float32))).astype(np.float64)
        near = np.abs(have - want) <= most * unit
        good: NDArray[np.bool_] = np.where(np.isfinite(unit), near, have == want.astype(np.float32))
    return good


def _first(
    got: Record,
    dtype: Dtype,
    want: bytes,
    bad: NDArray[np.intp],
    note: str,
    *,
    bits: bool,
    wish: Record | None = None,
) -> Failure:
    k = int(bad[0])
    have = np.frombuffer(got.data, NUMPY[got.dtype])
    wanted = np.frombuffer(want, NUMPY[dtype])
    expected, came = _value(wanted[k], bits), _value(have[k], bits)
    if wish is not None and wish.kind is Kind.WANT_CLOSE:
        expected += f" ± {wish.atol + wish.rtol * abs(float(wanted[k])):.2g}"
    if wish is not None and wish.kind is Kind.WANT_ULP:
        expected += f" within {wish.atol:g} ulp"
    if got.dtype in (Dtype.F32, Dtype.F64) and np.isfinite(have[k]) and np.isfinite(wanted[k]):
        came += f" (off by {abs(float(have[k]) - float(wanted[k])):.3g})"
    return Failure(
        way=Way.CHECK,
        check=got.name,
        expected=expected,
        got=came,
        where=_where(k, got.axes),
        bad=int(bad.size),
        total=int(have.size),
        note=note,
    )


def _value(value: np.generic, bits: bool) -> str:
    """A value as a student reads it; what the kit filled in beforehand is told as such."""
    if not isinstance(value, np.floating):
        return str(value)
    text = f"{float(value):.9g}"
    if isinstance(value, np.float32):
        code = int(np.asarray(value).view(np.uint32))
        if code & 0xFFFF0000 == _SENTINEL:
            return "untouched, as it was before the call"
        if bits:
            return f"{text} (0x{code:08x})"
    return text


def _where(k: int, axes: tuple[Axis, ...]) -> str:
    parts: list[str] = []
    for axis in reversed(axes):
        extent = max(axis.extent, 1)
        parts.append(f"{axis.name} {k % extent}")
        k //= extent
    return ", ".join(reversed(parts))
