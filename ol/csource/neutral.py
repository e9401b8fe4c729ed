"""Rewrites tokens in place so that pycparser reads what it would refuse, and nothing moves.

A token is dropped (attributes, qualifiers of GNU C), shown as something else of at most its own length
(`__int128` as `int`), or joined with its neighbours into one opaque token (`va_arg(ap, int)`), which the
parser reads as a name and no mutant enters.
"""

from collections.abc import Mapping, Set
from dataclasses import dataclass, field

from ol.csource.dialect import (
    DROPPED,
    DROPPED_WITH_ARGUMENTS,
    JUMPS_AND_TESTS,
    KEYWORDS,
    LITERAL_CALLS,
    OPAQUE_CALLS,
    SHOWN_AS,
    TYPEOF,
)
from ol.csource.macros import TYPE_WORDS, Macro
from ol.csource.tokens import Kind, Token, matches


@dataclass
class Neutral:
    """`notes` are (offset, reason) of what was left out of mutation."""

    text: str
    macros: Mapping[str, Macro]
    typedefs: Set[str]
    notes: list[tuple[int, str]] = field(default_factory=list)

    def rewrite(self, tokens: list[Token]) -> list[Token]:
        self.tokens, self.partner = tokens, matches(tokens)
        self.out: list[Token] = []
        index, self.depth = 0, 0
        while index < len(tokens):
            self.depth += {"{": 1, "}": -1}.get(tokens[index].text, 0)
            index = self._step(index)
        return self.out

    def _at(self, index: int) -> str:
        return self.tokens[index].text if 0 <= index < len(self.tokens) else ""

    def _closing(self, index: int) -> int:
        """The index after the bracket that opens at `index`; `index` itself if none opens there."""
        return (
            self.partner[index] + 1 if index < len(self.tokens) and self.partner[index] > index else index
        )

    def _step(self, index: int) -> int:
        token = self.tokens[index]
        if token.kind is Kind.NAME:
            return self._name(index)
        if token.kind is Kind.STRING:
            return self._string(index)
        if token.text == "(" and self._at(index + 1) == "{":
            self.notes.append((token.start, "a statement expression"))
            return self._opaque(index, self._closing(index), "__")
        if token.text == "[" and self._at(index + 1) == "[" and self._closing(index) > index:
            return self._closing(index)
        if token.text == "..." and self._at(index + 1) not in (")", ""):  # case 1 ... 5, [0 ... 5]
            return index + 2 + (self._at(index + 1) == "-")
        if token.text == "?" and self._at(index + 1) == ":" and self.tokens[index + 1].start == token.end:
            self.out.append(Token(Kind.PUNCTUATOR, "?:", token.start, token.end + 1, "||"))
            return index + 2
        self.out.append(token)
        return index + 1

    def _opaque(self, first: int, after: int, shown: str) -> int:
        if after <= first:
            self.out.append(self.tokens[first])
            return first + 1
        start, end = self.tokens[first].start, self.tokens[after - 1].end
        shown = shown if len(shown) <= end - start else "_"
        self.out.append(Token(Kind.OPAQUE, self.text[start:end], start, end, shown))
        return after

    def _string(self, index: int) -> int:
        """Adjacent strings, and the macros among them, are one."""
        after = index + 1
        while after < len(self.tokens) and self._is_string_part(after):
            after += 1
        return self._opaque(index, after, '""')

    def _is_string_part(self, index: int) -> bool:
        token = self.tokens[index]
        return token.kind is Kind.STRING or (token.kind is Kind.NAME and token.text not in KEYWORDS)

    def _name(self, index: int) -> int:
        token = self.tokens[index]
        name, following = token.text, self._at(index + 1)
        if name in DROPPED:
            return index + 1
        if name in DROPPED_WITH_ARGUMENTS:
            return self._dropped_call(index)
        if name == "_Atomic":
            return self._atomic(index)
        if name in TYPEOF and following == "(":
            after = self._closing(index + 1)
            self.out.append(Token(Kind.NAME, name, token.start, self.tokens[after - 1].end, "int"))
            return after
        if name in SHOWN_AS:
            token.shown = SHOWN_AS[name]
        elif name in OPAQUE_CALLS and following == "(":
            return self._opaque(index, self._closing(index + 1), "__")
        elif name in LITERAL_CALLS and following == "(":
            return self._literal_call(index)
        elif name not in KEYWORDS:
            return self._macro(index)
        self.out.append(token)
        return index + 1

    def _dropped_call(self, index: int) -> int:
        after = index + 1
        while self._at(after) in ("volatile", "__volatile__", "inline", "goto"):
            after += 1
        return self._closing(after)

    def _atomic(self, index: int) -> int:
        if self._at(index + 1) != "(":
            return index + 1
        after = self._closing(index + 1)
        self.out += self.tokens[index + 2 : after - 1]
        return after

    def _literal_call(self, index: int) -> int:
        after = self._closing(index + 1)
        shown = "".join(t.text for t in self.tokens[index + 2 : after - 1])
        start, end = self.tokens[index].start, self.tokens[after - 1].end
        self.out.append(Token(Kind.NUMBER, self.text[start:end], start, end, shown or "0"))
        return after

    def _macro(self, index: int) -> int:
        token = self.tokens[index]
        macro, following = self.macros.get(token.text), self._at(index + 1)
        if macro and macro.parameters is None:
            return self._object_like(index, macro)
        if index + 1 < len(self.tokens) and self.tokens[index + 1].kind is Kind.STRING:
            return self._string(index)
        if following == "(" and self.depth > 0 and self._closing(index + 1) > index + 1:
            return self._call_like(index, macro)
        self.out.append(token)
        return index + 1

    def _object_like(self, index: int, macro: Macro) -> int:
        token = self.tokens[index]
        near = [k for k in (index - 1, index + 1) if 0 <= k < len(self.tokens)]
        if any(self.tokens[k].kind is Kind.STRING for k in near):
            return self._string(index)
        texts = [t for t in self._rewritten(macro) if t]
        if not texts:
            return index + 1
        shown = " ".join(texts) if texts[0] not in ("for", "while") else "".join(texts)
        keyword_like = texts[0] in KEYWORDS or macro.is_statement
        if keyword_like and len(shown) <= len(token.text):
            token.shown = shown
        token.fragile = not keyword_like and not macro.is_operand
        if token.fragile:
            self.notes.append((token.start, f"the macro {macro.name} is more than one operand"))
        self.out.append(token)
        return index + 1

    def _rewritten(self, macro: Macro) -> list[str]:
        body = [Token(t.kind, t.text, t.start, t.end) for t in macro.body]
        inner = Neutral("", {}, self.typedefs)
        return [t.shown if t.shown is not None else t.text for t in inner.rewrite(body)]

    def _call_like(self, index: int, macro: Macro | None) -> int:
        token = self.tokens[index]
        after = self._closing(index + 1)
        following = self._at(after)
        arguments = self._arguments(index + 1, after)
        if following == "{" and macro and macro.is_statement and after - index > 3:
            self.notes.append((token.start, f"the loop that the macro {token.text} makes"))
            self.out.append(
                Token(Kind.OPAQUE, token.text, token.start, self.tokens[after - 1].end, "for(;;)")
            )
            return after
        if self._is_bare_statement(index, after, macro):
            self.notes.append((token.start, f"the macro {token.text}, a statement without a semicolon"))
            self.out.append(Token(Kind.OPAQUE, token.text, token.start, self.tokens[after - 1].end, ";"))
            return after
        torn = macro is not None and not all(macro.keeps_whole(k) for k in range(len(arguments)))
        if torn or (not self._declares(index) and any(self._is_type(*a) for a in arguments)):
            self.notes.append((token.start, f"the arguments of the macro {token.text}"))
            next_index = self._opaque(index, after, token.text)
            self.out[-1].fragile = macro is not None and not macro.is_operand
            return next_index
        token.fragile = macro is not None and not macro.is_operand
        self.out.append(token)
        return index + 1

    def _is_bare_statement(self, index: int, after: int, macro: Macro | None) -> bool:
        """`CHECK(x)` on its own, followed by the next statement."""
        starts = self._at(index - 1) in (";", "{", "}", ")", ":") and index > 0
        following = self.tokens[after] if after < len(self.tokens) else None
        if not starts or following is None or (macro is None and self._at(index - 1) == ")"):
            return False
        return following.text == "}" or (
            following.kind is Kind.NAME
            and following.text not in self.macros
            and (following.text in JUMPS_AND_TESTS or following.text in TYPE_WORDS or macro is not None)
        )

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
