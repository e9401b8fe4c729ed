"""External declarations of a token stream, and which names are types. Works on source that no parser
takes."""

from collections.abc import Iterator, Mapping

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
            if index > start:
                yield start, index
            start = index + 1
        index += 1
    if start < len(tokens):
        yield start, len(tokens) - 1


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
        and words[0]
        not in ("static", "inline", "extern", "const", "volatile", "restrict", "register", "auto")
    )


def guessed(tokens: list[Token], macros: Mapping[str, Macro]) -> set[str]:
    """Names that can only be types: two names in a row, or the customary ending."""
    found: set[str] = set()
    for token, following in zip(tokens, [*tokens[1:], tokens[-1]], strict=True):
        if token.kind is not Kind.NAME or token.text in _NO_TYPES or token.text in macros:
            continue
        beside = following.kind is Kind.NAME and following is not token and following.text not in _NO_TYPES
        if beside or (token.text.endswith("_t") and following.text != "("):
            found.add(token.text)
    return found


_NO_TYPES = TYPE_WORDS | frozenset(
    [
        "break",
        "case",
        "continue",
        "default",
        "do",
        "else",
        "for",
        "goto",
        "if",
        "return",
        "sizeof",
        "switch",
        "typedef",
        "while",
        "_Alignof",
    ]
)


def function_name(tokens: list[Token], first: int, body: int) -> str:
    for index in range(first, body):
        if tokens[index].kind is Kind.NAME and tokens[index + 1].text == "(":
            return tokens[index].text
    return ""
