"""From a module's mutants to what the tests notice of them: baseline, forced failure, mass run."""

import hashlib
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from threading import Lock

from ol.build import disk_errors
from ol.errors import ToolError
from ol.generated.mass import Baseline, Job, Mass, play, rounds
from ol.generated.memory import Memory
from ol.generated.model import Kill, Ledger, Mutant
from ol.generated.reach import Reach, probe, watched
from ol.generated.tally import Tally
from ol.generated.units import Units
from ol.judge import judge
from ol.lane import Lane, Sources
from ol.manifest import TestEntry
from ol.parallel import together
from ol.stream import Record
from ol.testbed import Testbed, judges, sanitizers_of
from ol.toolchain import Sanitizer
from ol.verdict import Outcome, TestResult

Progress = Callable[[str, int, int], None]
ITSELF = 0
"""The selector's value for the unit as it is."""


_HOPE = {2: 1.0, 1: 0.5, 0: 0.05}
"""By what the probe build promises of a test."""


_DECIDING = (
    *("generated/mass.py", "generated/reach.py"),
    *("schemata/probe.py", "schemata/steps.py", "operators/change.py", "operators/asked.py"),
)
"""Sources that decide of a kill, or of the reason why there was none."""


@dataclass(kw_only=True)
class Engine:
    """Objects are built when something is to be run: a run that only remembers builds nothing. Two lanes
    may run at a time, each with a ledger of its own."""

    units: Units
    bed: Testbed
    dependencies: Mapping[str, Sources]
    memory: Memory
    progress: Progress
    folder: Path
    """For files that are needed as long as this."""
    runs: int = 0
    tally: Tally = field(default_factory=Tally)
    _masses: dict[Sanitizer, Mass] = field(default_factory=dict)
    _noting: Lock = field(default_factory=Lock)
    _noticing: dict[int, list[TestEntry]] = field(default_factory=dict)
    """The tests that may notice a mutant, by its number."""

    def tests(self, sanitizer: Sanitizer) -> list[TestEntry]:
        return [t for t in self.bed.module.tests if sanitizer in sanitizers_of(t)]

    def concerns(self, sanitizer: Sanitizer, ledger: Ledger) -> bool:
        """Whether a test of that build may notice one of the mutants."""
        return any(self.reach.may_notice(t, m) for t in self.tests(sanitizer) for m in ledger)

    @cached_property
    def reach(self) -> Reach:
        self.progress(f"{self.bed.module.id}: watching what the tests reach", 0, 1)
        return probe(self.units, self.dependencies, self.python, self._probe_folder, seed=self.bed.seed)

    @property
    def _probe_folder(self) -> Path:
        return self.folder / "probe"

    @cached_property
    def python(self) -> Lane | None:
        """One for the probe, the baseline and the mutants: a supervisor in Python takes long to start."""
        lane = self.bed.units.get(Sanitizer.NONE)
        return watched(lane, self._probe_folder).kept() if lane else None

    def close(self) -> None:
        """Ends the supervisors that are kept."""
        with ExitStack() as stack:
            for mass in self._masses.values():
                stack.callback(mass.close)
            if self.python:
                stack.callback(self.python.close)

    @cached_property
    def wanted(self) -> Mapping[str, tuple[Record, ...]]:
        return self.bed.wanted(self.bed.module.tests)

    def _lane(self, sanitizer: Sanitizer) -> Lane:
        if sanitizer is Sanitizer.NONE and self.python:
            return self.python
        return self.bed.units[sanitizer].careful().warm().brief()

    def mass(self, sanitizer: Sanitizer, held: Collection[int] | None = None) -> Mass:
        """A lane with a baseline that holds, twice. Raises ToolError where it does not. It is made once,
        with the mutants in `held` or with all. The steps of a mutant are asked for when it is run, for the
        probe build and this one are made side by side."""
        if sanitizer not in self._masses:
            self.progress(f"{self.bed.module.id}: building the mutants ({sanitizer})", 0, 1)
            folder = self.folder / sanitizer
            with disk_errors(self.bed.builder.cache):
                folder.mkdir()
            made = Mass(
                name="" if sanitizer is Sanitizer.ASAN else sanitizer,
                folder=folder,
                lane=self._lane(sanitizer),
                unit=self.units.build(sanitizer, held),
                sanitizer=sanitizer,
                seed=self.bed.seed,
                wanted=self.wanted,
                statuses=self.bed.builder.course.entry.statuses,
                steps=lambda test: self.reach.steps(test) if sanitizer is Sanitizer.ASAN else None,
            )
            self._masses[sanitizer] = made  # to be closed, whatever comes of the baseline
            baseline = measured(made, self.tests(sanitizer), self.bed.module.id)
            with disk_errors(self.bed.builder.cache):
                made.learn(self.tests(sanitizer), baseline)
        return self._masses[sanitizer]

    def prove_the_switch(self) -> tuple[str, ...]:
        """Every function's body as a trap, in the first test that reaches it: it must fail. Returns the
        functions that no test calls."""
        mass, tests = self.mass(Sanitizer.ASAN), self.tests(Sanitizer.ASAN)
        jobs, never = [], []
        for forced in self.units.forced:
            reached = [t for t in tests if t.id in self.reach.reaching(forced.number)]
            if reached:
                jobs.append(Job(mutant=forced, test=reached[0]))
            elif self.reach.tables:
                never.append(forced.edit.function)
        survived: list[Job] = []

        def note(pairs: Sequence[tuple[Job, Kill | None]]) -> None:
            survived.extend(job for job, kill in pairs if not kill)

        play(mass, jobs, note, stops=True)
        if survived or (not jobs and self.reach.tables):
            names = ", ".join(j.mutant.edit.function for j in survived) or "every function"
            raise ToolError(
                f"a forced failure is not noticed in {names}: the switch does not reach the unit",
                where=", ".join(self.units.texts),
                next_step="does a test define a function of the same name?",
            )
        return tuple(never)

    def run(
        self,
        sanitizer: Sanitizer,
        ledger: Ledger,
        order: Callable[[Mutant], Sequence[TestEntry]],
        *,
        every: bool = False,
        most: int = 1 << 30,
        label: str = "running the mutants",
    ) -> None:
        """Lets the tests of one lane loose on the mutants of `ledger`, `most` of them on each."""
        mine = {t.id for t in self.tests(sanitizer)}
        mass = self.mass(sanitizer)
        before = mass.runs

        def keep(changed: Ledger, pairs: Sequence[tuple[Job, Kill | None]]) -> None:
            self.memory.keep(changed)
            with self._noting:
                for job, kill in pairs:
                    self.tally.note(job.test.id, job.mutant, killed=kill is not None)
                    if kill:
                        self.hints[job.mutant.key] = kill.test

        def chosen(mutant: Mutant) -> list[TestEntry]:
            return [t for t in order(mutant) if t.id in mine]

        for settled in rounds(mass, ledger, chosen, every=every, most=most, keep=keep):
            self.progress(f"{self.bed.module.id}: {label}", settled, len(ledger))
        with self._noting:
            self.runs += mass.runs - before
            self.memory.hint(self.hints.items())

    @cached_property
    def hints(self) -> dict[str, str]:
        return self.memory.hints()

    def by_promise(self, mutant: Mutant) -> list[TestEntry]:
        """Tests that reach it: what killed it once, what killed others on its line, then those that kill
        most for their time."""
        times = self.mass(Sanitizer.ASAN).baseline
        hinted = self.hints.get(mutant.key)
        number, line = mutant.number, mutant.edit.line

        def rank(test: TestEntry) -> tuple[bool, int, float]:
            known = times.get(test.id)
            worth = self.tally.worth(test.id, number, known.seconds if known else 1.0)
            near = self.tally.near[test.id, mutant.file, line]
            return test.id != hinted, -near, -worth * _HOPE[self.reach.promise(test, number)]

        if number not in self._noticing:
            tests = self.bed.module.tests
            self._noticing[number] = [t for t in tests if self.reach.may_notice(t, mutant)]
        return sorted(self._noticing[number], key=rank)


def measured(mass: Mass, tests: Sequence[TestEntry], module: str) -> dict[str, Baseline]:
    """The unit itself, in another order the second time, by the supervisors of the mutants that stop: it is
    none of them. Raises ToolError where it does not pass."""
    first = [(ITSELF, t) for t in tests]
    orders = (first, first[::-1])
    if mass.sanitizer is Sanitizer.NONE:  # to start Python twice takes longer than most tests
        both = mass.frames([run for order in orders for run in order], stops=True)
        found = [both[: len(first)], both[len(first) :]]
    else:
        found = together([partial(mass.frames, order, stops=True) for order in orders])
    runs = [
        {t.id: frame for (_, t), frame in zip(order, frames, strict=True)}
        for order, frames in zip(orders, found, strict=True)
    ]
    for test in tests:
        pair = [run[test.id] for run in runs]
        results = [judge(test.id, f, mass.wanted[test.id], mass.statuses) for f in pair]
        fine = [r.outcome is Outcome.PASSED for r in results]
        if not all(fine):
            raise ToolError(
                f"{test.id} is flaky: it passes on the reference once and fails the next time"
                if any(fine)
                else f"the reference of {module} fails {test.id}, so no mutant was run",
                where="; ".join(_first_failure(r) for r in results if r.failures)[:1500],
                next_step="correct the test or the reference, then run the audit again",
            )
    return {
        test.id: Baseline(stream=runs[0][test.id].stream, seconds=max(run[test.id].wall for run in runs))
        for test in tests
    }


def _first_failure(result: TestResult) -> str:
    first = result.failures[0]
    return f"{first.way}: {first.check}: expected {first.expected}, got {first.got}"


def context(bed: Testbed) -> str:
    """The digest of all that decides what becomes of a mutant, beside the mutant."""
    digest = hashlib.blake2b(digest_size=16)
    for test in bed.module.tests:
        for s in sanitizers_of(test):
            parts = (bed.units[s].key(test, bed.seed), bed.oracles[test.language].key(test, bed.seed))
            digest.update(" ".join((*parts, str(test.seconds))).encode())
    builder = bed.builder
    digest.update(builder.key({}, Sanitizer.ASAN.flags).encode())
    digest.update(judges().encode())
    for name in _DECIDING:
        digest.update((Path(__file__).parents[1] / name).read_bytes())
    return digest.hexdigest()
