"""Writes text piece by piece and remembers where things came to stand."""

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import takewhile

from ol.csource.reader import Source
from ol.schemata.steps import Insertion

_WIDE = re.compile(r"[^\x00-\x7f]")


@dataclass
class Writer:
    """Copies of the unit's text keep their lines. Tabs and what is not ASCII in comments and narrow
    strings are spelled otherwise, so that both compilers count columns as we do."""

    source: Source
    insertions: Sequence[Insertion] = ()
    """In the order of their places."""
    parts: list[str] = field(default_factory=list)
    length: int = 0
    alternatives: list[tuple[int, int, int]] = field(default_factory=list)
    sites: list[tuple[int, int, tuple[int, ...]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.plain = _plain(self.source)

    def write(self, text: str) -> None:
        self.parts.append(text)
        self.length += len(text)

    def copy(self, start: int, end: int) -> None:
        first = bisect_right(self.insertions, start, key=lambda i: i.at)
        for insertion in takewhile(lambda i: i.at <= end, self.insertions[first:]):
            self.write(_escaped(self.plain[start : insertion.at]))
            self.write(insertion.text)
            start = insertion.at
        self.write(_escaped(self.plain[start:end]))

    @property
    def text(self) -> str:
        return "".join(self.parts)


def _plain(source: Source) -> str:
    """The unit's text, as long as it was."""
    text = source.text.replace("\ufeff", " ")
    if text.isascii() and "\t" not in text:
        return text
    out: list[str] = []
    position = 0
    spans = [(start, end, "?") for start, end in source.comments]
    for start, end, mark in spans:
        out += (_untabbed(text[position:start]), _WIDE.sub(mark, _untabbed(text[start:end])))
        position = end
    return "".join([*out, _untabbed(text[position:])])


_LITERAL = re.compile(r"\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|\t", re.DOTALL)


def _untabbed(text: str) -> str:
    return _LITERAL.sub(lambda found: " " if found.group() == "\t" else found.group(), text)


def _escaped(text: str) -> str:
    """Narrow strings with their bytes outside ASCII as octal escapes."""
    if text.isascii():
        return text
    return _NARROW.sub(lambda found: _WIDE.sub(_octal, found.group()), text)


_NARROW = re.compile(r"(?<![LUu8])\"(?:\\.|[^\"\\\n])*\"", re.DOTALL)


def _octal(found: re.Match[str]) -> str:
    return "".join(f"\\{byte:03o}" for byte in found.group().encode("utf-8", "surrogateescape"))
