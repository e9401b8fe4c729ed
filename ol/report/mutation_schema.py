"""Generated mutants in two formats that other programs read: mutation-testing-report-schema, and SARIF."""

from bisect import bisect_right
from itertools import accumulate
from typing import Any

import msgspec

from ol import __version__
from ol.generated.model import GeneratedReport, MutantResult, State, Why
from ol.report.generated import because

_STATUS = {
    State.KILLED: "Killed",
    State.SURVIVED: "Survived",
    State.ACCEPTED: "Ignored",
    State.EQUIVALENT: "Ignored",
    State.DUPLICATE: "Ignored",
    State.UNVIABLE: "CompileError",
}


def mutation_testing_report(report: GeneratedReport) -> bytes:
    """JSON that viewers of mutation reports open, version 2 of their schema."""
    tests = [{"id": t.id, "name": t.id} for t in report.tests]
    body = {
        "schemaVersion": "2",
        "thresholds": {"high": 100, "low": 80},
        "framework": {"name": "ol", "version": __version__},
        "config": {"module": report.module, "compiler": report.compiler, "seed": report.seed},
        "files": {path: _file(report, path, text) for path, text in report.sources.items()},
        "testFiles": {f"course/tests/{report.module}": {"tests": tests}},
    }
    return msgspec.json.format(msgspec.json.encode(body), indent=1)


def _file(report: GeneratedReport, path: str, text: str) -> dict[str, Any]:
    mine = [m for m in report.mutants if m.mutant.file == path]
    return {"language": "c", "source": text, "mutants": [_mutant(m, text) for m in mine]}


def _mutant(result: MutantResult, text: str) -> dict[str, Any]:
    edit = result.mutant.edit
    status = _STATUS[result.state]
    if result.state is State.SURVIVED and result.why is Why.NEVER_REACHED:
        status = "NoCoverage"
    if result.kills and result.kills[0].way == "time-out":
        status = "Timeout"
    told = {
        State.KILLED: "; ".join(f"{k.test}: {k.way}: {k.check}" for k in result.kills),
        State.ACCEPTED: result.reason,
        State.EQUIVALENT: "the same optimised code as the original",
        State.DUPLICATE: f"the same optimised code as {result.same_as}",
        State.UNVIABLE: "",
    }
    made: dict[str, Any] = {
        "id": str(result.mutant.number),
        "mutatorName": edit.operator,
        "description": result.mutant.id,
        "replacement": edit.replacement,
        "location": location(text, edit.start, edit.end),
        "status": status,
        "statusReason": told.get(result.state, because(result)),
        "testsCompleted": len(result.ran),
    }
    if result.kills:
        made["killedBy"] = [k.test for k in result.kills]
    if result.reached_in:
        made["coveredBy"] = list(result.reached_in)
    return made


def location(text: str, start: int, end: int) -> dict[str, dict[str, int]]:
    """Lines and columns from 1; the end is the column after the last."""
    starts = [0, *accumulate(len(line) for line in text.splitlines(keepends=True))]

    def place(offset: int) -> dict[str, int]:
        line = min(bisect_right(starts, offset), max(1, len(starts) - 1))
        return {"line": line, "column": offset - starts[line - 1] + 1}

    return {"start": place(start), "end": place(max(end, start + 1))}


def sarif(report: GeneratedReport) -> bytes:
    """The survivors as findings of a static analyser, for tools of code review."""
    operators = sorted({m.mutant.edit.operator for m in report.survivors})
    rules = [
        {"id": name.replace(" ", "-"), "shortDescription": {"text": f"a surviving mutant: {name}"}}
        for name in operators
    ]
    driver = {"name": "ol", "version": __version__, "rules": rules}
    body = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": driver},
                "columnKind": "unicodeCodePoints",
                "results": [_finding(report, m) for m in report.survivors],
            }
        ],
    }
    return msgspec.json.format(msgspec.json.encode(body), indent=1)


def _finding(report: GeneratedReport, result: MutantResult) -> dict[str, Any]:
    edit = result.mutant.edit
    place = location(report.sources[result.mutant.file], edit.start, edit.end)
    region = {
        "startLine": place["start"]["line"],
        "startColumn": place["start"]["column"],
        "endLine": place["end"]["line"],
        "endColumn": place["end"]["column"],
    }
    return {
        "ruleId": edit.operator.replace(" ", "-"),
        "level": "warning",
        "message": {"text": f"No test of {report.module} fails on: {edit.action} ({because(result)})"},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": f"reference/{result.mutant.file}"},
                    "region": region,
                }
            }
        ],
        "partialFingerprints": {"mutant/v1": result.mutant.key},
    }
