"""Operators that compute: arithmetic, bitwise, assignment, increments and unary ones."""

from collections.abc import Iterator

from pycparser import c_ast

from ol.csource.types import Kind
from ol.operators import repeats
from ol.operators.body import Body, Expression, Place, Role
from ol.operators.change import ALWAYS, of_assignment
from ol.operators.edit import Edit
from ol.operators.swap import is_truth, prefixed, swap

_ARITHMETIC = {"+": "-", "-": "+", "*": "/", "/": "*%", "%": "/*"}
_BITWISE = {"&": "|^", "|": "&^", "^": "&|"}
_SHIFTS = {"<<": ">>", ">>": "<<"}
_ASSIGNMENTS = {
    "+=": ("-=", "="),
    "-=": ("+=", "="),
    "*=": ("/=", "="),
    "/=": ("*=", "="),
    "%=": ("/=", "="),
    "&=": ("|=", "^=", "="),
    "|=": ("&=", "^=", "="),
    "^=": ("&=", "|=", "="),
    "<<=": (">>=", "="),
    ">>=": ("<<=", "="),
}
_ROOTS = (Place.ASSIGNED, Place.INITIALIZER, Place.RETURNED, Place.ARGUMENT)


def _binary(body: Body, operators: object) -> Iterator[Expression]:
    for spot in body.expressions:
        if isinstance(spot.node, c_ast.BinaryOp) and spot.node.op in operators:  # type: ignore[operator]
            yield spot


def arithmetic(body: Body) -> Iterator[Edit]:
    for spot in _binary(body, _ARITHMETIC):
        left, right = body.type(spot.node.left), body.type(spot.node.right)
        if left.kind is Kind.POINTER:
            if right.kind is Kind.INTEGER:
                yield swap(body, spot, _ARITHMETIC[spot.node.op], "arithmetic")
            continue
        if right.kind is Kind.POINTER:
            continue
        for new in _ARITHMETIC[spot.node.op]:
            if new != "%" or (left.kind is Kind.INTEGER and right.kind is Kind.INTEGER):
                yield swap(body, spot, new, "arithmetic")


def operand(body: Body) -> Iterator[Edit]:
    """Keeps one operand and drops the other."""
    for spot in _binary(body, {**_ARITHMETIC, **_BITWISE, **_SHIFTS}):
        left, right = body.type(spot.node.left), body.type(spot.node.right)
        if left.kind is Kind.POINTER and right.kind is Kind.INTEGER:
            yield body.replace(spot, body.text(spot.node.left), "operand")
        elif left.is_arithmetic and right.is_arithmetic:
            yield body.replace(spot, body.text(spot.node.left), "operand")
            if spot.node.op not in _SHIFTS:
                yield body.replace(spot, body.text(spot.node.right), "operand")


def bitwise(body: Body) -> Iterator[Edit]:
    for spot in _binary(body, _BITWISE):
        for new in _BITWISE[spot.node.op]:
            yield swap(body, spot, new, "bitwise")
    for spot in _binary(body, _SHIFTS):
        yield swap(body, spot, _SHIFTS[spot.node.op], "bitwise")


def assignment(body: Body) -> Iterator[Edit]:
    for spot in body.expressions:
        if not isinstance(spot.node, c_ast.Assignment):
            continue
        for new in _ASSIGNMENTS.get(spot.node.op, ()):
            if new != "=" or body.type(spot.node.lvalue).kind is not Kind.POINTER:
                change = of_assignment(body, spot.node, new)
                yield body.replace_token(spot, body.spans.operator(spot.node), new, "assignment", change)


def increment(body: Body) -> Iterator[Edit]:
    for spot in body.expressions:
        if not isinstance(spot.node, c_ast.UnaryOp) or spot.node.op.lstrip("p") not in ("++", "--"):
            continue
        op = spot.node.op.lstrip("p")
        new = "--" if op == "++" else "++"
        yield body.replace_token(spot, body.spans.operator(spot.node), new, "increment", ALWAYS)
        if spot.role is not Role.DISCARDED:
            place = body.text(spot.node.expr)
            moved = op + place if spot.node.op.startswith("p") else place + op
            yield body.replace(spot, moved, "increment", ALWAYS)


def unary(body: Body) -> Iterator[Edit]:
    """Removes a sign or a complement, or puts one before a value that is handed on."""
    added = repeats.added(body)
    for spot in body.expressions:
        node = spot.node
        if isinstance(node, c_ast.UnaryOp) and node.op in ("-", "~"):
            yield body.replace(spot, body.text(node.expr), "unary")
        elif spot.place in _ROOTS and _takes_sign(body, spot):
            sign = "~" if spot.type.is_unsigned else "-"
            if sign == "-" and id(node) in added:
                continue
            yield body.replace(spot, prefixed(body, spot, sign), "unary")


def _takes_sign(body: Body, spot: Expression) -> bool:
    """An integer that is returned has mutants of its own."""
    if isinstance(spot.node, c_ast.Constant) or body.value(spot.node) is not None or is_truth(spot.node):
        return False
    if spot.place is Place.RETURNED and spot.type.kind is Kind.INTEGER:
        return False
    return spot.type.is_arithmetic and spot.type.name != "_Bool"
