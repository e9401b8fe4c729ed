"""Generated mutants as one page for a browser: no other file, no network, readable without scripts."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

from ol.generated.model import GeneratedReport, MutantResult, State
from ol.report.generated import because
from ol.report.page.matrix import matrix

_HERE = Path(__file__).parent
_CLASS = {State.KILLED: "killed", State.SURVIVED: "survived", State.ACCEPTED: "accepted"}
_ORDER = list(State)


def page(report: GeneratedReport) -> str:
    """The whole document."""
    title = f"{report.module}: generated mutants"
    style = (_HERE / "style.css").read_text("utf-8")
    script = (_HERE / "script.js").read_text("utf-8")
    parts = [*_head(report), *_controls(report), '<main id="source">', *_sources(report), "</main>"]
    parts += [*matrix(report), *_tests(report), *_notes(report)]
    body = "\n".join(parts)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f"<title>{escape(title)}</title>\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<style>\n{style}</style>\n</head>\n<body>\n{body}\n<script>\n{script}</script>\n</body>\n</html>\n"
    )


def _head(report: GeneratedReport) -> Iterator[str]:
    yield '<a class="skip" href="#source">To the source</a>'
    yield f"<header><h1>{escape(report.module)} <span class=soft>{escape(report.title)}</span></h1>"
    yield (
        f"<p>{len(report.mutants)} generated mutants, score {report.score:.1f} % "
        f'<span class="soft">({escape(report.compiler)}, seed {report.seed})</span></p>'
    )
    yield '<ul class="counts">'
    for state in State:
        if n := report.count(state):
            kind = _CLASS.get(state, "")
            yield f'<li class="{kind}"><b>{n}</b><span class="state">{escape(state)}</span></li>'
    yield "</ul></header>"


def _controls(report: GeneratedReport) -> Iterator[str]:
    yield '<form id="controls" hidden onsubmit="return false"><fieldset><legend>Show</legend>'
    for state in State:
        if report.count(state):
            box = f'<input type="checkbox" name="state" value="{escape(state)}" checked>'
            yield f"<label>{box} {escape(state)}</label>"
    yield '<label>operator <select id="operator"><option value="">all</option>'
    for name in sorted({m.mutant.edit.operator for m in report.mutants}):
        yield f"<option>{escape(name)}</option>"
    yield '</select></label><button type="button" id="open">Open all survivors</button>'
    yield '<span id="shown" role="status" aria-live="polite"></span></fieldset></form>'


def _sources(report: GeneratedReport) -> Iterator[str]:
    for path, text in report.sources.items():
        by_line: dict[int, list[MutantResult]] = defaultdict(list)
        for result in report.mutants:
            if result.mutant.file == path:
                by_line[result.mutant.edit.line].append(result)
        yield f'<h2>{escape(path)}</h2><ol class="source">'
        for number, line in enumerate(text.splitlines(), 1):
            shown = f'<span class="n">{number}</span>{escape(line)}'
            here = by_line[number]
            yield f"<li>{_line(number, shown, here) if here else f'<pre>{shown}</pre>'}</li>"
        yield "</ol>"


def _line(number: int, shown: str, results: Sequence[MutantResult]) -> str:
    states = {r.state for r in results}
    kind = "survived" if State.SURVIVED in states else "accepted" if State.ACCEPTED in states else "killed"
    count = f"{len(results)} mutant{'s' if len(results) > 1 else ''}"
    rows = "".join(_mutant(r) for r in sorted(results, key=lambda r: -_ORDER.index(r.state) % 5))
    opened = " open" if kind == "survived" else ""
    return (
        f'<details class="{kind}" data-line="{number}"{opened}><summary>{shown}'
        f'<span class="badge">{count}</span></summary><ul class="mutants">{rows}</ul></details>'
    )


def _mutant(result: MutantResult) -> str:
    edit = result.mutant.edit
    kind = _CLASS.get(result.state, "other")
    return (
        f'<li class="{kind}" data-state="{escape(result.state)}" data-operator="{escape(edit.operator)}">'
        f'<span class="state">{escape(result.state)}</span> {edit.line}:{edit.column} '
        f"<code>{escape(edit.action)}</code> "
        f'<span class="soft">{escape(edit.operator)}</span><br>{escape(told(result))}</li>'
    )


def told(result: MutantResult) -> str:
    """What became of a mutant, in a sentence."""
    match result.state:
        case State.KILLED:
            return "killed by " + ", ".join(f"{k.test} ({k.way}: {k.check})" for k in result.kills)
        case State.ACCEPTED:
            return result.reason
        case State.DUPLICATE:
            return f"the same optimised code as {result.same_as}"
        case State.EQUIVALENT:
            return "the same optimised code as the original"
        case State.UNVIABLE:
            return "the compiler refuses it"
        case _:
            return because(result)


def _tests(report: GeneratedReport) -> Iterator[str]:
    yield "<h2>Tests</h2>"
    if not report.matrix:
        yield '<p class="soft">Each mutant stops at its first kill; with --matrix every test counts.</p>'
    yield '<table><thead><tr><th scope="col">test</th><th scope="col" class="num">kills</th>'
    yield '<th scope="col" class="num">of its own alone</th></tr></thead><tbody>'
    for test in report.tests:
        alone = str(test.alone) if report.matrix else ""
        numbers = f'<td class="num">{test.kills}</td><td class="num">{alone}</td>'
        yield f"<tr><td>{escape(test.id)}</td>{numbers}</tr>"
    yield "</tbody></table>"


def _notes(report: GeneratedReport) -> Iterator[str]:
    notes = [f"no test calls {name}" for name in report.never_called]
    notes += [f"{s.file}:{s.line}: not mutated: {s.reason}" for s in report.skipped]
    notes += [f"accepted.toml: {line}" for line in report.stale]
    if notes:
        yield "<h2>Notes</h2><ul>"
        yield from (f"<li>{escape(note)}</li>" for note in notes)
        yield "</ul>"
