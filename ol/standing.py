"""Where a student stands in the course: what passes at its present content, what is stale, what is next."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from ol.check import Bench, Progress, check, exit_code
from ol.errors import ToolError, unknown
from ol.exits import Exit
from ol.lane import Sources
from ol.manifest import Module
from ol.memory import content_key
from ol.verdict import Grade, Verdict
from ol.workspace import Unreadable


class State(StrEnum):
    PASSES = "passes"
    PASSES_OVER_REFERENCE = "passes with --ref-deps"
    FAILS = "fails"
    REFUSED = "does not build"
    STALE = "changed since"
    """It was graded before, at another content of the unit, its dependencies or its tests."""
    STARTED = "not checked yet"
    NOT_STARTED = "not started"
    NO_TESTS = "has no tests yet"


@dataclass(frozen=True, kw_only=True)
class Standing:
    module: Module
    state: State
    was: str = ""
    """What a stale unit came to the last time."""

    @property
    def passes(self) -> bool:
        return self.state in (State.PASSES, State.PASSES_OVER_REFERENCE)


def standings(bench: Bench) -> list[Standing]:
    """One for each module, dependencies first. Nothing is built or run."""
    own = {m.id: _own_sources(bench, m) for m in bench.builder.course.modules.values()}
    return [_standing(bench, m, own) for m in bench.builder.course.modules.values()]


def _own_sources(bench: Bench, module: Module) -> Sources | None:
    try:
        return bench.workspace.submission(module)
    except Unreadable:
        return None


def _standing(bench: Bench, module: Module, own: Mapping[str, Sources | None]) -> Standing:
    submission = own[module.id]
    if not module.tests:
        return Standing(module=module, state=State.NO_TESTS)
    if submission is None:
        started = bench.workspace.started(module)
        return Standing(module=module, state=State.REFUSED if started else State.NOT_STARTED)
    needed = bench.builder.course.closure(module.depends)
    mine = {m.id: sources for m in needed if (sources := own[m.id]) is not None}
    reference = {m.id: bench.builder.reference_sources(m) for m in needed}
    for dependencies in (mine, reference) if len(mine) == len(needed) else (reference,):
        key = content_key(bench.builder, module, submission, dependencies, 0)
        if verdict := bench.memory.recall(key):
            return Standing(module=module, state=_state(verdict, over_own=dependencies is mine))
    latest = bench.memory.latest(module)
    if latest:
        return Standing(module=module, state=State.STALE, was=str(latest.grade))
    return Standing(module=module, state=State.STARTED)


def _state(verdict: Verdict, *, over_own: bool) -> State:
    match verdict.grade:
        case Grade.PASS:
            return State.PASSES if over_own else State.PASSES_OVER_REFERENCE
        case Grade.FAIL:
            return State.FAILS
        case Grade.REFUSED:
            return State.REFUSED


def next_module(found: list[Standing]) -> Standing | None:
    """The first module that does not pass and whose dependencies do; None when all pass."""
    passing = {s.module.id for s in found if s.passes}
    open_ones = [s for s in found if not s.passes and s.state is not State.NO_TESTS]
    ready = [s for s in open_ones if set(s.module.depends) <= passing]
    return next(iter(ready or open_ones), None)


@dataclass(frozen=True, kw_only=True)
class Checked:
    """One module in a check of many: its verdict, or why there is none."""

    module: Module
    code: Exit
    verdict: Verdict | None = None
    why: str = ""
    remembered: bool = False


def check_all(
    bench: Bench, modules: list[Module], *, ref_deps: bool, seed: int, progress: Progress
) -> list[Checked]:
    """Checks each module, dependencies first. What is known at its present content is not run again."""
    results = []
    for done, module in enumerate(modules):
        progress(module.id, done, len(modules))
        before = len(bench.graded)
        try:
            verdict = check(bench, module, ref_deps=ref_deps, seed=seed, progress=progress)
        except Unreadable as error:
            results.append(Checked(module=module, code=error.code, why=error.what))
        except ToolError as error:
            if error.code is not Exit.NOT_READY:
                raise
            results.append(Checked(module=module, code=error.code, why=error.what))
        else:
            known = len(bench.graded) == before
            results.append(
                Checked(module=module, code=exit_code(verdict), verdict=verdict, remembered=known)
            )
    return results


def milestone(bench: Bench, name: str) -> list[Module]:
    """The modules of a milestone, dependencies first. Raises ToolError for an unknown one."""
    course = bench.builder.course
    milestones = course.entry.milestones
    if name not in milestones:
        raise unknown("milestone", name, milestones, next_step=f"there are: {', '.join(milestones)}")
    return [m for m in course.modules.values() if m.id in milestones[name]]


def worst(results: list[Checked]) -> Exit:
    """One exit status for many: a failure before a refusal before what is not ready."""
    codes = {r.code for r in results}
    order = (Exit.FAIL, Exit.UNBUILDABLE, Exit.NOT_READY)
    return next((code for code in order if code in codes), Exit.PASS)
