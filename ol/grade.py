"""Grading: one unit against its module. No workspace, no terminal, no environment.

`ol check` calls it once, a class a thousand times; arguments and result can be pickled.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib import import_module

from ol.build import Builder, CompileError
from ol.gate import refused_objects, refused_python, refused_signatures, refused_sources
from ol.lane import Sources
from ol.manifest import Module, TestEntry, Way
from ol.parallel import together
from ol.store import Store
from ol.testbed import Testbed, UnitObjects, builds_of, prepare
from ol.verdict import Grade, Outcome, Refused, TestResult, Verdict

_SYMBOLS_TAKE = 30.0
"""Seconds that symbolising may take on a busy machine."""


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
    refused = refused_sources(course, store, submission)
    refused += refused_python(store, module, submission)
    refused += refused_signatures(course, module, submission)
    if refused:
        return refused, []
    bed = prepare(builder, store, module, dependencies, tests, seed=seed).careful()
    bed = replace(bed, patient=False)
    try:
        unit = _built(bed, submission, tests)
    except CompileError as error:
        from ol.submission import diagnosed  # here and below, for a unit that is fine needs no parser

        return [diagnosed(course, module, submission, error.diagnostics)], []
    if refused := refused_objects(course, store, module, submission, unit):
        from ol.submission import with_prototypes

        return with_prototypes(course, module, submission, refused), []
    return [], _explained(bed, unit, bed.run(unit, tests))


def _built(bed: Testbed, submission: Sources, tests: Sequence[TestEntry]) -> UnitObjects:
    """The unit; meanwhile what comes next is loaded. Raises CompileError."""
    found: list[UnitObjects] = []
    calls: list[Callable[[], object]] = [
        lambda: found.append(bed.build(submission, builds_of(tests))),
        partial(import_module, "ol.policy.object"),
        partial(import_module, "ol.judge"),
    ]
    together(calls)
    return found[0]


def _explained(bed: Testbed, unit: UnitObjects, results: list[TestResult]) -> list[TestResult]:
    """The results, with sanitizer reports that name functions and lines: too dear for every run, and so
    slow that the limits on time are not for them."""
    told = [r for r in results if {Way.SANITIZER, Way.CRASH} & set(r.ways) and Way.TIMEOUT not in r.ways]
    if not told:
        return results
    tests = [bed.module.test(r.test) for r in told]
    longer = [replace(t, seconds=t.seconds + _SYMBOLS_TAKE) for t in tests]
    again = {r.test: r for r in replace(bed, patient=True).careful(symbols=True).run(unit, longer)}
    return [again[r.test] if r.test in again and again[r.test].ways == r.ways else r for r in results]
