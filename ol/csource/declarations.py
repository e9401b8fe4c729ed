"""External declarations of a token stream, and which names are types. Works on source that no parser
takes."""

from collections.abc import Iterator, Set
from itertools import pairwise

from ol.csource.macros import TYPE_WORDS, Macro
from ol.csource.tokens import Kind, Token, matches


def chunks(tokens: list[Token], partner: list[int]) -> Iterator[tuple[int, int]]:
    """First and last token of each external declaration."""
    start = index = 0
    while index < len(tokens):
        token = tokens[index]
        if partner[index] > index:
            body = token.text == "{" and index > start and tokens[index - 1].text == ")"
            body = (body or index == start) and not any(t.text == "=" for t in tokens[start:index])
            index = partner[index]
            if body:
                yield start, index
                start = index + 1
        elif token.text == ";":
            opening = _old_style_body(tokens, start, index)
            index = max(index, partner[opening])
            if index > start:
                yield start, index
            start = index + 1
        index += 1
    if start < len(tokens):
        yield start, len(tokens) - 1


def _old_style_body(tokens: list[Token], start: int, end: int) -> int:
    """Where the body begins if the first of the declarations of its parameters ends at `end`, as in
    `int f(a, b) int a; char b; {`; else `end`."""
    named = any(
        tokens[k].text == ")"
        and tokens[k + 1].kind is Kind.NAME
        and tokens[k + 1].text not in ("asm", "__asm__")
        for k in range(start, end)
    )
    if not named or any(t.text in ("=", "typedef", "{") for t in tokens[start:end]):
        return end
    for k in range(end, len(tokens) - 1):
        if tokens[k].text == ";" and tokens[k + 1].text == "{":
            return k + 1
        if tokens[k].kind is not Kind.NAME and tokens[k].text not in ("*", ",", ";", "[", "]"):
            break
    return end


def typedef_names(tokens: list[Token]) -> Iterator[str]:
    partner = matches(tokens)
    for index, token in enumerate(tokens):
        if token.text != "typedef":
            continue
        name, k = "", index + 1
        while k < len(tokens) and tokens[k].text != ";":
            if tokens[k].kind is Kind.NAME and tokens[k].text not in TYPE_WORDS:
                name = tokens[k].text
            inner = tokens[k].text == "(" and k + 2 < len(tokens) and tokens[k + 1].text == "*"
            if inner and tokens[k + 2].kind is Kind.NAME:
                name = tokens[k + 2].text
                break
            if tokens[k].text == "," and name:
                yield name
            k = partner[k] + 1 if partner[k] > k else k + 1
        if name:
            yield name


def names_a_type(macro: Macro, typedefs: set[str]) -> bool:
    words = macro.texts
    return (
        macro.parameters is None
        and any(w in TYPE_WORDS or w in typedefs for w in words[:1])
        and all(t.kind is Kind.NAME or t.text == "*" for t in macro.body)
        and words[0] not in _STORAGE
    )


def unknown_words(tokens: list[Token], typedefs: Set[str]) -> list[Token]:
    """Words around a function's name and parameters that can be no part of the declaration, such as macros
    of headers that nobody read."""
    partner = matches(tokens)
    named = (
        k for k in range(1, len(tokens) - 1) if tokens[k].kind is Kind.NAME and tokens[k + 1].text == "("
    )
    name = next(named, 0)
    head = [t for t in tokens[:name] if t.kind is Kind.NAME]
    tagged = {"struct", "union", "enum"}
    tags = [b for a, b in pairwise(head) if a.text in tagged]
    unknown = [t for t in head if t.text not in TYPE_WORDS and t.text not in typedefs and t not in tags]
    has_type = any(t.text in typedefs or t.text in TYPE_WORDS - _STORAGE for t in head)
    after = partner[name + 1] + 1 if name else 0
    tail: list[Token] = []
    while after < len(tokens) and tokens[after].kind is Kind.NAME and tokens[after].text not in TYPE_WORDS:
        tail.append(tokens[after])
        after += 1
    is_old = after < len(tokens) and tokens[after].text != "{"
    return (unknown if has_type else unknown[:-1]) + ([] if is_old else tail)


_STORAGE = frozenset(("static", "inline", "extern", "const", "volatile", "restrict", "register", "auto"))


def function_name(tokens: list[Token], first: int, body: int) -> str:
    for index in range(first, body):
        if tokens[index].kind is Kind.NAME and tokens[index + 1].text == "(":
            return tokens[index].text
    return ""
