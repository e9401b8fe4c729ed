"""One C source that holds every mutant of a unit, chosen at run time by `ol_mutant`; 0 is the original.

An expression becomes `(ol_mutant == 17 ? (mutated) : (original))`, a statement
`{ if (ol_mutant == 9) {} else original }`. Mutated code is a copy of the plain original, so sites within it
are selectable in the original's branch alone and the text grows with the number of mutants only.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

from ol.csource.reader import Source
from ol.operators.edit import Edit, SiteKind
from ol.schemata.layout import Layout
from ol.schemata.sites import Nest, are_a_run, nest
from ol.schemata.steps import ENTER, STEP, steps
from ol.schemata.writer import Writer

SELECTOR = "ol_mutant"
_ENDLESS = "0x7fffffffffffffff"
_VISIBLE = '__attribute__((visibility("default")))'


@dataclass(frozen=True)
class Schemata:
    """`first` is the number of the first edit, for units that share one object; of these only one may
    define the selector. `excluded` are mutants that are left out, the others keep their numbers. With
    `counts` a run ends through `ol_spent` once `ol_steps_left` have been taken; the count is no atomic one,
    so leave it out where races are looked for."""

    source: Source
    edits: Sequence[Edit]
    excluded: frozenset[int] = frozenset()
    first: int = 1
    defines: bool = True
    counts: bool = True
    text: str = field(init=False)
    layout: Layout = field(init=False)

    def __post_init__(self) -> None:
        text, layout = _generate(self)
        object.__setattr__(self, "text", text)
        object.__setattr__(self, "layout", layout)

    @property
    def mutants(self) -> dict[int, Edit]:
        """Those that the text holds, by number."""
        numbered = enumerate(self.edits, self.first)
        return {number: edit for number, edit in numbered if number not in self.excluded}

    def without(self, numbers: Collection[int]) -> "Schemata":
        """The same, with these mutants left out."""
        return replace(self, excluded=self.excluded | frozenset(numbers))


def _prelude(*, defines: bool, counts: bool) -> str:
    """In a function a copy of the selector hides it: no sanitizer watches each look at it, and a loop
    keeps it in a register."""
    storage = _VISIBLE if defines else f"{_VISIBLE} extern"
    made = [
        f"{storage} volatile int {SELECTOR};",
        f"{storage} long long ol_steps_left{f' = {_ENDLESS}' if defines else ''};",
        f"{storage} void (*ol_spent)(void);",
        f"\n#define {STEP} (void)({'--ol_steps_left < 0 ? ol_spent(), 0 : 0' if counts else '0'})",
        f"\n#define {ENTER} const int ol_now = {SELECTOR}, {SELECTOR} = ol_now; {STEP}",
    ]
    return "".join(made) + "\n#line 1\n"


def _generate(schemata: Schemata) -> tuple[str, Layout]:
    source = schemata.source
    writer = Writer(source, steps(source))
    writer.write(_prelude(defines=schemata.defines, counts=schemata.counts))
    body = writer.length
    _copy_with(writer, nest(schemata.mutants.items()), 0, len(source.text), schemata.excluded)
    return writer.text, layout_of(writer, body)


def layout_of(writer: Writer, body: int) -> Layout:
    """`body` is where the unit's first line begins."""
    starts, position, text = [body], body, writer.text
    while (position := text.find("\n", position) + 1) > 0:
        starts.append(position)
    return Layout(
        file=writer.source.name.rsplit("/", 1)[-1],
        line_starts=tuple(starts),
        alternatives=tuple(sorted(writer.alternatives)),
        sites=tuple(sorted(writer.sites, key=lambda s: (s[0], -s[1]))),
    )


def _copy_with(writer: Writer, nests: list[Nest], start: int, end: int, excluded: Collection[int]) -> None:
    """The original from `start` to `end` with the sites in it made switchable."""
    position = start
    for one in nests:
        writer.copy(position, one.site.start)
        began = writer.length
        write = _statement if one.site.kind is SiteKind.STATEMENT else _expression
        write(writer, one, excluded)
        writer.sites.append((began, writer.length, one.numbers))
        position = one.site.end
    writer.copy(position, end)


def alternative(source: Source, edit: Edit) -> str:
    """The site's code as the mutant has it, in one line."""
    before = source.flat(edit.site.start, edit.start)
    after = source.flat(edit.end, edit.site.end)
    return f"{before or ''}{edit.replacement}{after or ''}"


def _chosen(writer: Writer, number: int, test: str, code: str) -> None:
    start = writer.length
    writer.write(f"{test}{code}")
    writer.alternatives.append((start, writer.length, number))


def _expression(writer: Writer, one: Nest, excluded: Collection[int]) -> None:
    numbers = one.numbers
    many = len(numbers) > 2 and are_a_run(numbers, excluded)
    truth = "!!" if one.site.tests else ""
    writer.write("(")
    if many:
        span = numbers[-1] - numbers[0]
        writer.write(f"(unsigned){SELECTOR} - {numbers[0]}u <= {span}u ? (")
    for number, edit in one.mutants:
        last = many and number == numbers[-1]
        test = "" if last else f"{SELECTOR} == {number} ? "
        _chosen(writer, number, test, f"{truth}({alternative(writer.source, edit)})")
        writer.write("" if last else " : ")
    writer.write(f") : {truth}(" if many else f"{truth}(")
    _copy_with(writer, one.inner, one.site.start, one.site.end, excluded)
    writer.write("))")


def _statement(writer: Writer, one: Nest, excluded: Collection[int]) -> None:
    writer.write("{ ")
    for number, edit in one.mutants:
        code = "" if edit.is_deletion else alternative(writer.source, edit)
        _chosen(writer, number, f"if ({SELECTOR} == {number}) ", f"{{ {code} }}")
        writer.write(" else ")
    _copy_with(writer, one.inner, one.site.start, one.site.end, excluded)
    writer.write(" }")
