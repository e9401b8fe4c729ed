"""The audit: planted faults against the tests that are to catch them.

First the reference must pass; then each mutant is built and run by the test that its entry names. Only
that test's own outcome counts, and only in the way that the entry says.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial

from ol import patch
from ol.build import Builder, CompileError
from ol.course import Course
from ol.errors import ToolError, unknown
from ol.lane import Sources
from ol.manifest import Module, MutantEntry, TestEntry, Way
from ol.parallel import finished
from ol.store import Store
from ol.testbed import Testbed, prepare, sanitizers_of
from ol.toolchain import Sanitizer
from ol.verdict import Outcome, TestResult

PATIENCE = 3.0
"""A time-out counts after a second run, alone, with this many times the limit."""

Progress = Callable[[str, int, int], None]
"""What has been done, how much of it, of how much."""


class Fate(StrEnum):
    KILLED = "killed"
    SURVIVED = "survived"
    OTHER_WAY = "died another way"
    STALE = "stale"
    UNVIABLE = "does not compile"


@dataclass(frozen=True, kw_only=True)
class Planted:
    """A mutant ready to be built, or the reason why it cannot be."""

    entry: MutantEntry
    sources: Sources
    stale: str = ""


@dataclass(frozen=True, kw_only=True)
class MutantResult:
    entry: MutantEntry
    fate: Fate
    ways: tuple[Way, ...] = ()
    seconds: float = 0.0
    detail: str = ""
    """Why it is stale or does not compile; what its named test said when it was not killed as planned."""
    also: tuple[str, ...] = ()
    """Other tests that noticed it; only with the full matrix."""


@dataclass(frozen=True, kw_only=True)
class AuditReport:
    module: str
    title: str
    compiler: str
    seed: int
    baseline: tuple[TestResult, ...]
    mutants: tuple[MutantResult, ...]
    matrix: bool = False

    @property
    def baseline_holds(self) -> bool:
        return all(r.outcome is Outcome.PASSED for r in self.baseline)

    @property
    def holds(self) -> bool:
        return self.baseline_holds and all(m.fate is Fate.KILLED for m in self.mutants)


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
    dependencies = {m.id: builder.reference_sources(m) for m in course.closure(module.depends)}
    progress(f"{module.id}: building the tests", 0, len(mutants) + 1)
    bed = prepare(builder, store, module, dependencies, module.tests, seed=seed)
    careful = bed.careful()
    baseline = careful.run(careful.build(reference, module.tests), module.tests)
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
    results = _all(bed, module, mutants, matrix=matrix, progress=progress)
    order = {entry.id: k for k, entry in enumerate(entries)}
    ordered = sorted(results, key=lambda r: order[r.entry.id])
    return replace(report, mutants=tuple(ordered))


def _all(
    bed: Testbed, module: Module, mutants: Sequence[Planted], *, matrix: bool, progress: Progress
) -> Iterator[MutantResult]:
    runs = [partial(_one, bed, module, mutant, matrix=matrix) for mutant in mutants]
    for done, result in enumerate(finished(runs), 1):
        progress(f"{module.id}: {result.entry.id} {result.fate}", done + 1, len(mutants) + 1)
        yield result


def _one(bed: Testbed, module: Module, mutant: Planted, *, matrix: bool) -> MutantResult:
    entry = mutant.entry
    if mutant.stale:
        return MutantResult(entry=entry, fate=Fate.STALE, detail=mutant.stale)
    named = module.test(entry.test)
    tests = list(module.tests) if matrix else [named]
    only = tuple(Sanitizer) if matrix else _needed(named, entry.how)
    try:
        unit = bed.build(mutant.sources, tests)
    except CompileError as error:
        return MutantResult(entry=entry, fate=Fate.UNVIABLE, detail=error.diagnostics)
    results = bed.run(unit, tests, only=only)
    by_test = {r.test: r for r in results}
    result = by_test[entry.test]
    if Way.TIMEOUT in result.ways:
        result = bed.run_alone(unit, named, only=only, patience=PATIENCE)
    also = tuple(r.test for r in results if r.test != entry.test and r.outcome is Outcome.FAILED)
    return _fate(entry, result, also)


def _needed(test: TestEntry, how: Way) -> tuple[Sanitizer, ...]:
    """The builds that can show the planned kill; TSan's costs much and shows races only."""
    needed = sanitizers_of(test)
    return needed if how is Way.SANITIZER else needed[:1]


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
