"""How fast generated mutants are: ratios from one run, for they mean something on a busy machine too.

    python tests/bench/bench_generated.py L9.2
    python tests/bench/bench_generated.py L9.4 --samples 40 --universalmutator /path/to/venv/bin/mutate

End to end is everything from the source to the verdicts with no verdict in the store; the tests themselves
are built before, and what they want is asked for, for both are the same on both sides. The other side
compiles and links a sample of the mutants one by one with the same flags, and runs the tests on each, with
leak detection and with limits from the same baseline, up to the first that fails, as one would without
schemata: what lives is built again for TSan and for Python.
Making mutants is parsing the source, and compiling all of them into one object; the other side compiles
each, with the same flags, to learn whether it can be.
"""

import argparse
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
ROOT = Path(__file__).resolve().parents[2]

from ol.build import Builder  # noqa: E402
from ol.course import find_course  # noqa: E402
from ol.generated.audit import audit_generated  # noqa: E402
from ol.generated.engine import measured  # noqa: E402
from ol.generated.mass import Job, Mass  # noqa: E402
from ol.generated.model import GeneratedReport, Mutant, MutantResult, State  # noqa: E402
from ol.generated.scope import Scope  # noqa: E402
from ol.generated.units import find_units  # noqa: E402
from ol.lane import build_unit, plain_lane  # noqa: E402
from ol.manifest import Module, TestEntry  # noqa: E402
from ol.operators import apply_edit  # noqa: E402
from ol.store import Store  # noqa: E402
from ol.testbed import Testbed, prepare, sanitizers_of  # noqa: E402
from ol.toolchain import Sanitizer, find  # noqa: E402

T = TypeVar("T")
CHILDREN = resource.RUSAGE_CHILDREN


def quiet(what: str, done: int, total: int) -> None:
    pass


def cpu() -> float:
    """Seconds of processor time of this process and all that it has started; they do not depend on what
    else the machine does."""
    return sum(u.ru_utime + u.ru_stime for u in map(resource.getrusage, (resource.RUSAGE_SELF, CHILDREN)))


@dataclass(frozen=True)
class Spent:
    wall: float
    cpu: float


def total(spent: Sequence[Spent]) -> Spent:
    return Spent(sum(s.wall for s in spent), sum(s.cpu for s in spent))


def mean(spent: Sequence[Spent]) -> Spent:
    return Spent(total(spent).wall / len(spent), total(spent).cpu / len(spent))


def timed(call: Callable[[], T]) -> tuple[T, Spent]:
    start, used = time.monotonic(), cpu()
    found = call()
    return found, Spent(time.monotonic() - start, cpu() - used)


def audited(builder: Builder, store: Store, entry: Module, shard: str = "") -> GeneratedReport:
    return audit_generated(builder, store, entry, scope=Scope(shard=shard), progress=quiet)


def lanes_alone(bed: Testbed, folder: Path) -> list[tuple[Mass, list[TestEntry]]]:
    """Each build that the tests run on, the one that all C tests run on first, with its tests."""
    found = []
    for sanitizer in (s for s in Sanitizer if s in bed.units):
        tests = [t for t in bed.module.tests if sanitizer in sanitizers_of(t)]
        (folder / sanitizer).mkdir()
        mass = Mass(
            name=f"alone {sanitizer}",
            folder=folder / sanitizer,
            lane=bed.units[sanitizer].careful(),
            unit=bed.builder.unit(bed.builder.reference_sources(bed.module), sanitizer),
            sanitizer=sanitizer,
            seed=bed.seed,
            wanted=bed.wanted(tests),
            statuses=bed.builder.course.entry.statuses,
            steps=lambda test: None,
        )
        mass.learn(tests, measured(mass, tests, bed.module.id))
        found.append((mass, tests))
    return found


def is_killed(mass: Mass, mutant: Mutant, tests: list[TestEntry]) -> bool:
    """By the first of the tests that fails; a run may go another way than the unit's and still pass."""
    left = tests
    while left:
        met = mass.play([Job(mutant=mutant, test=t) for t in left], stops=True)
        if any(kill for _, kill in mass.kills(met)):
            return True
        left = left[len(met) :]
    return False


def one_by_one(bed: Testbed, folder: Path, results: list[MutantResult]) -> int:
    """Compiles, links and runs each of `results` alone; how many verdicts are others."""
    reference = bed.builder.reference_sources(bed.module)
    lanes, other = lanes_alone(bed, folder), 0
    for result in results:
        edit, path = result.mutant.edit, result.mutant.file
        text = {**reference, path: apply_edit(reference[path].decode(), edit).encode()}
        failed = False
        for mass, tests in lanes:
            if not failed:
                mass.unit = build_unit(bed.builder, text, mass.sanitizer)
                failed = is_killed(mass, result.mutant, tests)
                mass.close()
        if failed != (result.state is State.KILLED):
            other += 1
            words = "killed" if failed else "alive"
            print(f"{words} alone, {result.state} in the mass run: {result.mutant.id}")
    return other


def make(builder: Builder, module: str) -> None:
    """From the source to the object of all mutants that compile."""
    find_units(builder, builder.course.module(module)).viable().build(Sanitizer.ASAN)


def universal(mutate: str, builder: Builder, unit: Path) -> tuple[int, float]:
    """How many valid mutants universalmutator makes of a file, and the seconds it takes."""
    with tempfile.TemporaryDirectory() as folder:
        start = time.monotonic()
        flags = " ".join((*builder.flags, *Sanitizer.ASAN.flags, "-fPIC"))
        command = f"{builder.toolchain.path} {flags} -c {unit.name} -o x.o"
        shutil.copy(unit, folder)
        argv = [mutate, unit.name, "--mutantDir", folder, "--cmd", command]
        subprocess.run(argv, capture_output=True, cwd=folder, check=True)
        return len(list(Path(folder).glob("*.mutant.*"))), time.monotonic() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("module", nargs="?", default="L9.2")
    parser.add_argument("--samples", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3, help="of both sides in turn")
    parser.add_argument("--compiler", default=None)
    parser.add_argument("--tests", default="", help="only these, with commas between, on both sides")
    parser.add_argument("--universalmutator", metavar="MUTATE", default="")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        course = find_course(ROOT / "ol")
        builder = Builder(course, find(chosen.compiler), Path(folder))
        entry = course.module(chosen.module)
        if chosen.tests:
            wanted = chosen.tests.split(",")
            entry = replace(entry, tests=tuple(t for t in entry.tests if t.id in wanted))
        measure(builder, entry, chosen.samples, chosen.rounds, chosen.universalmutator)


def measure(builder: Builder, entry: Module, samples: int, rounds: int, mutate: str) -> None:
    needed = {m.id: builder.reference_sources(m) for m in builder.course.closure(entry.depends)}
    plain_lane(builder, entry, needed)

    def asked(name: str) -> tuple[Store, Testbed]:
        """A store that holds what the tests want, and no verdict."""
        store = Store(builder.cache / f"{name}.sqlite")
        bed = prepare(builder, store, entry, needed, entry.tests)
        bed.wanted(entry.tests)
        return store, bed

    whole, quarter, again, alone, other = [], [], [], [], 0
    running = survivors = 0.0
    for k in range(rounds):
        store, bed = asked(f"{k}")
        report, spent = timed(partial(audited, builder, store, entry))
        whole.append(spent)
        quarter.append(timed(partial(audited, builder, asked(f"{k} quarter")[0], entry, "1/4"))[1])
        again.append(timed(partial(audited, builder, store, entry))[1])
        running += report.timing.running
        survivors += report.timing.again
        viable = [m for m in report.mutants if m.state is not State.UNVIABLE]
        sample = viable[:: max(1, len(viable) // samples)][:samples]
        folder = builder.cache / f"baseline {k}"
        folder.mkdir()
        others, spent = timed(partial(one_by_one, bed, folder, sample[k::rounds]))
        alone.append(spent)
        other += others
    _, making = timed(
        lambda: make(Builder(builder.course, builder.toolchain, builder.cache / "made"), entry.id)
    )
    n, scale = len(viable), len(viable) / len(sample)
    one, all_alone = mean(whole), total(alone)
    print(f"{entry.id}: {n} viable mutants, {report.timing.runs} runs; {report.compiler}; {rounds} rounds")
    row("", "wall", "processor")
    row("end to end", f"{one.wall:.1f} s", f"{one.cpu:.1f} s")
    row(
        f"one by one, from {len(sample)}",
        f"{all_alone.wall * scale:.0f} s",
        f"{all_alone.cpu * scale:.0f} s",
    )
    row(
        "times as fast",
        f"{all_alone.wall * scale / one.wall:.1f}",
        f"{all_alone.cpu * scale / one.cpu:.1f}",
    )
    row("mutants a second once built", f"{n * rounds / running:.1f}")
    row("  with survivors in other builds", f"{n * rounds / (running + survivors):.1f}")
    row(
        "a whole to a quarter", f"{one.wall / mean(quarter).wall:.2f}", f"{one.cpu / mean(quarter).cpu:.2f}"
    )
    row("a second run", f"{mean(again).wall:.1f} s", f"{mean(again).cpu:.1f} s")
    row("other verdicts one by one", f"{other}", f"of {len(sample)}")
    if mutate:
        made, theirs = universal(mutate, builder, ROOT / "reference" / entry.units[0])
        row(f"universalmutator, {made} mutants", f"{theirs / max(made, 1):.2f} s each")
        row("time to make one, to ours", f"{theirs / max(made, 1) / (making.wall / n):.0f}")


def row(*cells: str) -> None:
    print(f"{cells[0]:34}" + "".join(f"{cell:>14}" for cell in cells[1:]))


if __name__ == "__main__":
    main()
