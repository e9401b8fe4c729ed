"""Which mutants' places each test reaches, and where the mutated value would have differed.

The probe build runs every test once. Its two tables lie in a file that all children of a supervisor
share, so what was met before a crash is kept as well.
"""

import re
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

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
_TABLES = """#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
__attribute__((visibility("default"), aligned({page}))) unsigned char ol_reached[{size}];
__attribute__((visibility("default"), aligned({page}))) unsigned char ol_differed[{size}];
__attribute__((visibility("default"), aligned({page}))) long long ol_steps[{page} / 8];
__attribute__((constructor)) static void share(void) {{
    const char *path = getenv("OL_PROBE");
    int fd = path ? open(path, O_RDWR) : -1, how = PROT_READ | PROT_WRITE;
    if (fd < 0) return;
    mmap(ol_reached, {size}, how, MAP_SHARED | MAP_FIXED, fd, 0);
    mmap(ol_differed, {size}, how, MAP_SHARED | MAP_FIXED, fd, {size});
    mmap(ol_steps, {page}, how, MAP_SHARED | MAP_FIXED, fd, 2 * {size});
    close(fd);
}}
"""


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
        deciding, number = self._deciding(test), mutant.number
        if not deciding:
            return True
        if not any(table.reached[number] for table in deciding):
            return False
        return not _takes_the_same(mutant.edit) or any(table.differed[number] for table in deciding)

    def _deciding(self, test: TestEntry) -> Sequence[Table]:
        """The tables that tell what a test meets; none where that is not known. Threads may take another
        way the next time, so of a threaded test it takes those of all tests."""
        own = self.tables.get(test.id)
        if own is None:
            return []
        found = list(self.tables.values()) if test.threads else [own]
        return found if all(table.whole for table in found) else []

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


def _takes_the_same(edit: Edit) -> bool:
    """Whether no sanitizer can tell the mutant where its value is the original's: it evaluates the same
    operands, or more of them where these cannot fail."""
    if edit.operator == "logical":
        return edit.site.pure and not re.search(r"[-+]|<<", edit.change.replace("->", ""))
    return edit.site.pure and edit.operator in ("relational", "unordered", "condition")


def probe(
    units: Units, dependencies: Mapping[str, Sources], python: Lane | None, folder: Path, *, seed: int
) -> Reach:
    """Runs all tests of the module on the probe build, those in Python on the lane `python`, with their
    tables in `folder`; nothing is told where it cannot be built."""
    size = -(-units.size // _PAGE) * _PAGE
    made = {u.path: u.probe(units.left_out, size).encode("utf-8") for u in units.units}
    made["ol_tables.c"] = _TABLES.format(page=_PAGE, size=size).encode()
    try:
        unit = units.builder.probe(made)
    except CompileError:
        return Reach(tables={})
    lanes = {Language.C: plain_lane(units.builder, units.module, dependencies).warm()}
    lanes |= {Language.PYTHON: python} if python else {}
    tests = [t for t in units.module.tests if t.language in lanes]
    with disk_errors(units.builder.cache):
        folder.mkdir()
        calls = [partial(_table, lanes[t.language], unit, t, folder, size, seed) for t in tests]
        found = together(calls)
    return Reach(tables={t.id: table for t, table in zip(tests, found, strict=True)})


def _table(lane: Lane, unit: Built, test: TestEntry, folder: Path, size: int, seed: int) -> Table:
    path = folder / test.id.replace(":", " ")
    path.write_bytes(bytes(2 * size + _PAGE))
    trial = Trial(unit=unit, mutant=0, test=test, sanitizer=Sanitizer.NONE)
    frames = lane.telling("OL_PROBE", str(path)).run([trial] * (_TIMES if test.threads else 1), seed)
    data = path.read_bytes()
    (steps,) = struct.unpack_from("<q", data, 2 * size)
    whole = all(frame.ending is Ending.EXITED and frame.code == 0 for frame in frames)
    return Table(reached=data[:size], differed=data[size : 2 * size], steps=steps, whole=whole)
