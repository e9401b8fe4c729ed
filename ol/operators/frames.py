"""The code that a mutant's place is known by: a statement with what directly controls it, a header, a
declared variable with its value. It lasts as long as nobody edits that very code."""

from collections.abc import Callable

from pycparser import c_ast

from ol.csource.spans import Lost, Spans

Frame = tuple[tuple[int, int], ...]
"""First and last token of each piece."""
NOWHERE: Frame = ()
_CONTROLS = ("if", "while", "for", "switch")


def _or_nowhere(find: Callable[[Spans, c_ast.Node], Frame]) -> Callable[[Spans, c_ast.Node], Frame]:
    def found(spans: Spans, node: c_ast.Node) -> Frame:
        try:
            return find(spans, node)
        except Lost:
            return NOWHERE

    return found


@_or_nowhere
def of_header(spans: Spans, node: c_ast.Node) -> Frame:
    """`if (…)`; of a loop with its test at the end that test."""
    if isinstance(node, c_ast.DoWhile):
        first, last = spans.outer(*spans.of(node.cond))
        return ((first - (spans.text(first - 1) == "while"), last),)
    first = spans.leaf(node)
    partner = spans.source.partner[first + 1] if spans.text(first + 1) == "(" else -1
    return ((first, partner),) if partner > first else NOWHERE


@_or_nowhere
def of_declared(spans: Spans, node: c_ast.Node) -> Frame:
    """From the variable's name to the end of its value."""
    first = last = spans.leaf(node)
    while spans.text(last + 1) not in (";", ",", ""):
        last = max(last + 1, spans.source.partner[last + 1])
    return ((first, last),)


@_or_nowhere
def of_item(spans: Spans, node: c_ast.Node) -> Frame:
    """One value in the braces of an initializer, with the member that it is for."""
    first, last = spans.outer(*spans.of(node))
    while spans.text(first - 1) not in (",", "{", ""):
        first -= 1
    return ((first, last),)


def of_statement(spans: Spans, first: int, last: int) -> Frame:
    """With the `if (…)`, `else` or `case …:` that it stands under, alone or in braces of its own."""
    start, end = first, last
    if spans.text(start - 1) == "{" and spans.text(end + 1) == "}":
        start, end = start - 1, end + 1
    before = spans.text(start - 1)
    if before == "else":
        return ((start - 1, end),)
    if before == ")" and spans.text(spans.source.partner[start - 1] - 1) in _CONTROLS:
        return ((spans.source.partner[start - 1] - 1, end),)
    if before == ":":
        label = start - 2
        while spans.text(label) not in ("case", "default", ";", "{", "}", ":", ""):
            label -= 1
        if spans.text(label) in ("case", "default"):
            return ((label, end),)
    return ((first, last),)
