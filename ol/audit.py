"""The audit: planted faults against the tests that are to catch them.

First the reference must pass; then each mutant is built and run by the test that its entry names. Only
that test's own outcome counts, and only in the way that the entry says.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from ol.build import Builder, CompileError
from ol.errors import ToolError
from ol.fate import AuditReport, Fate, MutantResult
from ol.lane import Sources, Trial
from ol.manifest import Language, Module, MutantEntry, TestEntry, Way
from ol.parallel import together
from ol.planted import Planted, planted
from ol.store import Store
from ol.testbed import Testbed, UnitObjects, builds_of, prepare, sanitizers_of
from ol.toolchain import Sanitizer
from ol.variants import combined_sources
from ol.verdict import Outcome, TestResult, merged

PATIENCE = 2.0
"""A time-out counts after a second run, alone, with this many times the limit."""
_TIMES, _PLUS = 5.0, 0.5
"""A mutant has so many times the reference's own seconds, and so many more, within the test's limit."""

Progress = Callable[[str, int, int], None]
"""What has been done, how much of it, of how much."""


def audit(
    builder: Builder,
    store: Store,
    module: Module,
    entries: Sequence[MutantEntry],
    *,
    seed: int = 0,
    also: Collection[TestEntry] = (),
    progress: Progress,
) -> AuditReport:
    """Audits `module` with the mutants of `entries`: each meets its named test, and those of `also`.

    The reference serves for every dependency. When it does not pass its own tests no mutant is run.
    """
    course = builder.course
    reference = builder.reference_sources(module)
    mutants = [planted(course, module, entry, reference) for entry in entries]
    try:
        bed, baseline = _baseline(builder, store, module, reference, seed, progress)
    except CompileError as error:
        raise ToolError(
            f"the reference of {module.id} or of what it depends on does not compile",
            where=error.diagnostics.strip()[:4000],
            next_step="correct the reference, then run the audit again",
        ) from None
    report = AuditReport(
        module=module.id,
        title=module.title,
        compiler=builder.toolchain.version,
        seed=seed,
        baseline=tuple(baseline),
        mutants=(),
        matrix={t.id for t in also} == {t.id for t in module.tests},
    )
    if not report.baseline_holds:
        return report
    progress(f"{module.id}: building the mutants", 2, 3)
    plans = [_plan(bed, entry, baseline, also) for entry in entries]
    variants = _build_all(bed, reference, mutants, plans)
    return replace(report, mutants=tuple(_run_all(bed, mutants, variants, plans, progress)))


def _baseline(
    builder: Builder, store: Store, module: Module, reference: Sources, seed: int, progress: Progress
) -> tuple[Testbed, list[TestResult]]:
    """The bed, and the reference's own results in it. Raises CompileError."""
    dependencies = {m.id: builder.reference_sources(m) for m in builder.course.closure(module.depends)}
    progress(f"{module.id}: building the tests", 0, 3)
    bed = prepare(builder, store, module, dependencies, module.tests, seed=seed)
    progress(f"{module.id}: the reference against its tests", 1, 3)
    careful = bed.careful()
    return bed, careful.run(careful.build(reference, builds_of(module.tests)), module.tests)


@dataclass(frozen=True, kw_only=True)
class Variant:
    """A mutant as it can be run, alone in its object (number 0) or as one of many; or why it cannot."""

    unit: UnitObjects
    number: int
    unviable: str = ""


@dataclass(frozen=True, kw_only=True)
class Run:
    """One test that a mutant is to meet, on one build, with the seconds that it may take."""

    test: TestEntry
    sanitizer: Sanitizer
    limit: float


Plan = Sequence[Run]


def _plan(
    bed: Testbed, entry: MutantEntry, baseline: Sequence[TestResult], also: Collection[TestEntry]
) -> Plan:
    """The named test is run on TSan's build only where the kill is to be a sanitizer's, or where it is
    one of `also`, for that costs much and shows races only."""
    named = bed.module.test(entry.test)
    took = {r.test: r.seconds for r in baseline}
    tests = [named, *(t for t in also if t.id != named.id)]
    return [
        Run(test=t, sanitizer=s, limit=min(t.seconds, _TIMES * took[t.id] + _PLUS))
        for t in tests
        for k, s in enumerate(sanitizers_of(t))
        if k == 0 or t in also or entry.how is Way.SANITIZER
    ]


def _build_all(
    bed: Testbed, reference: Sources, mutants: Sequence[Planted], plans: Sequence[Plan]
) -> list[Variant]:
    """One object for all mutants that fit into it; the others are built each on its own."""
    numbers = [0] * len(mutants)
    shared: UnitObjects = {}
    if bed.module.language is Language.C:
        whole = [m.sources or reference for m in mutants]
        sources, numbers = combined_sources(reference, whole)
        kinds = {run.sanitizer for plan, n in zip(plans, numbers, strict=True) if n for run in plan}
        try:
            shared = bed.build(sources, kinds)
        except CompileError:
            numbers = [0] * len(mutants)
    return together(
        [
            partial(_build_one, bed, mutant, shared, number, plan)
            for mutant, number, plan in zip(mutants, numbers, plans, strict=True)
        ]
    )


def _build_one(bed: Testbed, mutant: Planted, shared: UnitObjects, number: int, plan: Plan) -> Variant:
    if number or mutant.stale:
        return Variant(unit=shared, number=number)
    try:
        unit = bed.build(mutant.sources, {run.sanitizer for run in plan})
    except CompileError as error:
        return Variant(unit={}, number=0, unviable=error.diagnostics)
    return Variant(unit=unit, number=0)


def _run_all(
    bed: Testbed,
    mutants: Sequence[Planted],
    variants: Sequence[Variant],
    plans: Sequence[Plan],
    progress: Progress,
) -> Iterator[MutantResult]:
    trials = [
        [] if mutant.stale or variant.unviable else [_trial(variant, run) for run in plan]
        for mutant, variant, plan in zip(mutants, variants, plans, strict=True)
    ]

    def tell(done: int, total: int) -> None:
        progress(f"{bed.module.id}: running the mutants", done, total)

    results = bed.run_trials([t for group in trials for t in group], progress=tell)
    for mutant, variant, group in zip(mutants, variants, trials, strict=True):
        yield _result(bed, mutant, variant, {t: results[t] for t in group})


def _trial(variant: Variant, run: Run) -> Trial:
    return Trial(
        unit=variant.unit[run.sanitizer],
        mutant=variant.number,
        test=run.test,
        sanitizer=run.sanitizer,
        limit=run.limit,
    )


def _result(
    bed: Testbed, mutant: Planted, variant: Variant, results: Mapping[Trial, TestResult]
) -> MutantResult:
    entry = mutant.entry
    if mutant.stale:
        return MutantResult(entry=entry, fate=Fate.STALE, detail=mutant.stale)
    if variant.unviable:
        return MutantResult(entry=entry, fate=Fate.UNVIABLE, detail=variant.unviable)
    settled = {
        t: bed.run_alone(t, patience=PATIENCE) if _is_open(entry, r) else r for t, r in results.items()
    }
    named = [r for t, r in settled.items() if t.test.id == entry.test]
    failed = {t.test.id: None for t, r in settled.items() if r.outcome is Outcome.FAILED}
    return _fate(entry, merged(named), tuple(t for t in failed if t != entry.test))


def _is_open(entry: MutantEntry, result: TestResult) -> bool:
    """Whether it matters that the run timed out, which a busy machine may have caused."""
    return Way.TIMEOUT in result.ways and (entry.how is Way.TIMEOUT or entry.how not in result.ways)


def _fate(entry: MutantEntry, result: TestResult, also: tuple[str, ...]) -> MutantResult:
    if result.outcome is Outcome.PASSED:
        fate = Fate.SURVIVED
    else:
        fate = Fate.KILLED if entry.how in result.ways else Fate.OTHER_WAY
    detail = ""
    if fate is Fate.OTHER_WAY:
        first = result.failures[0]
        detail = f"{first.way}: {first.check}: expected {first.expected}, got {first.got}"
    return MutantResult(
        entry=entry,
        fate=fate,
        ways=result.ways,
        seconds=result.seconds,
        detail=detail,
        also=also,
    )
