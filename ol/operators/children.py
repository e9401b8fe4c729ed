"""The parts of an expression with what each is for. A part without a role must stay whole."""

from collections.abc import Iterator, Mapping

from pycparser import c_ast

from ol.csource.macros import Macro
from ol.operators.body import Place, Role

Part = tuple[c_ast.Node, Role | None, Place]


def stays_whole(node: c_ast.Node) -> bool:
    if isinstance(node, c_ast.UnaryOp):
        return str(node.op) == "*"
    return isinstance(
        node, (c_ast.ID, c_ast.ArrayRef, c_ast.StructRef, c_ast.Constant, c_ast.CompoundLiteral)
    )


def children(node: c_ast.Node, role: Role, place: Place, macros: Mapping[str, Macro]) -> Iterator[Part]:
    match node:
        case c_ast.BinaryOp(op=("&&" | "||")):
            inner = Role.LOOP if role is Role.LOOP else Role.CONDITION
            yield node.left, inner, Place.LOGICAL
            yield node.right, inner, Place.LOGICAL
        case c_ast.BinaryOp():
            yield node.left, Role.VALUE, Place.OPERAND
            yield node.right, Role.VALUE, Place.OPERAND
        case c_ast.Assignment():
            yield node.lvalue, None, Place.OPERAND
            yield node.rvalue, Role.VALUE, Place.START if place is Place.START else Place.ASSIGNED
        case c_ast.TernaryOp():
            yield node.cond, Role.CONDITION, Place.TEST
            arm = Role.DISCARDED if role is Role.DISCARDED else Role.VALUE
            yield node.iftrue, arm, Place.ARM
            yield node.iffalse, arm, Place.ARM
        case c_ast.UnaryOp():
            yield from _operand(node)
        case c_ast.Cast():
            yield node.expr, Role.VALUE, Place.OPERAND
        case c_ast.CompoundLiteral():
            yield from _items(node.init)
        case c_ast.FuncCall():
            if not isinstance(node.name, c_ast.ID):
                yield node.name, None, Place.OPERAND
            for index, argument in enumerate(node.args.exprs if node.args else ()):
                if not isinstance(argument, c_ast.Typename):
                    is_place = _is_written(node.name, index, macros)
                    yield argument, None if is_place else Role.VALUE, Place.ARGUMENT
        case c_ast.ArrayRef():
            yield node.name, None, Place.OPERAND
            yield node.subscript, Role.VALUE, Place.INDEX
        case c_ast.StructRef():
            yield node.name, None, Place.OPERAND
        case c_ast.ExprList():
            for item in node.exprs[:-1]:
                yield item, Role.DISCARDED, place
            yield node.exprs[-1], role, place


def _is_written(name: c_ast.Node, index: int, macros: Mapping[str, Macro]) -> bool:
    if not isinstance(name, c_ast.ID):
        return False
    if name.name in ("va_start", "va_end", "va_copy"):
        return True
    return name.name in macros and macros[name.name].writes(index)


def _operand(node: c_ast.UnaryOp) -> Iterator[Part]:
    if node.op in ("&", "++", "--", "p++", "p--"):
        yield node.expr, None, Place.OPERAND
    elif node.op == "!":
        yield node.expr, Role.CONDITION, Place.LOGICAL
    elif node.op == "*":
        yield node.expr, Role.VALUE, Place.DEREFERENCED
    elif node.op not in ("sizeof", "_Alignof"):
        yield node.expr, Role.VALUE, Place.OPERAND


def _items(node: c_ast.Node) -> Iterator[Part]:
    if isinstance(node, c_ast.InitList):
        for item in node.exprs:
            yield from _items(item.expr if isinstance(item, c_ast.NamedInitializer) else item)
    else:
        yield node, Role.VALUE, Place.INITIALIZER
