"""An audit with planted mutants as a sheet."""

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import takewhile

from ol.fate import AuditReport, Fate, MutantResult
from ol.generated.model import Kill, TestCost
from ol.lane import Sources
from ol.report.sheet import Row, Sheet, Standing

_STANDING = {
    Fate.KILLED: Standing.KILLED,
    Fate.SURVIVED: Standing.SURVIVED,
    Fate.OTHER_WAY: Standing.SURVIVED,
    Fate.UNVIABLE: Standing.OTHER,
}
_STATUS = {
    Fate.KILLED: "Killed",
    Fate.SURVIVED: "Survived",
    Fate.OTHER_WAY: "RuntimeError",
    Fate.UNVIABLE: "CompileError",
}


def of_planted(report: AuditReport, reference: Sources, mutated: Mapping[str, Sources]) -> Sheet:
    """`mutated` are the sources of each mutant whose patch applies, by id."""
    sources = {path: text.decode("utf-8", "replace") for path, text in reference.items()}
    fresh = [m for m in report.mutants if m.fate is not Fate.STALE]
    rows = tuple(_row(m, sources, mutated[m.entry.id]) for m in fresh)
    killed = sum(m.fate is Fate.KILLED for m in report.mutants)
    return Sheet(
        module=report.module,
        title=report.title,
        kind="planted",
        verdict=f"{killed} of {len(report.mutants)} killed by their named tests",
        compiler=report.compiler,
        seed=report.seed,
        matrix=report.matrix,
        sources=sources,
        rows=rows,
        tests=_costs(report, rows),
        states=tuple(Fate),
        notes=tuple(_notes(report)),
    )


def _notes(report: AuditReport) -> Iterator[str]:
    if not report.baseline_holds:
        yield "the reference fails its own tests, so no mutant was run"
    for mutant in report.mutants:
        if mutant.fate is Fate.STALE:
            yield f"{mutant.entry.id} is stale: {mutant.detail}"


def _row(result: MutantResult, sources: Mapping[str, str], mutated: Sources) -> Row:
    changed = {path: text.decode("utf-8", "replace") for path, text in mutated.items()}
    file = next(path for path, text in sources.items() if changed[path] != text)
    text, entry = sources[file], result.entry
    start, end, replacement = difference(text, changed[file])
    line = text.count("\n", 0, start) + 1
    column = start - text.rfind("\n", 0, start)
    action = f"{entry.id}: {entry.pitfall}"
    return Row(
        id=entry.id,
        name=f"{file.rsplit('/', 1)[-1]}:{line}:{column} {action}",
        key=f"{file.rsplit('/', 1)[-1]} | planted | {entry.id}",
        file=file,
        start=start,
        end=end,
        line=line,
        column=column,
        operator="planted",
        action=action,
        replacement=replacement,
        state=result.fate,
        standing=_STANDING[result.fate],
        status=_STATUS[result.fate],
        told=_told(result),
        kills=tuple(_kills(result)),
        ran=1 if result.fate is not Fate.UNVIABLE else 0,
    )


def difference(old: str, new: str) -> tuple[int, int, str]:
    """Start and end of the lines of `old` that are others in `new`, without their indent, and what stands
    there instead."""
    before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    head = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(before, after, strict=False)))
    rest = zip(before[head:][::-1], after[head:][::-1], strict=False)
    tail = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], rest))
    removed = "".join(before[head : len(before) - tail]).rstrip("\n")
    added = "".join(after[head : len(after) - tail]).rstrip("\n")
    indent = len(removed) - len(removed.lstrip())
    start = sum(map(len, before[:head]))
    return start + indent, start + len(removed), added.lstrip()


def _told(result: MutantResult) -> str:
    entry = result.entry
    match result.fate:
        case Fate.KILLED:
            also = f"; also noticed by {', '.join(result.also)}" if result.also else ""
            return f"killed by {entry.test} ({' and '.join(result.ways)}){also}"
        case Fate.SURVIVED:
            return f"{entry.test} does not notice it"
        case Fate.OTHER_WAY:
            return f"died by {' and '.join(result.ways)}; its entry says {entry.how}"
        case _:
            return "the compiler refuses it"


def _kills(result: MutantResult) -> Iterator[Kill]:
    if result.fate is Fate.KILLED:
        yield Kill(test=result.entry.test, way=" and ".join(result.ways))
    for test in result.also:
        yield Kill(test=test, way="any")


def _costs(report: AuditReport, rows: tuple[Row, ...]) -> tuple[TestCost, ...]:
    killers = [{kill.test for kill in row.kills} for row in rows]
    kills = Counter(test for tests in killers for test in tests)
    alone = Counter(test for tests in killers if len(tests) == 1 for test in tests)
    return tuple(TestCost(id=r.test, kills=kills[r.test], alone=alone[r.test]) for r in report.baseline)
