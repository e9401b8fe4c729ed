"""The judge as a pure function: streams in, results out. test_kit.py tests it through real processes."""

import struct
from dataclasses import replace

import numpy as np
import pytest

from ol.errors import ToolError
from ol.judge import first_failure, judge, wishes
from ol.manifest import Way
from ol.reports import sanitizer_failures
from ol.stream import Dtype, Ending, Forged, Frame, Kind, frames, records
from ol.verdict import Failure, Outcome, TestResult, merged

FRAME = Frame(
    number=0,
    ending=Ending.EXITED,
    code=0,
    wall=0.1,
    peak=2048,
    stream=b"",
    out=b"",
    err=b"",
    report=b"",
    dropped=0,
)
STATUSES = ("OK", "EINVAL")


def text(words: str) -> bytes:
    return struct.pack("<I", len(words.encode())) + words.encode()


def record(kind: Kind, name: str = "", body: bytes = b"") -> bytes:
    whole = bytes([kind]) + text(name) + body
    return struct.pack("<I", len(whole)) + whole


def array(dtype: Dtype, values: list[float], code: str) -> bytes:
    return struct.pack("<Bq", dtype, len(values)) + np.array(values, code).tobytes()


def saw(name: str, *values: float, axes: bytes = b"\0") -> bytes:
    return record(Kind.SAW_ARRAY, name, axes + array(Dtype.F32, list(values), "<f4"))


def close(name: str, *values: float, rtol: float = 0, atol: float = 0) -> bytes:
    return record(
        Kind.WANT_CLOSE, name, struct.pack("<dd", rtol, atol) + array(Dtype.F32, list(values), "<f4")
    )


END = record(Kind.SAW_END)


def failures(seen: bytes, wanted: bytes, **frame: object) -> list[Failure]:
    unit = replace(FRAME, stream=seen, **frame)  # type: ignore[arg-type]
    return list(judge("c:t", unit, records(wanted), STATUSES).failures)


def test_a_pass_needs_all_observations_and_the_end() -> None:
    assert failures(saw("x", 1) + END, close("x", 1)) == []
    assert [f.got for f in failures(END, close("x", 1))] == ["none"]
    (failure,) = failures(saw("x", 1), close("x", 1))
    assert (failure.way, failure.got) == (Way.EXIT, "the process left with status 0 before the end")


def test_an_empty_stream_of_a_test_without_wishes_is_no_pass() -> None:
    assert [f.way for f in failures(b"", b"")] == [Way.EXIT]


def test_observations_before_an_early_end_are_still_judged() -> None:
    found = failures(saw("x", 1) + saw("y", 2), close("x", 9) + close("y", 2) + close("z", 3), code=3)
    assert [(f.way, f.check) for f in found] == [(Way.EXIT, "came to its end"), (Way.CHECK, "x")]


@pytest.mark.parametrize("got", [np.nan, np.inf, -np.inf, 1.5, -1.0])
@pytest.mark.parametrize("tolerance", [{}, {"rtol": 1e-3}, {"atol": 1e-3}])
def test_what_is_not_close_fails(got: float, tolerance: dict[str, float]) -> None:
    assert [f.way for f in failures(saw("x", got) + END, close("x", 1, **tolerance))] == [Way.CHECK]


@pytest.mark.parametrize("want", [np.nan, 1.0, np.inf])
@pytest.mark.parametrize("tolerance", [0.0, 1.0, np.inf, np.nan])
def test_nan_never_passes_a_closeness(want: float, tolerance: float) -> None:
    assert failures(saw("x", np.nan) + END, close("x", want, rtol=tolerance, atol=tolerance)) != []
    assert failures(saw("x", 1) + END, close("x", np.nan, rtol=tolerance, atol=tolerance)) != []


def test_an_array_as_text_stands_at_its_first_bad_index() -> None:
    axes = b"\2" + text("row") + struct.pack("<q", 2) + text("d") + struct.pack("<q", 2)
    (failure,) = failures(saw("x", 1, 2, 9, 9, axes=axes) + END, close("x", 1, 2, 3, 4))
    assert (failure.where, failure.bad, failure.total) == ("row 1, d 0", 2, 4)
    assert (failure.expected, failure.got) == ("3 ± 0", "9 (off by 6)")


def test_a_note_stands_with_what_follows_it() -> None:
    note = record(Kind.SAW_NOTE, "second call")
    found = failures(saw("x", 1) + note + saw("x", 1) + END, close("x", 2) + close("x", 2))
    assert [f.note for f in found] == ["", "second call"]


def test_after_an_early_end_the_latest_note_stands_with_it() -> None:
    (failure,) = failures(record(Kind.SAW_NOTE, "the call") + saw("x", 1), close("x", 1), code=1)
    assert failure.note == "the call"


@pytest.mark.parametrize(
    ("ending", "code", "way"),
    [
        (Ending.TIMED_OUT, 9, Way.TIMEOUT),
        (Ending.OUT_OF_MEMORY, 9, Way.MEMORY),
        (Ending.FLOODED, 9, Way.OUTPUT),
        (Ending.SIGNALLED, 11, Way.CRASH),
        (Ending.SIGNALLED, 8, Way.CRASH),
        (Ending.SIGNALLED, 9, Way.EXIT),
        (Ending.EXITED, 1, Way.EXIT),
    ],
)
def test_no_ending_but_the_right_one_passes(ending: Ending, code: int, way: Way) -> None:
    found = failures(saw("x", 1) + END, close("x", 1), ending=ending, code=code)
    assert [f.way for f in found] == [way]


def test_a_report_fails_a_run_that_otherwise_passes() -> None:
    report = b"u.c:3:7: runtime error: signed integer overflow: 1 + 2\n"
    (failure,) = failures(saw("x", 1) + END, close("x", 1), report=report)
    assert (failure.way, failure.where) == (Way.SANITIZER, "u.c:3:7")
    assert failure.got == "signed integer overflow: 1 + 2"


def test_a_report_explains_an_early_exit() -> None:
    report = b"==7==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x6 at pc 0x5\n"
    (failure,) = failures(saw("x", 1), close("x", 1), report=report, code=86)
    assert (failure.way, failure.got) == (Way.SANITIZER, "heap-buffer-overflow")


@pytest.mark.parametrize(
    "stream",
    [
        b"\1",
        b"\0\0\0\0",
        END[:-1],
        saw("x", 1)[:-2] + END,
        struct.pack("<I", 6) + b"\5" + text("") + b"?",
        record(Kind.SAW_ARRAY, "x", b"\0" + struct.pack("<Bq", 9, 1) + b"????"),
        record(Kind.SAW_ARRAY, "x", b"\0" + struct.pack("<Bq", 0, -1)),
        record(Kind.SAW_ARRAY, "x", b"\0" + struct.pack("<Bq", 0, 2**62)),
        bytes([6, 0, 0, 0, 99]) + text("") + b"?",
        struct.pack("<I", 2**32 - 1),
    ],
)
def test_a_stream_that_the_kit_cannot_have_written_fails(stream: bytes) -> None:
    with pytest.raises(Forged):
        records(stream)
    (failure,) = failures(stream, b"")
    assert failure.way is Way.EXIT


def test_an_oracle_must_come_to_its_end() -> None:
    whole = close("x", 1) + END
    assert [r.name for r in wishes("c:t", replace(FRAME, stream=whole))] == ["x"]
    broken = [
        replace(FRAME, stream=close("x", 1)),
        replace(FRAME, stream=whole, code=1),
        replace(FRAME, stream=whole, ending=Ending.TIMED_OUT),
        replace(FRAME, stream=b""),
        replace(FRAME, stream=whole[:-1]),
        replace(FRAME, ending=Ending.NO_SUCH_TEST),
    ]
    for frame in broken:
        with pytest.raises(ToolError, match="c:t"):
            wishes("c:t", frame)


def test_an_observation_of_the_unit_cannot_be_a_wish() -> None:
    stream = close("x", 1) + saw("x", 1) + END
    assert failures(stream, close("x", 1)) != []


def test_frames_are_read_whole_or_refused() -> None:
    body = struct.pack("<IBiQQ", 7, 0, 3, 1_500_000, 99) + 4 * text("ab") + struct.pack("<Q", 5)
    (frame,) = frames(struct.pack("<I", len(body)) + body)
    assert (frame.number, frame.code, frame.wall, frame.report, frame.dropped) == (7, 3, 1.5, b"ab", 5)
    for broken in (body, struct.pack("<I", len(body)) + body[:-1], b"?"):
        with pytest.raises(ToolError, match="cannot be read"):
            frames(broken)


REPORTS = {
    "==1==ERROR: AddressSanitizer: SEGV on unknown address 0x0 (pc 0x1)\n"
    "==1==The signal is caused by a READ memory access.\n"
    "==1==Hint: address points to the zero page.\n": (Way.CRASH, "SEGV: a read through a NULL pointer"),
    "==1==ERROR: AddressSanitizer: stack-overflow on address 0x1\n": (Way.CRASH, "stack-overflow"),
    "==1==ERROR: LeakSanitizer: detected memory leaks\n": (Way.SANITIZER, "detected memory leaks"),
    "WARNING: ThreadSanitizer: data race (pid=7)\n": (Way.SANITIZER, "data race"),
    "<unknown>: runtime error: load of misaligned address\n": (Way.SANITIZER, "load of misaligned address"),
    "something new\n": (Way.SANITIZER, "see below"),
}


@pytest.mark.parametrize("log", REPORTS)
def test_a_sanitizers_words_become_a_finding(log: str) -> None:
    assert [(f.way, f.got) for f in sanitizer_failures(log)] == [REPORTS[log]]


def test_no_words_are_no_finding_and_many_are_cut() -> None:
    assert list(sanitizer_failures(" \n")) == []
    assert len(list(sanitizer_failures("a.c:1:1: runtime error: x\n" * 50))) == 8


def test_a_test_passes_where_all_its_runs_do() -> None:
    good = TestResult(test="c:t", outcome=Outcome.PASSED, seconds=1)
    bad = TestResult(
        test="c:t", outcome=Outcome.FAILED, failures=(Failure(way=Way.CHECK, check="x"),), seconds=2
    )
    assert merged([good, good]).outcome is Outcome.PASSED
    assert (merged([good, bad]).outcome, merged([good, bad]).seconds) == (Outcome.FAILED, 3)


def test_the_first_failure_is_that_of_the_whole_judgement() -> None:
    report = b"==1==ERROR: LeakSanitizer: detected memory leaks\n"
    for change in (
        {},
        {"report": report},
        {"ending": Ending.TIMED_OUT},
        {"ending": Ending.SPENT, "code": 24},
    ):
        unit = replace(FRAME, **change)
        assert first_failure(unit, (), ()) == judge("t", unit, (), ()).failures[0]
    end = bytes([5, 0, 0, 0, 5, 0, 0, 0, 0])
    assert first_failure(replace(FRAME, stream=end), (), ()) is None
