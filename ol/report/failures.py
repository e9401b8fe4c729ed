"""A failure in words."""

import re

from ol.lane import Sources
from ol.verdict import Failure

_LONGEST = 400


def failure_lines(failure: Failure) -> list[str]:
    """What was called, where it went wrong, what was expected and what came."""
    lines = [_short(failure.check)]
    if failure.note:
        lines.append(f"  with      {failure.note}")
    if failure.where:
        lines.append(f"  at        {failure.where}")
    if failure.expected:
        lines.append(f"  expected  {_short(failure.expected)}")
    if failure.got:
        lines.append(f"  got       {_short(failure.got)}")
    if failure.bad > 1:
        lines.append(f"  in all    {failure.bad} of {failure.total} values are wrong")
    return lines


def printable(text: str) -> str:
    """Control bytes of a unit's own output made visible, so that they cannot drive the terminal."""
    return "".join(c if c.isprintable() or c in "\n\t" else repr(c)[1:-1] for c in text)


def _short(text: str) -> str:
    text = printable(" ".join(text.split()))
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
