"""C text as tokens that know where they stand. Offsets count characters of the text as it was given."""

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from enum import StrEnum


class Kind(StrEnum):
    NAME = "name"
    NUMBER = "number"
    STRING = "string"
    CHARACTER = "character"
    PUNCTUATOR = "punctuator"
    OPAQUE = "opaque"
    """Several tokens that the parser sees as one name and that nobody may look into."""


@dataclass(slots=True)
class Token:
    kind: Kind
    text: str
    start: int
    end: int
    shown: str | None = None
    """What the parser reads in its place, never longer than the token; None: the token itself."""
    fragile: bool = False
    """A macro that is more than one operand, such as `#define N a + b`."""


@dataclass(frozen=True, slots=True)
class Directive:
    text: str
    """Joined to one line, without comments."""
    start: int
    end: int


@dataclass
class Lexed:
    tokens: list[Token] = field(default_factory=list)
    directives: list[Directive] = field(default_factory=list)
    comments: list[tuple[int, int]] = field(default_factory=list)


_ESCAPED = r"\\u[0-9a-fA-F]{4}|\\U[0-9a-fA-F]{8}"
_DIGRAPHS = {"<:": "[", ":>": "]", "<%": "{", "%>": "}"}
_SPLICE = r"\\\r?\n"
_STRING = rf'(?:u8|[uUL])?"(?:{_SPLICE}|\\.|[^"\\\n])*"'
_COMMENT = rf"/\*(?:[^*]|\*(?!/))*(?:\*/|\Z)|//(?:{_SPLICE}|[^\n])*"
_NAMES = {
    "name": Kind.NAME,
    "number": Kind.NUMBER,
    "string": Kind.STRING,
    "character": Kind.CHARACTER,
    "punctuator": Kind.PUNCTUATOR,
}
_TOKEN = re.compile(
    rf"""(?P<space>(?:[ \t\f\v\r\n\ufeff]|{_SPLICE})+)
    |(?P<comment>{_COMMENT})
    |(?P<string>{_STRING})
    |(?P<character>(?:u8|[uUL])?'(?:\\.|[^'\\\n])*')
    |(?P<number>\.?\d(?:[eEpP][+-]|'(?=\w)|[\w.])*)
    |(?P<name>(?:[^\W\d]|{_ESCAPED})(?:[\w$]|{_ESCAPED})*)
    |(?P<punctuator><:|:>|<%|%>|\.\.\.|<<=|>>=|->|\+\+|--|&&|\|\||\#\#|[-+*/%&|^<>=!]=|<<|>>|.)""",
    re.VERBOSE | re.DOTALL,
)
_DIRECTIVE = re.compile(rf"\#(?:{_SPLICE}|{_COMMENT}|{_STRING}|[^\n])*")
_GAP = re.compile(rf"{_SPLICE}|{_COMMENT}|({_STRING})")


def _joined(text: str) -> str:
    return _GAP.sub(lambda found: found.group(1) or " ", text).strip()


def lex(text: str) -> Lexed:
    found = Lexed()
    position, fresh_line = 0, True
    while position < len(text):
        if fresh_line and text[position] == "#":
            directive = _DIRECTIVE.match(text, position)
            assert directive
            found.directives.append(Directive(_joined(directive.group()), position, directive.end()))
            position = directive.end()
            continue
        token = _TOKEN.match(text, position)
        assert token and token.lastgroup
        end = token.end()
        if token.lastgroup == "comment":
            found.comments.append((position, end))
        elif token.lastgroup == "space":
            fresh_line = fresh_line or "\n" in token.group()
        else:
            fresh_line = False
            shown = _DIGRAPHS.get(token.group(), token.group())
            found.tokens.append(Token(_NAMES[token.lastgroup], shown, position, end))
        position = end
    return found


class Lines:
    """Offsets to lines and columns, both from 1."""

    def __init__(self, text: str):
        self.starts = [0, *(found.end() for found in re.finditer("\n", text))]

    def position(self, offset: int) -> tuple[int, int]:
        line = bisect_right(self.starts, offset)
        return line, offset - self.starts[line - 1] + 1

    def offset(self, line: int, column: int) -> int:
        return self.starts[line - 1] + column - 1


def matches(tokens: list[Token]) -> list[int]:
    """For each bracket the index of its partner; -1 for other tokens and for brackets without one."""
    partner = [-1] * len(tokens)
    closes = {")": "(", "]": "[", "}": "{"}
    open_ones: list[int] = []
    for index, token in enumerate(tokens):
        if token.text in ("(", "[", "{"):
            open_ones.append(index)
        elif token.text in closes and open_ones and tokens[open_ones[-1]].text == closes[token.text]:
            partner[index] = open_ones.pop()
            partner[partner[index]] = index
    return partner
