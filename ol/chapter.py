"""A chapter's two tables, held against the catalogue. Pure.

| Test | Kind | Checks | Why it matters downstream |   and   | Pitfall | Symptom | Caught by |
say what the catalogue says, word for word, so that a student never reads two truths.
"""

import re
from collections.abc import Iterator

from ol.manifest import Module

TESTS = ("Test", "Kind", "Checks", "Why it matters downstream")
PITFALLS = ("Pitfall", "Symptom", "Caught by")


def table(text: str, header: tuple[str, ...]) -> list[tuple[int, tuple[str, ...]]] | None:
    """The rows under the first table with this header, each with its line; None when there is none."""
    lines = text.splitlines()
    for k, line in enumerate(lines):
        if tuple(_cells(line)) == header:
            rows = []
            for n in range(k + 2, len(lines)):
                if not lines[n].lstrip().startswith("|"):
                    break
                rows.append((n + 1, tuple(_cells(lines[n]))))
            return rows
    return None


def _cells(line: str) -> list[str]:
    """Of a Markdown row; a vertical bar inside a cell is written with a backslash."""
    if not line.lstrip().startswith("|"):
        return []
    inner = line.strip().removeprefix("|").removesuffix("|")
    return [" ".join(cell.replace("\\|", "|").split()) for cell in re.split(r"(?<!\\)\|", inner)]


def disagreements(text: str, module: Module) -> Iterator[tuple[int, str]]:
    """Where chapter and catalogue differ: the chapter's line (0 for none), and what."""
    yield from _compare(table(text, TESTS), _tests(module), TESTS)
    yield from _compare(table(text, PITFALLS), _pitfalls(module), PITFALLS)


def _tests(module: Module) -> list[tuple[str, ...]]:
    """A C test goes by its bare name, a Python one by its id."""
    rows: list[tuple[str, ...]] = []
    for test in module.tests:
        name = test.name if test.id.startswith("c:") else test.id
        rows.append((f"`{name}`", ", ".join(test.kind), _flat(test.checks), _flat(test.why)))
    return rows


def _pitfalls(module: Module) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for m in module.mutants:
        test = m.test.removeprefix("c:")
        rows.append((_flat(m.pitfall), _flat(m.symptom), f"`{test}` (mutant `{m.id}`)"))
    return rows


def _flat(text: str) -> str:
    return " ".join(text.split())


def _compare(
    rows: list[tuple[int, tuple[str, ...]]] | None, wanted: list[tuple[str, ...]], header: tuple[str, ...]
) -> Iterator[tuple[int, str]]:
    if rows is None:
        yield 0, "there is no table | " + " | ".join(header) + " |"
        return
    by_key = {_key(row, header): (line, row) for line, row in rows}
    for row in wanted:
        line, found = by_key.pop(_key(row, header), (0, ()))
        if not found:
            yield 0, f"no row for {_key(row, header)}"
        elif found != row:
            column = next((c for c, a, b in zip(header, found, row, strict=False) if a != b), header[-1])
            yield line, f"{_key(row, header)}: {column!r} is not what the catalogue says"
    for key, (line, _) in by_key.items():
        yield line, f"a row for {key}, which is not in the catalogue"


def _key(row: tuple[str, ...], header: tuple[str, ...]) -> str:
    """What identifies a row: the test's name, or the mutant in the last column."""
    if header is TESTS:
        return row[0]
    found = re.search(r"`(s\d\d)`", row[-1]) if row else None
    return found.group(1) if found else "|".join(row)
