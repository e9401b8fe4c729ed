"""The audit's report: a table for people, a document for programs."""

import textwrap
from typing import Any

import msgspec
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from ol.fate import AuditReport, Fate, MutantResult
from ol.report.failures import failure_lines
from ol.verdict import Outcome

FORMAT_VERSION = 1


def table(report: AuditReport) -> Table:
    """Mutant, pitfall, named test, how it was killed, time."""
    rows = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    rows.add_column("mutant", no_wrap=True)
    rows.add_column("pitfall", ratio=3)
    rows.add_column("named test", ratio=3, overflow="fold")
    rows.add_column("killed by", no_wrap=True)
    rows.add_column("time", justify="right", no_wrap=True)
    if report.matrix:
        rows.add_column("also noticed by", ratio=3, overflow="fold")
    for mutant in report.mutants:
        cells: list[str | Text] = [
            mutant.entry.id,
            escape(mutant.entry.pitfall),
            mutant.entry.test,
            _how(mutant),
        ]
        cells.append(f"{mutant.seconds * 1000:.0f} ms" if mutant.ways else "")
        if report.matrix:
            cells.append(", ".join(mutant.also) or "nothing")
        rows.add_row(*cells)
    return rows


def _how(mutant: MutantResult) -> Text:
    if mutant.fate is Fate.KILLED:
        return Text(" and ".join(mutant.ways), style="green")
    if mutant.fate is Fate.OTHER_WAY:
        return Text(f"{' and '.join(mutant.ways)}, not {mutant.entry.how}", style="red")
    return Text(str(mutant.fate).upper(), style="bold red")


def summary(report: AuditReport) -> str:
    """The last lines: what was proved, or what to do next."""
    if not report.baseline_holds:
        return _broken_baseline(report)
    killed = sum(m.fate is Fate.KILLED for m in report.mutants)
    lines = [
        f"{report.module}: {killed} of {len(report.mutants)} mutants killed by their named tests "
        f"({report.compiler}, seed {report.seed}, {len(report.baseline)} tests pass on the reference)"
    ]
    for mutant in report.mutants:
        if mutant.fate is not Fate.KILLED:
            lines += ["", *_advice(report.module, mutant)]
    return "\n".join(lines)


def _advice(module: str, mutant: MutantResult) -> list[str]:
    entry = mutant.entry
    said = textwrap.indent(mutant.detail.strip(), "    ").splitlines()[:12]
    show = f"    see the fault: ol audit {module} {entry.id} --show"
    match mutant.fate:
        case Fate.SURVIVED:
            return [f"{entry.id} survived: {entry.test} does not notice {entry.pitfall}", show]
        case Fate.STALE:
            return [f"{entry.id} is stale: the reference has changed under its patch", *said]
        case Fate.UNVIABLE:
            return [f"{entry.id} does not compile, so it proves nothing:", *said, show]
        case _:
            ways = " and ".join(mutant.ways)
            return [f"{entry.id} died by {ways}; its entry says {entry.how}", *said, show]


def _broken_baseline(report: AuditReport) -> str:
    lines = [f"{report.module}: the reference fails its own tests, so no mutant was run"]
    for result in report.baseline:
        if result.outcome is Outcome.FAILED:
            lines += ["", f"{result.test} failed:"]
            lines += [f"  {line}" for line in failure_lines(result.failures[0])]
    return "\n".join([*lines, "", "correct the reference or the test, then run the audit again"])


def document(report: AuditReport) -> bytes:
    """JSON as docs/json.md describes it."""
    body: dict[str, Any] = {
        "format_version": FORMAT_VERSION,
        "kind": "audit",
        "holds": report.holds,
        "killed": sum(m.fate is Fate.KILLED for m in report.mutants),
    }
    body |= msgspec.to_builtins(report)
    return msgspec.json.format(msgspec.json.encode(body), indent=2)
