"""One small change to a source text, where it stands and what it may be told apart by."""

from dataclasses import dataclass
from enum import StrEnum


class SiteKind(StrEnum):
    EXPRESSION = "expression"
    STATEMENT = "statement"


@dataclass(frozen=True, kw_only=True)
class Site:
    """The expression or statement that a mutant replaces as a whole when it is selected at run time."""

    kind: SiteKind
    start: int
    end: int
    type: str = "unknown"
    """Kind of its value: integer, floating, pointer, record, void, unknown."""
    pure: bool = False
    """Evaluating it twice is the same as once."""
    truth: bool = False
    """Only whether its value is 0 matters where it stands."""

    @property
    def tests(self) -> bool:
        """Its truth matters, and its type is no arithmetic one: a pointer, or not known."""
        return self.truth and self.type not in ("integer", "floating")


@dataclass(frozen=True, kw_only=True)
class Edit:
    """`start` to `end` of the text become `replacement`. `line` and `column` count from 1."""

    start: int
    end: int
    replacement: str
    operator: str
    line: int
    column: int
    original: str
    function: str
    site: Site
    context: str
    """The site's code in one line."""
    where: str = ""
    """The code of the statement or the header that holds the site; with `occurrence` it outlasts edits
    elsewhere in the file."""
    occurrence: int = 0
    change: str = ""
    """A C expression without side effects: bit 1 if the mutant makes a difference here and now, bit 2 if
    that cannot be said. Empty: the site's value and the mutant's are to be compared."""

    @property
    def is_deletion(self) -> bool:
        return self.site.kind is SiteKind.STATEMENT and self.replacement == ";"

    @property
    def action(self) -> str:
        if self.is_deletion:
            return f"delete {_short(self.original)}"
        return f"replace {_short(self.original)} with {_short(self.replacement)}"

    @property
    def key(self) -> str:
        """What an accepted survivor is known by."""
        context, original = _flat(self.context), _flat(self.original)
        where = _flat(self.where) or context
        parts = [self.function, self.operator, where]
        if context not in (where, where.rstrip(";"), original):
            parts.append(context)
        return " | ".join((*parts, f"{original} -> {_flat(self.replacement)}", str(self.occurrence)))

    def id(self, file: str) -> str:
        """Readable, for people: `paged_attn.c:57:28 replace < with <=`."""
        return f"{file}:{self.line}:{self.column} {self.action}"


def _flat(text: str) -> str:
    return " ".join(text.split())


def _short(text: str, most: int = 60) -> str:
    flat = _flat(text)
    return flat if len(flat) <= most else flat[: most - 1] + "…"


def apply_edit(text: str, edit: Edit) -> str:
    """The text of the one mutant, for diffs and for compiling it alone."""
    return text[: edit.start] + edit.replacement + text[edit.end :]
