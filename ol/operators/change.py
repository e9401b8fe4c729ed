"""C expressions without side effects that tell whether a mutant makes a difference where it stands, for
edits whose site cannot simply be evaluated twice. Their bits: 1 it does, 2 that cannot be said."""

import re

from pycparser import c_ast

from ol.csource.types import Kind
from ol.operators.body import Body

UNLIKE = "ol_unlike"
"""A function of two floating values: not both NaN, and not the same with its sign."""
_COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
ALWAYS = "1"
UNKNOWN = "2"


def unlike(kind: str, one: str, other: str) -> str:
    return f"{UNLIKE}({one}, {other})" if kind == Kind.FLOATING else f"({one}) != ({other})"


def of_deletion(body: Body, node: c_ast.Node) -> str:
    match node:
        case c_ast.Return() | c_ast.Break() | c_ast.Continue() | c_ast.Goto():
            return ALWAYS
        case c_ast.UnaryOp(op=("++" | "--" | "p++" | "p--")):
            return ALWAYS
        case c_ast.Assignment() if is_plain(body, node):
            kind = body.type(node.lvalue).kind
            return unlike(kind, body.text(node.lvalue), _result(body, node, node.op))
    return ""


def is_plain(body: Body, node: c_ast.Assignment) -> bool:
    found = body.types.get(id(node.lvalue))
    return found is not None and found.is_scalar and body.is_pure(node.lvalue) and body.is_pure(node.rvalue)


def _result(body: Body, node: c_ast.Assignment, op: str) -> str:
    """What the place holds after the assignment."""
    place, value = body.text(node.lvalue), body.text(node.rvalue)
    whole = f"({value})" if op == "=" else f"(({place}) {op[:-1]} ({value}))"
    if body.type(node.lvalue).kind is Kind.POINTER:
        return whole
    return f"({body.type(node.lvalue).name}){whole}"


def of_assignment(body: Body, node: c_ast.Assignment, new: str) -> str:
    if not is_plain(body, node):
        return UNKNOWN
    kind = body.type(node.lvalue).kind
    if new in ("/=", "%=") and node.op not in ("/=", "%=") and kind is not Kind.FLOATING:
        return UNKNOWN
    return unlike(kind, _result(body, node, node.op), _result(body, node, new))


def compared(body: Body) -> dict[int, c_ast.BinaryOp]:
    """By operand: the comparison without side effects that it stands in."""
    return {
        id(operand): spot.node
        for spot in body.expressions
        if isinstance(spot.node, c_ast.BinaryOp) and spot.node.op in _COMPARISONS and spot.pure
        for operand in (spot.node.left, spot.node.right)
    }


def of_operand(body: Body, comparison: c_ast.BinaryOp, operand: c_ast.Node, new: str) -> str:
    left, right = body.text(comparison.left), body.text(comparison.right)
    other = f"({new}) {comparison.op} {right}"
    if operand is comparison.right:
        other = f"{left} {comparison.op} ({new})"
    return f"({left} {comparison.op} {right}) != ({other})"


def of_swap(body: Body, one: c_ast.Node, other: c_ast.Node) -> str:
    if not (body.is_pure(one) and body.is_pure(other)):
        return UNKNOWN
    return unlike(body.type(one).kind, body.text(one), body.text(other))


def of_logical(body: Body, node: c_ast.BinaryOp, new: str) -> str:
    """`new`: the other operator, or "left" or "right" for the operand that is kept."""
    if not (body.is_pure(node.left) and body.is_pure(node.right)):
        return UNKNOWN
    left, right = f"({body.text(node.left)})", f"({body.text(node.right)})"
    is_total = not re.search(r"\[|->|[*/%]", right)
    if node.op == "&&":
        unseen = f"!!{right}" if is_total else UNKNOWN
        return {"left": f"{left} ? !{right} : 0", "right": f"{left} ? 0 : {unseen}"}.get(
            new, f"{left} ? !{right} : {unseen}"
        )
    unseen = f"!{right}" if is_total else UNKNOWN
    return {"left": f"{left} ? 0 : !!{right}", "right": f"{left} ? {unseen} : 0"}.get(
        new, f"{left} ? {unseen} : !!{right}"
    )
