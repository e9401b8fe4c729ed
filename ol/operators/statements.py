"""Statements that are left out, jumps that go elsewhere, variables that start from nothing."""

from collections.abc import Iterator

from pycparser import c_ast

from ol.operators import change
from ol.operators.body import Body, Place
from ol.operators.edit import Edit


def deletion(body: Body) -> Iterator[Edit]:
    for spot in body.statements:
        if not spot.idle and id(spot.node) not in body.conditional:
            yield body.replace_statement(spot, ";", "deletion", change.of_deletion(body, spot.node))


def jump(body: Body) -> Iterator[Edit]:
    for spot in body.statements:
        if isinstance(spot.node, c_ast.Break) and spot.in_loop:
            yield body.replace_statement(spot, "continue;", "jump", change.ALWAYS)
        elif isinstance(spot.node, c_ast.Continue):
            yield body.replace_statement(spot, "break;", "jump", change.ALWAYS)


def initializer(body: Body) -> Iterator[Edit]:
    """What a statement's deletion is to an assignment."""
    for spot in body.expressions:
        is_constant = isinstance(spot.node, c_ast.Constant) or body.value(spot.node) is not None
        if spot.place is Place.INITIALIZER and spot.type.is_arithmetic and not is_constant:
            yield body.replace(spot, "0", "initializer")
