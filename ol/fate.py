"""What came of an audit: the fate of each mutant. Frozen, written to JSON as it is."""

from dataclasses import dataclass
from enum import StrEnum

from ol.manifest import MutantEntry, Way
from ol.verdict import Outcome, TestResult


class Fate(StrEnum):
    KILLED = "killed"
    SURVIVED = "survived"
    OTHER_WAY = "died another way"
    STALE = "stale"
    UNVIABLE = "does not compile"


@dataclass(frozen=True, kw_only=True)
class MutantResult:
    entry: MutantEntry
    fate: Fate
    ways: tuple[Way, ...] = ()
    seconds: float = 0.0
    detail: str = ""
    """Why it is stale or does not compile; what its named test said when it was not killed as planned."""
    also: tuple[str, ...] = ()
    """Other tests that noticed it; only with the full matrix."""


@dataclass(frozen=True, kw_only=True)
class AuditReport:
    module: str
    title: str
    compiler: str
    seed: int
    baseline: tuple[TestResult, ...]
    mutants: tuple[MutantResult, ...]
    matrix: bool = False

    @property
    def baseline_holds(self) -> bool:
        return all(r.outcome is Outcome.PASSED for r in self.baseline)

    @property
    def holds(self) -> bool:
        return self.baseline_holds and all(m.fate is Fate.KILLED for m in self.mutants)
