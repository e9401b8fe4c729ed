"""A student's code against the reference. Pure text.

On a terminal function by function, with colour; in a pipe one plain unified diff.
"""

import difflib
from collections.abc import Iterator

from rich.text import Text

from ol.lane import Sources
from ol.manifest import Language
from ol.variants import Function, split

_STYLES = {"+": "green", "-": "red", "@": "cyan"}


def unified(student: Sources, reference: Sources) -> str:
    """One diff of all files, from the student's to the reference's; empty when they are the same."""
    return "".join(
        line
        for unit in reference
        for line in difflib.unified_diff(
            _lines(student[unit]), _lines(reference[unit]), f"yours/{unit}", f"reference/{unit}"
        )
    )


def _lines(text: bytes) -> list[str]:
    whole = text.decode("utf-8", "replace").removeprefix("\ufeff").replace("\r\n", "\n")
    return [line + "\n" for line in whole.split("\n")]


def by_function(student: Sources, reference: Sources, language: Language) -> Text:
    """Each function beside its namesake, then what only one side has."""
    if language is Language.PYTHON:
        return _coloured(unified(student, reference).splitlines())
    shown = Text()
    for unit in reference:
        mine, theirs = (_functions(side[unit]) for side in (student, reference))
        for name in [*theirs, *(n for n in mine if n not in theirs)]:
            shown.append_text(_one(name, mine.get(name), theirs.get(name)))
    return shown


def _functions(text: bytes) -> dict[str, Function]:
    return {f.name: f for f in split(text.decode("utf-8", "replace").replace("\r\n", "\n"))[1]}


def _one(name: str, mine: Function | None, theirs: Function | None) -> Text:
    if mine and theirs:
        ours, model = ((f.head.strip() + " " + f.body).splitlines() for f in (mine, theirs))
        lines = list(difflib.unified_diff(ours, model, "yours", "reference", lineterm="", n=1000))[2:]
        state = "the same" if not lines else "differs"
    else:
        only, state, mark = (mine, "only in yours", "-") if mine else (theirs, "only in the reference", "+")
        assert only is not None
        lines = [mark + line for line in (only.head.strip() + " " + only.body).splitlines()]
    head = Text(f"{name}: {state}\n", style="bold")
    return head.append_text(_coloured(line for line in lines if not line.startswith("@@"))).append("\n")


def _coloured(lines: Iterator[str] | list[str]) -> Text:
    text = Text()
    for line in lines:
        text.append(line + "\n", style=_STYLES.get(line[:1], ""))
    return text
