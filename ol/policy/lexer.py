"""C11 sources as lines of tokens, the way gcc and clang read them before any directive is obeyed.

Trigraphs and line splices are undone first, comments are dropped, strings stay whole. Pure.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

# Both compilers also take a backslash as a splice when blanks stand between it and the line's end.
_EARLY = re.compile(r"(?:\\|\?\?/)[ \t\v\f]*\r?\n|\?\?[=()/'<>!-]")
_TRIGRAPHS = dict(zip("=()/'<>!-", "#[]\\^{}|~", strict=True))
_HEADER_LINE = ("include", "include_next", "import", "embed")
_HEADER = re.compile(r'<[^>\n]*>|"[^"\n]*"')
_TOKEN = re.compile(
    r"""(?P<newline>\n)
    |(?P<space>[ \t\v\f\r\0]+|//[^\n]*|/\*.*?(?:\*/|\Z))
    |(?P<string>(?:u8|[uUL])?"(?:\\[^\n]|[^"\\\n])*(?:"|\\?(?=\n|\Z)))
    |(?P<char>[uUL]?'(?:\\[^\n]|[^'\\\n])*(?:'|\\?(?=\n|\Z)))
    |(?P<number>\.?[0-9](?:[eEpP][+-]|[\w.$\x80-\xff])*)
    |(?P<name>(?:[A-Za-z_$\x80-\xff]|\\u[0-9A-Fa-f]{4}|\\U[0-9A-Fa-f]{8})
              (?:[\w$\x80-\xff]|\\u[0-9A-Fa-f]{4}|\\U[0-9A-Fa-f]{8})*)
    |(?P<punct>%:%:|\#\#|%:|<:|:>|<%|%>|::|\.\.\.|.)""",
    re.VERBOSE | re.DOTALL | re.ASCII,
)
_DIGRAPHS = {"%:": "#", "%:%:": "##", "<:": "[", ":>": "]", "<%": "{", "%>": "}"}


class Kind(Enum):
    NAME = "name"
    NUMBER = "number"
    STRING = "string"
    CHAR = "char"
    HEADER = "header"
    PUNCT = "punct"


@dataclass(frozen=True, slots=True)
class Token:
    """`text` is decoded, without splices; digraphs read as what they stand for."""

    kind: Kind
    text: str
    at: int
    """Offset in the bytes of the source."""
    glued: bool
    """Nothing stands between it and the token before."""


class Source:
    """A source's bytes, with the line and column (in characters) of an offset."""

    def __init__(self, text: bytes):
        self.text = text
        self._lines = [0, *(m.end() for m in re.finditer(b"\n", text))]

    def place(self, at: int) -> tuple[int, int]:
        line = bisect_right(self._lines, at)
        before = self.text[self._lines[line - 1] : at]
        return line, len(before.decode("utf-8", "replace")) + 1


class _Early:
    """The text after translation phases 1 and 2, with the offsets that it had before."""

    def __init__(self, raw: str):
        parts: list[str] = []
        self._clean, self._raw = [0], [0]
        length = end = 0
        for found in _EARLY.finditer(raw):
            kept = raw[end : found.start()]
            stands_for = _TRIGRAPHS[found[0][2]] if not found[0].endswith("\n") else ""
            parts += [kept, stands_for]
            length += len(kept) + len(stands_for)
            end = found.end()
            self._clean.append(length)
            self._raw.append(end)
        parts.append(raw[end:])
        self.text = "".join(parts)

    def offset(self, clean: int) -> int:
        k = bisect_right(self._clean, clean) - 1
        return self._raw[k] + clean - self._clean[k]


def lines(text: bytes) -> Iterator[list[Token]]:
    """The logical lines that hold a token, in order. A directive's line begins with the token `#`."""
    early = _Early(text.decode("latin-1"))
    clean, at, line = early.text, 0, list[Token]()
    glued = False
    while at < len(clean):
        names_header = len(line) == 2 and line[0].text == "#" and line[1].text in _HEADER_LINE
        found = (names_header and _HEADER.match(clean, at)) or _TOKEN.match(clean, at)
        assert found, "the last alternative takes any character"
        kind = found.lastgroup or "header"
        if kind == "newline":
            if line:
                yield line
            line = []
        elif kind != "space":
            line.append(_token(Kind(kind), found[0], early.offset(at), glued))
        glued = kind not in ("newline", "space")
        at = found.end()
    if line:
        yield line


def _token(kind: Kind, raw: str, at: int, glued: bool) -> Token:
    text = raw.encode("latin-1").decode("utf-8", "replace")
    if kind is Kind.NAME and "\\" in text:
        text = re.sub(r"\\[uU]([0-9A-Fa-f]+)", lambda m: _character(int(m[1], 16)), text)
    return Token(kind, _DIGRAPHS.get(text, text), at, glued)


def _character(code: int) -> str:
    return chr(code) if code < 0x110000 else "\ufffd"
