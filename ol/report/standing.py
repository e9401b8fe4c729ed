"""The course as a picture: modules as a graph in text, with where the student stands. Pure."""

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from ol.exits import Exit
from ol.standing import Checked, Standing, State, next_module

_MARKS = {
    State.PASSES: ("✓", "green"),
    State.PASSES_OVER_REFERENCE: ("✓", "cyan"),
    State.FAILS: ("✗", "red"),
    State.REFUSED: ("✗", "red"),
    State.STALE: ("~", "yellow"),
    State.STARTED: ("·", "yellow"),
    State.NOT_STARTED: (" ", "dim"),
    State.NO_TESTS: (" ", "dim"),
}


def status(found: list[Standing], *, narrow: bool = False) -> RenderableType:
    """Each module with its state and what it stands on; level by level, dependencies first. A narrow
    one leaves out what `ol tests` shows as well."""
    levels: dict[str, int] = {}
    for one in found:
        levels[one.module.id] = 1 + max((levels[d] for d in one.module.depends), default=-1)
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for name in ("", "module", "state") if narrow else ("", "module", "title", "state", "stands on"):
        table.add_column(name, overflow="fold", no_wrap=name == "module")
    for one in sorted(found, key=lambda s: levels[s.module.id]):
        mark, style = _MARKS[one.state]
        state = one.state + (f" (was {one.was})" if one.was else "")
        indent = "  " * levels[one.module.id]
        cells = [
            Text(mark, style=style),
            Text(indent + one.module.id, style="bold"),
            Text(state, style=style),
        ]
        if not narrow:
            cells.insert(2, Text(one.module.title))
            cells.append(Text(" ".join(_direct(one, found)) or "nothing"))
        table.add_row(*cells)
    passing = sum(s.passes for s in found)
    return Group(table, Text(f"\n{passing} of {len(found)} modules pass"), Text(advice(found)))


def _direct(one: Standing, found: list[Standing]) -> list[str]:
    """Dependencies that are not dependencies of another dependency."""
    needs = {s.module.id: set(s.module.depends) for s in found}
    inner = {d for other in one.module.depends for d in needs[other]}
    return [d for d in one.module.depends if d not in inner]


def advice(found: list[Standing]) -> str:
    """One line: what to run next."""
    following = next_module(found)
    if following is None:
        return "next: every module passes; `ol milestone` names what they reach together"
    module = following.module.id
    if following.state is State.NOT_STARTED:
        return f"next: `ol start {module}` ({following.module.title})"
    return f"next: `ol check {module}` ({following.module.title})"


def checked(results: list[Checked]) -> RenderableType:
    """The verdicts of many modules, and how many of them had to be run."""
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for name in ("module", "verdict", "tests", ""):
        table.add_column(name, overflow="fold")
    for one in results:
        table.add_row(one.module.id, _verdict(one), _tests(one), escape(one.why))
    known = sum(r.remembered for r in results)
    ran = sum(r.verdict is not None for r in results) - known
    passing = sum(r.code is Exit.PASS for r in results)
    line = f"\n{passing} of {len(results)} modules pass; {ran} checked again, {known} unchanged"
    return Group(table, Text(line))


def _verdict(one: Checked) -> Text:
    names = {Exit.PASS: ("pass", "green"), Exit.FAIL: ("FAIL", "red"), Exit.UNBUILDABLE: ("REFUSED", "red")}
    return Text(*names.get(one.code, ("not ready", "yellow")))


def _tests(one: Checked) -> str:
    if one.verdict is None:
        return ""
    total = len(one.verdict.results)
    return f"{total - len(one.verdict.failed)} of {total}"
