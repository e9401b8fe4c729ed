"""The audit: planted faults against the tests that are to catch them.

First the reference must pass; then each mutant is built and run by the test that its entry names. Only
that test's own outcome counts, and only in the way that the entry says.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from ol import patch
from ol.build import Builder, CompileError
from ol.course import Course
from ol.errors import ToolError, unknown
from ol.fate import AuditReport, Fate, MutantResult
from ol.lane import Sources, Trial
from ol.manifest import Language, Module, MutantEntry, TestEntry, Way
from ol.parallel import together
from ol.store import Store
from ol.testbed import Testbed, UnitObjects, builds_of, prepare, sanitizers_of
from ol.toolchain import Sanitizer
from ol.variants import combined_sources
from ol.verdict import Outcome, TestResult, merged

PATIENCE = 3.0
"""A time-out counts after a second run, alone, with this many times the limit."""

Progress = Callable[[str, int, int], None]
"""What has been done, how much of it, of how much."""


@dataclass(frozen=True, kw_only=True)
class Planted:
    """A mutant ready to be built, or the reason why it cannot be."""

    entry: MutantEntry
    sources: Sources
    stale: str = ""


def chosen(module: Module, names: Sequence[str]) -> list[MutantEntry]:
    """The mutants asked for, all when none is named."""
    if not module.mutants:
        raise ToolError(
            f"{module.id} has no mutants",
            where=f"course/modules/{module.id}.toml",
            next_step="add one patch to mutants/ and an entry to the catalogue",
        )
    by_id = {m.id: m for m in module.mutants}
    for name in names:
        if name not in by_id:
            hint = f"`ol audit {module.id}` runs all of them: {', '.join(by_id)}"
            raise unknown(f"mutant of {module.id}", name, by_id, next_step=hint)
    return [m for m in module.mutants if not names or m.id in names]


def shown(course: Course, module: Module, entry: MutantEntry) -> str:
    """What the fault is: its pitfall, and the difference from the reference."""
    text = _patch_text(course, module, entry)
    head = f"# {module.id} {entry.id}: {entry.pitfall} ({entry.test} must kill it by {entry.how})"
    return f"{head}\n{text.rstrip()}"


def _patch_text(course: Course, module: Module, entry: MutantEntry) -> str:
    path = course.patch(module, entry.id)
    try:
        return path.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ToolError(
            f"the patch of mutant {entry.id} cannot be read: {error}",
            where=str(path.relative_to(course.root)),
            next_step="restore it, or take the mutant out of the catalogue",
        ) from None


def planted(course: Course, module: Module, entry: MutantEntry, reference: Sources) -> Planted:
    """The mutant's sources. Raises ToolError for a patch that is missing or is no patch."""
    where = str(course.patch(module, entry.id).relative_to(course.root))
    text = _patch_text(course, module, entry)
    read = patch.read(text, module.units, where)
    try:
        mutated = patch.apply(read, reference[read.path].decode("utf-8"))
    except UnicodeDecodeError as error:
        raise ToolError(
            f"the reference of {module.id} is not UTF-8: {error.reason} at byte {error.start}",
            where=str(course.reference(read.path).relative_to(course.root)),
            next_step="save the file as UTF-8",
        ) from None
    except patch.StalePatch as stale:
        return Planted(entry=entry, sources={}, stale=f"{where}: {stale}")
    return Planted(entry=entry, sources={**reference, read.path: mutated.encode("utf-8")})


def audit(
    builder: Builder,
    store: Store,
    module: Module,
    entries: Sequence[MutantEntry],
    *,
    seed: int = 0,
    matrix: bool = False,
    progress: Progress,
) -> AuditReport:
    """Audits `module` with the mutants of `entries`.

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
        matrix=matrix,
    )
    if not report.baseline_holds:
        return report
    progress(f"{module.id}: building the mutants", 2, 3)
    variants = _build_all(bed, reference, mutants, matrix=matrix)
    return replace(
        report, mutants=tuple(_run_all(bed, mutants, variants, matrix=matrix, progress=progress))
    )


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


Runs = Sequence[tuple[TestEntry, Sanitizer]]


def _runs(module: Module, entry: MutantEntry, *, matrix: bool) -> Runs:
    """The tests that a mutant is run on, each with a build. Beside the matrix it is the named test, on
    TSan's build only where the kill is to be a sanitizer's, for that costs much and shows races only."""
    if matrix:
        return [(test, s) for test in module.tests for s in sanitizers_of(test)]
    named = module.test(entry.test)
    needed = sanitizers_of(named)
    return [(named, s) for s in (needed if entry.how is Way.SANITIZER else needed[:1])]


def _build_all(
    bed: Testbed, reference: Sources, mutants: Sequence[Planted], *, matrix: bool
) -> list[Variant]:
    """One object for all mutants that fit into it; the others are built each on its own."""
    numbers = [0] * len(mutants)
    shared: UnitObjects = {}
    if bed.module.language is Language.C:
        whole = [m.sources or reference for m in mutants]
        sources, numbers = combined_sources(reference, whole)
        fitting = [m for m, n in zip(mutants, numbers, strict=True) if n]
        kinds = {s for m in fitting for _, s in _runs(bed.module, m.entry, matrix=matrix)}
        try:
            shared = bed.build(sources, kinds)
        except CompileError:
            numbers = [0] * len(mutants)
    return together(
        [
            partial(_build_one, bed, mutant, shared, number, matrix=matrix)
            for mutant, number in zip(mutants, numbers, strict=True)
        ]
    )


def _build_one(bed: Testbed, mutant: Planted, shared: UnitObjects, number: int, *, matrix: bool) -> Variant:
    if number or mutant.stale:
        return Variant(unit=shared, number=number)
    try:
        kinds = {s for _, s in _runs(bed.module, mutant.entry, matrix=matrix)}
        unit = bed.build(mutant.sources, kinds)
    except CompileError as error:
        return Variant(unit={}, number=0, unviable=error.diagnostics)
    return Variant(unit=unit, number=0)


def _run_all(
    bed: Testbed,
    mutants: Sequence[Planted],
    variants: Sequence[Variant],
    *,
    matrix: bool,
    progress: Progress,
) -> Iterator[MutantResult]:
    trials: list[list[Trial]] = []
    for mutant, variant in zip(mutants, variants, strict=True):
        entry = mutant.entry
        runs = not mutant.stale and not variant.unviable
        chosen = _runs(bed.module, entry, matrix=matrix) if runs else []
        trials.append(
            [
                Trial(unit=variant.unit[s], mutant=variant.number, test=test, sanitizer=s)
                for test, s in chosen
            ]
        )

    def tell(done: int, total: int) -> None:
        progress(f"{bed.module.id}: running the mutants", done, total)

    results = bed.run_trials([t for group in trials for t in group], progress=tell)
    for mutant, variant, group in zip(mutants, variants, trials, strict=True):
        yield _result(bed, mutant, variant, {t: results[t] for t in group})


def _result(
    bed: Testbed, mutant: Planted, variant: Variant, results: Mapping[Trial, TestResult]
) -> MutantResult:
    entry = mutant.entry
    if mutant.stale:
        return MutantResult(entry=entry, fate=Fate.STALE, detail=mutant.stale)
    if variant.unviable:
        return MutantResult(entry=entry, fate=Fate.UNVIABLE, detail=variant.unviable)
    named = [t for t in results if t.test.id == entry.test]
    settled = [
        bed.run_alone(t, patience=PATIENCE) if Way.TIMEOUT in results[t].ways else results[t] for t in named
    ]
    also = [t.test.id for t, r in results.items() if t not in named and r.outcome is Outcome.FAILED]
    return _fate(entry, merged(settled), tuple(dict.fromkeys(also)))


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
