"""How fast `ol audit` is, as ratios from one run: python tests/bench/bench_audit.py [--pairs N] [MODULE]

The loop that it is measured against is what one would write without `ol`: with the same number of jobs and
the same flags, for each mutant compile its unit, link it with the objects of the kit and of the tests and
with the reference of what it depends on into a program, and run the named test. Pairs alternate, so that a
busy machine is busy for both; the ratio is that of the medians.

cold, kit ready   built in both: supervisors, suites and the reference's objects. Not there: any mutant, any
                  result and the oracle's answers (the audit runs its baseline as well, the loop does not)
cold, all         nothing is built in either
warm              the audit with nothing changed, against the same cold loop with its kit ready
"""

import argparse
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from ol import patch
from ol.course import Course, find_course
from ol.manifest import Language, Module, MutantEntry, TestEntry
from ol.testbed import sanitizers_of
from ol.toolchain import Sanitizer, Toolchain, find

ROOT = Path(__file__).resolve().parents[2]
TARGETS = {"cold, kit ready": 0.7, "cold, all": None, "warm": 0.1, "ol --help": 6.0}


ENTRY = "from ol.cli import main; main()"
"""What the script that pip installs does."""


def started(*arguments: str) -> object:
    return quietly([sys.executable, "-c", *arguments])


@dataclass(frozen=True)
class Cost:
    wall: float
    cpu: float
    """Seconds of all children together: what another load on the machine changes little."""


def timed(work: Callable[[], object]) -> Cost:
    start, before = time.perf_counter(), cpu()
    work()
    return Cost(time.perf_counter() - start, cpu() - before)


def cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def quietly(argv: Sequence[str], **how: object) -> "subprocess.CompletedProcess[bytes]":
    return subprocess.run(argv, capture_output=True, check=False, **how)  # type: ignore[call-overload,no-any-return]


@dataclass(frozen=True, kw_only=True)
class Loop:
    """The plain loop: one program for each mutant and sanitizer."""

    course: Course
    module: Module
    toolchain: Toolchain
    jobs: int
    work: Path

    def flags(self, sanitizer: Sanitizer) -> list[str]:
        entry = self.course.entry
        return [
            *(*entry.c_flags, *sanitizer.flags, "-DOL_ROLE_UNIT"),
            *(
                f"-I{self.course.include}",
                f"-I{self.course.testkit}",
                f"-I{self.course.tests(self.module)}",
            ),
        ]

    def kit(self) -> None:
        """Objects of the kit and the tests, and the reference as one library, for each sanitizer in use."""
        sources = [self.course.testkit / "kit.c", self.course.testkit / "debug_main.c"]
        sources += sorted(self.course.tests(self.module).glob("*.c"))
        needed = self.course.closure(self.module.depends)
        units = [u for m in needed if m.language is Language.C for u in m.units]
        reference = [self.course.reference(u) for u in units]
        for sanitizer in self.sanitizers():
            (self.work / sanitizer).mkdir(parents=True, exist_ok=True)
        self.side_by_side(
            lambda call: self.compile(*call, self.work / call[1] / f"{call[0].stem}.o"),
            [(source, s) for s in self.sanitizers() for source in sources],
        )
        self.side_by_side(lambda s: self.library(reference, s), self.sanitizers())

    def library(self, sources: Sequence[Path], sanitizer: Sanitizer) -> None:
        made = ["-shared", "-fPIC", "-o", str(self.work / sanitizer / "libreference.so")]
        self.built([*self.flags(sanitizer), *made, *map(str, sources), "-lm"])

    def sanitizers(self) -> list[Sanitizer]:
        return sorted({s for e in self.module.mutants for s in self.needed(e)})

    def needed(self, entry: MutantEntry) -> Sequence[Sanitizer]:
        test: TestEntry = self.module.test(entry.test)
        return sanitizers_of(test)[:1] if entry.how != "sanitizer" else sanitizers_of(test)

    def compile(self, source: Path, sanitizer: Sanitizer, made: Path) -> None:
        self.built([*self.flags(sanitizer), "-c", str(source), "-o", str(made)])

    def built(self, arguments: Sequence[str]) -> None:
        done = quietly([self.toolchain.path, *arguments])
        if done.returncode != 0:
            sys.exit(done.stderr.decode())

    def side_by_side(self, call: Callable[..., object], items: Sequence[object]) -> None:
        with ThreadPoolExecutor(self.jobs) as pool:
            list(pool.map(call, items))

    def mutants(self) -> None:
        self.side_by_side(
            lambda c: self.mutant(*c), [(e, s) for e in self.module.mutants for s in self.needed(e)]
        )

    def mutant(self, entry: MutantEntry, sanitizer: Sanitizer) -> None:
        """Plants, compiles, links and runs one."""
        place = self.work / f"{entry.id}-{sanitizer}"
        place.mkdir(exist_ok=True)
        text = self.course.patch(self.module, entry.id).read_text()
        read = patch.read(text, self.module.units, entry.id)
        source = place / "unit.c"
        source.write_text(patch.apply(read, self.course.reference(read.path).read_text()))
        self.compile(source, sanitizer, place / "unit.o")
        objects = sorted(str(p) for p in (self.work / sanitizer).glob("*.o"))
        program = str(place / "program")
        folder = self.work / sanitizer
        library = [f"-L{folder}", f"-Wl,-rpath,{folder}", "-lreference", "-lm", "-ldl"]
        made = ["-rdynamic", "-o", program, str(place / "unit.o"), *objects, *library]
        self.built([*self.flags(sanitizer), *made])
        name = self.module.test(entry.test).name
        quietly([*self.toolchain.launch, program, name], timeout=60, env={**os.environ, **OPTIONS})


OPTIONS = {f"{tool}_OPTIONS": "symbolize=0:detect_leaks=0" for tool in ("ASAN", "UBSAN", "TSAN")}


@dataclass(frozen=True, kw_only=True)
class Bench:
    course: Course
    module: Module
    toolchain: Toolchain
    jobs: int
    scratch: Path

    def audit(self, cache: Path) -> Cost:
        argv = [sys.executable, "-c", ENTRY, "audit", self.module.id]
        argv += ["--jobs", str(self.jobs), "--compiler", self.toolchain.family]

        def run() -> None:
            done = quietly(argv, env={**os.environ, "OL_CACHE": str(cache)})
            if done.returncode != 0:
                sys.exit((done.stdout + done.stderr).decode())

        return timed(run)

    def loop(self) -> Loop:
        work = Path(tempfile.mkdtemp(dir=self.scratch, prefix="loop-"))
        return Loop(
            course=self.course, module=self.module, toolchain=self.toolchain, jobs=self.jobs, work=work
        )

    def ready_cache(self) -> Path:
        """A cache with supervisors, suites and the reference's objects, and nothing else."""
        from ol.build import Builder
        from ol.store import Store
        from ol.testbed import builds_of, prepare

        cache = self.scratch / "ready"
        builder = Builder(self.course, self.toolchain, cache)
        needed = self.course.closure(self.module.depends)
        dependencies = {m.id: builder.reference_sources(m) for m in needed}
        bed = prepare(builder, Store(cache / "unused.sqlite"), self.module, dependencies, self.module.tests)
        bed.build(builder.reference_sources(self.module), builds_of(self.module.tests))
        return cache

    def fresh(self, ready: Path | None) -> Path:
        cache = Path(tempfile.mkdtemp(dir=self.scratch, prefix="cache-"))
        if ready:
            shutil.copytree(ready, cache, dirs_exist_ok=True)
        return cache


Found = dict[str, list[tuple[Cost, Cost]]]


def pairs(bench: Bench, number: int, show: Callable[[str], None]) -> Found:
    ready = bench.ready_cache()
    found: Found = {name: [] for name in TARGETS}
    for k in range(number):
        show(f"pair {k + 1} of {number}")
        cache, loop = bench.fresh(ready), bench.loop()
        loop.kit()
        ours, theirs = bench.audit(cache), timed(loop.mutants)
        found["cold, kit ready"].append((ours, theirs))
        found["warm"] += [(bench.audit(cache), theirs) for _ in range(3)]
        cache, loop = bench.fresh(None), bench.loop()
        ours = bench.audit(cache)
        found["cold, all"].append((ours, timed(lambda one=loop: (one.kit(), one.mutants()))))
        for _ in range(7):
            ours = timed(lambda: started(ENTRY, "--help"))
            found["ol --help"].append((ours, timed(lambda: started("pass"))))
    return found


def line(name: str, costs: Sequence[tuple[Cost, Cost]]) -> str:
    """Medians and their ratio, in wall-clock time and in CPU time."""
    parts = []
    for kind in ("wall", "cpu"):
        ours, theirs = (statistics.median(getattr(pair[k], kind) for pair in costs) for k in (0, 1))
        parts.append(f"{kind} {ours:7.3f} s / {theirs:7.3f} s = {ours / theirs:5.2f}")
    target = TARGETS[name]
    return f"{name:<16}  {'   '.join(parts)}   {f'at most {target} is wanted' if target else ''}".rstrip()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("module", nargs="?", default="L9.4")
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--compiler", default=None)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    chosen = parser.parse_args()
    course = find_course(ROOT / "ol")
    with tempfile.TemporaryDirectory(prefix="ol-bench-") as scratch:
        bench = Bench(
            course=course,
            module=course.module(chosen.module),
            toolchain=find(chosen.compiler),
            jobs=chosen.jobs,
            scratch=Path(scratch),
        )
        found = pairs(bench, chosen.pairs, lambda text: print(text, file=sys.stderr))
    print(f"{chosen.module}, {bench.toolchain.version}, {chosen.jobs} jobs, {chosen.pairs} pairs")
    for name, costs in found.items():
        print(line(name, costs))


if __name__ == "__main__":
    main()
