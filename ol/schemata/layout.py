"""Where mutants stand in generated text, and which of them a compiler complains about."""

import re
from bisect import bisect_right
from dataclasses import dataclass

_PLACE = r"^(?P<file>[^\n:]*):(?P<line>\d+):(?P<column>\d+): (?P<kind>(?:fatal )?error|note)"
_DIAGNOSTIC = re.compile(_PLACE, re.MULTILINE)


@dataclass(frozen=True)
class Layout:
    """Offsets are those of the generated text. `line_starts[0]` is where line 1 of the unit begins."""

    file: str
    """Last part of the unit's name, as diagnostics spell it; "" accepts any."""
    line_starts: tuple[int, ...]
    alternatives: tuple[tuple[int, int, int], ...]
    """(start, end, mutant): the test of the selector and the mutant's code. They do not overlap."""
    sites: tuple[tuple[int, int, tuple[int, ...]], ...]
    """(start, end, mutants), each before those within it."""

    def offset(self, line: int, column: int) -> int | None:
        if not 1 <= line <= len(self.line_starts):
            return None
        return self.line_starts[line - 1] + column - 1

    def mutants_at(self, offset: int) -> set[int]:
        index = bisect_right(self.alternatives, (offset, float("inf"), 0)) - 1
        if index >= 0 and self.alternatives[index][0] <= offset < self.alternatives[index][1]:
            return {self.alternatives[index][2]}
        holding = [numbers for start, end, numbers in self.sites if start <= offset < end]
        return set(holding[-1]) if holding else set()

    def mutants_on(self, line: int) -> set[int]:
        if not 1 <= line <= len(self.line_starts):
            return set()
        start = self.line_starts[line - 1]
        end = self.line_starts[line] if line < len(self.line_starts) else float("inf")
        return {number for first, _, number in self.alternatives if start <= first < end}


def blame(diagnostics: str, layout: Layout) -> set[int]:
    """The mutants that errors of gcc or clang point at; empty if they point at none.

    An error inside a macro's definition is taken to its use by the notes that follow it.
    """
    blamed: set[int] = set()
    open_error: set[int] | None = None
    lines: list[int] = []
    for found in _DIAGNOSTIC.finditer(diagnostics):
        is_error = found["kind"] != "note"
        if layout.file and not found["file"].endswith(layout.file):
            open_error = set() if is_error else open_error
            continue
        line, column = int(found["line"]), int(found["column"])
        offset = layout.offset(line, column)
        numbers = layout.mutants_at(offset) if offset is not None else set()
        if is_error or (not open_error and open_error is not None):
            open_error = numbers
            lines.append(line)
        blamed |= open_error or set()
    if not blamed:
        for line in lines:
            blamed |= layout.mutants_on(line)
    return blamed
