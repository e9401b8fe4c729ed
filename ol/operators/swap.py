"""Another operator between the same operands, with parentheses where precedence would regroup them."""

from pycparser import c_ast

from ol.operators.body import Body, Expression
from ol.operators.edit import Edit

_LEVELS = (
    ("||",),
    ("&&",),
    ("|",),
    ("^",),
    ("&",),
    ("==", "!="),
    ("<", "<=", ">", ">="),
    ("<<", ">>"),
    ("+", "-"),
)
PRECEDENCE = {op: level for level, ops in enumerate((*_LEVELS, ("*", "/", "%"))) for op in ops}


def _grouped(body: Body, node: c_ast.Node, operator: str, *, is_right: bool) -> str:
    text = body.text(node)
    first, last = body.spans.of(node)
    bare = body.spans.outer(first, last) == (first, last)
    if isinstance(node, c_ast.BinaryOp) and bare and PRECEDENCE[node.op] < PRECEDENCE[operator] + is_right:
        return f"({text})"
    return text


def swap(body: Body, spot: Expression, new: str, operator: str, change: str = "") -> Edit:
    node, index = spot.node, body.spans.operator(spot.node)
    left = _grouped(body, node.left, new, is_right=False)
    right = _grouped(body, node.right, new, is_right=True)
    same = PRECEDENCE[node.op] == PRECEDENCE[new]
    bound = min(PRECEDENCE[node.op], PRECEDENCE[new])
    looser = [op for op, level in PRECEDENCE.items() if level < bound]
    kept = left == body.text(node.left) and right == body.text(node.right)
    as_is = kept and body.is_enclosed(spot, looser)
    if same or as_is:
        return body.replace_token(spot, index, new, operator, change)
    return body.replace(spot, f"({left} {new} {right})", operator, change)


def is_truth(node: c_ast.Node) -> bool:
    """Whether its value is 0 or 1."""
    logical = isinstance(node, c_ast.BinaryOp) and PRECEDENCE[node.op] in (0, 1, 5, 6)
    return logical or (isinstance(node, c_ast.UnaryOp) and node.op == "!")


def prefixed(body: Body, spot: Expression, prefix: str) -> str:
    """The expression under a unary operator."""
    simple = (c_ast.ID, c_ast.FuncCall, c_ast.ArrayRef, c_ast.StructRef)
    text = body.bare(spot)
    return f"{prefix}{text}" if isinstance(spot.node, simple) else f"{prefix}({text})"
