"""The type of an expression, from the types of its parts."""

from pycparser import c_ast

from ol.csource.types import (
    INT,
    UNKNOWN,
    Environment,
    Kind,
    Type,
    common,
    named,
    of_number,
    pointer,
    promoted,
)

COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")


def type_of(node: c_ast.Node, env: Environment) -> Type:
    match node:
        case c_ast.Constant():
            return _constant(node)
        case c_ast.ID():
            return env.lookup(node.name)
        case c_ast.BinaryOp():
            return _binary(node, env)
        case c_ast.UnaryOp():
            return _unary(node, env)
        case c_ast.Assignment():
            return type_of(node.lvalue, env)
        case c_ast.TernaryOp():
            return _conditional(type_of(node.iftrue, env), type_of(node.iffalse, env))
        case c_ast.Cast() | c_ast.CompoundLiteral():
            return env.of_declarator(node.to_type if isinstance(node, c_ast.Cast) else node.type)
        case c_ast.FuncCall():
            called = type_of(node.name, env)
            if called.kind is Kind.POINTER and called.to is not None:
                called = called.to
            return called.to if called.kind is Kind.FUNCTION and called.to is not None else UNKNOWN
        case c_ast.ArrayRef():
            return type_of(node.name, env).to or UNKNOWN
        case c_ast.StructRef():
            base = type_of(node.name, env)
            record = base.to if node.type == "->" and base.to is not None else base
            return env.records.get(record.name, {}).get(node.field.name, UNKNOWN)
        case c_ast.ExprList():
            return type_of(node.exprs[-1], env) if node.exprs else UNKNOWN
    return UNKNOWN


def _constant(node: c_ast.Constant) -> Type:
    if node.type == "string":
        return pointer(named("char"))
    if node.type == "char":
        return INT
    return of_number(node.value)


def _binary(node: c_ast.BinaryOp, env: Environment) -> Type:
    if node.op in COMPARISONS or node.op in ("&&", "||"):
        return INT
    left, right = type_of(node.left, env), type_of(node.right, env)
    if node.op in ("<<", ">>"):
        return promoted(left)
    if Kind.POINTER in (left.kind, right.kind):
        if left.kind is right.kind:
            return Type(Kind.INTEGER, "long")
        found = left if left.kind is Kind.POINTER else right
        return Type(Kind.POINTER, found.name, found.to)
    return common(left, right)


def _unary(node: c_ast.UnaryOp, env: Environment) -> Type:
    if node.op in ("sizeof", "_Alignof"):
        return Type(Kind.INTEGER, "unsigned long")
    if node.op == "!":
        return INT
    operand = type_of(node.expr, env)
    if node.op == "&":
        return pointer(operand) if operand.kind is not Kind.UNKNOWN else Type(Kind.POINTER, "?*")
    if node.op == "*":
        return operand.to or UNKNOWN
    return promoted(operand) if node.op in ("-", "+", "~") else operand


def _conditional(one: Type, other: Type) -> Type:
    for found in (one, other):
        if found.kind is Kind.POINTER and found.name != "void*":
            return found
    if one.is_arithmetic and other.is_arithmetic:
        return common(one, other)
    return one if one.kind is not Kind.UNKNOWN else other
