"""Small Python suites and units for tests, run through the real supervisor and judged by the judge."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

from ol.build import Built
from ol.judge import judge, wishes
from ol.pysuite import PyRunner
from ol.pytree import stage
from ol.stream import Frame
from ol.suite import Request
from ol.verdict import Failure

TESTKIT = Path(__file__).resolve().parents[1] / "course" / "testkit"
STATUSES = ("OK", "EINVAL")
HEAD = "import numpy as np\n"


@dataclass(frozen=True)
class World:
    """A suite, whose tests are given as source, and a cache."""

    root: Path

    @property
    def suite(self) -> Path:
        return self.root / "suite"

    def write(self, source: str) -> "World":
        self.suite.mkdir(exist_ok=True)
        (self.suite / "test_small.py").write_text(HEAD + dedent(source))
        return self

    def unit(self, **sources: str) -> Built:
        """A unit of modules tinyllm.NAME."""
        files = {f"python/tinyllm/{name}.py": dedent(text).encode() for name, text in sources.items()}
        return stage(self.root / "cache", files)

    def runner(self, *, oracle: bool = False) -> PyRunner:
        fixtures = self.root / "fixtures" if oracle else None
        return PyRunner(testkit=TESTKIT, suite=self.suite, cache=self.root / "cache", fixtures=fixtures)

    def frames(
        self, tests: Sequence[str], *units: Built, oracle: bool = False, seconds: float = 5, seed: int = 0
    ) -> list[Frame]:
        requests = [Request(test=t, units=units, seconds=seconds, seed=seed) for t in tests]
        return self.runner(oracle=oracle).run(requests)

    def failures(
        self, tests: Sequence[str], *units: Built, seconds: float = 5
    ) -> Mapping[str, tuple[Failure, ...]]:
        """What is wrong with the units, by test; the oracle opens no unit."""
        wanted = [wishes(t, f) for t, f in zip(tests, self.frames(tests, oracle=True), strict=True)]
        seen = self.frames(tests, *units, seconds=seconds)
        triples = zip(tests, seen, wanted, strict=True)
        return {t: judge(t, frame, want, STATUSES).failures for t, frame, want in triples}
