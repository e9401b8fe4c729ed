"""Brackets and __attribute__ lists in a run of tokens. Pure."""

from collections.abc import Iterator

from ol.policy import names, words
from ol.policy.lexer import Kind, Token
from ol.policy.refusal import Rule

_ODD = frozenset({"{", "}", ";", "#", "##", "__VA_ARGS__"})


def balanced(tokens: list[Token]) -> bool:
    expected: list[str] = []
    for token in tokens:
        if token.text in ("(", "["):
            expected.append(")" if token.text == "(" else "]")
        elif token.text in (")", "]") and (not expected or expected.pop() != token.text):
            return False
    return not expected


def attribute_list(tokens: list[Token]) -> list[Token] | None:
    """What stands between the double parentheses after __attribute__; None if they are not written out."""
    end = _closing(tokens, 1)
    if [t.text for t in tokens[1:3]] != ["(", "("] or _closing(tokens, 2) != end - 1:
        return None
    return tokens[3 : end - 1]


def check_attribute(item: list[Token], macros: frozenset[str]) -> tuple[Rule, str, str] | None:
    """The rule that an attribute breaks, what was found and what to write; None if it may stay."""
    name = item[0].text
    plain = name[2:-2] if name.startswith("__") and name.endswith("__") else name
    if names.SANITIZER.fullmatch(name):
        return Rule.SANITIZER, name, words.SANITIZER
    if name in macros:
        return Rule.ATTRIBUTE, f"the attribute {name}, which is also a macro", words.ATTRIBUTE_MACRO
    if plain in names.TARGETS:
        values = item[2:-1]
        if len(values) == 1 and names.FEATURES.fullmatch(values[0].text):
            return None
        return Rule.ATTRIBUTE, "".join(t.text for t in item)[:80], words.TARGET
    if plain not in names.PLAIN or not _plain(item):
        return Rule.ATTRIBUTE, name, words.attribute(plain)
    return None


def _closing(tokens: list[Token], start: int) -> int:
    """The index of the parenthesis that closes the one at `start`; 0 if there is none."""
    depth = 0
    for k in range(start, len(tokens)):
        depth += (tokens[k].text == "(") - (tokens[k].text == ")")
        if depth <= 0:
            return k if k > start else 0
    return 0


def attributes(tokens: list[Token]) -> Iterator[list[Token]]:
    """The attributes between commas; a comma inside parentheses divides nothing."""
    item: list[Token] = []
    depth = 0
    for token in tokens:
        depth += (token.text == "(") - (token.text == ")")
        if token.text == "," and not depth:
            if item:
                yield item
            item = []
        else:
            item.append(token)
    if item:
        yield item


def _plain(item: list[Token]) -> bool:
    """A name, alone or with values in parentheses."""
    if len(item) == 1:
        return item[0].kind is Kind.NAME
    if [t.text for t in (item[1], item[-1])] != ["(", ")"] or _closing(item, 1) != len(item) - 1:
        return False
    strings = item[0].text.strip("_") in ("deprecated",)
    return not any(t.text in _ODD or (t.kind is Kind.STRING and not strings) for t in item[2:-1])
