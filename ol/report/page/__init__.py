"""An audit as one page for a browser: no other file, no network, readable without scripts."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

from ol.report.page.matrix import matrix
from ol.report.sheet import Row, Sheet, Standing

_HERE = Path(__file__).parent
_ORDER = list(Standing)


def page(sheet: Sheet) -> str:
    """The whole document."""
    title = f"{sheet.module}: {sheet.kind} mutants"
    style = (_HERE / "style.css").read_text("utf-8")
    script = (_HERE / "script.js").read_text("utf-8")
    parts = [*_head(sheet), "<main>", *_controls(sheet), '<section id="source" tabindex="-1">']
    parts += [*_sources(sheet), "</section>", *matrix(sheet), *_tests(sheet), *_notes(sheet), "</main>"]
    body = "\n".join(parts)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f"<title>{escape(title)}</title>\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<style>\n{style}</style>\n</head>\n<body>\n{body}\n<script>\n{script}</script>\n</body>\n</html>\n"
    )


def _head(sheet: Sheet) -> Iterator[str]:
    yield '<a class="skip" href="#source">To the source</a>'
    yield f"<header><h1>{escape(sheet.module)} <span class=soft>{escape(sheet.title)}</span></h1>"
    yield (
        f"<p>{len(sheet.rows)} {sheet.kind} mutants, {sheet.verdict} "
        f'<span class="soft">({escape(sheet.compiler)}, seed {sheet.seed})</span></p>'
    )
    yield '<ul class="counts">'
    for state, standing, n in sheet.counts():
        yield f'<li class="{standing}"><b>{n}</b><span class="state">{escape(state)}</span></li>'
    yield "</ul></header>"


def _controls(sheet: Sheet) -> Iterator[str]:
    yield '<form id="controls" hidden onsubmit="return false"><fieldset><legend>Show</legend>'
    for state, _, _ in sheet.counts():
        box = f'<input type="checkbox" name="state" value="{escape(state)}" checked>'
        yield f"<label>{box} {escape(state)}</label>"
    yield '<label>operator <select id="operator"><option value="">all</option>'
    for name in sorted({row.operator for row in sheet.rows}):
        yield f"<option>{escape(name)}</option>"
    yield '</select></label><button type="button" id="open">Open all survivors</button>'
    yield '<span id="shown" role="status" aria-live="polite"></span></fieldset></form>'


def _sources(sheet: Sheet) -> Iterator[str]:
    for path, text in sheet.sources.items():
        by_line: dict[int, list[Row]] = defaultdict(list)
        for row in sheet.rows:
            if row.file == path:
                by_line[row.line].append(row)
        yield f'<h2>{escape(path)}</h2><ol class="source">'
        for number, line in enumerate(text.splitlines(), 1):
            shown = f'<span class="n">{number}</span>{escape(line)}'
            here = by_line[number]
            yield f"<li>{_line(number, shown, here) if here else f'<pre>{shown}</pre>'}</li>"
        yield "</ol>"


def _line(number: int, shown: str, rows: Sequence[Row]) -> str:
    ordered = sorted(rows, key=lambda row: _ORDER.index(row.standing))
    worst = ordered[0].standing
    kind = worst if worst in (Standing.SURVIVED, Standing.ACCEPTED) else Standing.KILLED
    count = f"{len(rows)} mutant{'s' if len(rows) > 1 else ''}"
    opened = " open" if kind is Standing.SURVIVED else ""
    return (
        f'<details class="{kind}" data-line="{number}"{opened}><summary>{shown}'
        f'<span class="badge">{count}</span></summary>'
        f'<ul class="mutants">{"".join(_mutant(row) for row in ordered)}</ul></details>'
    )


def _mutant(row: Row) -> str:
    data = f'data-state="{escape(row.state)}" data-operator="{escape(row.operator)}"'
    return (
        f'<li class="{row.standing}" {data}>'
        f'<span class="state">{escape(row.state)}</span> {row.line}:{row.column} '
        f"<code>{escape(row.action)}</code> "
        f'<span class="soft">{escape(row.operator)}</span><br>{escape(row.told)}</li>'
    )


def _tests(sheet: Sheet) -> Iterator[str]:
    yield "<h2>Tests</h2>"
    if not sheet.matrix:
        yield '<p class="soft">Each mutant runs up to its first kill; with --matrix every test counts.</p>'
    yield '<table><thead><tr><th scope="col">test</th><th scope="col" class="num">kills</th>'
    yield '<th scope="col" class="num">of its own alone</th></tr></thead><tbody>'
    for test in sheet.tests:
        alone = str(test.alone) if sheet.matrix else ""
        numbers = f'<td class="num">{test.kills}</td><td class="num">{alone}</td>'
        yield f"<tr><td>{escape(test.id)}</td>{numbers}</tr>"
    yield "</tbody></table>"


def _notes(sheet: Sheet) -> Iterator[str]:
    if sheet.notes:
        yield "<h2>Notes</h2><ul>"
        yield from (f"<li>{escape(note)}</li>" for note in sheet.notes)
        yield "</ul>"
