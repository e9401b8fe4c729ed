"""Where the nodes of a tree stand, found from the places of their leaves and the tokens around them.

A span holds the first and last token of an expression without parentheses around it.
"""

from dataclasses import dataclass, field

from pycparser import c_ast

from ol.csource.reader import Source


class Lost(Exception):
    """A node whose place in the text cannot be told for certain."""


@dataclass
class Spans:
    source: Source
    _known: dict[int, tuple[int, int]] = field(default_factory=dict)

    def of(self, node: c_ast.Node) -> tuple[int, int]:
        """Raises Lost."""
        if id(node) not in self._known:
            self._known[id(node)] = self._find(node)
        return self._known[id(node)]

    def text(self, index: int) -> str:
        tokens = self.source.tokens
        return tokens[index].text if 0 <= index < len(tokens) else ""

    def outer(self, first: int, last: int) -> tuple[int, int]:
        """With all parentheses that hold nothing else. Only for operands, not for what stands in the
        parentheses of a statement or a call."""
        partner = self.source.partner
        while self.text(last + 1) == ")" and partner[last + 1] == first - 1:
            first, last = first - 1, last + 1
        return first, last

    def operator(self, node: c_ast.Node) -> int:
        """The token of a binary, assignment or unary operator; of a conditional its `?`."""
        match node:
            case c_ast.BinaryOp(left=left):
                index = self.outer(*self.of(left))[1] + 1
                return self._check(index, node.op, "?:" if node.op == "||" else node.op)
            case c_ast.Assignment(lvalue=left):
                return self._check(self.outer(*self.of(left))[1] + 1, node.op)
            case c_ast.TernaryOp(cond=left):
                return self._check(self.outer(*self.of(left))[1] + 1, "?")
            case c_ast.UnaryOp(op=op) if op in ("sizeof", "_Alignof"):
                index = (
                    self.leaf(node) if isinstance(node.expr, c_ast.Typename) else self._before(node.expr)
                )
                return self._check(index, "sizeof", "_Alignof", "alignof", "__alignof__")
            case c_ast.UnaryOp(op=op) if op.startswith("p"):
                return self._check(self.outer(*self.of(node.expr))[1] + 1, op[1:])
            case c_ast.UnaryOp():
                return self._check(self._before(node.expr), node.op)
        raise Lost

    def leaf(self, node: c_ast.Node) -> int:
        index = self.source.index_at(node.coord)
        if index is None:
            raise Lost
        return index

    def _before(self, node: c_ast.Node) -> int:
        return self.outer(*self.of(node))[0] - 1

    def _check(self, index: int, *texts: str) -> int:
        if self.text(index) not in texts:
            raise Lost
        return index

    def _close(self, index: int, opening: str) -> int:
        self._check(index, opening)
        if self.source.partner[index] < index:
            raise Lost
        return self.source.partner[index]

    def _find(self, node: c_ast.Node) -> tuple[int, int]:
        match node:
            case c_ast.ID() | c_ast.Constant():
                index = self.leaf(node)
                return index, index
            case c_ast.BinaryOp() | c_ast.Assignment() | c_ast.TernaryOp():
                ends = {"BinaryOp": ("left", "right"), "Assignment": ("lvalue", "rvalue")}
                names = ends.get(type(node).__name__, ("cond", "iffalse"))
                left, right = getattr(node, names[0]), getattr(node, names[1])
                self.operator(node)
                return self.outer(*self.of(left))[0], self.outer(*self.of(right))[1]
            case c_ast.UnaryOp():
                return self._unary(node)
            case c_ast.Cast():
                closing = self._check(self._before(node.expr), ")")
                return self.source.partner[closing], self.outer(*self.of(node.expr))[1]
            case c_ast.CompoundLiteral():
                opening = self._brace(node.init)
                first = self.source.partner[self._check(opening - 1, ")")]
                return first, self._close(opening, "{")
            case c_ast.FuncCall() | c_ast.ArrayRef():
                first, last = self.outer(*self.of(node.name))
                return first, self._close(last + 1, "(" if isinstance(node, c_ast.FuncCall) else "[")
            case c_ast.StructRef():
                first, last = self.outer(*self.of(node.name))
                return first, self._check(last + 1, node.type) + 1
            case c_ast.ExprList():
                return self.outer(*self.of(node.exprs[0]))[0], self.outer(*self.of(node.exprs[-1]))[1]
        raise Lost

    def _brace(self, node: c_ast.Node) -> int:
        """Where the list of a compound literal begins; not every version of the parser tells."""
        inner, depth = node, 0
        while isinstance(inner, (c_ast.InitList, c_ast.NamedInitializer)):
            depth += isinstance(inner, c_ast.InitList)
            inner = inner.expr if isinstance(inner, c_ast.NamedInitializer) else (inner.exprs or [None])[0]
        if inner is None:
            raise Lost
        index = self.outer(*self.of(inner))[0]
        for _ in range(depth):
            index -= 1
            while index > 0 and self.text(index) != "{":
                index = (
                    min(index, self.source.partner[index] if self.text(index) in (")", "]") else index) - 1
                )
        return index

    def _unary(self, node: c_ast.UnaryOp) -> tuple[int, int]:
        index = self.operator(node)
        if isinstance(node.expr, c_ast.Typename):
            return index, self._close(index + 1, "(")
        first, last = self.outer(*self.of(node.expr))
        return (first, index) if node.op.startswith("p") else (index, last)
