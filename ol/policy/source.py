"""What the source of a unit may not hold, on whichever branch of the preprocessor it stands.

Only `#if 0` is left out, for no build can reach it. Macros need not be expanded: a name is reserved from
its first characters on, so a pasted one needs a reserved piece or a lone underscore in the source; and a
body with balanced brackets cannot reach out of the parentheses that its macro is used in.
"""

from collections.abc import Collection, Iterable, Iterator
from itertools import groupby

from ol.policy import names, words
from ol.policy.attributes import attribute_list, attributes, balanced, check_attribute
from ol.policy.lexer import Kind, Source, Token, lines
from ol.policy.raw import check_raw, looks_like
from ol.policy.refusal import Refusal, Rule

_CONDITIONS = ("if", "ifdef", "ifndef")
_ELSES = ("else", "elif", "elifdef", "elifndef")
_DIRECTIVES = {*_CONDITIONS, *_ELSES, "endif", "define", "undef", "include", "error", "warning", "pragma"}
_FREE_TEXT = ("error", "warning", "else", "endif")
_RAW_STRINGS = ("R", "LR", "uR", "UR", "u8R")
_MOST = 20


def check_source(text: bytes, name: str = "", *, headers: Collection[str] = ()) -> tuple[Refusal, ...]:
    """The refusals of one source in the order of their lines; each finding once, at most 20.

    `headers` are the contracts' headers, as an #include names them.
    """
    unreadable = check_raw(text, name)
    if unreadable:
        return unreadable
    scan = _Scan(text, name, headers)
    scan.run()
    return tuple(sorted(scan.found.values(), key=lambda r: (r.line, r.column)))[:_MOST]


def first_use(text: bytes, name: str) -> tuple[int, int]:
    """Line and column where a name is first called, or else first stands; (0, 0) if nowhere."""
    best: Token | None = None
    for line in _reachable(lines(text)):
        for k, token in enumerate(line):
            if token.kind is Kind.NAME and token.text == name:
                if k + 1 < len(line) and line[k + 1].text == "(":
                    return Source(text).place(token.at)
                best = best or token
    return Source(text).place(best.at) if best else (0, 0)


def _word(line: list[Token]) -> str:
    """The name of a directive; "" for other lines."""
    return line[1].text if len(line) > 1 and line[0].text == "#" else ""


def _reachable(all_lines: Iterable[list[Token]]) -> Iterator[list[Token]]:
    dead, nested = False, 0
    for line in all_lines:
        word = _word(line)
        if not dead:
            yield line
            dead = word == "if" and [t.text for t in line[2:]] == ["0"]
        elif any(t.kind is Kind.HEADER and ("/*" in t.text or "//" in t.text) for t in line):
            yield line  # where nothing is compiled, compilers see a comment begin in such a name
        elif word in _CONDITIONS:
            nested += 1
        elif nested:
            nested -= word == "endif"
        elif word == "endif" or word in _ELSES:
            dead = False
            yield line


class _Scan:
    def __init__(self, text: bytes, name: str, headers: Collection[str]):
        self.found: dict[tuple[Rule, str], Refusal] = {}
        self._source, self._name, self._headers = Source(text), name, headers
        self._lines = list(_reachable(lines(text)))
        self._macros = {line[2].text for line in self._lines if _word(line) == "define" and len(line) > 2}
        self._lone_underscore = any(t.text == "_" for line in self._lines for t in line)

    def run(self) -> None:
        for is_directive, group in groupby(self._lines, key=lambda line: line[0].text == "#"):
            if is_directive:
                for line in group:
                    self._directive(line)
            else:
                self._tokens([t for line in group for t in line], frozenset())

    def refuse(self, rule: Rule, token: Token, found: str, instead: str) -> None:
        line, column = self._source.place(token.at)
        refusal = Refusal(
            rule=rule, found=found, instead=instead, line=line, column=column, file=self._name
        )
        self.found.setdefault((rule, found), refusal)

    # ---- directives ----

    def _directive(self, line: list[Token]) -> None:
        word = _word(line)
        if len(line) == 1:
            return
        if word not in _DIRECTIVES:
            found = f"#{word}" if line[1].kind is Kind.NAME else f"the line marker `# {word} …`"
            self.refuse(Rule.DIRECTIVE, line[1], found, words.directive(word))
        elif word == "include":
            self._include(line)
        elif word == "pragma":
            self._pragma(line[0], line[2:])
        elif word == "define" and len(line) > 2:
            self._define(line)
        elif word == "undef" and len(line) > 2:
            self._macro_name(line[2])
        elif word not in _FREE_TEXT:
            self._tokens(line[2:], frozenset())

    def _include(self, line: list[Token]) -> None:
        if len(line) < 3 or line[2].kind is not Kind.HEADER:
            self.refuse(Rule.INCLUDE, line[1], "#include of a macro", words.computed_include(self._headers))
            return
        header = line[2].text[1:-1]
        stem, _, suffix = header.rpartition(".")
        known = (stem in names.STANDARD_HEADERS and suffix == "h") or header in names.SYSTEM_HEADERS
        if not known and header not in self._headers and not names.INTRINSIC_HEADERS.fullmatch(header):
            advice = words.include(header, self._headers)
            self.refuse(Rule.INCLUDE, line[2], f"#include {line[2].text[:80]}", advice)

    def _pragma(self, place: Token, tokens: list[Token]) -> None:
        said = " ".join(t.text for t in tokens)
        fine = names.PRAGMA.fullmatch(said) or names.TARGET_PRAGMA.fullmatch(said) or not tokens
        if not fine or any(t.text in self._macros for t in tokens[:2]):
            self.refuse(Rule.PRAGMA, place, f"#pragma {said[:80]}", words.pragma(said))

    def _macro_name(self, token: Token) -> None:
        text = token.text
        if names.RESERVED.match(text) and not names.SANITIZER.fullmatch(text):
            if text not in names.FEATURE_TESTS:
                self.refuse(Rule.RESERVED, token, f"a macro called {text}", words.OWN_MACRO)
        else:
            self._name_alone(token)

    def _define(self, line: list[Token]) -> None:
        self._macro_name(line[2])
        body, parameters = line[3:], frozenset[str]()
        if body and body[0].text == "(" and body[0].glued:
            end = next((k for k, t in enumerate(body) if t.text == ")"), len(body))
            parameters = frozenset(t.text for t in body[1:end])
            self._tokens(body[1:end], frozenset())
            body = body[end + 1 :]
        if not balanced(body):
            found = f"the macro {line[2].text} has a bracket without its partner"
            self.refuse(Rule.MACRO, line[2], found, words.UNBALANCED)
        self._tokens(body, parameters, defined=line[2].text)

    # ---- tokens ----

    def _tokens(self, tokens: list[Token], parameters: frozenset[str], *, defined: str = "") -> None:
        k = 0
        while k < len(tokens):
            token = tokens[k]
            after = tokens[k + 1] if k + 1 < len(tokens) else None
            if token.text in ("__attribute__", "__attribute"):
                k += self._attribute(tokens[k:], parameters, defined)
            elif token.text == "_Pragma":
                k += self._pragma_operator(tokens[k:])
            elif token.kind is Kind.NAME:
                self._name_alone(token)
                if after and after.kind is Kind.STRING and after.glued and token.text in _RAW_STRINGS:
                    self.refuse(Rule.ASSEMBLY, token, f'the raw string {token.text}"…"', words.RAW_STRING)
            else:
                self._punctuator(token, after)
            k += 1

    def _punctuator(self, token: Token, after: Token | None) -> None:
        if token.text == "[" and after and after.text == "[":
            self.refuse(Rule.ATTRIBUTE, token, "[[", words.BRACKETS)
        elif token.text == "::":
            self.refuse(Rule.ATTRIBUTE, token, "::", words.BRACKETS)
        elif token.text == "##" and self._lone_underscore:
            self.refuse(Rule.MACRO, token, "## in a file that uses the name _", words.PASTE)

    def _name_alone(self, token: Token) -> None:
        text = token.text
        if names.ASSEMBLY.fullmatch(text):
            self.refuse(Rule.ASSEMBLY, token, text, words.ASSEMBLY)
        elif names.SANITIZER.fullmatch(text):
            self.refuse(Rule.SANITIZER, token, text, words.SANITIZER)
        elif names.MODE_INTRINSICS.fullmatch(text):
            self.refuse(Rule.RESERVED, token, text, words.MODE)
        elif not text.isascii() and looks_like(text):
            found = f"{text}, which only looks like {looks_like(text)}"
            self.refuse(Rule.BYTES, token, found, words.LOOKALIKE)
        elif names.RESERVED.match(text):
            known = text in names.KEYWORDS or text in names.FEATURE_TESTS
            patterns = (names.PREDEFINED, names.INTRINSICS, names.BUILTINS)
            if not known and not any(p.fullmatch(text) for p in patterns):
                self.refuse(Rule.RESERVED, token, text, words.reserved(text))

    def _pragma_operator(self, tokens: list[Token]) -> int:
        """How many tokens follow that belong to it."""
        shape = [t.text if t.kind is Kind.PUNCT else t.kind for t in tokens[1:4]]
        if shape != ["(", Kind.STRING, ")"]:
            self.refuse(Rule.PRAGMA, tokens[0], "_Pragma of a macro", words.COMPUTED_PRAGMA)
            return 0
        text = tokens[2].text
        inner = text[text.index('"') + 1 : -1].replace('\\"', '"').replace("\\\\", "\\")
        self._pragma(tokens[0], [t for line in lines(inner.encode()) for t in line])
        return 3

    def _attribute(self, tokens: list[Token], parameters: frozenset[str], defined: str) -> int:
        """How many tokens follow that belong to it."""
        inside = attribute_list(tokens)
        if inside is None:
            self.refuse(Rule.ATTRIBUTE, tokens[0], tokens[0].text, words.ATTRIBUTE_SHAPE)
            return 0
        macros = parameters | self._macros - {defined}
        for item in attributes(inside):
            if wrong := check_attribute(item, macros):
                self.refuse(wrong[0], item[0], *wrong[1:])
            else:
                values = [t for t in item[2:-1] if t.text not in ("__printf__", "__scanf__")]
                self._tokens(values, parameters)
        return len(inside) + 4
