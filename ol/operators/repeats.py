"""Mutants that would only repeat another operator's, told from the tree; what only the compiler can tell is
found later, by equal code."""

from collections.abc import Iterator

from pycparser import c_ast

from ol.csource.types import Kind
from ol.operators.body import Body

_LIKE_NEXT = {"<": 1, ">=": 1, ">": -1, "<=": -1}
"""By comparison: the neighbour of its right side that does what the comparison with or without `=` does."""
_LIKE_OPERAND = {"+": 0, "-": 0, "|": 0, "^": 0, "<<": 0, ">>": 0, "*": 1, "/": 1}
"""By operator: the right side that leaves the left one as it is."""
_COUNTED = (Kind.INTEGER, Kind.POINTER)


def constants(body: Body) -> dict[int, set[int]]:
    """By node: the values that another operator's mutant gives it."""
    found: dict[int, set[int]] = {}
    for spot in body.expressions:
        if isinstance(spot.node, c_ast.BinaryOp) and body.type(spot.node.left).kind in _COUNTED:
            value = body.value(spot.node.right)
            if value is not None:
                found[id(spot.node.right)] = set(_covered(body, spot.node, value))
    return found


def _covered(body: Body, node: c_ast.BinaryOp, value: int) -> Iterator[int]:
    if node.op in _LIKE_OPERAND:
        yield _LIKE_OPERAND[node.op]
    is_edge = value == 0 and body.type(node.left).is_unsigned
    if node.op in _LIKE_NEXT and not is_edge:
        yield value + _LIKE_NEXT[node.op]


def shifts_a_constant(body: Body, node: c_ast.Node) -> bool:
    """Whether one more or one less is what a neighbour of its own constant gives."""
    is_sum = isinstance(node, c_ast.BinaryOp) and node.op in ("+", "-")
    return is_sum and isinstance(node.right, c_ast.Constant) and body.value(node.right) is not None


def kept_others(body: Body) -> dict[int, str]:
    """By operand of a logical operator: the value that leaves the other operand alone to decide."""
    return {
        id(part): "1" if spot.node.op == "&&" else "0"
        for spot in body.expressions
        if isinstance(spot.node, c_ast.BinaryOp) and spot.node.op in ("&&", "||")
        for part in (spot.node.left, spot.node.right)
    }


def added(body: Body) -> set[int]:
    """What `+=` and `-=` take: with a minus before it, it is as with the other one."""
    nodes = (s.node for s in body.expressions)
    return {id(n.rvalue) for n in nodes if isinstance(n, c_ast.Assignment) and n.op in ("+=", "-=")}
