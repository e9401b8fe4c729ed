"""Walks an expression: what each part is there for, its type, whether evaluating it changes anything."""

from pycparser import c_ast

from ol.csource.reader import NotMutated, Source
from ol.csource.spans import Lost
from ol.csource.tokens import Kind as TokenKind
from ol.csource.types import Kind, Type
from ol.csource.typing_rules import type_of
from ol.operators.body import Body, Expression, Place, Role
from ol.operators.children import children, stays_whole
from ol.operators.frames import NOWHERE, Frame

_WRITES = ("++", "--", "p++", "p--")


class ExpressionWalker:
    frame: Frame = NOWHERE

    def __init__(self, source: Source, body: Body):
        self.source, self.body, self.spans, self.env = source, body, body.spans, source.environment
        first, last = body.function.first, body.function.last
        self.fragile = [k for k in range(first, last + 1) if source.tokens[k].fragile]

    def lost(self, node: c_ast.Node) -> None:
        start = self.source.tokens[self.body.function.first].start
        line = getattr(node.coord, "line", 0) or self.source.lines.position(start)[0]
        reason = f"the place of a {type(node).__name__} cannot be told"
        self.source.skipped.append(NotMutated(line, self.body.function.name, reason))

    def is_pure(self, node: c_ast.Node) -> bool:
        known = self.body.pure.get(id(node))
        if known is None:
            own = not isinstance(node, (c_ast.FuncCall, c_ast.Assignment, c_ast.Compound))
            own = own and not (isinstance(node, c_ast.UnaryOp) and node.op in _WRITES)
            if own and isinstance(node, c_ast.ID):
                index = self.source.index_at(node.coord)
                own = index is not None and self.source.tokens[index].kind is not TokenKind.OPAQUE
            known = own and all(self.is_pure(child) for _, child in node.children())
            self.body.pure[id(node)] = known
        return known

    def _is_fragile(self, first: int, last: int) -> bool:
        """Whether a macro of more than one operand stands in it outside of brackets."""
        inside = [k for k in self.fragile if first <= k <= last]
        partner = self.source.partner
        return any(not any(first <= a < k < partner[a] for a in range(first, k)) for k in inside)

    def expression(self, node: c_ast.Node, role: Role, place: Place) -> Type:
        self._parts(node, role, place)
        found = self.body.types[id(node)]
        self.body.values[id(node)] = self.env.value(node)
        if place in (Place.TEST, Place.LOGICAL):
            self.body.truths.add(id(node))
        if isinstance(node, c_ast.InitList):
            return found
        try:
            first, last = self.spans.of(node)
        except Lost:
            self.lost(node)
            return found
        tokens = self.source.tokens
        flat = self.source.flat(tokens[first].start, tokens[last].end)
        whole = flat is not None and not self._is_statement_macro(node)
        if whole and not (self.fragile and self._is_fragile(first, last)):
            self.body.expressions.append(
                Expression(
                    node=node,
                    first=first,
                    last=last,
                    start=tokens[first].start,
                    end=tokens[last].end,
                    role=role,
                    place=place,
                    type=found,
                    pure=self.is_pure(node),
                    frame=self.frame,
                )
            )
        return found

    def _is_statement_macro(self, node: c_ast.Node) -> bool:
        if not isinstance(node, c_ast.FuncCall) or not isinstance(node.name, c_ast.ID):
            return False
        macro = self.source.macros.get(node.name.name)
        return macro is not None and macro.is_statement

    def inside(self, node: c_ast.Node) -> None:
        """What is written to, or whose address is taken, stays whole; only its parts are entered."""
        if not stays_whole(node):
            self.expression(node, Role.VALUE, Place.OPERAND)
            return
        self._parts(node, Role.VALUE, Place.OPERAND)

    def _parts(self, node: c_ast.Node, role: Role, place: Place) -> None:
        for child, child_role, child_place in children(node, role, place, self.source.macros):
            if child_role is None:
                self.inside(child)
            else:
                self.expression(child, child_role, child_place)
        self.is_pure(node)
        self.body.types[id(node)] = type_of(node, self.env)
        self._note_operands(node)

    def note_wanted(self, wanted: Type, node: c_ast.Node | None) -> None:
        """A 0 that stands where a pointer is wanted is none to count up from."""
        if node is not None and wanted.kind is Kind.POINTER:
            self.body.nulls.add(id(node))
        if node is not None and wanted.name == "_Bool":
            self.body.truths.add(id(node))

    def _note_operands(self, node: c_ast.Node) -> None:
        match node:
            case c_ast.BinaryOp(op=("==" | "!=")):
                for one, other in ((node.left, node.right), (node.right, node.left)):
                    if type_of(one, self.env).kind is Kind.POINTER:
                        self.body.nulls.add(id(other))
            case c_ast.Assignment(op="="):
                self.note_wanted(type_of(node.lvalue, self.env), node.rvalue)
            case c_ast.TernaryOp():
                for one, other in ((node.iftrue, node.iffalse), (node.iffalse, node.iftrue)):
                    if type_of(one, self.env).kind is Kind.POINTER:
                        self.body.nulls.add(id(other))
            case c_ast.FuncCall() if node.args is not None:
                called = type_of(node.name, self.env)
                takes = (called.to or called).takes if called.kind is Kind.POINTER else called.takes
                for parameter, argument in zip(takes, node.args.exprs, strict=False):
                    self.note_wanted(parameter, argument)
