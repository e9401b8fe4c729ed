"""Which mutants' places each test reaches, and where the mutated value would have differed.

The probe build runs every test once. The tables lie in a file that the tests' processes share, so what was
met before a crash is kept as well.
"""

import re
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import BinaryIO

from ol import slots
from ol.build import Built, CompileError, disk_errors
from ol.generated.model import Mutant, Why
from ol.generated.units import Units
from ol.lane import Lane, Sources, Trial, plain_lane
from ol.manifest import Language, TestEntry
from ol.operators import Edit
from ol.parallel import together
from ol.schemata import UNKNOWN
from ol.stream import Ending
from ol.toolchain import Sanitizer

_DIFFERED = 1
_TIMES = 3
"""Runs of a threaded test."""
_PAGE = 1 << 16
_FILE = "tables"
_TABLES = """#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#define SHOWN __attribute__((visibility("default")))
SHOWN int ol_mutant, ol_placed;
SHOWN __attribute__((aligned({page}))) unsigned char ol_reached[{size}];
SHOWN __attribute__((aligned({page}))) unsigned char ol_differed[{size}];
SHOWN __attribute__((aligned({page}))) long long ol_steps[{page} / 8];
SHOWN void ol_place(void) {{
    const char *path = getenv("OL_PROBE");
    int fd = path ? open(path, O_RDWR) : -1, how = PROT_READ | PROT_WRITE;
    off_t at = (off_t)ol_mutant * (2 * {size} + {page});
    if (fd < 0) return;
    static unsigned char met[{size}]; /* on the way to here: that a function is called */
    memcpy(met, ol_reached, {size});
    mmap(ol_reached, {size}, how, MAP_SHARED | MAP_FIXED, fd, at);
    mmap(ol_differed, {size}, how, MAP_SHARED | MAP_FIXED, fd, at + {size});
    mmap(ol_steps, {page}, how, MAP_SHARED | MAP_FIXED, fd, at + 2 * {size});
    close(fd);
    for (int k = 0; k < {size}; k++) ol_reached[k] |= met[k];
    ol_placed = 1;
}}
"""
"""The selector says whose tables are meant: it is a test's number here."""


@dataclass(frozen=True, kw_only=True)
class Table:
    """Of one test, by mutant's number, and the steps that the unit took. `whole` is false when the test
    did not come to its end."""

    reached: bytes
    differed: bytes
    steps: int
    whole: bool


@dataclass(frozen=True, kw_only=True)
class Reach:
    """Tables by test id; a test without one may reach everything."""

    tables: Mapping[str, Table]

    def may_notice(self, test: TestEntry, mutant: Mutant) -> bool:
        """False where the test runs just as it does on the unit itself: the place is not reached, or its
        value is that of the original each time, of the same operands."""
        met, number = self._met(test), mutant.number
        if met is None:
            return True
        reached, differed = met
        return bool(reached[number] and (differed[number] or not _takes_the_same(mutant.edit)))

    def _met(self, test: TestEntry) -> tuple[bytes, bytes] | None:
        """What a test reaches and where it differs; None where that is not known. Threads may take another
        way the next time, so of a threaded test it is what all tests meet."""
        own = self.tables.get(test.id)
        if own is None:
            return None
        if test.threads:
            return self._met_by_all
        return (own.reached, own.differed) if own.whole else None

    @cached_property
    def _met_by_all(self) -> tuple[bytes, bytes] | None:
        tables = self.tables.values()
        if not all(table.whole for table in tables):
            return None
        return _any(t.reached for t in tables), _any(t.differed for t in tables)

    def promise(self, test: TestEntry, number: int) -> int:
        """How much may be hoped for: 2 a value differs, 1 it may, 0 it does not or is not reached."""
        table = self.tables.get(test.id)
        if table is None:
            return 1
        bits = table.differed[number]
        return 2 if bits & _DIFFERED else 1 if bits & UNKNOWN else 0

    def steps(self, test: TestEntry) -> int | None:
        """The unit's own, None where no number holds: the steps of threads depend on who waits for whom."""
        table = self.tables.get(test.id)
        return table.steps if table and table.whole and not test.threads else None

    def reaching(self, number: int) -> tuple[str, ...]:
        return tuple(t for t, table in self.tables.items() if table.reached[number])

    def differing(self, number: int) -> tuple[str, ...]:
        return tuple(t for t, table in self.tables.items() if table.differed[number] & _DIFFERED)

    def why(self, number: int) -> Why:
        bits = 0
        for table in self.tables.values():
            bits |= table.differed[number]
        if not self.reaching(number):
            return Why.NEVER_REACHED
        if bits & _DIFFERED:
            return Why.UNNOTICED
        return Why.UNKNOWN if bits & UNKNOWN else Why.NEVER_DIFFERENT


def _any(rows: Iterable[bytes]) -> bytes:
    """What is set in any of them, bit for bit."""
    listed = list(rows)
    found = 0
    for row in listed:
        found |= int.from_bytes(row, "little")
    return found.to_bytes(len(listed[0]), "little")


def _takes_the_same(edit: Edit) -> bool:
    """Whether no sanitizer can tell the mutant where its value is the original's: it evaluates the same
    operands, or more of them where these cannot fail."""
    if edit.operator == "logical":
        return edit.site.pure and not re.search(r"[-+]|<<", edit.change.replace("->", ""))
    if edit.operator == "constant":  # one that is compared
        return edit.site.pure and bool(edit.change)
    return edit.site.pure and edit.operator in ("relational", "unordered", "condition")


def watched(lane: Lane, folder: Path) -> Lane:
    """The same for units that write into the tables of `folder`."""
    return lane.telling("OL_PROBE", str(folder / _FILE))


def probe(
    units: Units, dependencies: Mapping[str, Sources], python: Lane | None, folder: Path, *, seed: int
) -> Reach:
    """Runs all tests of the module on the probe build, those in Python on `python`, which is watched, with
    their tables in `folder`; nothing is told where it cannot be built."""
    size = -(-units.size // _PAGE) * _PAGE
    texts = {u.path: u.probe(units.left_out, size).encode("utf-8") for u in units.units}
    texts["ol_tables.c"] = _TABLES.format(page=_PAGE, size=size).encode()
    try:
        unit = units.builder.probe(texts)
    except CompileError:
        return Reach(tables={})
    lanes = {Language.C: watched(plain_lane(units.builder, units.module, dependencies).warm(), folder)}
    lanes |= {Language.PYTHON: python} if python else {}
    tests = [t for t in units.module.tests if t.language in lanes]
    tables, length = folder / _FILE, 2 * size + _PAGE
    with disk_errors(units.builder.cache):
        folder.mkdir()
        with tables.open("wb") as file:
            file.truncate((len(tests) + 1) * length)
        found = together([partial(_run, lanes, unit, part, seed) for part in _parts(tests)])
        whole = {number: ended for part in found for number, ended in part.items()}
        with tables.open("rb") as file:
            made = {t.id: _table(file, n, size, whole=whole[n]) for n, t in enumerate(tests, 1)}
    return Reach(tables=made)


_Numbered = Sequence[tuple[int, TestEntry]]


def _parts(tests: Sequence[TestEntry]) -> list[_Numbered]:
    """Those of one language dealt to supervisors, few enough that starting one does not count."""
    parts: list[_Numbered] = []
    for language in Language:
        mine = [(n, t) for n, t in enumerate(tests, 1) if t.language is language]
        count = min(slots.jobs(), -(-len(mine) // 8))
        parts += [mine[k::count] for k in range(count)]
    return parts


def _run(lanes: Mapping[Language, Lane], unit: Built, part: _Numbered, seed: int) -> dict[int, bool]:
    """Whether each test came to its end, every time."""
    runs = [(n, t) for n, t in part for _ in range(_TIMES if t.threads else 1)]
    trials = [Trial(unit=unit, mutant=n, test=t, sanitizer=Sanitizer.NONE) for n, t in runs]
    frames = lanes[part[0][1].language].run(trials, seed)
    ended = [frame.ending is Ending.EXITED and frame.code == 0 for frame in frames]
    return {n: all(e for (m, _), e in zip(runs, ended, strict=True) if m == n) for n, _ in part}


def _table(file: BinaryIO, number: int, size: int, *, whole: bool) -> Table:
    file.seek(number * (2 * size + _PAGE))
    reached, differed = file.read(size), file.read(size)
    (steps,) = struct.unpack("<q", file.read(8))
    return Table(reached=reached, differed=differed, steps=steps, whole=whole)
