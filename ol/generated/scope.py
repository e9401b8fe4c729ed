"""Which mutants are asked for: by operator, by line, by what has changed, by share."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ol import process
from ol.errors import ToolError, unknown
from ol.exits import Exit
from ol.generated.model import Mutant
from ol.operators import OPERATORS
from ol.toolchain import environment

Lines = Collection[int]


@dataclass(frozen=True, kw_only=True)
class Scope:
    operators: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()
    """N, N-M, FILE:N or FILE:N-M."""
    since: str = ""
    shard: str = ""
    """K/N."""

    @property
    def is_whole(self) -> bool:
        return not (self.operators or self.lines or self.since or self.shard)


def chosen(scope: Scope, mutants: Sequence[Mutant], root: Path) -> set[int]:
    """The numbers of the mutants in scope. Raises ToolError for what cannot be understood."""
    for name in scope.operators:
        if name not in OPERATORS:
            raise unknown("operator", name, OPERATORS, next_step=f"known: {', '.join(OPERATORS)}")
    spans = [_span(text) for text in scope.lines]
    files = sorted({m.file for m in mutants})
    changed = _changed(scope.since, files, root) if scope.since else {}
    share = _share(scope.shard)
    return {
        m.number
        for k, m in enumerate(mutants)
        if (not scope.operators or m.edit.operator in scope.operators)
        and (not spans or any(m.file.endswith(f) and a <= m.edit.line <= b for f, a, b in spans))
        and (not scope.since or m.edit.line in changed[m.file])
        and k % share[1] == share[0]
    }


def _wrong(what: str, next_step: str) -> ToolError:
    return ToolError(what, next_step=next_step, code=Exit.USAGE)


def _span(text: str) -> tuple[str, int, int]:
    found = re.fullmatch(r"(?:(.*):)?(\d+)(?:-(\d+))?", text)
    if not found:
        raise _wrong(f"not a line: {text!r}", "write --line 57, --line 57-80 or --line FILE:57")
    return found[1] or "", int(found[2]), int(found[3] or found[2])


def _share(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"(\d+)/(\d+)", text or "1/1")
    if not found or not 1 <= int(found[1]) <= int(found[2]):
        raise _wrong(f"not a share: {text!r}", "write --shard 1/4 for the first of four")
    return int(found[1]) - 1, int(found[2])


def _changed(revision: str, files: Sequence[str], root: Path) -> Mapping[str, Lines]:
    """Lines of the reference that are new or other than at `revision`."""
    if revision.startswith("-"):
        raise _wrong(f"not a revision: {revision!r}", "name a commit, a branch or a tag")
    paths = [f"reference/{f}" for f in files]
    argv = ["git", "diff", "--no-ext-diff", "--no-color", "--relative", "-U0", revision, "--", *paths]
    try:
        done = process.run(argv, cwd=root, env=environment(), timeout=60, cap=1 << 26)
    except OSError as error:
        raise _wrong(
            f"git cannot be started: {error.strerror}", "install git, or leave --since out"
        ) from None
    if done.code != 0:
        said = done.err.decode("utf-8", "replace").strip()
        raise ToolError(
            f"git cannot tell what changed since {revision!r}",
            where=said[:1000],
            next_step="name a commit of the repository that holds the course",
            code=Exit.USAGE,
        )
    return changed_lines(done.out.decode("utf-8", "replace"), files)


def changed_lines(diff: str, files: Sequence[str]) -> dict[str, set[int]]:
    """Of a diff without context, by file: the lines of the new side."""
    found: dict[str, set[int]] = {f: set() for f in files}
    lines: set[int] = set()
    for line in diff.splitlines():
        if line.startswith("+++ "):
            name = line[4:].split("\t")[0].partition("reference/")[2]
            lines = found.get(name, set())
        elif head := re.match(r"@@ -\S+ \+(\d+)(?:,(\d+))? @@", line):
            start, count = int(head[1]), int(head[2] or 1)
            lines |= set(range(start, start + count))
    return found
