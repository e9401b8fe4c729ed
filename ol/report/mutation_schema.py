"""Mutants in two formats that other programs read: mutation-testing-report-schema, and SARIF."""

from bisect import bisect_right
from itertools import accumulate
from typing import Any

import msgspec

from ol import __version__
from ol.report.sheet import Row, Sheet, Standing


def mutation_testing_report(sheet: Sheet) -> bytes:
    """JSON that viewers of mutation reports open, version 2 of their schema."""
    tests = [{"id": t.id, "name": t.id} for t in sheet.tests]
    body = {
        "schemaVersion": "2",
        "thresholds": {"high": 100, "low": 80},
        "framework": {"name": "ol", "version": __version__},
        "config": {"module": sheet.module, "compiler": sheet.compiler, "seed": sheet.seed},
        "files": {path: _file(sheet, path, text) for path, text in sheet.sources.items()},
        "testFiles": {f"course/tests/{sheet.module}": {"tests": tests}},
    }
    return msgspec.json.format(msgspec.json.encode(body), indent=1)


def _file(sheet: Sheet, path: str, text: str) -> dict[str, Any]:
    mine = [row for row in sheet.rows if row.file == path]
    language = "python" if path.endswith(".py") else "c"
    return {"language": language, "source": text, "mutants": [_mutant(row, text) for row in mine]}


def _mutant(row: Row, text: str) -> dict[str, Any]:
    made: dict[str, Any] = {
        "id": row.id,
        "mutatorName": row.operator,
        "description": row.name,
        "replacement": row.replacement,
        "location": location(text, row.start, row.end),
        "status": row.status,
        "statusReason": row.told,
        "testsCompleted": row.ran,
    }
    if row.standing is Standing.KILLED:
        made["killedBy"] = [k.test for k in row.kills]
    if row.reached_in:
        made["coveredBy"] = list(row.reached_in)
    return made


def location(text: str, start: int, end: int) -> dict[str, dict[str, int]]:
    """Lines and columns from 1; the end is the column after the last."""
    starts = [0, *accumulate(len(line) for line in text.splitlines(keepends=True))]

    def place(offset: int) -> dict[str, int]:
        line = min(bisect_right(starts, offset), max(1, len(starts) - 1))
        return {"line": line, "column": offset - starts[line - 1] + 1}

    return {"start": place(start), "end": place(max(end, start + 1))}


def sarif(sheet: Sheet) -> bytes:
    """The survivors as findings of a static analyser, for tools of code review."""
    operators = sorted({row.operator for row in sheet.survivors})
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
                "results": [_finding(sheet, row) for row in sheet.survivors],
            }
        ],
    }
    return msgspec.json.format(msgspec.json.encode(body), indent=1)


def _finding(sheet: Sheet, row: Row) -> dict[str, Any]:
    place = location(sheet.sources[row.file], row.start, row.end)
    region = {
        "startLine": place["start"]["line"],
        "startColumn": place["start"]["column"],
        "endLine": place["end"]["line"],
        "endColumn": place["end"]["column"],
    }
    return {
        "ruleId": row.operator.replace(" ", "-"),
        "level": "warning",
        "message": {"text": f"The tests of {sheet.module} do not hold against {row.action} ({row.told})"},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": f"reference/{row.file}"},
                    "region": region,
                }
            }
        ],
        "partialFingerprints": {"mutant/v1": row.key},
    }
