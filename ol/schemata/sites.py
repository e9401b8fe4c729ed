"""Mutants sorted into the tree of their sites: expressions within expressions within statements."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ol.operators.edit import Edit, Site, SiteKind


@dataclass
class Nest:
    """A site with its mutants, each with its number, and the sites within it."""

    site: Site
    mutants: list[tuple[int, Edit]] = field(default_factory=list)
    inner: list["Nest"] = field(default_factory=list)

    @property
    def numbers(self) -> tuple[int, ...]:
        return tuple(number for number, _ in self.mutants)


def nest(numbered: Iterable[tuple[int, Edit]]) -> list[Nest]:
    """Raises ValueError when two sites overlap without one holding the other."""
    ordered = sorted(numbered, key=_outermost_first)
    roots: list[Nest] = []
    open_nests: list[Nest] = []
    for number, edit in ordered:
        site = edit.site
        while open_nests and open_nests[-1].site.end <= site.start:
            open_nests.pop()
        if open_nests and _key(open_nests[-1].site) == _key(site):
            open_nests[-1].mutants.append((number, edit))
            continue
        if open_nests and site.end > open_nests[-1].site.end:
            raise ValueError(f"two sites overlap at offset {site.start}")
        made = Nest(site, [(number, edit)])
        (open_nests[-1].inner if open_nests else roots).append(made)
        open_nests.append(made)
    return roots


def _key(site: Site) -> tuple[int, int, str]:
    return site.start, site.end, site.kind


def _outermost_first(numbered: tuple[int, Edit]) -> tuple[int, int, bool, int]:
    number, edit = numbered
    site = edit.site
    return site.start, -site.end, site.kind is SiteKind.EXPRESSION, number


def are_a_run(numbers: Sequence[int], excluded: Iterable[int]) -> bool:
    """Whether no other mutant's number lies between the first and the last."""
    missing = set(range(numbers[0], numbers[-1] + 1)) - set(numbers)
    return missing <= set(excluded)
