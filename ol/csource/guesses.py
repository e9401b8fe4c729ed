"""Names that can only be types where no header tells: by how they stand in the source."""

from collections.abc import Mapping

from ol.csource.dialect import KEYWORDS
from ol.csource.macros import Macro
from ol.csource.tokens import Kind, Token

NO_TYPES = KEYWORDS | {"_Alignof"}
_QUALIFIERS = ("const", "volatile", "static", "register", "extern", "inline", "restrict")


def guessed(tokens: list[Token], macros: Mapping[str, Macro]) -> set[str]:
    """Of the tokens of one external declaration."""
    found: set[str] = set()
    depth = 0
    for index, token in enumerate(tokens):
        depth += {"{": 1, "}": -1}.get(token.text, 0)
        plain = token.kind is Kind.NAME and (token.shown is None or token.shown == token.text)
        if plain and token.text not in NO_TYPES and token.text not in macros:
            after = tokens[index + 1 : index + 2]
            qualified = bool(after) and after[0].text in ("const", "volatile")
            customary = token.text.endswith("_t") and not (after and after[0].text == "(")
            if (
                customary
                or qualified
                or _is_name(after)
                or _points(tokens, index, depth)
                or _casts(tokens, index)
            ):
                found.add(token.text)
    return found


def _is_name(tokens: list[Token]) -> bool:
    return bool(tokens) and tokens[0].kind is Kind.NAME and tokens[0].text not in NO_TYPES


def _points(tokens: list[Token], index: int, depth: int) -> bool:
    """`T *p` where no product can stand, `(T *)`."""
    last = index + 1
    while last < len(tokens) and tokens[last].text in ("*", *_QUALIFIERS):
        last += 1
    if not any(t.text == "*" for t in tokens[index + 1 : last]) or last + 1 >= len(tokens):
        return False
    before = tokens[index - 1].text if index else ";"
    if before in _QUALIFIERS or (before in ("(", ",") and tokens[last].text in (")", ",")):
        return True
    starts = before in (";", "{", "}", "(", ",")
    if not starts or not _is_name(tokens[last : last + 1]):
        return False
    if depth == 0:
        return True
    return tokens[last + 1].text == "=" or (before in (";", "{", "}") and tokens[last + 1].text in ";,[")


def _casts(tokens: list[Token], index: int) -> bool:
    """`(T)x`, but no call, and no test of a statement."""
    around = [t.text for t in tokens[index - 1 : index + 2]] if index else []
    if around[:1] != ["("] or around[2:] != [")"] or index + 2 >= len(tokens):
        return False
    opened = tokens[index - 2] if index > 1 else tokens[index - 1]
    is_free = opened.text == "return" or (opened.kind is Kind.PUNCTUATOR and opened.text not in (")", "]"))
    following = tokens[index + 2]
    operand = following.kind in (Kind.NUMBER, Kind.STRING) or following.text in ("~", "!")
    return is_free and (operand or _is_name([following]))
