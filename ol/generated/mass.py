"""The mass run: mutants through supervisors, in rounds, each stopping at its first kill.

A run whose observations equal the baseline's has passed, and the supervisor says so in a word; only what
differs is judged. So a survivor costs a comparison of bytes, and a kill one judgement.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from ol import slots
from ol.build import Built
from ol.generated.model import Kill, Ledger, Mutant
from ol.judge import first_failure
from ol.lane import Lane, Trial
from ol.manifest import TestEntry
from ol.parallel import finished
from ol.stream import Ending, Frame, Record
from ol.toolchain import Sanitizer

PATIENCE = 2.5
"""A time-out counts after a second run, alone, with this many times the limit."""
STEPS = (10, 200_000)
"""A mutant may take this many times the unit's own steps, and this many more."""
RUN_SECONDS = 0.005
"""That a run costs beside its test."""
_START_SECONDS = {Sanitizer.NONE: 0.5}
"""Of the supervisors that take longer than others: Python's imports numpy and pytest."""
BATCH_SECONDS = 0.25
"""Of the runs that a supervisor is given at a time: what is done is judged and kept while others run."""


@dataclass(frozen=True, kw_only=True)
class Baseline:
    """What the unit itself did in a test, under one sanitizer."""

    stream: bytes
    seconds: float

    def limit(self, test: TestEntry) -> float:
        """Seconds that a mutant has in the test, never more than the test itself."""
        return min(4 * self.seconds + 0.06, test.seconds)


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
    steps: Callable[[TestEntry], int | None]
    """The unit's own steps in a test, where they are known."""
    folder: Path
    """For the baseline: what the unit itself wrote in each test."""
    baseline: dict[str, Baseline] = field(default_factory=dict)
    runs: int = 0
    _kept: dict[bool, Lane] = field(default_factory=dict)
    """By whether a mutant stops at its first kill."""

    def __post_init__(self) -> None:
        self._kept = {stops: self.lane.against(self.folder, stops=stops).kept() for stops in (False, True)}

    def expected(self, test: TestEntry) -> float:
        """Seconds of a run."""
        return self.baseline[test.id].seconds + RUN_SECONDS

    def lanes(self, jobs: Sequence[Job]) -> int:
        """Supervisors side by side: fewer than there are cores where starting them takes longer than what
        they do."""
        work = sum(self.expected(job.test) for job in jobs)
        return max(1, min(slots.jobs(), round(work / _START_SECONDS.get(self.sanitizer, 0.05))))

    def run_key(self, test: TestEntry) -> str:
        return f"{test.id} {self.name}".rstrip()

    def learn(self, tests: Sequence[TestEntry], baseline: dict[str, Baseline]) -> None:
        """Takes what the unit itself does in each test."""
        self.baseline = baseline
        for test in tests:
            (self.folder / test.name).write_bytes(baseline[test.id].stream)

    def close(self) -> None:
        """Ends the supervisors that are kept; the next call starts others."""
        for lane in self._kept.values():
            lane.close()

    def frames(
        self, runs: Sequence[tuple[int, TestEntry]], *, patience: float = 1.0, stops: bool = False
    ) -> list[Frame]:
        """One frame for each run of a mutant's number, with limits from the baseline where there is one.
        With `stops` a mutant meets no more tests, of those that stand together, once it did anything else
        than the unit."""
        trials = [
            Trial(
                unit=self.unit,
                mutant=n,
                test=t,
                sanitizer=self.sanitizer,
                limit=patience * (self.baseline[t.id].limit(t) if self.baseline else t.seconds),
                steps=self._most_steps(t) if n else 0,
            )
            for n, t in runs
        ]
        got = self._kept[stops].run(trials, self.seed)
        self.runs += sum(f.ending is not Ending.NOT_RUN for f in got)
        return got

    def _most_steps(self, test: TestEntry) -> int:
        own = self.steps(test)
        return 0 if own is None else STEPS[0] * own + STEPS[1]

    def play(
        self, jobs: Sequence[Job], *, patience: float = 1.0, stops: bool = False
    ) -> list[tuple[Job, Frame]]:
        """Those of the jobs that were run."""
        frames = self.frames([(j.mutant.number, j.test) for j in jobs], patience=patience, stops=stops)
        pairs = zip(jobs, frames, strict=True)
        return [(job, frame) for job, frame in pairs if frame.ending is not Ending.NOT_RUN]

    def kills(self, pairs: Sequence[tuple[Job, Frame]]) -> list[tuple[Job, Kill | None]]:
        return [(job, self.killed(job.test, frame)) for job, frame in pairs]

    def killed(self, test: TestEntry, frame: Frame) -> Kill | None:
        if frame.ending is Ending.SAME:
            return None
        clean = frame.ending is Ending.EXITED and frame.code == 0 and not frame.report
        if clean and frame.stream == self.baseline[test.id].stream:
            return None
        first = first_failure(frame, self.wanted[test.id], self.statuses)
        return Kill(test=test.id, way=str(first.way), check=first.check) if first else None


def shards(jobs: Sequence[Job], seconds: Callable[[TestEntry], float]) -> list[list[Job]]:
    """Jobs dealt to calls of a supervisor, by how long a test is expected to take.

    The jobs of a mutant stay together. Neighbours go to different calls, for mutants of one loop are slow
    together.
    """
    groups: dict[int, list[Job]] = {}
    for job in jobs:
        groups.setdefault(job.mutant.number, []).append(job)
    n = max(slots.jobs(), round(sum(seconds(job.test) for job in jobs) / BATCH_SECONDS))
    dealt = [list(groups.values())[k::n] for k in range(n)]
    return [[job for group in part for job in group] for part in dealt if part]


def play(
    mass: Mass,
    jobs: Sequence[Job],
    done: Callable[[Sequence[tuple[Job, Kill | None]]], None],
    *,
    stops: bool = False,
) -> None:
    """Runs the jobs and hands over what came of them as it comes; with `stops` those of a mutant up to
    the first that goes another way than the unit. A time-out is confirmed first, by a second, longer run
    while nothing else runs."""
    calls = [partial(mass.play, shard, stops=stops) for shard in shards(jobs, mass.expected)]
    late: list[Job] = []
    for pairs in finished(calls, at_once=mass.lanes(jobs)):
        late += [job for job, frame in pairs if frame.ending is Ending.TIMED_OUT]
        done(mass.kills([pair for pair in pairs if pair[1].ending is not Ending.TIMED_OUT]))
    if late:
        with slots.alone():
            done(mass.kills(mass.play(late, patience=PATIENCE)))


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
            left[job.mutant] -= 1
        keep({job.mutant: ledger[job.mutant] for job, _ in pairs}, pairs)

    while True:
        live = [m for m, n in left.items() if n > 0 and (every or not ledger[m].kills)]
        jobs = []
        for m in live:
            fresh = [t for t in order(m) if mass.run_key(t) not in ledger[m].runs]
            jobs += [Job(mutant=m, test=t) for t in fresh[: left[m]]]
        yield len(left) - len({j.mutant.number for j in jobs})
        if not jobs:
            return
        play(mass, jobs, note, stops=not every)
