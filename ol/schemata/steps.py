"""Where a unit counts its steps: each time round a loop and each call of one of its functions.

A mutant that loops for ever is then told by a number, the same on every machine, instead of by waiting.
Loops within macros and by goto count nothing.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from ol.csource.reader import Source

STEP = "OL_STEP"
"""A macro that the generated text defines: an expression without a value."""
ENTER = "OL_ENTER"
"""Another, at the beginning of a function's body: declarations and a step."""


@dataclass(frozen=True, order=True)
class Insertion:
    """`text` stands after the character before `at`, whatever becomes of the code from `at` on."""

    at: int
    text: str


def steps(source: Source) -> list[Insertion]:
    """In the order of their places."""
    return sorted([*_rounds(source), *_calls(source)])


def _calls(source: Source) -> Iterator[Insertion]:
    tokens = source.tokens
    for function in source.functions:
        at = source.partner[function.last]
        while tokens[at + 1].text == "__label__":  # GNU C's, which stand before all else
            at = next(k for k in range(at + 1, function.last) if tokens[k].text == ";")
        yield Insertion(tokens[at].end, f" {ENTER};")


def _rounds(source: Source) -> Iterator[Insertion]:
    tokens, partner = source.tokens, source.partner
    for index, token in enumerate(tokens[:-1]):
        if token.text not in ("while", "for") or tokens[index + 1].text != "(":
            continue
        opened, closed = index + 1, partner[index + 1]
        if token.text == "while":
            yield Insertion(tokens[opened].end, f"{STEP}, ")
            continue
        ends = [k for k in range(opened, closed) if tokens[k].text == ";"]
        if len(ends) == 2:
            is_empty = ends[1] == ends[0] + 1
            yield Insertion(tokens[ends[0]].end, f" {STEP}{', 1' if is_empty else ','}")
