"""Walks a function's tree and tells what each expression and statement is there for.

Constant contexts are not entered: sizes of arrays, `case`, `enum`, bit-field widths, initializers of what
lives statically, `sizeof`.
"""

from collections.abc import Sequence

from pycparser import c_ast

from ol.csource.reader import Function, Source
from ol.csource.spans import Lost, Spans
from ol.csource.types import VOID
from ol.operators import frames
from ol.operators.body import Body, Place, Role, Statement
from ol.operators.expressions import ExpressionWalker
from ol.operators.frames import NOWHERE


def walk(source: Source, function: Function, spans: Spans) -> Body:
    env = source.environment
    declared = env.of_declarator(function.node.decl.type)
    walker = _Walker(source, Body(source, function, spans, declared.to or VOID))
    env.scopes.append({})
    for parameter in function.node.decl.type.args.params if function.node.decl.type.args else ():
        if isinstance(parameter, c_ast.Decl):
            env.declaration(parameter)
    walker.block(function.node.body.block_items or (), is_end=True)
    env.scopes.pop()
    return walker.body


class _Walker(ExpressionWalker):
    loops = 0

    def block(self, items: Sequence[c_ast.Node], *, is_end: bool = False) -> None:
        """`is_end`: nothing of the function comes after it."""
        self.env.scopes.append({})
        for index, item in enumerate(items):
            self.statement(item, is_end=is_end and index == len(items) - 1)
        self.env.scopes.pop()

    def statement(self, node: c_ast.Node | None, *, is_end: bool = False, idle_jump: str = "") -> None:
        """`idle_jump` is the jump that would lead where control goes anyway."""
        match node:
            case None | c_ast.EmptyStatement() | c_ast.Pragma() | c_ast.StaticAssert():
                return
            case c_ast.Compound():
                self._compound(node, is_end=is_end, idle_jump=idle_jump)
            case c_ast.Decl():
                self._declaration(node, Place.INITIALIZER)
            case c_ast.DeclList():
                for decl in node.decls:
                    self._declaration(decl, Place.START)
            case c_ast.Typedef():
                self.env.typedefs[node.name] = self.env.of_declarator(node.type)
            case c_ast.If():
                self.frame = frames.of_header(self.spans, node)
                self.expression(node.cond, Role.CONDITION, Place.TEST)
                if node.iffalse is None:
                    self._note_conditional(node.cond, node.iftrue)
                self.statement(node.iftrue, is_end=is_end, idle_jump=idle_jump)
                self.statement(node.iffalse, is_end=is_end, idle_jump=idle_jump)
            case c_ast.While() | c_ast.DoWhile() | c_ast.For():
                self._loop(node)
            case c_ast.Switch():
                self._switch(node, is_end=is_end)
            case c_ast.Case() | c_ast.Default():
                for inner in node.stmts or ():
                    self.statement(inner)
            case c_ast.Label():
                self.statement(node.stmt, is_end=is_end)
            case c_ast.Return() | c_ast.Break() | c_ast.Continue() | c_ast.Goto():
                self._jump(node, is_end=is_end, idle=type(node).__name__ == idle_jump)
            case _:
                self._expression_statement(node)

    def _compound(self, node: c_ast.Compound, *, is_end: bool, idle_jump: str) -> None:
        items = node.block_items or []
        self.env.scopes.append({})
        for index, item in enumerate(items):
            last = index == len(items) - 1
            self.statement(item, is_end=is_end and last, idle_jump=idle_jump if last else "")
        self.env.scopes.pop()

    def _loop(self, node: c_ast.Node) -> None:
        self.env.scopes.append({})
        self.frame = header = frames.of_header(self.spans, node)
        if isinstance(node, c_ast.For):
            if isinstance(node.init, c_ast.DeclList):
                self.statement(node.init)
            elif node.init is not None:
                self.frame = header
                self.expression(node.init, Role.DISCARDED, Place.START)
            self.frame = header
            if node.next is not None:
                self.expression(node.next, Role.DISCARDED, Place.STEP)
        if node.cond is not None:
            self.expression(node.cond, Role.LOOP, Place.TEST)
        if isinstance(node, c_ast.For) and isinstance(node.init, c_ast.DeclList) and node.next is not None:
            self._note_conditional(node.cond, node.stmt)
        self.loops += 1
        self.statement(node.stmt, idle_jump="Continue")
        self.loops -= 1
        self.env.scopes.pop()

    def _note_conditional(self, test: c_ast.Node | None, node: c_ast.Node) -> None:
        items = node.block_items or [] if isinstance(node, c_ast.Compound) else [node]
        is_site = test is not None and any(s.node is test for s in self.body.expressions[-1:])
        if is_site and len(items) == 1 and self.is_pure(test) and self.env.value(test) is None:
            self.body.conditional.add(id(items[0]))

    def _switch(self, node: c_ast.Switch, *, is_end: bool) -> None:
        self.frame = frames.of_header(self.spans, node)
        self.expression(node.cond, Role.VALUE, Place.OPERAND)
        items = node.stmt.block_items or [] if isinstance(node.stmt, c_ast.Compound) else [node.stmt]
        self.env.scopes.append({})
        for index, item in enumerate(items):
            inner = item.stmts or [] if isinstance(item, (c_ast.Case, c_ast.Default)) else [item]
            for place, statement in enumerate(inner):
                last = index == len(items) - 1 and place == len(inner) - 1
                self.statement(statement, is_end=is_end and last, idle_jump="Break" if last else "")
        self.env.scopes.pop()

    def _jump(self, node: c_ast.Node, *, is_end: bool, idle: bool) -> None:
        value = node.expr if isinstance(node, c_ast.Return) else None
        self.note_wanted(self.body.returns, value)
        idle = idle or (is_end and isinstance(node, c_ast.Return))
        self._simple(node, value, Role.VALUE, Place.RETURNED, idle=idle)

    def _expression_statement(self, node: c_ast.Node) -> None:
        empty = isinstance(node, c_ast.ExprList) and not node.exprs
        inner = None if empty else node
        self._simple(node, inner, Role.DISCARDED, Place.STATEMENT, idle=self.is_pure(node))

    def _simple(
        self, node: c_ast.Node, inner: c_ast.Node | None, role: Role, place: Place, *, idle: bool
    ) -> None:
        """A statement that ends with its semicolon."""
        extent = self._extent(node)
        self.frame = frames.of_statement(self.spans, *extent) if extent else NOWHERE
        if inner is not None:
            self.expression(inner, role, place)
        if not extent:
            self.lost(node)
            return
        first, last = extent
        start, end = self.source.tokens[first].start, self.source.tokens[last].end
        made = Statement(
            node=node, start=start, end=end, in_loop=self.loops > 0, frame=self.frame, idle=idle
        )
        self.body.statements.append(made)

    def _extent(self, node: c_ast.Node) -> tuple[int, int] | None:
        try:
            match node:
                case c_ast.Return(expr=None) | c_ast.Break() | c_ast.Continue():
                    first = self.spans.leaf(node)
                    last = first + 1
                case c_ast.Goto():
                    first = self.spans.leaf(node)
                    last = first + 2
                case c_ast.Return(expr=value):
                    first, last = self.spans.leaf(node), self.spans.outer(*self.spans.of(value))[1] + 1
                case _:
                    first, last = self.spans.outer(*self.spans.of(node))
                    last += 1
        except Lost:
            return None
        return (first, last) if self.spans.text(last) == ";" else None

    def _declaration(self, node: c_ast.Node, place: Place) -> None:
        if not isinstance(node, c_ast.Decl):
            return
        self.env.declaration(node)
        if place is not Place.START:
            self.frame = frames.of_declared(self.spans, node)
        lives_on = {"static", "extern", "_Thread_local", "constexpr"} & set(node.storage or ())
        if node.init is not None and not lives_on:
            self.note_wanted(self.env.of_declarator(node.type), node.init)
            self._initializer(node.init, place)

    def _initializer(self, node: c_ast.Node, place: Place = Place.INITIALIZER) -> None:
        if isinstance(node, c_ast.InitList):
            name = tuple((first, first) for first, _ in self.frame[:1])
            for item in node.exprs:
                value = item.expr if isinstance(item, c_ast.NamedInitializer) else item
                self.frame = name + frames.of_item(self.spans, value)
                self._initializer(value)
        else:
            self.expression(node, Role.VALUE, place)
