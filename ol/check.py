"""`ol check`: the verdict on a student's unit, over the student's own dependencies or the reference's."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ol.build import Builder
from ol.errors import ToolError, unknown
from ol.exits import Exit
from ol.lane import Sources
from ol.manifest import Module, TestEntry
from ol.memory import Memory, content_key
from ol.store import Forgetful, Store
from ol.testbed import is_settled
from ol.verdict import Grade, Verdict
from ol.workspace import Unreadable, Workspace

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, kw_only=True)
class Bench:
    """What every check in one run of ol shares."""

    workspace: Workspace
    builder: Builder
    store: Store
    fresh: bool = False
    """Grade again also what is remembered."""
    grading: bool = False
    """What is found counts for a grade: it is neither taken from memory nor kept there."""
    graded: list[str] = field(default_factory=list)
    """The modules that were graded in this run, and not remembered."""

    @property
    def memory(self) -> Memory:
        return Memory(self.store, self.workspace.root)


def check(
    bench: Bench,
    module: Module,
    *,
    ref_deps: bool,
    name: str | None = None,
    seed: int = 0,
    progress: Progress,
) -> Verdict:
    """The verdict, or with `name` the results of the tests called so.

    Raises Unreadable when there is no unit to grade, and ToolError with exit 3 when a dependency of the
    student's own does not pass.
    """
    if not module.tests:
        raise ToolError(
            f"{module.id} has no tests yet",
            next_step="`ol tests` lists the modules and how many tests each has",
            code=Exit.NOT_READY,
        )
    only = None if name is None else chosen_tests(module, name)
    submission = bench.workspace.submission(module)
    dependencies = resolve(bench, module, ref_deps=ref_deps, progress=progress)
    progress(f"{module.id}: building and testing", 1, 2)
    return _graded(bench, module, submission, dependencies, ref_deps=ref_deps, seed=seed, only=only)


def _graded(
    bench: Bench,
    module: Module,
    submission: Sources,
    dependencies: Mapping[str, Sources],
    *,
    ref_deps: bool,
    seed: int,
    only: Sequence[TestEntry] | None = None,
) -> Verdict:
    """The verdict, remembered when it is a full one at a content that was graded before."""
    key = content_key(bench.builder, module, submission, dependencies, seed)
    if only is None and not bench.fresh and not bench.grading and (known := bench.memory.recall(key)):
        verdict = replace(known, reference_dependencies=ref_deps)
    else:
        from ol.grade import grade  # here, for the policies cost half of a check that remembers all

        verdict = grade(
            submission,
            module,
            dependencies,
            bench.builder,
            Forgetful() if bench.fresh else bench.store,
            seed=seed,
            reference_dependencies=ref_deps,
            only=only,
        )
        bench.graded.append(module.id)
    if bench.grading:
        return replace(verdict, grading=True)
    if all(is_settled(r) for r in verdict.results):
        bench.memory.remember(key, module, verdict)
    return verdict


def chosen_tests(module: Module, name: str) -> list[TestEntry]:
    """The tests whose id or name is `name`, or contains it."""
    exact = [t for t in module.tests if name in (t.id, t.name)]
    found = exact or [t for t in module.tests if name in t.id]
    if not found:
        names = [t.name for t in module.tests]
        raise unknown(f"test of {module.id}", name, names, next_step=f"`ol tests {module.id}` lists them")
    return found


def resolve(bench: Bench, module: Module, *, ref_deps: bool, progress: Progress) -> dict[str, Sources]:
    """The sources of every dependency. Without `ref_deps` each is the student's own, and passes."""
    course = bench.builder.course
    needed = course.closure(module.depends)
    if ref_deps:
        return {m.id: bench.builder.reference_sources(m) for m in needed}
    sources: dict[str, Sources] = {}
    for done, one in enumerate(needed):
        progress(f"{module.id} needs {one.id}", done, len(needed))
        sources[one.id] = _own(bench, module, one, sources)
    return sources


def _own(bench: Bench, user: Module, module: Module, known: Mapping[str, Sources]) -> Sources:
    """A dependency of the student's own. Raises ToolError with exit 3 when it does not pass."""
    try:
        submission = bench.workspace.submission(module)
    except Unreadable as error:
        raise _not_ready(user, module, error.what, error.next_step) from None
    if not module.tests:
        raise _not_ready(user, module, "its module has no tests yet", "")
    dependencies = {m.id: known[m.id] for m in bench.builder.course.closure(module.depends)}
    verdict = _graded(bench, module, submission, dependencies, ref_deps=False, seed=0)
    if verdict.grade is not Grade.PASS:
        failed = ", ".join(r.test for r in verdict.failed[:3])
        why = f"it fails {failed}" if failed else "it does not build"
        raise _not_ready(user, module, why, f"`ol check {module.id}` says why")
    return submission


def _not_ready(user: Module, module: Module, why: str, step: str) -> ToolError:
    steps = [step] if step else []
    steps.append(f"`ol check {user.id} --ref-deps` uses the reference for all dependencies")
    return ToolError(
        f"{user.id} needs {module.id}, which does not pass yet: {why}",
        where=", ".join(module.units),
        next_step="; or ".join(steps),
        code=Exit.NOT_READY,
    )


def earned(bench: Bench, module: Module, *, ref_deps: bool, seed: int, progress: Progress) -> Verdict:
    """The verdict that opens the reference: a pass over the student's own dependencies or over the
    reference's. What was checked before at the same content costs nothing."""
    over_reference = check(bench, module, ref_deps=True, seed=seed, progress=progress)
    if ref_deps or exit_code(over_reference) is Exit.PASS:
        return over_reference
    try:
        return check(bench, module, ref_deps=False, seed=seed, progress=progress)
    except ToolError as error:
        if error.code is not Exit.NOT_READY:
            raise
        return over_reference


def exit_code(verdict: Verdict) -> Exit:
    """Of `ol check`: a partial run that passes is no failure, and no verdict either."""
    match verdict.grade:
        case Grade.PASS:
            return Exit.PASS
        case Grade.FAIL:
            return Exit.FAIL
        case Grade.REFUSED:
            return Exit.UNBUILDABLE
