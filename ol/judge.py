"""The judge: pairs what the unit's process saw with what the oracle's process wants. Pure.

The k-th observation of a name is judged by the k-th wish of that name. A comparison is written so that
NaN fails it. The unit's process has no say here: a stream that ends early has failed, whatever its
process's exit status, and so has one with an observation missing.
"""

import re
from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import replace

from ol.compare import compare, same_bits
from ol.errors import ToolError
from ol.manifest import Way
from ol.reports import sanitizer_failures
from ol.stream import Ending, Forged, Frame, Kind, Record, records
from ol.verdict import Failure, Outcome, TestResult

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
_STUCK = "its threads wait for one another, for ever"
_PLACE = re.compile(r'^  File "(.+)", line (\d+),', re.MULTILINE)
CRASHES = (4, 6, 7, 8, 11)


def wishes(test: str, oracle: Frame) -> tuple[Record, ...]:
    """What the oracle wants. Raises ToolError when the oracle itself did not come to its end."""
    if oracle.ending is Ending.NO_SUCH_TEST:
        raise _undefined(test)
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


def _undefined(test: str) -> ToolError:
    return ToolError(
        f"the catalogue lists {test}, but the test's source does not define it",
        next_step="add OL_TEST to the source, or take the entry out of the catalogue",
    )


def judge(test: str, unit: Frame, wanted: tuple[Record, ...], statuses: tuple[str, ...]) -> TestResult:
    """The result of one run of `test`.

    `statuses` names the course's status codes from 0. Raises ToolError when the suite has no such test.
    """
    if unit.ending is Ending.NO_SUCH_TEST:
        raise ToolError(
            f"the catalogue lists {test}, but the test's source does not define it",
            next_step="add OL_TEST to the source, or take the entry out of the catalogue",
        )
    if unit.ending is Ending.NOT_RUN:
        return TestResult(test=test, outcome=Outcome.NOT_RUN)
    failures = tuple(_failures(unit, wanted, statuses))
    outcome = Outcome.FAILED if failures else Outcome.PASSED
    return TestResult(test=test, outcome=outcome, failures=failures, seconds=unit.wall)


def first_failure(unit: Frame, wanted: tuple[Record, ...], statuses: tuple[str, ...]) -> Failure | None:
    """The first failure of `judge`, of a run that has taken place; where a sanitizer has spoken nothing
    else is read, and it has no note."""
    said = next(iter(sanitizer_failures(unit.report.decode("utf-8", "replace"))), None)
    return said or next(_failures(unit, wanted, statuses), None)


def _failures(unit: Frame, wanted: tuple[Record, ...], statuses: tuple[str, ...]) -> Iterator[Failure]:
    found = list(sanitizer_failures(unit.report.decode("utf-8", "replace")))
    try:
        seen = records(unit.stream)
    except Forged as error:
        seen = ()
        if unit.ending is Ending.EXITED:  # a process that was ended may have been in the midst of a record
            found.append(_ended(Way.EXIT, f"the stream of observations is broken: {error}", unit))
    finished = bool(seen) and seen[-1].kind is Kind.SAW_END
    found += _raised(seen)
    found += _left(seen)
    found += _endings(unit, finished, has_report=bool(found))
    for failure in found:
        yield failure if finished or failure.note else replace(failure, note=_latest_note(seen))
    yield from _pairs(seen, wanted, statuses, finished)


def _raised(seen: tuple[Record, ...]) -> Iterator[Failure]:
    """The exception that ended a Python test: a message and a traceback with a NUL between them."""
    for k, record in enumerate(seen):
        if record.kind is not Kind.SAW_RAISED:
            continue
        message, _, trace = record.text.partition("\0")
        frames = _PLACE.findall(trace)
        yield Failure(
            way=Way.CRASH,
            check="came to its end",
            expected="no exception",
            got=f"{record.name}: {message}" if message else record.name,
            where=":".join(frames[-1]) if frames else "",
            note=_latest_note(seen[:k]),
            detail=trace,
        )


def _left(seen: tuple[Record, ...]) -> Iterator[Failure]:
    """What the unit has changed in its process and not put back."""
    for record in seen:
        if record.kind is Kind.SAW_LEFT:
            yield Failure(
                way=Way.CHECK,
                check="leaves the process as it was",
                expected="no change",
                got=f"the unit left something changed: {record.name}",
            )


def _latest_note(seen: tuple[Record, ...]) -> str:
    return next((r.name for r in reversed(seen) if r.kind is Kind.SAW_NOTE), "")


def _ended(way: Way, how: str, unit: Frame) -> Failure:
    said = (unit.out + unit.err).decode("utf-8", "replace")
    return Failure(way=way, check="came to its end", expected="the test finishes", got=how, detail=said)


def _endings(unit: Frame, finished: bool, *, has_report: bool) -> Iterator[Failure]:
    match unit.ending:
        case Ending.TIMED_OUT:
            yield _ended(Way.TIMEOUT, f"still running after {unit.wall:.1f} s", unit)
        case Ending.STUCK:
            yield _ended(Way.TIMEOUT, f"a deadlock: {_STUCK}", unit)
        case Ending.SPENT:
            yield _ended(Way.TIMEOUT, "still running after many times the steps of the original", unit)
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
        elif record.kind not in (Kind.SAW_END, Kind.SAW_RAISED, Kind.SAW_LEFT):
            waiting[record.name].append((record, note))
    for wish in wanted:
        if wish.kind is Kind.WANT_SAME:
            pair = [_next(waiting, latest, name) for name in (wish.name, wish.text)]
            if pair[0] and pair[1]:
                yield from same_bits(pair[0][0], pair[1][0], pair[1][1])
                continue
            met = None
        else:
            met = waiting[wish.name].popleft() if waiting[wish.name] else None
        if met is not None:
            latest[wish.name] = met
            yield from compare(met[0], wish, met[1], statuses)
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
