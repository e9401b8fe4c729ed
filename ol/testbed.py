"""A module made ready: supervisors, suites, dependencies and oracles, built once for many units.

Results are remembered by the content that decided them: unit, dependencies, tests, kit, compiler, seed
and the judge's own source.
"""

import hashlib
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path

import msgspec

from ol import slots
from ol.build import Builder, Built
from ol.lane import Lane, Sources, Trial, build_unit, oracle_lane, unit_lane
from ol.manifest import Language, Module, TestEntry, Way
from ol.parallel import finished, together
from ol.store import Store
from ol.stream import NOT_RUN, Ending, Frame, Kind, Record, records
from ol.toolchain import Sanitizer
from ol.verdict import Outcome, TestResult, merged

_UNSETTLED = (Way.TIMEOUT, Way.MEMORY)
"""Ways that a busy machine may cause: such a result is not remembered."""


def is_settled(result: TestResult) -> bool:
    """Whether a result may be remembered: a busy machine can neither have caused nor prevented it."""
    return result.outcome is not Outcome.NOT_RUN and not set(result.ways) & set(_UNSETTLED)


UnitObjects = Mapping[Sanitizer, Built]
"""One unit, built as each of its tests needs it. NONE is the build that Python opens."""


def sanitizers_of(test: TestEntry) -> tuple[Sanitizer, ...]:
    """The builds that a test runs on; it passes where it passes on all of them."""
    if test.language is Language.PYTHON:
        return (Sanitizer.NONE,)
    return (Sanitizer.ASAN, Sanitizer.TSAN) if test.threads else (Sanitizer.ASAN,)


def builds_of(tests: Iterable[TestEntry]) -> list[Sanitizer]:
    """The builds that any of these tests runs on."""
    return sorted({s for t in tests for s in sanitizers_of(t)})


@cache
def judges() -> str:
    """Digest of the sources that turn streams into results."""
    folder = Path(__file__).parent
    names = ("judge.py", "compare.py", "reports.py", "stream.py", "verdict.py", "testbed.py")
    return hashlib.blake2b(b"".join((folder / n).read_bytes() for n in names)).hexdigest()[:32]


@dataclass(frozen=True, kw_only=True)
class Testbed:
    """Runs the tests of one module on any number of units. Make it with `prepare`."""

    __test__ = False

    builder: Builder
    store: Store
    module: Module
    seed: int
    patient: bool = True
    """Runs every test, also after one has timed out."""
    units: Mapping[Sanitizer, Lane]
    oracles: Mapping[Language, Lane]

    def build(self, sources: Sources, kinds: Iterable[Sanitizer]) -> UnitObjects:
        """The unit in each of `kinds`. Raises CompileError when it does not compile."""
        wanted = sorted(set(kinds))
        built = together([partial(build_unit, self.builder, sources, s) for s in wanted])
        return dict(zip(wanted, built, strict=True))

    def run(self, unit: UnitObjects, tests: Sequence[TestEntry]) -> list[TestResult]:
        """One result for each test, in their order, from all builds that the test runs on."""
        groups = [
            [Trial(unit=unit[s], mutant=0, test=t, sanitizer=s) for s in sanitizers_of(t)] for t in tests
        ]
        results = self.run_trials([t for group in groups for t in group])
        return [merged([results[t] for t in group]) for group in groups]

    def run_alone(self, trial: Trial, *, patience: float) -> TestResult:
        """The result while no other process runs, with `patience` times the trial's limit."""
        longer = replace(trial, limit=trial.seconds * patience)
        with slots.alone():
            return self.run_trials([longer])[longer]

    def careful(self, *, symbols: bool = False) -> "Testbed":
        """The same bed with leak detection, and with symbols in reports when asked for."""
        units = {s: lane.careful(symbols=symbols) for s, lane in self.units.items()}
        return replace(self, units=units)

    def run_trials(
        self, trials: Sequence[Trial], *, progress: Callable[[int, int], None] | None = None
    ) -> dict[Trial, TestResult]:
        """The result of each trial: remembered where its content is known, run where it is not."""
        keys = {t: self._key(t) for t in trials}
        known: dict[Trial, TestResult] = {}
        for trial, key in keys.items():
            if blob := self.store.get(key):
                known[trial] = msgspec.json.decode(blob, type=TestResult)
        fresh = self._measure([t for t in trials if t not in known], progress)
        settled = [t for t, r in fresh.items() if is_settled(r)]
        if settled:
            self.store.put((keys[t], msgspec.json.encode(fresh[t])) for t in settled)
        return known | fresh

    def _measure(
        self, trials: Sequence[Trial], progress: Callable[[int, int], None] | None
    ) -> dict[Trial, TestResult]:
        if not trials:
            return {}
        from ol.judge import judge  # here, for numpy costs a third of a run that remembers everything

        wanted = self.wanted(list({t.test.id: t.test for t in trials}.values()))
        statuses = self.builder.course.entry.statuses
        results: dict[Trial, TestResult] = {}
        late = threading.Event()

        def run(shard: Sequence[Trial]) -> list[tuple[Trial, Frame]]:
            if late.is_set() and not self.patient:
                return [(trial, NOT_RUN) for trial in shard]
            frames = self.units[shard[0].sanitizer].run(shard, self.seed, patient=self.patient)
            if any(f.ending is Ending.TIMED_OUT for f in frames):
                late.set()
            return list(zip(shard, frames, strict=True))

        for pairs in finished([partial(run, shard) for shard in _shards(trials)], at_once=slots.jobs()):
            for trial, frame in pairs:
                results[trial] = judge(trial.test.id, frame, wanted[trial.test.id], statuses)
            if progress:
                progress(len(results), len(trials))
        return results

    def _key(self, trial: Trial) -> str:
        """Without the trial's own limit: a result that is remembered came before any."""
        parts = (
            self.units[trial.sanitizer].key(trial.test, self.seed),
            self.oracles[trial.test.language].key(trial.test, self.seed),
            trial.unit.key,
            str(trial.mutant),
            str(trial.test.seconds),
            judges(),
        )
        return "result " + hashlib.blake2b(" | ".join(parts).encode(), digest_size=20).hexdigest()

    def wanted(self, tests: Sequence[TestEntry]) -> dict[str, tuple[Record, ...]]:
        """What the oracle wants of each test. Raises ToolError when an oracle does not finish."""
        keys = {t.id: f"oracle {self.oracles[t.language].key(t, self.seed)}" for t in tests}
        known = {t: records(blob) for t, key in keys.items() if (blob := self.store.get(key))}
        missing = [t for t in tests if t.id not in known]
        if missing:
            from ol.judge import wishes
        for language in {t.language for t in missing}:
            group = [t for t in missing if t.language is language]
            frames = self.oracles[language].want(group, self.seed)
            known |= {t.id: wishes(t.id, f) for t, f in zip(group, frames, strict=True)}
            self.store.put((keys[t.id], f.stream) for t, f in zip(group, frames, strict=True))
        return {t: tuple(r for r in w if r.kind >= Kind.WANT_STATUS) for t, w in known.items()}


def prepare(
    builder: Builder,
    store: Store,
    module: Module,
    dependencies: Mapping[str, Sources],
    tests: Sequence[TestEntry],
    *,
    seed: int = 0,
) -> Testbed:
    """Builds what `tests` need. `dependencies` holds the sources of every module that `module`
    depends on, the student's or the reference's. Raises CompileError when one does not compile."""
    kinds = builds_of(tests)
    languages = sorted({t.language for t in tests})
    make_unit = partial(unit_lane, builder, module, dependencies)
    make_oracle = partial(oracle_lane, builder, module, dependencies)
    lanes = together([partial(make_unit, s) for s in kinds] + [partial(make_oracle, x) for x in languages])
    return Testbed(
        builder=builder,
        store=store,
        module=module,
        seed=seed,
        units=dict(zip(kinds, lanes, strict=False)),
        oracles=dict(zip(languages, lanes[len(kinds) :], strict=True)),
    )


def _shards(trials: Sequence[Trial]) -> list[list[Trial]]:
    """The trials of each build, dealt to supervisors: few enough that starting one does not count,
    enough to keep all cores busy and to tell of progress."""
    shards = []
    for sanitizer in Sanitizer:
        mine = [t for t in trials if t.sanitizer is sanitizer]
        n = max(min(slots.jobs(), -(-len(mine) // 3)), len(mine) // 16)
        shards += [mine[k::n] for k in range(n)]
    return shards
