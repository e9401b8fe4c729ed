"""The catalogue on a screen: modules, and the tests of one."""

from collections.abc import Iterable, Mapping

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ol.manifest import Module


def modules(found: Iterable[Module]) -> RenderableType:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for name in ("module", "title", "needs", "tests", "mutants"):
        table.add_column(name, overflow="fold", justify="right" if name in ("tests", "mutants") else "left")
    for m in found:
        needs = " ".join(m.depends) or "nothing"
        table.add_row(m.id, escape(m.title), needs, str(len(m.tests)), str(len(m.mutants)))
    return table


def tests(module: Module, sources: Mapping[str, str]) -> RenderableType:
    """Test, kind, what it checks, why it matters; with the source of those in `sources`."""
    parts: list[RenderableType] = [Text(f"{module.id}  {module.title}", style="bold"), Text("")]
    for test in module.tests:
        kinds = ", ".join(test.kind) + (", also under TSan" if test.threads else "")
        parts.append(Text.assemble((test.id, "bold"), f"  ({kinds})"))
        parts.append(Padding(Text(f"checks  {test.checks}"), (0, 0, 0, 4)))
        parts.append(Padding(Text(f"why     {test.why}"), (0, 0, 0, 4)))
        if source := sources.get(test.id):
            parts.append(Padding(Text(source), (1, 0, 0, 4)))
        parts.append(Text(""))
    units = ", ".join(module.units)
    parts.append(Text(f"next: ol start {module.id} writes {units}; ol check {module.id} is the verdict"))
    return Group(*parts)
