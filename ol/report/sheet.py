"""What the page and the files for other programs show of an audit, whichever mutants it ran."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from ol.generated.model import Kill, TestCost


class Standing(StrEnum):
    """How a state is to be seen, the worst first."""

    SURVIVED = "survived"
    ACCEPTED = "accepted"
    OTHER = "other"
    KILLED = "killed"


@dataclass(frozen=True, kw_only=True)
class Row:
    """One mutant. `start` to `end` of its file's text become `replacement`."""

    id: str
    name: str
    """For people: `sum.c:8:11 replace < with <=`."""
    key: str
    """What it is known by when the file changes elsewhere."""
    file: str
    start: int
    end: int
    line: int
    column: int
    operator: str
    action: str
    replacement: str
    state: str
    standing: Standing
    status: str
    """That of mutation-testing-report-schema."""
    told: str
    """What became of it, in words."""
    kills: tuple[Kill, ...] = ()
    ran: int = 0
    reached_in: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Sheet:
    module: str
    title: str
    kind: str
    """Of the mutants: generated, planted."""
    verdict: str
    compiler: str
    seed: int
    matrix: bool
    sources: Mapping[str, str]
    rows: tuple[Row, ...]
    tests: tuple[TestCost, ...]
    states: tuple[str, ...]
    """All that there can be, in order."""
    planted: tuple[tuple[str, str], ...] = ()
    """Beside generated ones: of each planted mutant its id and the test that its entry names."""
    notes: tuple[str, ...] = ()

    def counts(self) -> Iterator[tuple[str, Standing, int]]:
        """Of the states that there are."""
        for state in self.states:
            found = [row.standing for row in self.rows if row.state == state]
            if found:
                yield state, found[0], len(found)

    @property
    def survivors(self) -> tuple[Row, ...]:
        return tuple(row for row in self.rows if row.standing is Standing.SURVIVED)
