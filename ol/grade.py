"""Grading: one unit against its module. No workspace, no terminal, no environment.

`ol check` calls it once, a class a thousand times; arguments and result can be pickled.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ol.build import Builder, CompileError
from ol.gate import refused_objects, refused_sources
from ol.lane import Sources
from ol.manifest import Module, TestEntry, Way
from ol.store import Store
from ol.submission import diagnosed
from ol.testbed import Testbed, UnitObjects, builds_of, prepare
from ol.verdict import Grade, Outcome, Refused, TestResult, Verdict


def grade(
    submission: Sources,
    module: Module,
    dependencies: Mapping[str, Sources],
    builder: Builder,
    store: Store,
    *,
    seed: int,
    reference_dependencies: bool,
    only: Sequence[TestEntry] | None = None,
) -> Verdict:
    """The verdict on `submission`.

    `dependencies` holds the sources of all that the module depends on. With `only` the verdict is
    partial: it shows results and counts for nothing.
    """
    tests = list(module.tests if only is None else only)
    refused, results = _outcome(submission, module, dependencies, builder, store, tests, seed)
    passed = not refused and all(r.outcome is Outcome.PASSED for r in results)
    return Verdict(
        module=module.id,
        grade=Grade.REFUSED if refused else Grade.PASS if passed else Grade.FAIL,
        compiler=builder.toolchain.version,
        seed=seed,
        reference_dependencies=reference_dependencies,
        partial=only is not None,
        sandbox=builder.sandbox.kind,
        results=tuple(results),
        refused=tuple(refused),
    )


def _outcome(
    submission: Sources,
    module: Module,
    dependencies: Mapping[str, Sources],
    builder: Builder,
    store: Store,
    tests: Sequence[TestEntry],
    seed: int,
) -> tuple[list[Refused], list[TestResult]]:
    course = builder.course
    if refused := refused_sources(course, store, submission):
        return refused, []
    bed = prepare(builder, store, module, dependencies, tests, seed=seed).careful()
    bed = replace(bed, patient=False)
    try:
        unit = bed.build(submission, builds_of(tests))
    except CompileError as error:
        return [diagnosed(course, module, submission, error.diagnostics)], []
    if refused := refused_objects(course, store, module, submission, unit):
        return refused, []
    return [], [_explained(bed, unit, r) for r in bed.run(unit, tests)]


def _explained(bed: Testbed, unit: UnitObjects, result: TestResult) -> TestResult:
    """A result whose sanitizer reports name functions and lines; they cost too much for every run."""
    if not {Way.SANITIZER, Way.CRASH} & set(result.ways):
        return result
    again = bed.careful(symbols=True).run(unit, [bed.module.test(result.test)])[0]
    return again if again.ways == result.ways else result
