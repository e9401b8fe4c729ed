"""The kill matrix as a picture: a row for each test, a column for each mutant, planted ones first."""

from collections.abc import Iterator
from html import escape

from ol.report.sheet import Sheet, Standing

_CELL = 3
_ROW = 14
_LABELS = 330
_GAP = 12


def matrix(sheet: Sheet) -> Iterator[str]:
    """An SVG with a text that says the same; the table of tests holds the numbers."""
    shown = [row for row in sheet.rows if row.standing is not Standing.OTHER]
    rows = {t.id: k for k, t in enumerate(sheet.tests)}
    planted = len(sheet.planted)
    left = _LABELS + planted * _CELL + (_GAP if planted else 0)
    width, height = left + len(shown) * _CELL + _GAP, (len(rows) + 1) * _ROW + 8
    beside = f"{planted} planted and " if planted else ""
    what = f"{len(rows)} tests against {beside}{len(shown)} {sheet.kind} mutants"
    yield f"<h2>Kill matrix</h2><p>{what}."
    if planted:
        yield "Planted ones stand on the left, by the test that their entry names."
    yield f"There is a column for each {sheet.kind} one.</p>"
    yield f'<div class="matrix" tabindex="0" role="group" aria-label="{what}">'
    yield f'<svg role="img" aria-label="{what}" width="{width}" height="{height}">'
    for test, row in rows.items():
        yield f'<text x="4" y="{row * _ROW + 11}">{escape(test[:52])}</text>'
    for column, (name, test) in enumerate(sheet.planted):
        yield _cell("p", _LABELS + column * _CELL, rows[test], f"{name}: {test}")
    for column, one in enumerate(shown):
        x = left + column * _CELL
        for kill in one.kills:
            yield _cell("k", x, rows[kill.test], f"{one.name}: {kill.test}")
        if not one.kills:
            kind = "s" if one.standing is Standing.SURVIVED else "p"
            yield _cell(kind, x, len(rows), f"{one.name}: {one.state}")
    yield f'<text x="4" y="{len(rows) * _ROW + 11}">no test</text></svg></div>'


def _cell(kind: str, x: int, row: int, title: str) -> str:
    place = f'x="{x}" y="{row * _ROW + 1}" width="{_CELL}" height="{_ROW - 2}"'
    return f'<rect class="{kind}" {place}><title>{escape(title)}</title></rect>'
