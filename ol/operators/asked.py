"""Functions of which every caller asks only whether the result is 0."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import zip_longest

from pycparser import c_ast

from ol.csource.reader import Source
from ol.csource.tokens import Kind as TokenKind
from ol.operators.body import Body, Place, Role


def asked_for_truth(source: Source, bodies: Sequence[Body]) -> frozenset[str]:
    """Those that are static and mentioned nowhere but in such calls; one that hands on the result of
    another asks what its own callers ask."""
    found = {
        b.function.name
        for b in bodies
        if "static" in (b.function.node.decl.storage or ()) and b.returns.is_scalar
    }
    mentions = Counter(_mentions(source))
    while True:
        asking = Counter(name for b in bodies for name in _asking(b, hands_on=b.function.name in found))
        kept = {name for name in found if 0 < mentions[name] == asking[name]}
        if kept == found:
            return frozenset(found)
        found = kept


def _asking(body: Body, *, hands_on: bool) -> Iterator[str]:
    """The functions that are called where no more than the truth matters, once for each call."""
    for spot in body.expressions:
        if isinstance(spot.node, c_ast.FuncCall) and isinstance(spot.node.name, c_ast.ID):
            handed_on = hands_on and spot.place is Place.RETURNED
            if handed_on or spot.role is Role.DISCARDED or id(spot.node) in body.truths:
                yield spot.node.name.name


def _mentions(source: Source) -> Iterator[str]:
    """Every name in the unit's text, but for those that are declared at its outermost level."""
    depth = 0
    for token, following in zip_longest(source.tokens, [t.text for t in source.tokens[1:]]):
        depth += {"{": 1, "}": -1}.get(token.text, 0)
        is_declared = depth == 0 and following == "("
        if token.kind is TokenKind.OPAQUE:
            yield from re.findall(r"\w+", token.text)
        elif token.kind is TokenKind.NAME and not is_declared:
            yield token.text
    for macro in source.macros.values():
        yield from macro.texts
