"""The report of generated mutants for people at a terminal, and as a document for programs."""

from collections.abc import Iterator
from itertools import groupby
from typing import Any

import msgspec

from ol.generated.model import GeneratedReport, MutantResult, State, Why
from ol.report.failures import printable

FORMAT_VERSION = 1
_MOST_TESTS = 3


def text(report: GeneratedReport) -> str:
    """The summary, then each survivor with its line, a caret and the reason."""
    lines = list(_summary(report))
    for result in report.survivors:
        lines += ["", *_survivor(report, result)]
    return "\n".join(lines)


def _summary(report: GeneratedReport) -> Iterator[str]:
    counts = [(state, report.count(state)) for state in State]
    told = ", ".join(f"{n} {_noun(state, n)}" for state, n in counts if n)
    yield f"{report.module}: {len(report.mutants)} generated mutants: {told}"
    yield (
        f"score {report.score:.1f} % of those that a test could kill "
        f"({report.compiler}, seed {report.seed}, {len(report.tests)} tests)"
    )
    timing = report.timing
    if timing.measured:
        rate = timing.measured / timing.running if timing.running else 0.0
        yield (
            f"{timing.measured} measured now in {timing.runs} runs: built in {timing.building:.1f} s, "
            f"run in {timing.running:.1f} s ({rate:.0f} mutants a second), "
            f"survivors again in other builds in {timing.again:.1f} s; the rest was remembered"
        )
    for name in report.never_called:
        yield f"no test calls {name}"
    for one in report.skipped:
        inside = f" in {one.function}" if one.function else ""
        yield f"{one.file}:{one.line}: not mutated{inside}: {printable(one.reason)}"
    for line in report.stale:
        yield f"mutants/{report.module}/accepted.toml: {printable(line)}"
    if report.fail_under is not None:
        yield f"at least {report.fail_under:g} % is asked for: {'met' if report.holds else 'not met'}"


def _noun(state: State, n: int) -> str:
    plural = {State.DUPLICATE: "duplicates", State.UNVIABLE: "that do not compile"}
    return plural.get(state, str(state)) if n != 1 else str(state)


def _survivor(report: GeneratedReport, result: MutantResult) -> Iterator[str]:
    edit, source = result.mutant.edit, report.sources[result.mutant.file]
    line = source.splitlines()[edit.line - 1].expandtabs(1)
    width = max(1, min(len(edit.original.partition("\n")[0]), len(line) - edit.column + 1))
    yield f"{printable(result.mutant.id)}   [{edit.operator}, in {edit.function}]"
    yield f"  {edit.line:5} | {printable(line)}"
    yield f"        | {' ' * (edit.column - 1)}{'^' * width}"
    yield f"  {because(result)}"


def because(result: MutantResult) -> str:
    """Why it survived, in words."""
    match result.why:
        case Why.NEVER_REACHED:
            return "never reached: no test runs this place"
        case Why.NEVER_DIFFERENT:
            is_compared = result.mutant.edit.operator == "constant" and result.mutant.edit.change
            what = "comparison" if is_compared else "value"
            return f"reached in {named(result.reached_in)}, but the {what} was always that of the original"
        case Why.UNNOTICED:
            return f"differed in {named(result.differed_in)}, and no check noticed"
        case Why.UNKNOWN:
            return f"reached in {named(result.reached_in)}; whether it differed cannot be told"
        case _:
            return ""


def named(tests: tuple[str, ...]) -> str:
    shown = ", ".join(tests[:_MOST_TESTS])
    return shown + (f" and {len(tests) - _MOST_TESTS} more tests" if len(tests) > _MOST_TESTS else "")


def document(report: GeneratedReport) -> bytes:
    """JSON as docs/json.md describes it."""
    body: dict[str, Any] = {
        "format_version": FORMAT_VERSION,
        "kind": "generated-audit",
        "holds": report.holds,
        "score": round(report.score, 2),
        "counts": {str(state): report.count(state) for state in State},
        "mutants": [_mutant(m) for m in report.mutants],
    }
    for name in ("module", "title", "compiler", "seed", "matrix", "never_called", "stale", "fail_under"):
        body[name] = getattr(report, name)
    for name in ("tests", "skipped", "timing"):
        body[name] = msgspec.to_builtins(getattr(report, name))
    return msgspec.json.format(msgspec.json.encode(body), indent=2)


def _mutant(result: MutantResult) -> dict[str, Any]:
    edit = result.mutant.edit
    return {
        "id": result.mutant.id,
        "key": result.mutant.key,
        "file": result.mutant.file,
        "line": edit.line,
        "column": edit.column,
        "function": edit.function,
        "operator": edit.operator,
        "original": edit.original,
        "replacement": edit.replacement,
        "state": str(result.state),
        "kills": msgspec.to_builtins(result.kills),
        "why": None if result.why is None else str(result.why),
        "reached_in": result.reached_in,
        "differed_in": result.differed_in,
        "same_as": result.same_as,
        "reason": result.reason,
    }


def keys(report: GeneratedReport) -> str:
    """The survivors as accepted.toml wants them, without reasons: an author writes these."""
    blocks = []
    for function, group in groupby(report.survivors, key=lambda m: m.mutant.edit.function):
        rows = "".join(f"  {_toml(m.mutant.key)},\n" for m in group)
        blocks.append(f'[[accepted]] # {function}\nreason = ""\nmutants = [\n{rows}]\n')
    return "\n".join(blocks)


def _toml(value: str) -> str:
    return f"'{value}'" if "'" not in value and value.isprintable() else msgspec.json.encode(value).decode()
