"""The mass run: mutants through supervisors, in rounds, each stopping at its first kill.

A run whose observations equal the baseline's has passed; only what differs is judged. So a survivor costs
a comparison of bytes, and a kill one judgement.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from ol import process
from ol.build import Built
from ol.generated.model import Kill, Ledger, Mutant
from ol.judge import judge
from ol.lane import Lane, Trial
from ol.manifest import TestEntry, Way
from ol.parallel import finished
from ol.stream import Ending, Frame, Record
from ol.toolchain import Sanitizer
from ol.verdict import Outcome, TestResult

BATCH = 192
"""Runs of one supervisor: many, for starting one costs as much as several runs."""


@dataclass(frozen=True, kw_only=True)
class Baseline:
    """What the unit itself did in a test, under one sanitizer."""

    stream: bytes
    seconds: float

    @property
    def limit(self) -> float:
        return 5 * self.seconds + 0.2


@dataclass(frozen=True, kw_only=True)
class Job:
    mutant: Mutant
    test: TestEntry


@dataclass(kw_only=True)
class Mass:
    """One lane with the object of all mutants. `name` tells its runs from those of other lanes."""

    name: str
    lane: Lane
    unit: Built
    sanitizer: Sanitizer
    seed: int
    wanted: Mapping[str, tuple[Record, ...]]
    statuses: tuple[str, ...]
    baseline: dict[str, Baseline] = field(default_factory=dict)
    runs: int = 0

    def run_key(self, test: TestEntry) -> str:
        return f"{test.id} {self.name}".rstrip()

    def frames(self, runs: Sequence[tuple[int, TestEntry]], *, patience: float = 1.0) -> list[Frame]:
        """One frame for each run of a mutant's number, with limits from the baseline where there is one."""
        trials = [
            Trial(unit=self.unit, mutant=n, test=self._limited(t, patience), sanitizer=self.sanitizer)
            for n, t in runs
        ]
        self.runs += len(runs)
        return self.lane.run(trials, self.seed)

    def play(self, jobs: Sequence[Job], *, patience: float = 1.0) -> list[tuple[Job, Kill | None]]:
        frames = self.frames([(j.mutant.number, j.test) for j in jobs], patience=patience)
        return [(j, self.killed(j.test, f)) for j, f in zip(jobs, frames, strict=True)]

    def _limited(self, test: TestEntry, patience: float) -> TestEntry:
        known = self.baseline.get(test.id)
        limit = min(known.limit, test.seconds) if known else test.seconds
        return replace(test, seconds=limit * patience)

    def judged(self, test: TestEntry, frame: Frame) -> TestResult | None:
        """The result of a run; None where it is the baseline's, byte for byte."""
        clean = frame.ending is Ending.EXITED and frame.code == 0 and not frame.report
        if clean and test.id in self.baseline and frame.stream == self.baseline[test.id].stream:
            return None
        return judge(test.id, frame, self.wanted[test.id], self.statuses)

    def killed(self, test: TestEntry, frame: Frame) -> Kill | None:
        result = self.judged(test, frame)
        if result is None or result.outcome is not Outcome.FAILED:
            return None
        first = result.failures[0]
        return Kill(test=test.id, way=str(first.way), check=first.check)


def shards(jobs: Sequence[Job], most: int = BATCH) -> list[Sequence[Job]]:
    """Jobs dealt to supervisors: as many as there are cores, more where a batch would be too long.

    Neighbours go to different ones, for mutants of one loop are slow together.
    """
    n = max(min(process.jobs(), -(-len(jobs) // 4)), -(-len(jobs) // most), 1)
    return [jobs[k::n] for k in range(n) if jobs[k::n]]


def play(
    mass: Mass, jobs: Sequence[Job], done: Callable[[Sequence[tuple[Job, Kill | None]]], None]
) -> None:
    """Runs the jobs and hands over what came of them as it comes. A time-out is confirmed first, by a
    second, longer run while nothing else runs."""
    for pairs in finished([partial(mass.play, s) for s in shards(jobs)], at_once=process.jobs()):
        late = [job for job, kill in pairs if kill and kill.way == Way.TIMEOUT]
        done([pair for pair in pairs if not pair[1] or pair[1].way != Way.TIMEOUT])
        if late:
            with process.alone():
                confirmed = mass.play(late, patience=2.0)
            done(confirmed)


Order = Callable[[Mutant], Sequence[TestEntry]]
"""The tests that may notice a mutant, the most promising first; asked again in every round."""


def rounds(
    mass: Mass,
    ledger: Ledger,
    order: Order,
    *,
    every: bool,
    most: int,
    keep: Callable[[Ledger, Sequence[tuple[Job, Kill | None]]], None],
) -> Iterator[int]:
    """Runs until each mutant of `ledger` has died, or met `most` tests now, or all of its tests; with
    `every`, all of them in any case. Runs that the ledger holds are not repeated. Yields how many mutants
    are settled after each round; `keep` is given what changed, and what has just been run."""
    left = dict.fromkeys(ledger, most)

    def note(pairs: Sequence[tuple[Job, Kill | None]]) -> None:
        for job, kill in pairs:
            ledger[job.mutant].runs[mass.run_key(job.test)] = kill
        keep({job.mutant: ledger[job.mutant] for job, _ in pairs}, pairs)

    width, turn = 1, 0
    while True:
        live = [m for m, n in left.items() if n > 0 and (every or not ledger[m].kills)]
        jobs = []
        for m in live:
            fresh = [t for t in order(m) if mass.run_key(t) not in ledger[m].runs]
            chosen = fresh[: min(width, left[m])]
            jobs += [Job(mutant=m, test=t) for t in chosen]
            left[m] = left[m] - len(chosen) if chosen else 0
        yield len(left) - len({j.mutant.number for j in jobs})
        if not jobs:
            return
        play(mass, jobs, note)
        turn += 1
        width = min(width * 2, 16) if turn >= 3 or every else 1
