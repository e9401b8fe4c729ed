"""Mutants as unified diffs, applied exactly: the stated lines, no offset, no fuzz. Pure."""

from enum import StrEnum
from io import StringIO

from unidiff.constants import LINE_TYPE_NO_NEWLINE
from unidiff.errors import UnidiffParseError
from unidiff.patch import Hunk, PatchedFile, PatchSet

from ol.errors import ToolError


class Misfit(StrEnum):
    """Why a patch that can be read does not fit."""

    MOVED = "applies only with an offset"
    GONE = "no longer applies"


class StalePatch(Exception):
    """The patch is well formed, but not a patch of this text."""

    def __init__(self, misfit: Misfit, line: int, expected: str):
        super().__init__(f"{misfit}: line {line} of the reference is not {expected!r}")
        self.misfit = misfit
        self.line = line
        self.expected = expected


def read(text: str, targets: tuple[str, ...], where: str) -> PatchedFile:
    """Parses a patch that must touch one of `targets` and nothing else.

    `path` of the result is the file it touches. Raises ToolError with file and what is wrong.
    """
    again = "make it again with `diff -u` against the reference"
    try:
        patch = PatchSet(text)
    except UnidiffParseError as error:
        raise ToolError(f"this is not a unified diff: {error}", where=where, next_step=again) from None
    if not any(len(hunks) for hunks in patch):
        raise ToolError("this is not a unified diff, or it changes nothing", where=where, next_step=again)
    touched = sorted({one.path for one in patch})
    if len(touched) > 1 or touched[0] not in targets:
        raise ToolError(
            f"this patch touches {', '.join(touched)}; expected {' or '.join(targets)} alone",
            where=where,
            next_step=again,
        )
    return patch[0]


def apply(patch: PatchedFile, original: str) -> str:
    """The mutated text. Raises StalePatch when a line that the patch names is not where it says."""
    lines = list(StringIO(original, newline="\n"))
    result: list[str] = []
    at = 0
    for hunk in patch:
        start = hunk.source_start - 1 if hunk.source_length else hunk.source_start
        before, after = _sides(hunk)
        if lines[start : start + len(before)] != before:
            raise _stale(lines, before, start)
        result += lines[at:start]
        result += after
        at = start + len(before)
    return "".join(result + lines[at:])


def _sides(hunk: Hunk) -> tuple[list[str], list[str]]:
    """The lines before and after. A marker says that the line above it has no newline at its end."""
    before: list[str] = []
    after: list[str] = []
    last: list[list[str]] = []
    for line in hunk:
        if line.line_type == LINE_TYPE_NO_NEWLINE:
            for side in last:
                side[-1] = side[-1].removesuffix("\n")
            continue
        last = [side for side, absent in ((before, line.is_added), (after, line.is_removed)) if not absent]
        for side in last:
            side.append(line.value)
    return before, after


def _stale(lines: list[str], before: list[str], start: int) -> StalePatch:
    places = range(len(lines) - len(before) + 1)
    moved = any(lines[k : k + len(before)] == before for k in places)
    there = lines[start : start + len(before)] + [""] * len(before)
    bad = next(k for k in range(len(before)) if there[k] != before[k])
    return StalePatch(Misfit.MOVED if moved else Misfit.GONE, start + bad + 1, before[bad].rstrip())


def reanchored(patch: PatchedFile, original: str) -> str | None:
    """The mutated text where the lines that the patch changes are still there, once, wherever they are
    now; None where they are gone or there are several. Context that changed does not matter."""
    lines = list(StringIO(original, newline="\n"))
    for hunk in reversed(list(patch)):
        place = _place(lines, [(line.line_type, line.value) for line in hunk])
        if place is None:
            return None
        start, before, after = place
        lines[start : start + len(before)] = after
    return "".join(lines)


def _place(lines: list[str], hunk: list[tuple[str, str]]) -> tuple[int, list[str], list[str]] | None:
    """Where a hunk belongs, with what it replaces: as much of its context as still finds one place."""
    kinds = [kind for kind, _ in hunk]
    first = next(k for k, kind in enumerate(kinds) if kind != " ")
    last = len(kinds) - next(k for k, kind in enumerate(reversed(kinds)) if kind != " ")
    for context in range(3, -1, -1):
        part = hunk[max(0, first - context) : last + context]
        before = [text for kind, text in part if kind != "+"]
        after = [text for kind, text in part if kind != "-"]
        places = [k for k in range(len(lines)) if before and lines[k : k + len(before)] == before]
        if len(places) == 1:
            return places[0], before, after
    return None
