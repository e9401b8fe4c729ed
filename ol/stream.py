"""What comes out of a test's process: frames of the supervisor, and the records inside them.

Pure: bytes in, frozen records out. The layouts are written by course/testkit/supervisor.c (frames) and
kit.c (records), and by their twins pysupervisor.py and olkit.py; all numbers are little endian.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from typing import Any

from ol.errors import ToolError


class Ending(IntEnum):
    EXITED = 0
    SIGNALLED = 1
    TIMED_OUT = 2
    OUT_OF_MEMORY = 3
    FLOODED = 4
    NO_SUCH_TEST = 5
    NOT_RUN = 6
    """It was not to be run any more: a test before it timed out, or has shown what was to be known."""
    SAME = 7
    """It wrote byte for byte what the baseline wrote, and nothing else happened. The stream is left out."""
    SPENT = 8
    """It took more steps than it was given."""
    STUCK = 9
    """Each of its threads waited for another, and none was left to wake them."""


class Kind(IntEnum):
    SAW_NOTE = 1
    SAW_STATUS = 2
    SAW_ARRAY = 3
    SAW_FACT = 4
    SAW_END = 5
    SAW_RAISED = 6
    SAW_LEFT = 7
    """What the unit has changed for whoever runs after it; `name` says it in words."""
    WANT_STATUS = 16
    WANT_CLOSE = 17
    WANT_ULP = 18
    WANT_NAN = 19
    WANT_BITS = 20
    WANT_SAME = 21
    WANT_FACT = 22
    WANT_TEXT_WITH = 23


class Dtype(IntEnum):
    F32 = 0
    F64 = 1
    I64 = 2
    U32 = 3
    U16 = 4
    U8 = 5
    TEXT = 6


SIZES = {
    Dtype.F32: 4,
    Dtype.F64: 8,
    Dtype.I64: 8,
    Dtype.U32: 4,
    Dtype.U16: 2,
    Dtype.U8: 1,
    Dtype.TEXT: 1,
}


@dataclass(frozen=True, kw_only=True)
class Axis:
    name: str
    extent: int


@dataclass(frozen=True, kw_only=True)
class Record:
    """One observation or wish. Which fields count depends on `kind`; `data` is the raw array."""

    kind: Kind
    name: str
    status: int = 0
    holds: bool = False
    text: str = ""
    axes: tuple[Axis, ...] = ()
    dtype: Dtype = Dtype.U8
    data: bytes = b""
    rtol: float = 0.0
    atol: float = 0.0
    count: int = 0


@dataclass(frozen=True, kw_only=True)
class Frame:
    """What the supervisor says of one child."""

    number: int
    ending: Ending
    code: int
    wall: float
    """Seconds."""
    peak: int
    """Resident memory at its highest, in KiB."""
    stream: bytes
    out: bytes
    err: bytes
    report: bytes
    dropped: int


NOT_RUN = Frame(
    number=0,
    ending=Ending.NOT_RUN,
    code=0,
    wall=0.0,
    peak=0,
    stream=b"",
    out=b"",
    err=b"",
    report=b"",
    dropped=0,
)


class Forged(Exception):
    """A stream that the kit cannot have written: it is cut short, or something else wrote into it."""


_U8, _U32, _I64, _U64, _F64 = (struct.Struct(f"<{code}") for code in "BIqQd")
_HEAD = struct.Struct("<IBiQQ")
_SMALL = 2048
"""Bytes of a record that is worth remembering."""


class _Reader:
    def __init__(self, data: bytes):
        self.data = data
        self.at = 0

    def take(self, n: int) -> bytes:
        if n < 0 or self.at + n > len(self.data):
            raise Forged("a record is cut short")
        self.at += n
        return self.data[self.at - n : self.at]

    def unpack(self, layout: struct.Struct) -> tuple[Any, ...]:
        try:
            found = layout.unpack_from(self.data, self.at)
        except struct.error:
            raise Forged("a record is cut short") from None
        self.at += layout.size
        return found

    def number(self, layout: struct.Struct) -> int:
        return int(self.unpack(layout)[0])

    def real(self) -> float:
        return float(self.unpack(_F64)[0])

    def string(self) -> bytes:
        return self.take(self.number(_U32))

    def text(self) -> str:
        return self.string().decode("utf-8", "replace")

    def array(self) -> tuple[Dtype, bytes]:
        try:
            dtype = Dtype(self.number(_U8))
        except ValueError:
            raise Forged("an array of no known type") from None
        return dtype, self.take(self.number(_I64) * SIZES[dtype])

    def axes(self) -> tuple[Axis, ...]:
        rank = self.number(_U8)
        return tuple(Axis(name=self.text(), extent=self.number(_I64)) for _ in range(rank))


def frames(data: bytes) -> list[Frame]:
    """All complete frames. Raises ToolError when the supervisor's output is not in its layout."""
    whole = _Reader(data)
    found = []
    try:
        while whole.at < len(data):
            found.append(_frame(_Reader(whole.string())))
    except (Forged, ValueError) as error:
        raise ToolError(
            f"the supervisor's output cannot be read: {error}",
            next_step="run the command again; if it repeats, please report it",
        ) from None
    return found


def _frame(r: _Reader) -> Frame:
    number, ending, code, wall_us, peak = r.unpack(_HEAD)
    stream, out, err, report = (r.string() for _ in range(4))
    return Frame(
        number=number,
        ending=Ending(ending),
        code=code,
        wall=wall_us / 1e6,
        peak=peak,
        stream=stream,
        out=out,
        err=err,
        report=report,
        dropped=r.number(_U64),
    )


def records(data: bytes) -> tuple[Record, ...]:
    """The records of a stream. Raises Forged where the bytes are not records from end to end."""
    return tuple(_records(data))


def _records(data: bytes) -> Iterator[Record]:
    whole = _Reader(data)
    while whole.at < len(data):
        one = whole.string()
        yield _remembered(one) if len(one) <= _SMALL else _parsed(one)


def _parsed(data: bytes) -> Record:
    r = _Reader(data)
    try:
        kind = Kind(r.number(_U8))
    except ValueError:
        raise Forged("a record of no known kind") from None
    record = _record(kind, r.text(), r)
    if r.at != len(r.data):
        raise Forged("a record is longer than its content")
    return record


_remembered = lru_cache(maxsize=4096)(_parsed)
"""Most of what a test writes of one mutant it writes of others too."""


def _record(kind: Kind, name: str, r: _Reader) -> Record:
    match kind:
        case Kind.SAW_STATUS | Kind.WANT_STATUS:
            return Record(kind=kind, name=name, status=r.number(_I64))
        case Kind.SAW_ARRAY:
            axes = r.axes()
            dtype, data = r.array()
            return Record(kind=kind, name=name, axes=axes, dtype=dtype, data=data)
        case Kind.SAW_FACT:
            return Record(kind=kind, name=name, holds=r.number(_U8) == 1, text=r.text())
        case Kind.WANT_CLOSE:
            rtol, atol = r.real(), r.real()
            dtype, data = r.array()
            return Record(kind=kind, name=name, rtol=rtol, atol=atol, dtype=dtype, data=data)
        case Kind.WANT_ULP:
            ulp = r.real()
            dtype, data = r.array()
            return Record(kind=kind, name=name, atol=ulp, dtype=dtype, data=data)
        case Kind.WANT_BITS:
            dtype, data = r.array()
            return Record(kind=kind, name=name, dtype=dtype, data=data)
        case Kind.WANT_NAN:
            return Record(kind=kind, name=name, count=r.number(_I64))
        case Kind.WANT_SAME | Kind.WANT_TEXT_WITH | Kind.SAW_RAISED:
            return Record(kind=kind, name=name, text=r.text())
        case Kind.SAW_NOTE | Kind.SAW_END | Kind.SAW_LEFT | Kind.WANT_FACT:
            return Record(kind=kind, name=name)
