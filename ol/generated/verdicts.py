"""From what was found out about the mutants to the report. Pure."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ol.generated.accepted import stale
from ol.generated.model import (
    GeneratedReport,
    Known,
    Ledger,
    Mutant,
    MutantResult,
    State,
    TestCost,
    Timing,
)
from ol.generated.units import Units
from ol.manifest import Module


@dataclass(frozen=True, kw_only=True)
class Found:
    units: Units
    ledger: Ledger
    accepted: Mapping[str, str]
    never_called: tuple[str, ...]
    whole: bool
    """All mutants were in scope."""


def report_of(
    found: Found, module: Module, compiler: str, *, seed: int, matrix: bool, timing: Timing
) -> GeneratedReport:
    results = tuple(_results(found))
    killed = {m.mutant.key: m.kills[0].test for m in results if m.state is State.KILLED}
    return GeneratedReport(
        module=module.id,
        title=module.title,
        compiler=compiler,
        seed=seed,
        matrix=matrix,
        sources=found.units.texts,
        mutants=results,
        tests=_costs(module, results),
        planted=tuple((m.id, m.test) for m in module.mutants),
        skipped=found.units.skipped,
        never_called=found.never_called,
        stale=stale(found.accepted, (m.key for m in found.units.mutants), killed),
        timing=timing,
    )


def _results(found: Found) -> Iterator[MutantResult]:
    first, reasons = _groups(found)
    for mutant in found.units.mutants:
        if mutant.number in found.units.unviable:
            yield MutantResult(mutant=mutant, state=State.UNVIABLE)
        elif mutant.number not in found.units.outside:
            yield _result(mutant, found.ledger[mutant], first, reasons)


_Code = tuple[str, str, str]


def _code(mutant: Mutant, known: Known) -> _Code:
    own = str(mutant.number) if known.code in ("", "?") else known.code
    return mutant.file, mutant.edit.function, own


def _groups(found: Found) -> tuple[dict[_Code, Mutant], dict[_Code, str]]:
    """Of the survivors with one code: the first, and the reason if any of them is accepted."""
    first: dict[_Code, Mutant] = {}
    reasons: dict[_Code, str] = {}
    for mutant, known in found.ledger.items():
        if known.kills:
            continue
        code = _code(mutant, known)
        first.setdefault(code, mutant)
        if mutant.key in found.accepted:
            reasons.setdefault(code, found.accepted[mutant.key])
    return first, reasons


def _result(
    mutant: Mutant, known: Known, first: Mapping[_Code, Mutant], reasons: Mapping[_Code, str]
) -> MutantResult:
    code = _code(mutant, known)
    reason = reasons.get(code, "")
    original = first.get(code, mutant)
    if known.kills:
        state = State.KILLED
    elif known.code == "=":
        state = State.EQUIVALENT
    elif original != mutant:
        state = State.DUPLICATE
    else:
        state = State.ACCEPTED if reason else State.SURVIVED
    return MutantResult(
        mutant=mutant,
        state=state,
        kills=known.kills,
        ran=tuple(known.runs),
        why=known.why,
        reached_in=known.reached_in,
        differed_in=known.differed_in,
        same_as=original.id if state is State.DUPLICATE else "",
        reason=reason if state is State.ACCEPTED else "",
    )


def _costs(module: Module, results: tuple[MutantResult, ...]) -> tuple[TestCost, ...]:
    kills: Counter[str] = Counter()
    alone: Counter[str] = Counter()
    for result in results:
        tests = {k.test for k in result.kills}
        kills.update(tests)
        if len(tests) == 1:
            alone.update(tests)
    return tuple(TestCost(id=t.id, kills=kills[t.id], alone=alone[t.id]) for t in module.tests)
