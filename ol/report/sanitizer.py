"""A sanitizer's report cut to what a student can act on: the student's own frames and what was touched.

Pure. The formats are those of gcc's and clang's runtimes, symbolised.
"""

import re

from ol.lane import Sources

_FRAME = re.compile(
    r"^\s*#\d+\s+(?:0x[0-9a-f]+\s+in\s+)?(?P<function>[\w.]+)\s+(?P<place>\S+?:\d+(?::\d+)?)\b"
)
_TELLING = re.compile(
    r"READ of size|WRITE of size|[Rr]ead of size|[Ww]rite of size|is located|located in stack"
    r"|global variable|leak of|allocated by|freed by|by thread|Mutex|created by|overflows this variable"
)
_MOST = 14


def cut(report: str, sources: Sources) -> tuple[str, list[str]]:
    """The place of the innermost frame in `sources`, and the lines worth reading."""
    lines: list[str] = []
    where = ""
    for line in report.splitlines()[1:]:
        frame = _FRAME.match(line)
        if frame:
            place = frame["place"].removeprefix("./")
            if place.split(":")[0] in sources:
                where = where or place
                lines.append(f"    in {_plain(frame['function'])}  {place}")
        elif _TELLING.search(line):
            lines.append(_telling(line))
    return where, _with_content(lines)[:_MOST]


def _plain(function: str) -> str:
    """A compiler's clone of a function under the name that the student gave it."""
    return re.sub(r"\.(constprop|isra|part|cold)\.?\d*.*$", "", function)


def _telling(line: str) -> str:
    line = re.sub(r"==\d+==|\(pid=\d+\)|\(?0x[0-9a-f]+\)?|\bpc\b|\bbp\b|\bsp\b|thread T0\b", "", line)
    line = re.sub(r"\bat\s*(?=by|$)|\[,\s*\)", "", line)
    return " ".join(line.split()).rstrip(" :")


def _with_content(lines: list[str]) -> list[str]:
    """Without repeats, and without headings that no frame of the student follows."""
    kept: list[str] = []
    for k, line in enumerate(lines):
        heading = line.startswith(("allocated by", "freed by", "previously allocated"))
        followed = k + 1 < len(lines) and lines[k + 1].startswith("    in ")
        if line not in kept and (followed or not heading):
            kept.append(line)
    return kept
