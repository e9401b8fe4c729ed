"""Lanes: the ways in which a module's tests run, each a supervisor with what it opens before the unit."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from ol.build import Builder, Built, Role
from ol.manifest import Language, Module, TestEntry
from ol.parallel import together
from ol.pysuite import PyRunner
from ol.pytree import stage
from ol.session import Pool
from ol.stream import Frame
from ol.suite import Request, Runner
from ol.toolchain import Sanitizer

Sources = Mapping[str, bytes]
"""The files of a unit: path in the tree to bytes."""


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One test on one build of one unit. `mutant` selects a variant in the object; 0 is the unit."""

    unit: Built
    mutant: int
    test: TestEntry
    sanitizer: Sanitizer
    limit: float = 0.0
    """Seconds that it may take where those of the test are not meant; 0 where they are."""
    steps: int = 0
    """That the mutant may take; 0 for any number."""

    @property
    def seconds(self) -> float:
        return self.limit or self.test.seconds


@dataclass(frozen=True, kw_only=True)
class Lane:
    """One way to run tests: a supervisor with its suite, and what it opens before the unit."""

    runner: Runner | PyRunner
    before: tuple[Built, ...]
    pool: Pool | None = None

    def run(self, trials: Sequence[Trial], seed: int, *, patient: bool = True) -> list[Frame]:
        """One frame for each trial. Without patience the first time-out is the last test that is run."""
        return (self.pool or self.runner).run(
            [
                Request(
                    test=t.test.name,
                    units=(*self.before, t.unit),
                    seconds=t.seconds,
                    seed=seed,
                    mutant=t.mutant,
                    steps=t.steps,
                    unless_late=not patient,
                )
                for t in trials
            ]
        )

    def want(self, tests: Sequence[TestEntry], seed: int) -> list[Frame]:
        """The frames of the oracle, which holds no unit under test."""
        requests = [Request(test=t.name, units=self.before, seconds=t.seconds, seed=seed) for t in tests]
        return self.runner.run(requests)

    def careful(self, *, symbols: bool = False) -> "Lane":
        """The same with leak detection, and with symbols in reports when asked for."""
        return self._where_in_c(leaks=True, symbols=symbols)

    def warm(self) -> "Lane":
        """The same with all units opened in the supervisor: for the course's own code only."""
        return self._where_in_c(warm=True)

    def brief(self) -> "Lane":
        """The same where only whether a sanitizer reports counts, and not what."""
        return self._where_in_c(brief=True)

    def against(self, baseline: Path, *, stops: bool) -> "Lane":
        """The same, told by its ending alone where a test writes what `baseline` holds of it; a mutant
        that does anything else meets no more tests of a call with `stops`."""
        return self._where_in_c(baseline=baseline, stops=stops)

    def _where_in_c(self, **changes: Any) -> "Lane":
        """The same with its runner changed, where that one runs C tests."""
        if isinstance(self.runner, PyRunner):
            return self
        return replace(self, runner=replace(self.runner, **changes), pool=None)

    def telling(self, name: str, value: str) -> "Lane":
        """The same with a variable in its environment, for a unit that writes down what it met."""
        return replace(self, runner=replace(self.runner, variables=((name, value),)), pool=None)

    def kept(self) -> "Lane":
        """The same with supervisors that are kept from call to call, till it is closed: for the course's
        own code only."""
        return self if self.pool else replace(self, pool=Pool(self.runner))

    def close(self) -> None:
        """While no call is under way."""
        if self.pool:
            self.pool.close()

    def key(self, test: TestEntry, seed: int) -> str:
        return " ".join([self.runner.key, test.id, str(seed), *(b.key for b in self.before)])


def build_unit(builder: Builder, sources: Sources, sanitizer: Sanitizer) -> Built:
    """A unit in C as a shared object, one in Python as a tree to import from.

    Raises CompileError when a C unit does not compile.
    """
    if all(name.endswith(".py") for name in sources):
        return stage(builder.cache, sources)
    return builder.unit(sources, sanitizer)


def unit_lane(
    builder: Builder,
    module: Module,
    dependencies: Mapping[str, Sources],
    sanitizer: Sanitizer,
) -> Lane:
    """The way to run units under `sanitizer`; NONE is Python's."""
    python = sanitizer is Sanitizer.NONE
    before = _sources(builder.course.linked(module), dependencies, python=python)
    if python:
        return _python_lane(builder, module, before, None)
    return _c_lane(builder, module, before, Role.UNIT, sanitizer)


def plain_lane(builder: Builder, module: Module, dependencies: Mapping[str, Sources]) -> Lane:
    """The way to run C tests on a unit without sanitizers, for what is watched and not judged."""
    before = _sources(builder.course.linked(module), dependencies, python=False)
    return _c_lane(builder, module, before, Role.UNIT, Sanitizer.NONE)


def oracle_lane(
    builder: Builder, module: Module, dependencies: Mapping[str, Sources], language: Language
) -> Lane:
    """The way to learn what is wanted of tests in `language`."""
    python = language is Language.PYTHON
    before = _sources(builder.course.oracles(module), dependencies, python=python)
    if python:
        return _python_lane(builder, module, before, builder.course.fixtures(module))
    return _c_lane(builder, module, before, Role.ORACLE, Sanitizer.NONE)


def _sources(
    modules: Sequence[Module], dependencies: Mapping[str, Sources], *, python: bool
) -> list[Sources]:
    """Of the modules that a lane opens first; only Python opens units of both languages."""
    return [dependencies[m.id] for m in modules if python or m.language is Language.C]


def _python_lane(
    builder: Builder, module: Module, before: Sequence[Sources], fixtures: Path | None
) -> Lane:
    made = together([partial(build_unit, builder, sources, Sanitizer.NONE) for sources in before])
    runner = PyRunner(
        testkit=builder.course.testkit,
        suite=builder.course.tests(module),
        cache=builder.cache,
        fixtures=fixtures,
        sandbox=builder.sandbox,
    )
    return Lane(runner=runner, before=tuple(made))


def _c_lane(
    builder: Builder, module: Module, before: Sequence[Sources], role: Role, sanitizer: Sanitizer
) -> Lane:
    supervisor, suite, *made = together(
        [
            partial(builder.supervisor, sanitizer),
            partial(builder.suite, module, role, sanitizer),
            *(partial(build_unit, builder, sources, sanitizer) for sources in before),
        ]
    )
    runner = Runner(
        toolchain=builder.toolchain,
        sanitizer=sanitizer,
        supervisor=supervisor,
        suite=suite,
        cache=builder.cache,
        fixtures=builder.course.fixtures(module) if role is Role.ORACLE else None,
        sandbox=builder.sandbox,
    )
    return Lane(runner=runner, before=tuple(made))
