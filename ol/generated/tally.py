"""What the tests have killed so far: which is to be tried first."""

import zlib
from collections import Counter
from dataclasses import dataclass, field

from ol.generated.mass import RUN_SECONDS
from ol.generated.model import Mutant

_ENOUGH = 8
"""Runs that say how much a test kills."""


@dataclass(kw_only=True)
class Tally:
    """What each test has killed so far, in all and on each line of a file. While little is known, different
    mutants try different tests."""

    ran: Counter[str] = field(default_factory=Counter)
    killed: Counter[str] = field(default_factory=Counter)
    near: Counter[tuple[str, str, int]] = field(default_factory=Counter)

    def note(self, test: str, mutant: Mutant, *, killed: bool) -> None:
        self.ran[test] += 1
        self.killed[test] += killed
        self.near[test, mutant.file, mutant.edit.line] += killed

    def worth(self, test: str, number: int, seconds: float) -> float:
        """Kills in a second of running, as far as is known."""
        ran = self.ran[test]
        rate = (self.killed[test] + 0.5) / (ran + 1)
        luck = 1 - (zlib.crc32(f"{test} {number}".encode()) % 500) / 1000 if ran < _ENOUGH else 1.0
        return rate * luck / (seconds + RUN_SECONDS)
