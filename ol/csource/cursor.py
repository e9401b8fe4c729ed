"""The tokens of a text, one after the other, and what stands around each."""

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Set
from dataclasses import dataclass, field

from ol.csource.dialect import KEYWORDS
from ol.csource.macros import TYPE_WORDS, Macro
from ol.csource.tokens import Kind, Token, matches

_SHOUTED = re.compile(r"(?:[A-Za-z]\w*_)?[A-Z][A-Z\d]{2,}")


@dataclass
class Cursor(ABC):
    """`notes` are (offset, reason) of what was left out of mutation."""

    text: str
    macros: Mapping[str, Macro]
    typedefs: Set[str]
    notes: list[tuple[int, str]] = field(default_factory=list)
    tokens: list[Token] = field(default_factory=list)
    partner: list[int] = field(default_factory=list)
    out: list[Token] = field(default_factory=list)
    depth: int = 0
    """Of braces."""

    @abstractmethod
    def _step(self, index: int) -> int:
        """Rewrites the token at `index`; the index of the next one to be read."""

    def rewrite(self, tokens: list[Token]) -> list[Token]:
        self.tokens, self.partner = tokens, matches(tokens)
        self.out, self.depth = [], 0
        index = 0
        while index < len(tokens):
            self.depth += {"{": 1, "}": -1}.get(tokens[index].text, 0)
            index = self._step(index)
        return self.out

    def _note(self, index: int, reason: str) -> None:
        self.notes.append((self.tokens[index].start, reason))

    def _at(self, index: int) -> str:
        return self.tokens[index].text if 0 <= index < len(self.tokens) else ""

    def _closing(self, index: int) -> int:
        """The index after the bracket that opens at `index`; `index` itself if none opens there."""
        return (
            self.partner[index] + 1 if index < len(self.tokens) and self.partner[index] > index else index
        )

    def _opaque(self, first: int, after: int, shown: str) -> int:
        if after <= first:
            self.out.append(self.tokens[first])
            return first + 1
        start, end = self.tokens[first].start, self.tokens[after - 1].end
        shown = shown if len(shown) <= end - start else "_"
        self.out.append(Token(Kind.OPAQUE, self.text[start:end], start, end, shown))
        return after

    def _arguments(self, opening: int, after: int) -> list[tuple[int, int]]:
        spans, start, index = [], opening + 1, opening + 1
        while index < after - 1:
            if self._at(index) == ",":
                spans.append((start, index))
                start = index + 1
            index = max(index + 1, self._closing(index))
        return [*spans, (start, after - 1)] if after - 1 > opening + 1 else []

    def _is_type(self, start: int, end: int) -> bool:
        words = [self._at(k) for k in range(start, end)]
        if not words or not (words[0] in TYPE_WORDS or words[0] in self.typedefs):
            return False
        tagged = {"struct", "union", "enum"}
        names = {w for k, w in enumerate(words) if k == 0 or words[k - 1] in tagged}
        return all(w in TYPE_WORDS or w in self.typedefs or w == "*" or w in names for w in words)

    def _declares(self, index: int) -> bool:
        """Whether a name before `(` is being declared, such as a local prototype."""
        before = self._at(index - 1)
        return (
            before in TYPE_WORDS
            or before in self.typedefs
            or (before == "*" and self._at(index - 2) in TYPE_WORDS)
        )

    def _takes_label(self, index: int) -> bool:
        """`&&label`, where no operand stands before it."""
        before = self.tokens[index - 1] if index else None
        ends = before is not None and (before.kind is not Kind.PUNCTUATOR or before.text in (")", "]"))
        named = index + 1 < len(self.tokens) and self.tokens[index + 1].kind is Kind.NAME
        return named and (not ends or self._at(index - 1) == "return")

    def _is_inferred(self, index: int) -> bool:
        """`auto x = …`"""
        before = self._at(index - 1)
        return self._at(index + 2) == "=" and before not in TYPE_WORDS and before not in self.typedefs

    def _is_qualifier(self, index: int) -> bool:
        """`char *WORD name`, where only a qualifier can stand."""
        following = self._at(index + 1)
        is_name = re.fullmatch(r"[^\W\d]\w*", following) and following not in self.macros
        fits = following in ("const", "volatile") or (is_name and following not in KEYWORDS)
        return bool(fits) and self._at(index - 1) == "*"

    def _is_bare_word(self, index: int) -> bool:
        """A macro's name alone on the line where a statement begins."""
        token, starts = self.tokens[index], self._at(index - 1) in (";", "{", "}", ")")
        if self.depth == 0 or not starts or not _SHOUTED.fullmatch(token.text):
            return False
        following = self.tokens[index + 1] if index + 1 < len(self.tokens) else None
        if following is None or "\n" not in self.text[token.end : following.start]:
            return False
        return following.kind is Kind.NAME or following.text == "}"
