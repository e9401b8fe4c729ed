"""A failure in words."""

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
