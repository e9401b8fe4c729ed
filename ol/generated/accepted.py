"""Survivors that a person has looked at: mutants/ID/accepted.toml, a reason for each.

[[accepted]]
reason = "i counts up by one from a value below n, so it meets n exactly"
mutants = ["softmax.c | max_of | relational | for (int64_t i = 1; i < n; i++) | i < n | < -> != | 0"]
"""

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import msgspec

from ol.course import Course
from ol.errors import ToolError
from ol.manifest import Module
from ol.toolchain import FAMILIES


@dataclass(frozen=True, kw_only=True)
class Entry:
    reason: str
    mutants: tuple[str, ...]
    compiler: str = ""
    """The family for which it holds, where the other one's sanitizers see more."""


class _File(msgspec.Struct, forbid_unknown_fields=True):
    accepted: tuple[Entry, ...] = ()


def where(module: Module) -> str:
    return f"mutants/{module.id}/accepted.toml"


def read_accepted(course: Course, module: Module, family: str) -> dict[str, str]:
    """Reasons by the lasting key of a mutant, as far as they hold for a family of compilers; empty without
    a file. Raises ToolError for a broken one."""
    path = course.root / where(module)
    if not path.exists():
        return {}
    try:
        entries = msgspec.convert(tomllib.loads(path.read_text("utf-8")), _File).accepted
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise ToolError(
            f"the accepted mutants cannot be read: {error}",
            where=where(module),
            next_step='write entries of [[accepted]] with reason = "…" and mutants = ["…"]',
        ) from None
    every = _checked(entries, where(module))
    elsewhere = {k for e in entries if e.compiler not in ("", family) for k in e.mutants}
    return {key: reason for key, reason in every.items() if key not in elsewhere}


def _checked(entries: Iterable[Entry], place: str) -> dict[str, str]:
    reasons: dict[str, str] = {}
    for entry in entries:
        if entry.compiler not in ("", *FAMILIES):
            names = " or ".join(FAMILIES)
            raise ToolError(f"no compiler: {entry.compiler!r}", where=place, next_step=f"write {names}")
        if len(entry.reason.split()) < 3:
            raise ToolError(
                f"this is no reason: {entry.reason!r}",
                where=place,
                next_step="say why the mutant changes nothing that the contract promises",
            )
        for key in entry.mutants:
            if key in reasons:
                raise ToolError(f"accepted twice: {key}", where=place, next_step="keep one of them")
            reasons[key] = entry.reason
    return reasons


def stale(reasons: Mapping[str, str], every: Iterable[str], killed: Mapping[str, str]) -> tuple[str, ...]:
    """What is wrong with the reasons: of mutants that are gone, and of those that died. `killed` maps a
    mutant's key to the test that killed it."""
    known = set(every)
    gone = [f"gone, the source has no such mutant: {key}" for key in reasons if key not in known]
    dead = [f"killed by {killed[key]}: {key}" for key in reasons if key in killed]
    return (*gone, *dead)
