"""Why a mutant survived: the unit with a record, per mutant, of whether its place was reached and whether
the mutated value ever differed there.

The generated code fills `unsigned char ol_reached[]` and `ol_differed[]`, by mutant's number, and counts
the unit's steps in `ol_steps[0]`. Where another source defines these, it calls `ol_place()` before, until
`ol_placed` is set. The alternative is evaluated beside the original where that has no side effects;
elsewhere `ol_differed` says UNKNOWN. Compile it without sanitizers and with -fwrapv: an alternative may
overflow where the original does not.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from ol.csource.reader import Source
from ol.operators.change import UNLIKE, unlike
from ol.operators.edit import Edit, Site, SiteKind
from ol.schemata.generate import alternative, layout_of
from ol.schemata.layout import Layout
from ol.schemata.sites import Nest, nest
from ol.schemata.steps import ENTER, STEP, steps
from ol.schemata.writer import Writer

REACHED = "ol_reached"
DIFFERED = "ol_differed"
STEPS = "ol_steps"
PLACED, PLACE = "ol_placed", "ol_place"
UNKNOWN = 2
"""A bit of `ol_differed`: reached at least once without knowing; the other bit, 1: differed."""

_VALUE = "ol_value"
_COMPARABLE = ("integer", "floating", "pointer")
_UNLIKE = (
    f"static inline __attribute__((unused)) int {UNLIKE}(long double a, long double b)"
    " { return a != b ? !(a != a && b != b) : __builtin_signbit(a) != __builtin_signbit(b); }"
)


@dataclass(frozen=True)
class Probe:
    """Numbers and `defines` are those of the schemata; `size` is the arrays' length."""

    source: Source
    edits: Sequence[Edit]
    excluded: frozenset[int] = frozenset()
    first: int = 1
    defines: bool = True
    size: int = 0
    text: str = field(init=False)
    layout: Layout = field(init=False)

    def __post_init__(self) -> None:
        numbered = enumerate(self.edits, self.first)
        kept = [(number, edit) for number, edit in numbered if number not in self.excluded]
        writer = Writer(self.source, steps(self.source))
        writer.write(self._prelude())
        body = writer.length
        _copy_with(writer, nest(kept), 0, len(self.source.text))
        object.__setattr__(self, "text", writer.text)
        object.__setattr__(self, "layout", layout_of(writer, body))

    def _prelude(self) -> str:
        size = self.size or self.first + len(self.edits)
        visible = '__attribute__((visibility("default")))'
        storage = visible if self.defines else f"extern {visible}"
        arrays = "".join(f"{storage} unsigned char {name}[{size}]; " for name in (REACHED, DIFFERED))
        counts = f"{storage} long long {STEPS}[1];"
        places = "" if self.defines else f"{storage} int {PLACED}; {visible} void {PLACE}(void);"
        enter = STEP if self.defines else f"(void)({PLACED} || ({PLACE}(), 1)); {STEP}"
        macros = f"#define {STEP} (void)++{STEPS}[0]\n#define {ENTER} {enter}"
        return f"{arrays}{counts}{places}{_UNLIKE}\n{macros}\n#line 1\n"


def _copy_with(writer: Writer, nests: list[Nest], start: int, end: int) -> None:
    position = start
    for one in nests:
        writer.copy(position, one.site.start)
        began = writer.length
        write = _statement if one.site.kind is SiteKind.STATEMENT else _expression
        write(writer, one)
        writer.sites.append((began, writer.length, one.numbers))
        position = one.site.end
    writer.copy(position, end)


def _record(writer: Writer, number: int, bits: str, end: str) -> None:
    start = writer.length
    writer.write(f"{REACHED}[{number}] = 1, {DIFFERED}[{number}] |= {bits}{end}")
    writer.alternatives.append((start, writer.length, number))


def _statement(writer: Writer, one: Nest) -> None:
    writer.write("{ ")
    for number, edit in one.mutants:
        _record(writer, number, f"({edit.change or UNKNOWN})", "; ")
    _copy_with(writer, one.inner, one.site.start, one.site.end)
    writer.write(" }")


def _expression(writer: Writer, one: Nest) -> None:
    source, site = writer.source, one.site
    bits = {number: _beside(source, edit) for number, edit in one.mutants}
    after = {n: _after(source, edit) for n, edit in one.mutants if not bits[n]}
    uses_value = any(after.values())
    writer.write("(")
    if uses_value:
        is_test = site.tests or any(edit.operator == "condition" for _, edit in one.mutants)
        writer.write("{ " + (f"int {_VALUE} = !!(" if is_test else f"__auto_type {_VALUE} = ("))
        _copy_with(writer, one.inner, site.start, site.end)
        writer.write("); ")
    for number, _ in one.mutants:
        _record(writer, number, bits[number] or after[number] or str(UNKNOWN), "; " if uses_value else ", ")
    if uses_value:
        writer.write(f"{_VALUE}; }})")
        return
    writer.write("(")
    _copy_with(writer, one.inner, site.start, site.end)
    writer.write("))")


def _unlike(site: Site, one: str, other: str) -> str:
    """Whether they differ where the site stands; "" where that cannot be said."""
    if site.truth:
        return f"(!({one}) != !({other}))"
    return f"({unlike(site.type, one, other)})" if site.type in _COMPARABLE else ""


def _beside(source: Source, edit: Edit) -> str:
    """Whether the values differ, evaluated before the original; "" where that cannot be said."""
    if edit.change:
        return f"({edit.change})"
    original = source.flat(edit.site.start, edit.site.end) or ""
    if not edit.site.pure or not _is_safe(edit):
        return ""
    if edit.operator == "condition":
        return f"(!({original}) == {edit.replacement})"
    return _unlike(edit.site, original, alternative(source, edit))


def _is_safe(edit: Edit) -> bool:
    """Whether the alternative divides by nothing that the original does not divide by."""
    divides = edit.replacement.strip() in ("/", "%") or re.search(r"[/%]", edit.replacement) is not None
    own = re.search(r"[/%]", edit.original) is not None
    return edit.site.type == "floating" or own or not divides


def _after(source: Source, edit: Edit) -> str:
    """The same from the original's value, where the alternative follows from it."""
    original = source.flat(edit.site.start, edit.site.end) or ""
    other = alternative(source, edit)
    if other.count(original) == 1:
        other = other.replace(original, _VALUE)
    if re.search(r"[^\W\d]\w*", re.sub(rf"\b{_VALUE}\b|\b0[xX]\w+|\b[\d.]+[a-zA-Z]*", "", other)):
        return ""
    if edit.operator == "condition":
        return f"(!{_VALUE} == {other})"
    return _unlike(edit.site, _VALUE, other)
