"""Small C suites and units for tests, run through the real supervisor and judged by the judge."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from textwrap import dedent

from ol import toolchain
from ol.build import Builder, Built, Role
from ol.course import Course
from ol.judge import judge, wishes
from ol.manifest import Language, Module
from ol.parallel import together
from ol.stream import Frame, Record, records
from ol.suite import Request, Runner
from ol.toolchain import Sanitizer
from ol.verdict import Failure, TestResult

TESTKIT = Path(__file__).resolve().parents[1] / "course" / "testkit"
STATUSES = ("OK", "EINVAL")
COURSE = """
name = "kit"
include = "include"
c_flags = ["-std=c11", "-D_DEFAULT_SOURCE", "-ffp-contract=off", "-pthread"]
statuses = ["OK", "EINVAL"]
milestones = {}
"""
HEAD = """
#include "ol_test.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
"""


@dataclass(frozen=True)
class CWorld:
    """A suite, whose tests are given as source, and what it needs to run."""

    builder: Builder
    module: Module

    @classmethod
    def make(cls, root: Path, compiler: str, cache: Path, source: str) -> "CWorld":
        for folder in ("course/tests/K", "course/fixtures/K", "course/include"):
            (root / folder).mkdir(parents=True)
        (root / "course" / "course.toml").write_text(COURSE)
        (root / "course" / "tests" / "K" / "test_kit.c").write_text(HEAD + dedent(source))
        (root / "course" / "fixtures" / "K" / "small.bin").write_bytes(b"a fixture\0of bytes")
        module = Module(id="K", title="K", language=Language.C, units=("k.c",), contract=(), defines=())
        return cls(Builder(Course(root, TESTKIT), toolchain.find(compiler), cache), module)

    def ready(self) -> "CWorld":
        """Builds all that runs need, side by side."""
        kinds = (Sanitizer.ASAN, Sanitizer.TSAN)
        together([partial(self.runner, s) for s in kinds] + [self.oracle])
        return self

    def unit(self, source: str, sanitizer: Sanitizer = Sanitizer.ASAN) -> Built:
        return self.builder.unit({"k.c": dedent(source).encode()}, sanitizer)

    def runner(self, sanitizer: Sanitizer = Sanitizer.ASAN, *, leaks: bool = False) -> Runner:
        return self._runner(Role.UNIT, sanitizer, leaks=leaks)

    def oracle(self) -> Runner:
        return self._runner(Role.ORACLE, Sanitizer.NONE)

    def _runner(self, role: Role, sanitizer: Sanitizer, *, leaks: bool = False) -> Runner:
        return Runner(
            toolchain=self.builder.toolchain,
            sanitizer=sanitizer,
            supervisor=self.builder.supervisor(sanitizer),
            suite=self.builder.suite(self.module, role, sanitizer),
            cache=self.builder.cache,
            fixtures=self.builder.course.fixtures(self.module) if role is Role.ORACLE else None,
            leaks=leaks,
        )

    def frames(
        self,
        tests: Sequence[str],
        *units: Built,
        sanitizer: Sanitizer = Sanitizer.ASAN,
        leaks: bool = False,
        seconds: float = 5,
        seed: int = 0,
        mutant: int = 0,
    ) -> list[Frame]:
        """What comes of each test in the unit role."""
        requests = [Request(test=t, units=units, seconds=seconds, seed=seed, mutant=mutant) for t in tests]
        return self.runner(sanitizer, leaks=leaks).run(requests)

    def wanted(self, tests: Sequence[str], *, seed: int = 0) -> dict[str, tuple[Record, ...]]:
        requests = [Request(test=t, units=(), seconds=5, seed=seed) for t in tests]
        frames = self.oracle().run(requests)
        return {t: wishes(t, f) for t, f in zip(tests, frames, strict=True)}

    def results(self, tests: Sequence[str], *units: Built, **how: object) -> Mapping[str, TestResult]:
        wanted = self.wanted(tests)
        frames = self.frames(tests, *units, **how)  # type: ignore[arg-type]
        return {t: judge(t, f, wanted[t], STATUSES) for t, f in zip(tests, frames, strict=True)}

    def failures(
        self, tests: Sequence[str], *units: Built, **how: object
    ) -> Mapping[str, tuple[Failure, ...]]:
        return {t: r.failures for t, r in self.results(tests, *units, **how).items()}

    def seen(self, test: str, *units: Built, **how: object) -> dict[str, Record]:
        """The observations of one test, by name."""
        (frame,) = self.frames([test], *units, **how)  # type: ignore[arg-type]
        return {r.name: r for r in records(frame.stream)}
