"""A failure in words."""

import re

from ol.lane import Sources
from ol.verdict import Failure

_LONGEST = 400
_MOST_LINES = 16
_CODE = re.compile(r"\(0x(?P<code>[0-9a-f]{8})\)")
_LAST_BITS = 16


def failure_lines(failure: Failure) -> list[str]:
    """What was called, where it went wrong, what was expected and what came."""
    lines = [short(failure.check)]
    if failure.note:
        lines.append(f"  with      {failure.note}")
    if failure.where:
        lines.append(f"  at        {failure.where}")
    if failure.expected:
        lines.append(f"  expected  {short(failure.expected)}")
    if failure.got:
        lines.append(f"  got       {short(failure.got)}")
    if _is_rounding(failure):
        lines.append(
            "  hint      right but for rounding: the operations or their order are not the contract's"
        )
    if failure.bad > 1:
        lines.append(f"  in all    {failure.bad} of {failure.total} values are wrong")
    return lines


def printable(text: str) -> str:
    """Control bytes of a unit's own output made visible, so that they cannot drive the terminal."""
    return "".join(c if c.isprintable() or c in "\n\t" else repr(c)[1:-1] for c in text)


def few_lines(text: str) -> list[str]:
    """The first lines of a text of any length, none of them long."""
    return [
        short(line, keep=True)
        for line in text[: _LONGEST * _MOST_LINES].strip("\r\n").splitlines()[:_MOST_LINES]
    ]


def _is_rounding(failure: Failure) -> bool:
    """Whether two float32 that should have the same bits differ in the last few only."""
    codes = [found for text in (failure.expected, failure.got) if (found := _CODE.search(text))]
    if len(codes) != 2:
        return False
    want, got = (int(found["code"], 16) for found in codes)
    return (
        want >> 31 == got >> 31 and 0 < abs(want - got) <= _LAST_BITS and want >> 23 & 0xFF not in (0, 0xFF)
    )


def short(text: str, *, keep: bool = False) -> str:
    text = printable((text if keep else " ".join(text.split()))[: 2 * _LONGEST])
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def excerpt(where: str, sources: Sources) -> list[str]:
    """The line of the student's source that `where` ("path:line" or "path:line:column") names, with a
    caret under the column; nothing when it names none."""
    found = re.search(r"(?P<path>[^\s:]+):(?P<line>\d+)(?::(?P<column>\d+))?$", where)
    if not found or found["path"] not in sources:
        return []
    lines = sources[found["path"]].decode("utf-8", "replace").splitlines()
    number = int(found["line"])
    if not 0 < number <= len(lines):
        return []
    line = lines[number - 1].expandtabs(4)
    column = int(found["column"]) - 1 if found["column"] else len(line) - len(line.lstrip())
    label = f"{number:>5} | "
    return [f"{label}{printable(line)}", " " * (len(label) + column) + "^"]
