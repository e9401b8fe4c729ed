"""Modules, tests and mutants: what a catalogue file (course/modules/ID.toml) says, typed and checked.

Pure: text in, records out. Every complaint names the file, the line and what was expected.
"""

import re
import tomllib
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePosixPath
from typing import Any, TypeVar

import msgspec

from ol.errors import ToolError


class Language(StrEnum):
    C = "c"
    PYTHON = "python"


class Way(StrEnum):
    """How a test notices a fault. A mutant's entry names one of the first four."""

    CHECK = "check"
    SANITIZER = "sanitizer"
    CRASH = "crash"
    TIMEOUT = "time-out"
    EXIT = "early exit"
    MEMORY = "memory limit"
    OUTPUT = "output limit"


KILLS = (Way.CHECK, Way.SANITIZER, Way.CRASH, Way.TIMEOUT)


@dataclass(frozen=True, kw_only=True)
class TestEntry:
    """One row of the catalogue. `id` is "c:name" or "py:name"."""

    __test__ = False

    id: str
    kind: tuple[str, ...]
    checks: str
    why: str
    threads: bool = False
    """Uses the thread pool, so it runs under TSan as well."""
    seconds: float = 10.0
    """Wall-clock limit of one run."""

    @property
    def language(self) -> Language:
        return Language.C if self.id.startswith("c:") else Language.PYTHON

    @property
    def name(self) -> str:
        return self.id.partition(":")[2]


@dataclass(frozen=True, kw_only=True)
class MutantEntry:
    id: str
    pitfall: str
    symptom: str
    test: str
    how: Way


@dataclass(frozen=True, kw_only=True)
class Module:
    """A module of the course. `links` are the dependencies that share the unit's process; the oracle's
    process holds all of `depends`."""

    id: str
    title: str
    language: Language
    units: tuple[str, ...]
    contract: tuple[str, ...]
    defines: tuple[str, ...]
    depends: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    may_call: tuple[str, ...] = ()
    may_import: tuple[str, ...] = ()
    """Of a Python unit, beside what every one may import."""
    reading: str = ""
    tests: tuple[TestEntry, ...] = ()
    mutants: tuple[MutantEntry, ...] = ()

    def test(self, test_id: str) -> TestEntry:
        return next(t for t in self.tests if t.id == test_id)


@dataclass(frozen=True, kw_only=True)
class StubEntry:
    """What a stub does in a function that returns `status`: it calls `set_error` with a text and
    returns `unsupported`."""

    status: str = ""
    unsupported: str = ""
    set_error: str = ""


@dataclass(frozen=True, kw_only=True)
class CourseEntry:
    """course/course.toml: what all modules share."""

    name: str
    include: str
    c_flags: tuple[str, ...]
    statuses: tuple[str, ...]
    """Names of the status codes, in order from 0."""
    milestones: dict[str, tuple[str, ...]]
    stub: StubEntry = StubEntry()


T = TypeVar("T")


def _line_of(text: str, path: str) -> int:
    """The line in `text` that a msgspec path such as `$.tests[2].kind` speaks of; 1 if unknown."""
    found = re.match(r"\$(?:\.(\w+))?(?:\[(\d+)\])?(?:\.(\w+))?", path)
    if not found:
        return 1
    table, index, key = found.groups()
    lines = text.splitlines()
    start = 0
    if index is not None:
        heads = [n for n, line in enumerate(lines) if line.strip() == f"[[{table}]]"]
        start = heads[int(index)] if int(index) < len(heads) else 0
    wanted = key if key else table
    for n in range(start, len(lines)):
        if re.match(rf"\s*{wanted}\s*=", lines[n]):
            return n + 1
    return start + 1


def _decode(text: str, kind: type[T], where: str, command: str) -> T:
    try:
        raw: dict[str, Any] = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ToolError(f"this is not valid TOML: {error}", where=where, next_step=command) from None
    known = set(kind.__dataclass_fields__)  # type: ignore[attr-defined]
    for key in raw:
        if key not in known:
            line = _line_of(text, f"$.{key}")
            raise ToolError(
                f"unknown key {key!r}; expected one of {', '.join(sorted(known))}",
                where=f"{where}:{line}",
                next_step=command,
            )
    try:
        return msgspec.convert(raw, kind)
    except msgspec.ValidationError as error:
        message, _, path = str(error).partition(" - at ")
        line = _line_of(text, path.strip("`") or "$")
        raise ToolError(message, where=f"{where}:{line}", next_step=command) from None


def parse_course(text: str, where: str) -> CourseEntry:
    return _decode(text, CourseEntry, where, "correct the file and run the command again")


def parse_module(text: str, where: str) -> Module:
    """Raises ToolError with file and line when the text is not a module's catalogue."""
    again = "correct the file, then run `ol tests` on the module"
    module = _decode(text, Module, where, again)
    for message, near in _complaints(module, PurePosixPath(where).stem):
        raise ToolError(message, where=f"{where}:{_line_with(text, near)}", next_step=again)
    return module


def _line_with(text: str, near: str) -> int:
    """The first line that holds `near` in quotes, else the first that holds it at all."""
    lines = list(enumerate(text.splitlines(), 1))
    quoted = [n for n, line in lines if f'"{near}"' in line or f"'{near}'" in line]
    return next(iter(quoted + [n for n, line in lines if near in line]), 1)


def _repeated(names: list[str]) -> list[str]:
    return sorted({n for n in names if names.count(n) > 1})


def _complaints(module: Module, stem: str) -> list[tuple[str, str]]:
    """What is wrong with a well-typed module, each with a text to find its line by."""
    wrong: list[tuple[str, str]] = []
    tests = [t.id for t in module.tests]
    if module.id != stem:
        wrong.append((f"the id is {module.id!r} but the file is named {stem!r}", "id ="))
    for test in module.tests:
        if not re.fullmatch(r"(c|py):[a-z][a-z0-9_]*", test.id):
            wrong.append((f"a test's id is c:name or py:name, not {test.id!r}", test.id))
    wrong += [(f"two tests are called {t!r}", t) for t in _repeated(tests)]
    wrong += [(f"two mutants are called {m!r}", m) for m in _repeated([m.id for m in module.mutants])]
    for mutant in module.mutants:
        if not re.fullmatch(r"s\d\d", mutant.id):
            wrong.append((f"a mutant's id is s01 to s99, not {mutant.id!r}", mutant.id))
        if mutant.test not in tests:
            text = f"mutant {mutant.id} names the test {mutant.test!r}, which is not in the catalogue"
            wrong.append((text, mutant.test))
        if mutant.how not in KILLS:
            kills = ", ".join(KILLS)
            wrong.append((f"mutant {mutant.id}: how is one of {kills}", mutant.how))
    for unit in module.units:
        path = PurePosixPath(unit)
        if path.is_absolute() or ".." in path.parts:
            wrong.append((f"a unit's path stays inside the tree: {unit!r}", unit))
    extra = sorted(set(module.links) - set(module.depends))
    wrong += [(f"{m!r} is linked but is no dependency", "links") for m in extra]
    return wrong
