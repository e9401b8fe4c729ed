"""Types of expressions, as far as the unit and the course's headers tell; what they do not is UNKNOWN."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from pycparser import c_ast

from ol.csource.libc import ARITHMETIC, RESULTS, VALUES
from ol.csource.macros import Macro
from ol.csource.tokens import Kind as TokenKind


class Kind(StrEnum):
    INTEGER = "integer"
    FLOATING = "floating"
    POINTER = "pointer"
    RECORD = "record"
    FUNCTION = "function"
    VOID = "void"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Type:
    """`name` is spelled the same for equal types; `to` is a pointer's target, or a function's result."""

    kind: Kind
    name: str = ""
    to: "Type | None" = None
    takes: tuple["Type", ...] = ()
    """A function's parameters."""

    @property
    def is_arithmetic(self) -> bool:
        return self.kind in (Kind.INTEGER, Kind.FLOATING)

    @property
    def is_scalar(self) -> bool:
        return self.is_arithmetic or self.kind is Kind.POINTER

    @property
    def is_unsigned(self) -> bool:
        return self.name.startswith("unsigned") or self.name == "_Bool"


UNKNOWN = Type(Kind.UNKNOWN)
VOID = Type(Kind.VOID, "void")
INT = Type(Kind.INTEGER, "int")
_RANK = {"_Bool": 0, "char": 0, "signed char": 0, "short": 1, "int": 2, "long": 3, "long long": 4}


def pointer(to: Type, *, is_const: bool = False) -> Type:
    return Type(Kind.POINTER, f"{'const ' if is_const else ''}{to.name}*", to)


def arithmetic(words: list[str]) -> Type:
    """The type that keywords such as `unsigned long int` name."""
    if "void" in words:
        return VOID
    if "float" in words or "double" in words:
        return Type(Kind.FLOATING, " ".join(sorted(words, reverse=True)))
    unsigned = "unsigned " if "unsigned" in words else ""
    base = "long" if "long" in words else next((w for w in ("short", "char", "_Bool") if w in words), "int")
    if base == "char" and "signed" in words:
        base = "signed char"
    return Type(Kind.INTEGER, unsigned + base)


def named(spelling: str) -> Type:
    if spelling.endswith("*"):
        return pointer(named(spelling[:-1].strip()))
    return arithmetic(spelling.split())


def promoted(one: Type) -> Type:
    base = one.name.removeprefix("unsigned ")
    return INT if one.kind is Kind.INTEGER and _RANK.get(base, 2) < 2 else one


def common(one: Type, other: Type) -> Type:
    """The type that the usual arithmetic conversions give."""
    if Kind.UNKNOWN in (one.kind, other.kind):
        return UNKNOWN
    for name in ("long double", "double", "float"):
        if name in (one.name, other.name):
            return Type(Kind.FLOATING, name)
    a, b = promoted(one), promoted(other)
    ranks = [_RANK.get(t.name.removeprefix("unsigned "), 2) for t in (a, b)]
    if ranks[0] == ranks[1]:
        return a if a.is_unsigned else b
    return a if ranks[0] > ranks[1] else b


class Environment:
    """What names mean. Scopes of blocks are pushed and popped while a function is walked."""

    def __init__(self, macros: Mapping[str, Macro]):
        self.macros = macros
        self.typedefs = {name: arithmetic(base.split()) for name, base in ARITHMETIC.items()}
        self.records: dict[str, dict[str, Type]] = {}
        self.scopes: list[dict[str, Type]] = [{}]
        self.enumerators: dict[str, int | None] = {}
        self._untagged: dict[int, tuple[int, c_ast.Node]] = {}

    def declare(self, tree: c_ast.FileAST) -> None:
        for node in tree.ext:
            if isinstance(node, c_ast.Typedef):
                self.typedefs[node.name] = self.of_declarator(node.type)
            elif isinstance(node, c_ast.Decl):
                self.declaration(node)
            elif isinstance(node, c_ast.FuncDef):
                self.declaration(node.decl)

    def declaration(self, node: c_ast.Decl) -> None:
        found = self.of_declarator(node.type)
        self.scopes[-1][node.name or ""] = found

    def of_declarator(self, node: c_ast.Node) -> Type:
        match node:
            case c_ast.TypeDecl() | c_ast.Typename() | c_ast.Decl():
                return self.of_declarator(node.type)
            case c_ast.PtrDecl():
                return pointer(self.of_declarator(node.type), is_const=_is_const(node.type))
            case c_ast.ArrayDecl():
                return pointer(self.of_declarator(node.type), is_const=_is_const(node.type))
            case c_ast.FuncDecl():
                takes = tuple(self.of_declarator(p) for p in node.args.params) if node.args else ()
                return Type(Kind.FUNCTION, "function", self.of_declarator(node.type), takes=takes)
            case c_ast.IdentifierType():
                if len(node.names) == 1 and node.names[0] in self.typedefs:
                    return self.typedefs[node.names[0]]
                words = [w for w in node.names if w in _WORDS]
                return arithmetic(words) if words else UNKNOWN
            case c_ast.Struct() | c_ast.Union():
                return self._record(node)
            case c_ast.Enum():
                self._enumerate(node)
                return INT
        return UNKNOWN

    def _enumerate(self, node: c_ast.Enum) -> None:
        following: int | None = 0
        for enumerator in node.values.enumerators if node.values else ():
            value = following if enumerator.value is None else self.value(enumerator.value)
            self.enumerators[enumerator.name] = value
            following = None if value is None else value + 1

    def value(self, node: c_ast.Node) -> int | None:
        """The value of a constant expression of integers; None if it is none or not that simple."""
        match node:
            case c_ast.Constant():
                return integer(node.value)
            case c_ast.ID() if node.name in self.enumerators:
                return self.enumerators[node.name]
            case c_ast.ID() if node.name in ("true", "false", "NULL"):
                return int(node.name == "true")
            case c_ast.ID() if node.name in self.macros and self.macros[node.name].parameters is None:
                body = [t for t in self.macros[node.name].body if t.text not in ("(", ")")]
                return integer(body[0].text) if len(body) == 1 else None
            case c_ast.UnaryOp(op="-"):
                value = self.value(node.expr)
                return None if value is None else -value
            case c_ast.BinaryOp(op=("<<" | "+" | "-" | "*" | "|") as op):
                left, right = self.value(node.left), self.value(node.right)
                if left is None or right is None or (op == "<<" and not 0 <= right < 64):
                    return None
                if op == "<<":
                    return left << right
                return {"|": left | right, "+": left + right, "-": left - right, "*": left * right}[op]
        return None

    def _number(self, node: c_ast.Node) -> int:
        """Tells records without a tag apart; the node is kept, so that its identity stays its own."""
        return self._untagged.setdefault(id(node), (len(self._untagged), node))[0]

    def _record(self, node: c_ast.Node) -> Type:
        tag = f"{type(node).__name__} {node.name or self._number(node)}"
        if node.decls is not None:
            fields = self.records.setdefault(tag, {})
            for decl in node.decls:
                if isinstance(decl, c_ast.Decl):
                    found = self.of_declarator(decl.type)
                    if decl.name:
                        fields[decl.name] = found
                    else:
                        fields |= self.records.get(found.name, {})
        return Type(Kind.RECORD, tag)

    def lookup(self, name: str) -> Type:
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        if name in self.enumerators:
            return INT
        if name in self.macros:
            return self._macro(name)
        if name in VALUES:
            return named(VALUES[name])
        return Type(Kind.FUNCTION, "function", named(RESULTS[name])) if name in RESULTS else UNKNOWN

    def _macro(self, name: str) -> Type:
        """The type of a macro that is one constant, or another name for something."""
        body = [t for t in self.macros[name].body if t.text not in ("(", ")", "-", "+")]
        if self.macros[name].parameters is not None or not body:
            return UNKNOWN
        if body[0].text in ("INT64_C", "UINT64_C", "INT32_C", "UINT32_C"):
            unsigned = ["unsigned"] if body[0].text[0] == "U" else []
            return arithmetic([*unsigned, "long" if "64" in body[0].text else "int"])
        if len(body) != 1 or body[0].text == name:
            return UNKNOWN
        if body[0].kind is TokenKind.NUMBER:
            return of_number(body[0].text)
        return self.lookup(body[0].text) if body[0].kind is TokenKind.NAME else UNKNOWN


_WORDS = frozenset(
    ["void", "char", "short", "int", "long", "float", "double", "signed", "unsigned", "_Bool"]
)


def _is_const(node: c_ast.Node) -> bool:
    return "const" in (getattr(node, "quals", None) or ())


def integer(text: str) -> int | None:
    digits = text.lower().rstrip("ul")
    try:
        return int(digits, 8) if digits[:1] == "0" and digits.isdigit() else int(digits, 0)
    except ValueError:
        return None


def of_number(text: str) -> Type:
    lower = text.lower()
    is_hex = lower.startswith("0x")
    if "." in lower or ("p" in lower if is_hex else "e" in lower):
        return Type(Kind.FLOATING, {"f": "float", "l": "long double"}.get(lower[-1], "double"))
    digits = lower.rstrip("ul")
    suffix = lower[len(digits) :]
    try:
        value = (
            int(digits, 0)
            if digits != "0" and not (digits[0] == "0" and digits.isdigit())
            else int(digits, 8)
        )
    except ValueError:
        return INT
    unsigned = "u" in suffix or (value > 2**63 - 1) or (is_hex and 2**31 <= value < 2**32)
    long = "l" in suffix or value >= 2**32 or (value >= 2**31 and not (unsigned))
    return Type(Kind.INTEGER, ("unsigned " if unsigned else "") + ("long" if long else "int"))
