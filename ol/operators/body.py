"""A function's body as the operators see it: expressions and statements with place, type and role."""

from collections.abc import Collection
from dataclasses import dataclass, field
from enum import StrEnum

from pycparser import c_ast

from ol.csource.reader import Function, Source
from ol.csource.spans import Spans
from ol.csource.types import Type
from ol.operators.edit import Edit, Site, SiteKind
from ol.operators.frames import Frame


class Role(StrEnum):
    VALUE = "value"
    CONDITION = "condition"
    LOOP = "loop condition"
    DISCARDED = "discarded"


class Place(StrEnum):
    """What an expression is for the construct that holds it."""

    OPERAND = "operand"
    DEREFERENCED = "dereferenced"
    LOGICAL = "operand of a logical operator"
    TEST = "test of a statement or conditional"
    ARM = "arm of a conditional"
    ARGUMENT = "argument"
    INDEX = "index"
    INITIALIZER = "initializer"
    ASSIGNED = "assigned"
    RETURNED = "returned"
    START = "start of a loop"
    STEP = "step of a loop"
    STATEMENT = "statement"


@dataclass(frozen=True, kw_only=True)
class Expression:
    """An expression that may be wrapped in parentheses; one that is a place to write to is not among
    them, only what stands inside it."""

    node: c_ast.Node
    first: int
    last: int
    start: int
    end: int
    role: Role
    place: Place
    type: Type
    pure: bool
    frame: Frame


@dataclass(frozen=True, kw_only=True)
class Statement:
    node: c_ast.Node
    start: int
    end: int
    in_loop: bool
    frame: Frame
    idle: bool
    """Without it the function does the same, or nothing that the language defines."""


@dataclass
class Body:
    source: Source
    function: Function
    spans: Spans
    returns: Type
    expressions: list[Expression] = field(default_factory=list)
    statements: list[Statement] = field(default_factory=list)
    types: dict[int, Type] = field(default_factory=dict)
    values: dict[int, int | None] = field(default_factory=dict)
    pure: dict[int, bool] = field(default_factory=dict)
    nulls: set[int] = field(default_factory=set)
    conditional: set[int] = field(default_factory=set)
    """Statements that are all that a test decides on: without them it is as if the test failed."""
    truths: set[int] = field(default_factory=set)
    """Nodes of which only the truth matters."""

    def type(self, node: c_ast.Node) -> Type:
        return self.types[id(node)]

    def value(self, node: c_ast.Node) -> int | None:
        return self.values.get(id(node))

    def text(self, node: c_ast.Node) -> str:
        """The code of an operand with its parentheses, in one line."""
        first, last = self.spans.outer(*self.spans.of(node))
        return self.flat(self.source.tokens[first].start, self.source.tokens[last].end)

    def bare(self, spot: Expression) -> str:
        return self.flat(spot.start, spot.end)

    def flat(self, start: int, end: int) -> str:
        return self.source.flat(start, end) or self.source.text[start:end]

    def is_enclosed(self, spot: Expression, looser: Collection[str] = ()) -> bool:
        """Whether no operator stands directly beside it, those of `looser` apart."""
        before, after = self.spans.text(spot.first - 1), self.spans.text(spot.last + 1)
        return (before in _BEFORE or before in looser) and (after in _AFTER or after in looser)

    def is_pure(self, node: c_ast.Node) -> bool:
        return self.pure.get(id(node), False)

    def replace(self, spot: Expression, replacement: str, operator: str, change: str = "") -> Edit:
        return self.edit(spot, spot.start, spot.end, replacement, operator, change)

    def replace_token(
        self, spot: Expression, index: int, replacement: str, operator: str, change: str = ""
    ) -> Edit:
        token = self.source.tokens[index]
        return self.edit(spot, token.start, token.end, replacement, operator, change)

    def edit(
        self, spot: Expression, start: int, end: int, replacement: str, operator: str, change: str = ""
    ) -> Edit:
        site = Site(
            kind=SiteKind.EXPRESSION,
            start=spot.start,
            end=spot.end,
            type=spot.type.kind,
            pure=spot.pure,
            truth=id(spot.node) in self.truths,
        )
        beside = self.source.text[start - 1 : start]
        if replacement[0] in "+-&" and beside == replacement[0]:
            replacement = f"({replacement})"
        return self._made(site, spot.frame, start, end, replacement, operator, change)

    def replace_statement(self, spot: Statement, replacement: str, operator: str, change: str) -> Edit:
        site = Site(kind=SiteKind.STATEMENT, start=spot.start, end=spot.end, type="void")
        return self._made(site, spot.frame, spot.start, spot.end, replacement, operator, change)

    def _made(
        self, site: Site, frame: Frame, start: int, end: int, replacement: str, operator: str, change: str
    ) -> Edit:
        line, column = self.source.lines.position(start)
        tokens = self.source.tokens
        where = " ".join(self.flat(tokens[a].start, tokens[b].end) for a, b in frame)
        return Edit(
            start=start,
            end=end,
            replacement=replacement,
            operator=operator,
            line=line,
            column=column,
            original=self.source.text[start:end],
            function=self.function.name,
            site=site,
            context=self.flat(site.start, site.end),
            where=where,
            change=change,
        )


_BEFORE = frozenset(("(", ",", "[", ";", "{", "}", "return", "?", ":", "else", "do", ")")) | frozenset(
    ("=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=")
)
_AFTER = frozenset((")", ",", "]", ";", "}", ":", "?"))
