"""What a policy refuses: where, by which rule, what was found, and what to write instead. Pure records."""

from dataclasses import dataclass
from enum import StrEnum


class Rule(StrEnum):
    """The name of a rule, as a student reads it."""

    BYTES = "plain text"
    SIZE = "size of the source"
    ASSEMBLY = "no inline assembly"
    RESERVED = "no reserved names"
    SANITIZER = "sanitizers stay on"
    ATTRIBUTE = "attributes"
    INCLUDE = "includes"
    PRAGMA = "pragmas"
    DIRECTIVE = "directives"
    MACRO = "macros"
    MISSING = "defines what the contract lists"
    EXTRA = "defines only what the contract lists"
    CALL = "calls only what the module may call"
    LOAD_TIME = "no code at load time"
    LAYOUT = "an ordinary object file"
    IMPORT = "imports only what the module may import"
    REFLECTION = "no way around names"
    FILES = "no files"
    PATCHING = "other modules stay as they are"


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """`line` and `column` count from 1; a finding in an object has line 0 until its source is searched."""

    rule: Rule
    found: str
    instead: str
    line: int = 0
    column: int = 0
    file: str = ""
    symbol: str = ""
