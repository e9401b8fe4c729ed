"""Results: what a test came to, and what a unit came to. Frozen, picklable, written to JSON as they are."""

from dataclasses import dataclass
from enum import StrEnum

from ol.manifest import Way


@dataclass(frozen=True, kw_only=True)
class Failure:
    """One reason why a test failed.

    `where` is the first bad index in the array's own coordinates, such as "sequence 1, head 0, d 3".
    """

    way: Way
    check: str
    expected: str = ""
    got: str = ""
    where: str = ""
    bad: int = 0
    total: int = 0
    note: str = ""
    """What was being called, with its sizes, in the test's own words."""
    detail: str = ""
    """The sanitizer's report, or what the unit printed before it died."""


class Outcome(StrEnum):
    PASSED = "passed"
    FAILED = "failed"
    NOT_RUN = "not run"
    """Another test had timed out. It is no pass."""


@dataclass(frozen=True, kw_only=True)
class TestResult:
    __test__ = False

    test: str
    outcome: Outcome
    failures: tuple[Failure, ...] = ()
    seconds: float = 0.0

    @property
    def ways(self) -> tuple[Way, ...]:
        """The different ways in which it failed, in the order they were met."""
        return tuple(dict.fromkeys(f.way for f in self.failures))


def _worst(outcomes: list[Outcome]) -> Outcome:
    order = (Outcome.FAILED, Outcome.NOT_RUN)
    return next((outcome for outcome in order if outcome in outcomes), Outcome.PASSED)


def merged(results: list[TestResult]) -> TestResult:
    """One test's result from its runs under several sanitizers: it passes where all of them do."""
    failures = tuple(f for r in results for f in r.failures)
    return TestResult(
        test=results[0].test,
        outcome=_worst([r.outcome for r in results]),
        failures=failures,
        seconds=sum(r.seconds for r in results),
    )


@dataclass(frozen=True, kw_only=True)
class Refused:
    """One reason why a unit is not built or not run."""

    rule: str
    what: str
    where: str = ""
    """Path and line, with the column where one is known."""
    instead: str = ""
    detail: str = ""


class Grade(StrEnum):
    PASS = "pass"
    FAIL = "fail"
    REFUSED = "refused"
    """It does not build, or breaks its contract."""


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What a unit came to, and all that is needed to repeat it."""

    module: str
    grade: Grade
    compiler: str
    seed: int
    reference_dependencies: bool
    partial: bool
    """Only some tests were run: results, but no verdict."""
    sandbox: str = "none"
    """What the unit ran in."""
    grading: bool = False
    """Over the reference's dependencies, with a seed that nobody knew before, and nothing remembered."""
    results: tuple[TestResult, ...] = ()
    refused: tuple[Refused, ...] = ()

    @property
    def failed(self) -> tuple[TestResult, ...]:
        return tuple(r for r in self.results if r.outcome is Outcome.FAILED)
