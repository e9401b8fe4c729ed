"""Rewrites tokens in place so that pycparser reads what it would refuse, and nothing moves.

A token is dropped (attributes, qualifiers of GNU C), shown as something else of at most its own length
(`__int128` as `int`), or joined with its neighbours into one opaque token (`va_arg(ap, int)`), which the
parser reads as a name and no mutant enters.
"""

import re

from ol.csource.cursor import Cursor
from ol.csource.dialect import (
    CHOOSING_CALLS,
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
from ol.csource.tokens import Kind, Token

_OTHER_LETTERS = re.compile(r"\\u.{4}|\\U.{8}|[^\x00-\x7f]")


class Neutral(Cursor):
    """The text as the parser reads it."""

    def _step(self, index: int) -> int:
        token = self.tokens[index]
        if token.kind is Kind.NAME:
            return self._name(index)
        if token.kind is Kind.NUMBER:
            token.shown = token.text.replace("'", "") if "'" in token.text else None
        if token.text == "&&" and self._takes_label(index):
            return self._opaque(index, index + 2, "__")
        if token.kind is Kind.STRING:
            return self._string(index)
        if token.text == "(" and self._at(index + 1) == "{":
            self._note(index, "a statement expression")
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

    def _string(self, index: int) -> int:
        """Adjacent strings, and the macros among them, are one."""
        after = index + 1
        while after < len(self.tokens) and self._is_string_part(after):
            named = self.tokens[after].kind is Kind.NAME
            after = self._closing(after + 1) if named else after + 1
        return self._opaque(index, after, '""')

    def _is_string_part(self, index: int) -> bool:
        token = self.tokens[index]
        return token.kind is Kind.STRING or (token.kind is Kind.NAME and token.text not in KEYWORDS)

    def _name(self, index: int) -> int:
        token = self.tokens[index]
        name, following = token.text, self._at(index + 1)
        if not name.isascii() or "\\" in name:
            token.shown = _OTHER_LETTERS.sub("_", name)
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
        elif name == "goto" and following == "*":
            return self._computed_goto(index)
        elif name == "auto" and self._is_inferred(index):
            token.shown = "int"
        elif name in OPAQUE_CALLS and following == "(":
            if name in CHOOSING_CALLS:
                self._note(index, f"what {name} chooses from")
            return self._opaque(index, self._closing(index + 1), "__")
        elif name in LITERAL_CALLS and following == "(":
            return self._literal_call(index)
        elif name not in KEYWORDS:
            return self._macro(index)
        self.out.append(token)
        return index + 1

    def _computed_goto(self, index: int) -> int:
        after = next((k for k in range(index, len(self.tokens)) if self._at(k) == ";"), index + 1)
        self._note(index, "the target of a computed goto")
        self.out.append(self.tokens[index])
        return self._opaque(index + 1, after, "_")

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
        if self.depth == 0 and macro and "{" in macro.texts and self._at(index - 1) != "=":
            self._note(index, f"code that the macro {token.text} makes")
        if following == "(" and self._is_specifier(index, macro):
            return self._specifier(index)
        if macro is None and self._is_qualifier(index):
            return index + 1
        if macro is None and self._is_bare_word(index):
            return self._opaque(index, index + 1, ";")
        before = self.out[-1].kind if self.out else None
        after_number = macro is None and before is Kind.NUMBER
        if after_number or (macro and macro.continues and before in (Kind.NUMBER, Kind.NAME)):
            return self._with_operand(index)
        if macro and macro.parameters is None:
            return self._object_like(index, macro)
        if index + 1 < len(self.tokens) and self.tokens[index + 1].kind is Kind.STRING:
            return self._string(index)
        if following == "(" and self.depth > 0 and self._closing(index + 1) > index + 1:
            return self._call_like(index, macro)
        self.out.append(token)
        return index + 1

    def _with_operand(self, index: int) -> int:
        """`64 KB`, where the macro goes on from the number."""
        token, start = self.tokens[index], self.out.pop().start
        self._note(index, f"what the macro {token.text} does to the operand before it")
        self.out.append(Token(Kind.OPAQUE, self.text[start : token.end], start, token.end, "__"))
        return index + 1

    def _is_specifier(self, index: int, macro: Macro | None) -> bool:
        """`API(int) f(…)`: what a macro makes of a declaration's type, or of nothing."""
        before, after = self._at(index - 1), self._closing(index + 1)
        starts = self.depth == 0 and (index == 0 or before in (";", "}"))
        first = starts or before in ("static", "extern", "inline", "const")
        following = self.tokens[after] if after < len(self.tokens) else None
        named = following is not None and (following.kind is Kind.NAME or following.text == "*")
        return first and named and (macro is not None or self._at(index).isupper())

    def _specifier(self, index: int) -> int:
        after = self._closing(index + 1)
        inside = self.tokens[index + 2 : after - 1]
        a_type = bool(inside) and all(t.kind is Kind.NAME or t.text == "*" for t in inside)
        if a_type:
            self.out += inside
        return after

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
            self._note(index, f"the macro {macro.name} is more than one operand")
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
            self._note(index, f"the loop that the macro {token.text} makes")
            self.out.append(
                Token(Kind.OPAQUE, token.text, token.start, self.tokens[after - 1].end, "for(;;)")
            )
            return after
        if self._is_bare_statement(index, after, macro):
            self._note(index, f"the macro {token.text}, a statement without a semicolon")
            self.out.append(Token(Kind.OPAQUE, token.text, token.start, self.tokens[after - 1].end, ";"))
            return after
        torn = macro is not None and not all(macro.keeps_whole(k) for k in range(len(arguments)))
        if torn or (not self._declares(index) and any(self._is_type(*a) for a in arguments)):
            self._note(index, f"the arguments of the macro {token.text}")
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
