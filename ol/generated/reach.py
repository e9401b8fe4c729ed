"""Which mutants' places each test reaches, and where the mutated value would have differed.

The probe build runs every test once. Its two tables lie in a file that all children of a supervisor
share, so what was met before a crash is kept as well.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from ol.build import CompileError, disk_errors
from ol.generated.model import Mutant, Why
from ol.generated.units import Units
from ol.lane import Lane, Sources, Trial, plain_lane
from ol.manifest import Language, TestEntry
from ol.parallel import together
from ol.schemata import UNKNOWN
from ol.stream import Ending
from ol.suite import Runner
from ol.toolchain import Sanitizer

_DIFFERED = 1
_SAME_OPERANDS = ("relational", "unordered", "condition")
_PAGE = 1 << 16
_TABLES = """#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
__attribute__((visibility("default"), aligned({page}))) unsigned char ol_reached[{size}];
__attribute__((visibility("default"), aligned({page}))) unsigned char ol_differed[{size}];
__attribute__((constructor)) static void share(void) {{
    const char *path = getenv("OL_PROBE");
    int fd = path ? open(path, O_RDWR) : -1, how = PROT_READ | PROT_WRITE;
    if (fd < 0) return;
    mmap(ol_reached, {size}, how, MAP_SHARED | MAP_FIXED, fd, 0);
    mmap(ol_differed, {size}, how, MAP_SHARED | MAP_FIXED, fd, {size});
    close(fd);
}}
"""


@dataclass(frozen=True, kw_only=True)
class Table:
    """Of one test, by mutant's number. `whole` is false when the test did not come to its end."""

    reached: bytes
    differed: bytes
    whole: bool


@dataclass(frozen=True, kw_only=True)
class Reach:
    """Tables by test id; a test without one may reach everything."""

    tables: Mapping[str, Table]

    def may_notice(self, test: TestEntry, mutant: Mutant) -> bool:
        """False where the test runs just as it does on the unit itself: the place is not reached, or its
        value is that of the original each time, of the same operands. A threaded test may take another
        way the next time, so it is never ruled out."""
        table = self.tables.get(test.id)
        if table is None or not table.whole or test.threads:
            return True
        edit = mutant.edit
        same = edit.site.pure and edit.operator in _SAME_OPERANDS and not table.differed[mutant.number]
        return bool(table.reached[mutant.number]) and not same

    def promise(self, test: TestEntry, number: int) -> int:
        """How much may be hoped for: 2 a value differs, 1 it may, 0 it does not or is not reached."""
        table = self.tables.get(test.id)
        if table is None:
            return 1
        bits = table.differed[number]
        return 2 if bits & _DIFFERED else 1 if bits & UNKNOWN else 0

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


def probe(units: Units, dependencies: Mapping[str, Sources], folder: Path, *, seed: int) -> Reach:
    """Runs all C tests of the module on the probe build, with their tables in `folder`; nothing is told
    where it cannot be built."""
    tests = [t for t in units.module.tests if t.language is Language.C]
    size = -(-units.size // _PAGE) * _PAGE
    made = {u.path: u.probe(units.left_out, size).encode("utf-8") for u in units.units}
    made["ol_tables.c"] = _TABLES.format(page=_PAGE, size=size).encode()
    try:
        unit = units.builder.probe(made)
    except CompileError:
        return Reach(tables={})
    lane = plain_lane(units.builder, units.module, dependencies).warm()
    trials = [Trial(unit=unit, mutant=0, test=t, sanitizer=Sanitizer.NONE) for t in tests]
    with disk_errors(units.builder.cache):
        folder.mkdir()
        found = together([partial(_table, lane, t, folder, size, seed) for t in trials])
    return Reach(tables={t.id: table for t, table in zip(tests, found, strict=True)})


def _table(lane: Lane, trial: Trial, folder: Path, size: int, seed: int) -> Table:
    assert isinstance(lane.runner, Runner)
    path = folder / trial.test.name
    path.write_bytes(bytes(2 * size))
    runner = replace(lane.runner, variables=(("OL_PROBE", str(path)),))
    (frame,) = replace(lane, runner=runner).run([trial], seed)
    data = path.read_bytes()
    whole = frame.ending is Ending.EXITED and frame.code == 0
    return Table(reached=data[:size], differed=data[size:], whole=whole)
