"""Comparisons, logical operators and conditions."""

from collections.abc import Iterator

from pycparser import c_ast

from ol.csource.types import Kind
from ol.operators import repeats
from ol.operators.body import Body, Expression, Place, Role
from ol.operators.change import of_logical
from ol.operators.edit import Edit
from ol.operators.swap import is_truth, prefixed, swap

# The mutants that every other comparison is noticed with; the last is the constant among them.
_SUBSUMING = {
    "<": ("<=", "!=", "0"),
    ">": (">=", "!=", "0"),
    "<=": ("<", "==", "1"),
    ">=": (">", "==", "1"),
    "==": ("<=", ">=", "0"),
    "!=": ("<", ">", "1"),
}
_OPPOSITE = {"<": ">=", ">": "<=", "<=": ">", ">=": "<"}
_SAME_ABOVE_ZERO = {(">", "!="), ("==", "<="), ("!=", ">"), ("<=", "=="), ("==", "<=")}


def _comparisons(body: Body) -> Iterator[tuple[Expression, str]]:
    for spot in body.expressions:
        if isinstance(spot.node, c_ast.BinaryOp) and spot.node.op in _SUBSUMING:
            yield spot, spot.node.op


def relational(body: Body) -> Iterator[Edit]:
    kept = repeats.kept_others(body)
    for spot, op in _comparisons(body):
        left, right = body.type(spot.node.left), body.type(spot.node.right)
        unordered = op in ("==", "!=") and Kind.POINTER in (left.kind, right.kind)
        above_zero = left.is_unsigned and body.value(spot.node.right) == 0
        if unordered:
            yield swap(body, spot, "!=" if op == "==" else "==", "relational")
        for new in _SUBSUMING[op]:
            if new in "01":
                endless = new == "1" and spot.role is Role.LOOP
                if not endless and kept.get(id(spot.node)) != new:
                    yield body.replace(spot, new, "relational")
            elif not unordered and not (above_zero and (op, new) in _SAME_ABOVE_ZERO):
                yield swap(body, spot, new, "relational")


def unordered(body: Body) -> Iterator[Edit]:
    """Differs from the comparison only where an operand is NaN."""
    for spot, op in _comparisons(body):
        kinds = (body.type(spot.node.left).kind, body.type(spot.node.right).kind)
        if Kind.FLOATING in kinds and op in _OPPOSITE:
            left, right = body.text(spot.node.left), body.text(spot.node.right)
            yield body.replace(spot, f"!({left} {_OPPOSITE[op]} {right})", "unordered")


def _as_truth(body: Body, node: c_ast.Node) -> str:
    text = body.text(node)
    if is_truth(node):
        return text
    plain = isinstance(node, (c_ast.ID, c_ast.FuncCall, c_ast.ArrayRef, c_ast.StructRef)) or text[0] == "("
    return f"!!{text}" if plain else f"!!({text})"


def logical(body: Body) -> Iterator[Edit]:
    for spot in body.expressions:
        if not isinstance(spot.node, c_ast.BinaryOp) or spot.node.op not in ("&&", "||"):
            continue
        if body.spans.text(body.spans.operator(spot.node)) != spot.node.op:
            continue
        node, other = spot.node, "||" if spot.node.op == "&&" else "&&"
        yield swap(body, spot, other, "logical", of_logical(body, node, other))
        yield body.replace(spot, _as_truth(body, node.left), "logical", of_logical(body, node, "left"))
        yield body.replace(spot, _as_truth(body, node.right), "logical", of_logical(body, node, "right"))


def condition(body: Body) -> Iterator[Edit]:
    """Forces tests; a loop is only forced to end, for one that never ends teaches nothing."""
    for spot in body.expressions:
        if spot.place is Place.TEST and body.value(spot.node) is None:
            yield body.replace(spot, "0", "condition")
            if spot.role is not Role.LOOP:
                yield body.replace(spot, "1", "condition")


def negation(body: Body) -> Iterator[Edit]:
    """Puts `!` before a condition, or takes it away. Comparisons have their own opposites."""
    for spot in body.expressions:
        if isinstance(spot.node, c_ast.UnaryOp) and spot.node.op == "!":
            if spot.role is not Role.DISCARDED:
                yield body.replace_token(spot, body.spans.operator(spot.node), "!!", "negation")
        elif _takes_negation(body, spot):
            yield body.replace(spot, prefixed(body, spot, "!"), "negation")


def _takes_negation(body: Body, spot: Expression) -> bool:
    if spot.place not in (Place.TEST, Place.LOGICAL) or is_truth(spot.node):
        return False
    first, _ = body.spans.outer(spot.first, spot.last)
    return body.value(spot.node) is None and body.spans.text(first - 1) != "!"
