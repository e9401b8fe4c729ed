"""What flows through an audit with generated mutants. Frozen records and enums."""

from dataclasses import dataclass, field
from enum import StrEnum

from ol.operators.edit import Edit


class State(StrEnum):
    KILLED = "killed"
    SURVIVED = "survived"
    ACCEPTED = "accepted"
    """Survived, and a person wrote down why it changes nothing."""
    EQUIVALENT = "equivalent"
    """The same optimised code as the original."""
    DUPLICATE = "duplicate"
    """The same optimised code as another survivor, which is counted."""
    UNVIABLE = "does not compile"


class Why(StrEnum):
    """Why a mutant survived."""

    NEVER_REACHED = "never reached"
    NEVER_DIFFERENT = "reached, but never a different value"
    UNNOTICED = "differed and was not noticed"
    UNKNOWN = "reached; whether it ever differed cannot be told"


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """`number` is the selector's value in the module's object."""

    number: int
    file: str
    """Path of the unit in the tree."""
    edit: Edit

    def __hash__(self) -> int:
        return self.number

    @property
    def name(self) -> str:
        """Of its file."""
        return self.file.rsplit("/", 1)[-1]

    @property
    def id(self) -> str:
        return self.edit.id(self.name)

    @property
    def key(self) -> str:
        """What outlasts edits elsewhere in the file."""
        return f"{self.name} | {self.edit.key}"


@dataclass(frozen=True, kw_only=True)
class Kill:
    test: str
    way: str
    check: str = ""


@dataclass(kw_only=True)
class Known:
    """What has been found out about a mutant so far; kept between runs."""

    runs: dict[str, Kill | None] = field(default_factory=dict)
    """Each run, a test and how it was run, with the kill, or without one where it passed."""
    settled: str = ""
    """"stopped" at its first kill or after all tests, "matrix" where all tests were run in any case."""
    code: str = ""
    """Digest of its optimised code; "=" for that of the original, "?" where it cannot be told."""
    why: Why | None = None
    reached_in: tuple[str, ...] = ()
    differed_in: tuple[str, ...] = ()

    @property
    def kills(self) -> tuple[Kill, ...]:
        return tuple(k for k in self.runs.values() if k)


Ledger = dict[Mutant, Known]


@dataclass(frozen=True, kw_only=True)
class MutantResult:
    mutant: Mutant
    state: State
    kills: tuple[Kill, ...] = ()
    """The first one, or with the full matrix every test that noticed."""
    ran: tuple[str, ...] = ()
    """Tests that were run on it."""
    why: Why | None = None
    reached_in: tuple[str, ...] = ()
    differed_in: tuple[str, ...] = ()
    same_as: str = ""
    """Id of the survivor that it duplicates."""
    reason: str = ""
    """Of an accepted one."""


@dataclass(frozen=True, kw_only=True)
class Skipped:
    """A place that no operator could read."""

    file: str
    line: int
    function: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class TestCost:
    __test__ = False

    id: str
    kills: int = 0
    alone: int = 0
    """Mutants that no other test noticed; told with the full matrix only."""


@dataclass(frozen=True, kw_only=True)
class Timing:
    """Seconds of the parts of an audit, and how many were measured in it."""

    generating: float = 0.0
    building: float = 0.0
    running: float = 0.0
    """All mutants under ASan and UBSan."""
    again: float = 0.0
    """Survivors under TSan and from Python."""
    explaining: float = 0.0
    measured: int = 0
    runs: int = 0


@dataclass(frozen=True, kw_only=True)
class GeneratedReport:
    module: str
    title: str
    compiler: str
    seed: int
    matrix: bool
    sources: dict[str, str]
    mutants: tuple[MutantResult, ...]
    tests: tuple[TestCost, ...]
    planted: tuple[tuple[str, str], ...] = ()
    """Of each planted mutant its id and the test that its entry names."""
    skipped: tuple[Skipped, ...] = ()
    never_called: tuple[str, ...] = ()
    """Functions that no test calls."""
    stale: tuple[str, ...] = ()
    """What is wrong with the accepted ones: a mutant that is gone or now dies."""
    timing: Timing = Timing()
    fail_under: float | None = None

    def count(self, state: State) -> int:
        return sum(m.state is state for m in self.mutants)

    @property
    def survivors(self) -> tuple[MutantResult, ...]:
        return tuple(m for m in self.mutants if m.state is State.SURVIVED)

    @property
    def score(self) -> float:
        """Killed, of those that a test could kill as far as anybody knows; in percent."""
        killed, survived = self.count(State.KILLED), self.count(State.SURVIVED)
        return 100.0 * killed / (killed + survived) if killed + survived else 100.0

    @property
    def holds(self) -> bool:
        enough = not self.survivors if self.fail_under is None else self.score >= self.fail_under
        return enough and not self.stale
