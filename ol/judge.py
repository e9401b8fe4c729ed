"""The judge: pairs what the unit's process saw with what the oracle's process wants. Pure.

The k-th observation of a name is judged by the k-th wish of that name. A comparison is written so that
NaN fails it. The unit's process has no say here: a stream that ends early has failed, whatever its
process's exit status, and so has one with an observation missing.
"""

import struct
from collections import defaultdict, deque
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ol.errors import ToolError
from ol.manifest import Way
from ol.reports import sanitizer_failures
from ol.stream import SIZES, Axis, Dtype, Ending, Forged, Frame, Kind, Record, records
from ol.verdict import Failure, Outcome, TestResult

NUMPY = {
    Dtype.F32: "<f4",
    Dtype.F64: "<f8",
    Dtype.I64: "<i8",
    Dtype.U32: "<u4",
    Dtype.U16: "<u2",
    Dtype.U8: "u1",
}
SIGNALS = {
    4: "SIGILL, an illegal instruction",
    6: "SIGABRT, abort()",
    7: "SIGBUS, a bad address",
    8: "SIGFPE, an integer division by zero",
    9: "SIGKILL",
    11: "SIGSEGV, a bad address",
    24: "SIGXCPU, the limit on CPU time",
    25: "SIGXFSZ, the limit on file size",
    31: "SIGSYS, a forbidden system call",
}
CRASHES = (4, 6, 7, 8, 11)


def wishes(test: str, oracle: Frame) -> tuple[Record, ...]:
    """What the oracle wants. Raises ToolError when the oracle itself did not come to its end."""
    try:
        wanted = records(oracle.stream)
    except Forged as error:
        raise ToolError(f"the oracle of {test} wrote a broken stream: {error}") from None
    finished = bool(wanted) and wanted[-1].kind is Kind.SAW_END
    if oracle.ending is not Ending.EXITED or oracle.code != 0 or not finished:
        said = (oracle.err + oracle.report).decode("utf-8", "replace").strip()
        raise ToolError(
            f"the oracle of {test} did not finish ({oracle.ending.name.lower()}, code {oracle.code})",
            where=said[:2000],
            next_step="this is a fault of the course's test or of a dependency: run with --ref-deps",
        )
    return tuple(r for r in wanted if r.kind >= Kind.WANT_STATUS)


def judge(test: str, unit: Frame, wanted: tuple[Record, ...], statuses: tuple[str, ...]) -> TestResult:
    """The result of one run of `test`.

    `statuses` names the course's status codes from 0. Raises ToolError when the suite has no such test.
    """
    if unit.ending is Ending.NO_SUCH_TEST:
        raise ToolError(
            f"the catalogue lists {test}, but the test's source does not define it",
            next_step="add OL_TEST to the source, or take the entry out of the catalogue",
        )
    failures = list(sanitizer_failures(unit.report.decode("utf-8", "replace")))
    try:
        seen = records(unit.stream)
    except Forged as error:
        seen = ()
        failures.append(_ended(Way.EXIT, f"the stream of observations is broken: {error}", unit))
    finished = bool(seen) and seen[-1].kind is Kind.SAW_END
    failures += _endings(unit, finished, has_report=bool(failures))
    failures += _pairs(seen, wanted, statuses, finished)
    return TestResult(
        test=test,
        outcome=Outcome.FAILED if failures else Outcome.PASSED,
        failures=tuple(failures),
        seconds=unit.wall,
    )


def _ended(way: Way, how: str, unit: Frame) -> Failure:
    said = (unit.out + unit.err).decode("utf-8", "replace")
    return Failure(way=way, check="came to its end", expected="the test finishes", got=how, detail=said)


def _endings(unit: Frame, finished: bool, *, has_report: bool) -> Iterator[Failure]:
    match unit.ending:
        case Ending.TIMED_OUT:
            yield _ended(Way.TIMEOUT, f"still running after {unit.wall:.1f} s", unit)
        case Ending.OUT_OF_MEMORY:
            yield _ended(Way.MEMORY, f"used {unit.peak // 1024} MB of memory", unit)
        case Ending.FLOODED:
            yield _ended(Way.OUTPUT, "wrote more than 64 MB of observations", unit)
        case Ending.SIGNALLED:
            name = SIGNALS.get(unit.code, f"signal {unit.code}")
            yield _ended(Way.CRASH if unit.code in CRASHES else Way.EXIT, name, unit)
        case _ if not finished and not has_report:
            yield _ended(Way.EXIT, f"the process left with status {unit.code} before the end", unit)
        case _ if unit.code != 0 and not has_report:
            yield _ended(Way.EXIT, f"the process left with status {unit.code}", unit)


def _pairs(
    seen: tuple[Record, ...], wanted: tuple[Record, ...], statuses: tuple[str, ...], finished: bool
) -> Iterator[Failure]:
    waiting: dict[str, deque[tuple[Record, str]]] = defaultdict(deque)
    latest: dict[str, tuple[Record, str]] = {}
    note = ""
    for record in seen:
        if record.kind is Kind.SAW_NOTE:
            note = record.name
        elif record.kind is not Kind.SAW_END:
            waiting[record.name].append((record, note))
    for wish in wanted:
        if wish.kind is Kind.WANT_SAME:
            pair = [_next(waiting, latest, name) for name in (wish.name, wish.text)]
            if pair[0] and pair[1]:
                yield from _same(pair[0][0], pair[1][0], pair[1][1])
                continue
            met = None
        else:
            met = waiting[wish.name].popleft() if waiting[wish.name] else None
        if met is not None:
            latest[wish.name] = met
            yield from _compare(met[0], wish, met[1], statuses)
        elif finished:
            yield Failure(way=Way.CHECK, check=wish.name, expected="an observation", got="none")
    if finished:
        for name, rest in waiting.items():
            for record, said in rest:
                yield Failure(
                    way=Way.CHECK,
                    check=name,
                    expected="a wish of the oracle for every observation",
                    got=f"an observation ({record.kind.name.lower()}) that nothing judges",
                    note=said,
                )


def _next(
    waiting: dict[str, deque[tuple[Record, str]]], latest: dict[str, tuple[Record, str]], name: str
) -> tuple[Record, str] | None:
    """The next observation of a name for a relation; one that was judged already may serve again."""
    if waiting[name]:
        latest[name] = waiting[name].popleft()
    return latest.get(name)


def _compare(got: Record, wish: Record, note: str, statuses: tuple[str, ...]) -> Iterator[Failure]:
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
        got=f"{have} values of {got.dtype.name.lower()}",
        note=note,
    )


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


def _same(first: Record, second: Record, note: str) -> Iterator[Failure]:
    for failure in _bits(second, first.dtype, first.data, note):
        yield Failure(
            way=failure.way,
            check=f"{second.name} has the bits of {first.name}",
            expected=failure.expected,
            got=failure.got,
            where=failure.where,
            bad=failure.bad,
            total=failure.total,
            note=note,
        )


def _floats(got: Record, wish: Record, note: str) -> Iterator[Failure]:
    n = wish.count if wish.kind is Kind.WANT_NAN else len(wish.data) // SIZES[wish.dtype]
    if wrong := _wrong_size(got, Dtype.F32, n, note):
        yield wrong
        return
    have = np.frombuffer(got.data, "<f4").astype(np.float64)
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
    if got.dtype is Dtype.F32 and np.isfinite(have[k]) and np.isfinite(wanted[k]):
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
    if isinstance(value, np.floating):
        text = f"{float(value):.9g}"
        if bits and isinstance(value, np.float32):
            code = struct.unpack("<I", struct.pack("<f", float(value)))[0]
            raw = int(np.asarray(value).view(np.uint32))
            return f"{text} (0x{raw if np.isnan(value) else code:08x})"
        return text
    return str(value)


def _where(k: int, axes: tuple[Axis, ...]) -> str:
    parts: list[str] = []
    for axis in reversed(axes):
        extent = max(axis.extent, 1)
        parts.append(f"{axis.name} {k % extent}")
        k //= extent
    return ", ".join(reversed(parts))
