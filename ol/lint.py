"""`ol lint`: the course's own proof: stubs fail, references pass, tests deserve trust."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from ol import chapter, start
from ol.audit import Progress, audit
from ol.build import Builder, CompileError
from ol.course import Course
from ol.errors import ToolError
from ol.fate import AuditReport, Fate
from ol.grade import grade
from ol.lane import oracle_lane
from ol.manifest import Language, Module, Way
from ol.parallel import finished
from ol.slots import jobs
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
    proofs = [
        partial(_module, builder, store, module, prove_all=builder is builders[0])
        for module in modules
        for builder in builders
        if module.tests
    ]
    for done, part in enumerate(finished(proofs, at_once=jobs()), start=1):
        progress("stubs, references and mutants", done, len(proofs))
        found += part
    order = [m.id for m in course.modules.values()]
    return sorted(
        set(found), key=lambda f: (order.index(f.module) if f.module in order else -1, f.where, f.what)
    )


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


def _module(builder: Builder, store: Store, module: Module, *, prove_all: bool) -> list[Finding]:
    """That named tests kill is asked of each compiler; of one, that the others kill anything at all."""
    if unknown := list(_registered(builder, module)):
        return unknown  # nothing can be run on tests that are not there
    found = list(_stub(builder, store, module))
    named = {m.test for m in module.mutants}
    also = [t for t in module.tests if t.id not in named] if prove_all else []
    try:
        report = audit(builder, store, module, module.mutants, also=also, progress=_quiet)
    except ToolError as error:
        return [*found, Finding(module=module.id, where=error.where, what=error.what)]
    return [*found, *_audited(report, module), *(_toothless(report, module) if prove_all else ())]


def _quiet(what: str, done: int, total: int) -> None:
    """Progress is told by module."""


def _audited(report: AuditReport, module: Module) -> Iterator[Finding]:
    with_compiler = f" ({report.compiler.split(' (')[0]})"
    for result in report.baseline:
        if result.failures:
            what = f"the reference fails {result.test}{with_compiler}: got {result.failures[0].got}"
            yield Finding(module=module.id, where=f"course/tests/{module.id}", what=what)
    for mutant in report.mutants:
        if mutant.fate is not Fate.KILLED:
            what = f"{mutant.entry.id}: {mutant.fate}{with_compiler} {mutant.detail.splitlines()[:1]}"
            where = f"mutants/{module.id}/{mutant.entry.id}.patch"
            yield Finding(module=module.id, where=where, what=what)


def _toothless(report: AuditReport, module: Module) -> Iterator[Finding]:
    """Tests that let every mutant live."""
    kills = {m.entry.test for m in report.mutants if m.fate is Fate.KILLED}
    kills |= {test for m in report.mutants for test in m.also}
    for test in module.tests:
        if report.baseline_holds and test.id not in kills:
            what = f"{test.id} kills no mutant, so nobody has seen it fail"
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
    for result in verdict.results:
        if Way.TIMEOUT in result.ways:
            what = f"{result.test} times out on the stub, so that a student's first check is a long wait"
            yield Finding(module=module.id, where=f"course/tests/{module.id}", what=what)
