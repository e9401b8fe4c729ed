"""A unit's text as functions with trees, one parse per function, so that one that cannot be parsed costs
only itself. Everything that is left out of mutation is in `Source.skipped`, with its line and reason."""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from pycparser import c_ast
from pycparser.c_parser import CParser

from ol.csource.declarations import chunks, function_name, names_a_type, typedef_names, unknown_words
from ol.csource.guesses import guessed
from ol.csource.libc import TYPEDEFS
from ol.csource.macros import PREDEFINED, Conditionals, Macro, predefined
from ol.csource.neutral import Neutral
from ol.csource.tokens import Directive, Kind, Lines, Token, lex, matches
from ol.csource.types import Environment


@dataclass(frozen=True)
class NotMutated:
    line: int
    function: str
    """Empty outside functions."""
    reason: str

    def __str__(self) -> str:
        inside = f" in {self.function}" if self.function else ""
        return f"line {self.line}: not mutated{inside}: {self.reason}"


@dataclass(frozen=True)
class Function:
    name: str
    node: c_ast.FuncDef
    first: int
    last: int
    """Indices of its first and last token."""


@dataclass
class Source:
    name: str
    text: str
    lines: Lines
    tokens: list[Token]
    partner: list[int]
    macros: Mapping[str, Macro]
    directives: list[Directive]
    comments: list[tuple[int, int]]
    environment: Environment
    functions: list[Function] = field(default_factory=list)
    skipped: list[NotMutated] = field(default_factory=list)

    def index_at(self, coord: object) -> int | None:
        """The token that stands where pycparser says."""
        line, column = getattr(coord, "line", 0), getattr(coord, "column", None)
        if not line or not column or line > len(self.lines.starts):
            return None
        return self._by_start.get(self.lines.offset(line, column))

    def index_tokens(self) -> None:
        self._by_start = {token.start: index for index, token in enumerate(self.tokens)}

    def flat(self, start: int, end: int) -> str | None:
        """The code of a span in one line, without comments; None if a directive stands in it."""
        if any(d.start < end and start < d.end for d in self.directives):
            return None
        out: list[str] = []
        position = start
        for first, after in self._comments_within(start, end):
            out += (self.text[position:first], " ")
            position = after
        return _FLAT.sub(_flattened, "".join([*out, self.text[position:end]]))

    def _comments_within(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        for index in range(bisect_left(self.comments, (start, 0)), len(self.comments)):
            if self.comments[index][0] >= end:
                return
            yield self.comments[index]


_FLAT = re.compile(r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|\\\r?\n|[\r\n\t\f\v]", re.DOTALL)


def _flattened(found: re.Match[str]) -> str:
    piece = found.group()
    return re.sub(r"\\\r?\n", "", piece) if piece[0] in "\"'" else " "


def read(
    text: str, *, name: str, headers: Iterable[str] = (), defined: Mapping[str, str] = PREDEFINED
) -> Source:
    """`headers` are the texts of the course's headers that the unit includes; `defined` what the
    compiler predefines, which decides between the branches of conditionals."""
    reader = _Reader(predefined(defined))
    for header in headers:
        reader.header(header)
    return reader.unit(text, name)


class _Reader:
    def __init__(self, macros: dict[str, Macro]):
        self.macros = macros
        self.typedefs: set[str] = set(TYPEDEFS)
        self.environment = Environment(macros)
        self.parser = CParser()

    def _tokens(
        self, text: str
    ) -> tuple[list[Token], Conditionals, list[Directive], list[tuple[int, int]]]:
        found = lex(text)
        conditionals = Conditionals(self.macros)
        conditionals.walk(found.directives, len(text))
        tokens, hidden = [], iter([*conditionals.hidden, (len(text) + 1, len(text) + 1, "")])
        start, end, _ = next(hidden)
        for token in found.tokens:
            while token.start >= end:
                start, end, _ = next(hidden)
            if token.start < start:
                tokens.append(token)
        self.typedefs |= set(typedef_names(tokens))
        self.typedefs |= {m.name for m in self.macros.values() if names_a_type(m, self.typedefs)}
        return tokens, conditionals, found.directives, found.comments

    def header(self, text: str) -> None:
        raw, *_ = self._tokens(text)
        tokens = Neutral(text, self.macros, self.typedefs).rewrite(raw)
        lines = Lines(text)
        for first, last in chunks(tokens, matches(tokens)):
            tree = self._parse(text, tokens, lines, first, last)
            if not isinstance(tree, str):
                self.environment.declare(tree)

    def unit(self, text: str, name: str) -> Source:
        raw, conditionals, directives, comments = self._tokens(text)
        neutral = Neutral(text, self.macros, self.typedefs)
        tokens = neutral.rewrite(raw)
        lines, partner = Lines(text), matches(tokens)
        source = Source(
            name, text, lines, tokens, partner, self.macros, directives, comments, self.environment
        )
        source.index_tokens()
        for first, last in chunks(tokens, partner):
            self._chunk(source, first, last)
        inside = [(tokens[f.first].start, tokens[f.last].end, f.name) for f in source.functions]
        left_out = [
            *neutral.notes,
            *((start, f"not compiled: {text}") for start, _, text in _shown(conditionals, raw)),
        ]
        for offset, reason in left_out:
            where = next((n for start, end, n in inside if start <= offset < end), "")
            source.skipped.append(NotMutated(lines.position(offset)[0], where, reason))
        source.skipped.sort(key=lambda s: s.line)
        return source

    def _chunk(self, source: Source, first: int, last: int) -> None:
        tokens = source.tokens
        tree = self._parse(source.text, tokens, source.lines, first, last)
        is_body = tokens[last].text == "}" and source.partner[last] > first
        if isinstance(tree, str) and is_body:
            tree = self._without_unknown_words(source, first, last) or tree
        if isinstance(tree, str):
            found = re.match(r"(?:[^:]*:)?(\d+):\d*:? ?(.*)", tree)
            line = int(found.group(1)) if found else source.lines.position(tokens[first].start)[0]
            reason = f"pycparser cannot read it ({(found.group(2) if found else tree).strip()})"
            name = function_name(tokens, first, source.partner[last]) if is_body else ""
            if is_body or tokens[first].text == "{":
                source.skipped.append(NotMutated(line, name, reason))
            return
        self.environment.declare(tree)
        for node in tree.ext:
            if isinstance(node, c_ast.FuncDef):
                source.functions.append(Function(node.decl.name, node, first, last))

    def _without_unknown_words(self, source: Source, first: int, last: int) -> c_ast.FileAST | None:
        unknown = unknown_words(source.tokens[first : last + 1], self.typedefs)
        shown = [token.shown for token in unknown]
        for token in unknown:
            token.shown = ""
        tree = self._parse(source.text, source.tokens, source.lines, first, last) if unknown else ""
        if not isinstance(tree, str):
            return tree
        for token, before in zip(unknown, shown, strict=True):
            token.shown = before
        return None

    def _parse(
        self, text: str, tokens: list[Token], lines: Lines, first: int, last: int
    ) -> c_ast.FileAST | str:
        """The tree of one external declaration, or why there is none."""
        inside = tokens[first : last + 1]
        names = {t.shown or t.text for t in inside if t.kind is Kind.NAME and t.text in self.typedefs}
        used = sorted(names | guessed(inside, self.macros))
        line, column = lines.position(tokens[first].start)
        prelude = "".join(f"typedef int {name};" for name in used)
        shown = f"{prelude}\n#line {line}\n{' ' * (column - 1)}{_shown_text(text, tokens, first, last)}"
        try:
            tree = self.parser.parse(shown)
        except RecursionError:
            return "nested too deeply"
        except Exception as error:  # pycparser raises many kinds on source that it does not know
            return str(error)
        tree.ext = tree.ext[len(used) :]
        return tree


def _shown_text(text: str, tokens: list[Token], first: int, last: int) -> str:
    parts: list[str] = []
    position = tokens[first].start
    for token in tokens[first : last + 1]:
        shown = token.text if token.shown is None else token.shown
        if token.kind in (Kind.STRING, Kind.CHARACTER):
            shown = '""' if token.kind is Kind.STRING else "'x'"
        parts += (_blank(text[position : token.start]), shown)
        position = token.start + len(shown)
    return "".join(parts)


def _blank(text: str) -> str:
    return "".join("\n" if c == "\n" else " " for c in text)


def _shown(conditionals: Conditionals, tokens: list[Token]) -> Iterator[tuple[int, int, str]]:
    """The hidden spans of a unit that hold code."""
    for start, end, text in conditionals.hidden:
        if end > start:
            yield start, end, text
