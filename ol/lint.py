"""`ol lint`: the course's own proof: stubs fail, references pass, tests deserve trust."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ol import chapter, start
from ol.audit import Progress, audit
from ol.build import Builder, CompileError
from ol.course import Course
from ol.errors import ToolError
from ol.fate import AuditReport, Fate
from ol.grade import grade
from ol.lane import oracle_lane
from ol.manifest import Language, Module
from ol.store import Store
from ol.verdict import Grade


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One thing that does not hold. `where` is a file, with a line where one is known."""

    module: str
    where: str
    what: str


def lint(
    builders: Sequence[Builder], store: Store, modules: Sequence[Module], progress: Progress
) -> list[Finding]:
    """What does not hold in `modules`, with each of the compilers in `builders`."""
    course = builders[0].course
    found = [f for m in modules for f in (*_chapter(course, m), *_catalogue(m))]
    found += stray_files(course)
    for done, (module, builder) in enumerate((m, b) for m in modules for b in builders):
        progress(f"{module.id} with {builder.toolchain.family}", done, len(modules) * len(builders))
        if module.tests:
            found += _module(builder, store, module, matrix=builder is builders[0])
    return list(dict.fromkeys(found))


def _chapter(course: Course, module: Module) -> Iterator[Finding]:
    path = course.root / "course" / "chapters" / f"{module.id}.md"
    where = f"course/chapters/{module.id}.md"
    if not path.is_file():
        yield Finding(module=module.id, where=where, what="the module has no chapter")
        return
    for line, what in chapter.disagreements(path.read_text(encoding="utf-8"), module):
        yield Finding(module=module.id, where=f"{where}:{line}" if line else where, what=what)


def _catalogue(module: Module) -> Iterator[Finding]:
    where = f"course/modules/{module.id}.toml"
    if not module.tests:
        yield Finding(module=module.id, where=where, what="the module has no tests")
    if not module.mutants:
        yield Finding(module=module.id, where=where, what="the module has no mutants")


def stray_files(course: Course) -> Iterator[Finding]:
    """Patches, tests, fixtures and chapters that no catalogue speaks of."""
    known = set(course.modules)
    for folder in ("mutants", "course/tests", "course/fixtures"):
        for path in sorted((course.root / folder).glob("*/")):
            if path.is_dir() and path.name not in known and not path.name.startswith("__"):
                yield _stray(course, path.name, f"{folder}/{path.name}")
    for path in sorted((course.root / "course/chapters").glob("*.md")):
        if path.stem not in known:
            yield _stray(course, path.stem, f"course/chapters/{path.name}")
    for module in course.modules.values():
        listed = {f"{m.id}.patch" for m in module.mutants} | {"accepted.toml"}
        for path in sorted((course.root / "mutants" / module.id).glob("*")):
            if path.name not in listed:
                yield _stray(course, module.id, f"mutants/{module.id}/{path.name}")


def _stray(course: Course, module: str, where: str) -> Finding:
    return Finding(module=module, where=where, what=f"no catalogue of {course.entry.name} speaks of it")


def _module(builder: Builder, store: Store, module: Module, *, matrix: bool) -> list[Finding]:
    """Which tests kill anything is asked of one compiler; that named tests kill, of each."""
    if unknown := list(_registered(builder, module)):
        return unknown  # nothing can be run on tests that are not there
    found = list(_stub(builder, store, module))
    try:
        report = audit(builder, store, module, module.mutants, matrix=matrix, progress=_quiet)
    except ToolError as error:
        return [*found, Finding(module=module.id, where=error.where, what=error.what)]
    return [*found, *_audited(report, module)]


def _quiet(what: str, done: int, total: int) -> None:
    """Progress is told by module."""


def _audited(report: AuditReport, module: Module) -> Iterator[Finding]:
    with_compiler = f" ({report.compiler.split(' (')[0]})"
    for result in report.baseline:
        if result.failures:
            what = f"the reference fails {result.test}{with_compiler}: got {result.failures[0].got}"
            yield Finding(module=module.id, where=f"course/tests/{module.id}", what=what)
    if not report.baseline_holds:
        return
    kills: set[str] = set()
    for mutant in report.mutants:
        kills |= {mutant.entry.test, *mutant.also} if mutant.fate is Fate.KILLED else {*mutant.also}
        if mutant.fate is not Fate.KILLED:
            what = f"{mutant.entry.id}: {mutant.fate}{with_compiler} {mutant.detail.splitlines()[:1]}"
            where = f"mutants/{module.id}/{mutant.entry.id}.patch"
            yield Finding(module=module.id, where=where, what=what)
    for test in module.tests:
        if report.matrix and test.id not in kills:
            what = f"{test.id} kills no mutant{with_compiler}, so nobody has seen it fail"
            yield Finding(module=module.id, where=f"course/modules/{module.id}.toml", what=what)


def _registered(builder: Builder, module: Module) -> Iterator[Finding]:
    """The tests that the sources define against those that the catalogue lists."""
    dependencies = {m.id: builder.reference_sources(m) for m in builder.course.closure(module.depends)}
    for language in sorted({t.language for t in module.tests}):
        prefix = "c" if language is Language.C else "py"
        there = {
            f"{prefix}:{n}" for n in oracle_lane(builder, module, dependencies, language).runner.tests()
        }
        listed = {t.id for t in module.tests if t.language is language}
        where = f"course/tests/{module.id}"
        for name in sorted(listed - there):
            yield Finding(module=module.id, where=where, what=f"{name} is listed but not defined")
        for name in sorted(there - listed):
            yield Finding(module=module.id, where=where, what=f"{name} is defined but not listed")


def _stub(builder: Builder, store: Store, module: Module) -> Iterator[Finding]:
    """A stub compiles without a warning, and fails."""
    course = builder.course
    sources = {unit: start.stub(course, module, unit).encode() for unit in module.units}
    where = ", ".join(module.units)
    if module.language is Language.C:
        try:
            builder.strictly(sources)
        except CompileError as error:
            what = f"its stub does not compile cleanly: {error.diagnostics.splitlines()[0]}"
            yield Finding(module=module.id, where=where, what=what)
            return
    dependencies = {m.id: builder.reference_sources(m) for m in course.closure(module.depends)}
    verdict = grade(sources, module, dependencies, builder, store, seed=0, reference_dependencies=True)
    if verdict.grade is not Grade.FAIL:
        yield Finding(module=module.id, where=where, what=f"its stub does not fail: {verdict.grade}")
