"""Macros of a unit and its headers, and which branches of conditionals are compiled."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ol.csource.tokens import Directive, Kind, Token, lex, matches

TYPE_WORDS = frozenset(
    [
        "void",
        "char",
        "short",
        "int",
        "long",
        "float",
        "double",
        "signed",
        "unsigned",
        "_Bool",
        "_Complex",
        "struct",
        "union",
        "enum",
        "const",
        "volatile",
        "restrict",
        "static",
        "inline",
        "extern",
        "register",
        "auto",
    ]
)


_CONSTANT = frozenset(("enum", "_Static_assert", "static_assert", "typedef", "case"))


@dataclass(frozen=True)
class Macro:
    name: str
    parameters: tuple[str, ...] | None
    body: tuple[Token, ...]

    @property
    def texts(self) -> list[str]:
        return [token.text for token in self.body]

    @property
    def is_string(self) -> bool:
        return bool(self.body) and all(token.kind is Kind.STRING for token in self.body)

    @property
    def is_statement(self) -> bool:
        return bool(self.body) and self.body[0].text in (
            "do",
            "{",
            "if",
            "for",
            "while",
            "switch",
            "return",
        )

    @property
    def continues(self) -> bool:
        """Whether it goes on with an expression that began before it, such as `#define KB *1024`."""
        return len(self.body) > 1 and self.body[0].text in ("*", "/", "%", "<<", ">>", "|", "^")

    @property
    def is_operand(self) -> bool:
        """Whether an operator beside a use of it cannot tear its body apart."""
        body = list(self.body)
        if not body or self.is_statement or self.is_string or len(body) == 1:
            return True
        if body[0].text in "-+" and len(body) == 2:
            return True
        partner = matches(body)
        start = 1 if body[0].kind is Kind.NAME else 0
        return body[start].text == "(" and partner[start] == len(body) - 1

    def writes(self, parameter: int) -> bool:
        """Whether an argument must be a place: it is assigned to, or its address is taken."""
        if self.parameters is None or parameter >= len(self.parameters):
            return False
        name = re.escape(self.parameters[parameter])
        body = " ".join(self.texts)
        place = rf"(?:\( )?\b{name}\b(?: \))?"
        assigned = (
            rf"{place} (?:[-+*/%&|^]|<<|>>)?=(?!=)|{place} (?:\+\+|--)|(?:\+\+|--|(?:^|[(,=;{{]) &) {place}"
        )
        return re.search(assigned, body) is not None

    @property
    def wants_constants(self) -> bool:
        """Whether it holds what the compiler has to know the value of."""
        texts = set(self.texts)
        return bool(texts & _CONSTANT) or ("[" in texts and bool(texts & {"sizeof", "extern"}))

    def keeps_whole(self, parameter: int) -> bool:
        """Whether an argument may be put in parentheses without changing what the macro means."""
        if self.wants_constants:
            return False
        if self.parameters is None or parameter >= len(self.parameters):
            return "__VA_ARGS__" in self.texts
        texts = ["", *self.texts, ""]
        for index, text in enumerate(texts):
            if text != self.parameters[parameter]:
                continue
            around = (texts[index - 1], texts[index + 1])
            if around[0] not in ("", "(", ",", "[", "#", "{") or around[1] not in (
                "",
                ")",
                ",",
                "]",
                ";",
                "}",
            ):
                return False
        return True


def define(text: str) -> Macro | None:
    """The macro that `#define …` makes."""
    found = re.match(r"#\s*define\s+([^\W\d]\w*)(\(([^)]*)\))?", text)
    if not found:
        return None
    parameters = None
    if found.group(2) is not None:
        parameters = tuple(p.strip() for p in found.group(3).split(",") if p.strip() and p.strip() != "...")
    return Macro(found.group(1), parameters, tuple(lex(" " + text[found.end() :]).tokens))


PREDEFINED: Mapping[str, str] = {
    "__STDC__": "1",
    "__STDC_VERSION__": "201112L",
    "__STDC_HOSTED__": "1",
    "__GNUC__": "12",
    "__linux__": "1",
    "__unix__": "1",
    "__LP64__": "1",
    "__CHAR_BIT__": "8",
}


def predefined(values: Mapping[str, str]) -> dict[str, Macro]:
    return {name: Macro(name, None, tuple(lex(" " + text).tokens)) for name, text in values.items()}


def _value(expression: str, macros: Mapping[str, Macro], depth: int = 0) -> int:
    """The value of a conditional's expression; a name that is no macro is 0, as the standard says."""
    text = re.sub(
        r"\bdefined\s*(?:\(\s*(\w+)\s*\)|(\w+))",
        lambda m: "1" if (m.group(1) or m.group(2)) in macros else "0",
        expression,
    )
    text = re.sub(r"\b__has_\w+\s*(\([^()]*\))?", "0", text)
    parts: list[str] = []
    for token in lex(" " + text).tokens:
        if token.kind is Kind.NUMBER:
            parts.append(str(int(re.sub(r"[uUlL]+$", "", token.text) or "0", 0)))
        elif token.kind is Kind.NAME:
            macro = macros.get(token.text)
            known = macro is not None and macro.body and macro.parameters is None and depth < 20
            parts.append(str(_value(" ".join(macro.texts), macros, depth + 1)) if known and macro else "0")
        else:
            parts.append({"&&": " and ", "||": " or ", "!": " not ", "/": "//"}.get(token.text, token.text))
    if not all(re.fullmatch(r" and | or | not |\d+|[-+*/%()<>=!&|^~]+", part) for part in parts):
        raise ValueError(expression)
    return int(eval("(" + " ".join(parts) + ")", {"__builtins__": {}}))


class Conditionals:
    """Walks the directives of one text; `hidden` are the spans that are not compiled."""

    def __init__(self, macros: dict[str, Macro]):
        self.macros = macros
        self.hidden: list[tuple[int, int, str]] = []
        self._stack: list[tuple[bool, bool]] = []  # (this branch is compiled, one before it was)
        self._hidden_from: tuple[int, str] | None = None

    def _holds(self, name: str, rest: str) -> bool:
        if name in ("ifdef", "ifndef"):
            return (rest.split("(")[0].strip() in self.macros) == (name == "ifdef")
        try:
            return _value(rest, self.macros) != 0
        except (ValueError, SyntaxError, ZeroDivisionError, TypeError, RecursionError):
            return True

    @property
    def active(self) -> bool:
        return all(compiled for compiled, _ in self._stack)

    def _branch(self, name: str, rest: str) -> None:
        if name in ("if", "ifdef", "ifndef"):
            holds = self.active and self._holds(name, rest)
            self._stack.append((holds, holds))
        elif self._stack:
            _, before = self._stack.pop()
            if name != "endif":
                outer = self.active
                holds = outer and not before and (name == "else" or self._holds(name, rest))
                self._stack.append((holds, before or holds))

    def walk(self, directives: Iterable[Directive], end: int) -> None:
        for directive in directives:
            found = re.match(r"#\s*(\w*)\s*(.*)", directive.text, re.DOTALL)
            name, rest = found.groups() if found else ("", "")
            if name in ("if", "ifdef", "ifndef", "elif", "else", "endif"):
                self._branch(name, rest.strip())
            elif self.active and name == "define":
                macro = define(directive.text)
                if macro:
                    self.macros[macro.name] = macro
            elif self.active and name == "undef":
                self.macros.pop(rest.strip(), None)
            if self.active and self._hidden_from:
                self.hidden.append((self._hidden_from[0], directive.start, self._hidden_from[1]))
                self._hidden_from = None
            elif not self.active and not self._hidden_from:
                self._hidden_from = (directive.end, directive.text)
        if self._hidden_from:
            self.hidden.append((self._hidden_from[0], end, self._hidden_from[1]))
