"""`ol audit MODULE --generated`: every small fault against the module's tests, and why some survive."""

import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from ol.build import Builder, CompileError, disk_errors
from ol.errors import ToolError
from ol.exits import Exit
from ol.generated.accepted import read_accepted
from ol.generated.engine import Engine, Progress, context
from ol.generated.equivalent import codes
from ol.generated.memory import Memory
from ol.generated.model import GeneratedReport, Known, Ledger, Mutant, Timing
from ol.generated.scope import Scope, chosen
from ol.generated.units import Units, find_units
from ol.generated.verdicts import Found, report_of
from ol.manifest import Module
from ol.parallel import together
from ol.store import Store
from ol.testbed import Testbed, prepare
from ol.toolchain import Sanitizer

CHEAP = (1, 2)
"""Tests that a mutant meets in the first two rounds, which learn which tests kill."""
_AGAIN = {Sanitizer.TSAN: "under TSan", Sanitizer.NONE: "from Python"}


@dataclass(kw_only=True)
class _Clock:
    """Seconds of each part."""

    spent: dict[str, float] = field(default_factory=dict)
    last: float = field(default_factory=time.monotonic)

    def lap(self, part: str) -> None:
        now = time.monotonic()
        self.spent[part] = self.spent.get(part, 0.0) + now - self.last
        self.last = now


def audit_generated(
    builder: Builder,
    store: Store,
    module: Module,
    *,
    scope: Scope,
    seed: int = 0,
    matrix: bool = False,
    fail_under: float | None = None,
    progress: Progress,
) -> GeneratedReport:
    """Raises ToolError when there is nothing to mutate, or the reference does not pass, twice."""
    clock = _Clock()
    accepted = read_accepted(builder.course, module, builder.toolchain.family)
    progress(f"{module.id}: finding the mutants", 0, 1)
    units = _in_scope(find_units(builder, module), scope)
    units = units.viable()
    clock.lap("generating")
    bed, dependencies = _bed(builder, store, module, seed, progress)
    memory = Memory(store=store, context=context(bed), module=module.id, texts=units.texts)
    ledger = {m: memory.recall(m) for m in units.mutants if m.number not in units.left_out}
    never = memory.never_called()
    unsettled = sum(not _is_settled(known, matrix=matrix) for known in ledger.values())
    with _scratch(builder) as folder:
        engine = Engine(
            units=units, bed=bed, dependencies=dependencies, memory=memory, progress=progress, folder=folder
        )
        with closing(engine):
            if unsettled or never is None:
                never = _prepared(engine, clock)
                memory.keep_never_called(never)
                _run(engine, ledger, clock, matrix=matrix)
            _explain(engine, ledger, clock)
    found = Found(units=units, ledger=ledger, accepted=accepted, never_called=never, whole=scope.is_whole)
    timing = Timing(**clock.spent, measured=unsettled, runs=engine.runs)
    made = report_of(found, module, builder.toolchain.version, seed=seed, matrix=matrix, timing=timing)
    return replace(made, fail_under=fail_under)


@contextmanager
def _scratch(builder: Builder) -> Iterator[Path]:
    """A folder that is gone afterwards."""
    with disk_errors(builder.cache):
        made = tempfile.TemporaryDirectory(prefix="run-", dir=builder.cache)
    with made as name:
        yield Path(name)


def _in_scope(units: Units, scope: Scope) -> Units:
    wanted = chosen(scope, units.mutants, units.builder.course.root)
    if not wanted:
        raise ToolError(
            f"none of the {len(units.mutants)} mutants of {units.module.id} is in the scope asked for",
            next_step="widen --since, --line, --operator or --shard",
            code=Exit.USAGE,
        )
    return replace(units, outside=frozenset(m.number for m in units.mutants) - wanted)


def _bed(
    builder: Builder, store: Store, module: Module, seed: int, progress: Progress
) -> tuple[Testbed, Mapping[str, Mapping[str, bytes]]]:
    progress(f"{module.id}: building the tests", 0, 1)
    dependencies = {m.id: builder.reference_sources(m) for m in builder.course.closure(module.depends)}
    try:
        return prepare(builder, store, module, dependencies, module.tests, seed=seed), dependencies
    except CompileError as error:
        raise ToolError(
            f"the reference of something that {module.id} depends on does not compile",
            where=error.diagnostics.strip()[:2000],
            next_step="correct it, then run the audit again",
        ) from None


def _prepared(engine: Engine, clock: _Clock) -> tuple[str, ...]:
    """What is needed for the first mutant, side by side. Returns the functions that no test calls."""
    build: list[Callable[[], object]] = [
        lambda: engine.units.build(Sanitizer.ASAN),
        lambda: engine.reach,
        lambda: engine.wanted,
    ]
    together(build)
    never = engine.prove_the_switch()
    clock.lap("building")
    return never


def _is_settled(known: Known, *, matrix: bool) -> bool:
    return known.settled == "matrix" or (not matrix and known.settled != "")


def _run(engine: Engine, ledger: Ledger, clock: _Clock, *, matrix: bool) -> None:
    """All tests that run under ASan; what lives is compared with the original's code; then the other
    builds, on one of each code that is left."""
    open_ones = {m: k for m, k in ledger.items() if not _is_settled(k, matrix=matrix)}
    if not matrix:
        for most in CHEAP:
            engine.run(Sanitizer.ASAN, open_ones, engine.by_promise, most=most)
        # What kills one may kill more.
        engine.run(Sanitizer.ASAN, one_of_each_line(alive(open_ones)), engine.by_promise)
    engine.run(Sanitizer.ASAN, open_ones, engine.by_promise, every=matrix)
    clock.lap("running")
    living = alive(open_ones)
    together([partial(compare, engine, living), partial(_build_others, engine, living)])
    clock.lap("building")
    _until_one_of_each_code_is_left(open_ones, partial(_in_other_builds, engine))
    clock.lap("again")
    for known in open_ones.values():
        known.settled = "matrix" if matrix else "stopped"
    engine.memory.keep(open_ones)


def _until_one_of_each_code_is_left(ledger: Ledger, play: Callable[[Ledger], None]) -> None:
    """Runs one mutant of each code; when that one dies, its twins are to die too, each by its own run."""
    met: set[Mutant] = set()
    while left := {m: k for m, k in distinct(alive(ledger)).items() if m not in met}:
        met |= set(left)
        play(left)


def _build_others(engine: Engine, living: Ledger) -> None:
    """For TSan, where a test has threads, and for Python: with no more than what still lives."""
    held = frozenset(m.number for m in living)
    together([partial(engine.mass, s, held) for s in _AGAIN if engine.concerns(s, living)])


def _in_other_builds(engine: Engine, left: Ledger) -> None:
    """Survivors again, side by side."""
    ledgers = {s: apart(left) for s in _AGAIN if engine.concerns(s, left)}
    together([partial(_again, engine, s, own) for s, own in ledgers.items()])
    for own in ledgers.values():
        for mutant, known in own.items():
            left[mutant].runs |= known.runs


def _again(engine: Engine, sanitizer: Sanitizer, living: Ledger) -> None:
    label = f"survivors {_AGAIN[sanitizer]}"
    engine.run(sanitizer, living, engine.by_promise, label=label)


def apart(ledger: Ledger) -> Ledger:
    """A copy to be changed beside others."""
    return {mutant: replace(known, runs=dict(known.runs)) for mutant, known in ledger.items()}


def alive(ledger: Ledger) -> Ledger:
    return {m: known for m, known in ledger.items() if not known.kills}


def one_of_each_line(ledger: Ledger) -> Ledger:
    first: dict[tuple[str, int], Mutant] = {}
    for mutant in ledger:
        first.setdefault((mutant.file, mutant.edit.line), mutant)
    return {mutant: ledger[mutant] for mutant in first.values()}


def distinct(ledger: Ledger) -> Ledger:
    """One of each code, and nothing of the original's."""
    seen: set[tuple[str, str, str]] = set()
    found: Ledger = {}
    for mutant, known in ledger.items():
        code = (mutant.file, mutant.edit.function, known.code)
        if known.code != "=" and (known.code in ("", "?") or code not in seen):
            found[mutant] = known
        seen.add(code)
    return found


def compare(engine: Engine, ledger: Ledger) -> None:
    """Notes the digest of the code of each mutant that has none."""
    missing = [m for m, known in ledger.items() if not known.code]
    if missing:
        engine.progress(f"{engine.bed.module.id}: comparing code", 0, len(missing))
    for number, code in codes(engine.units, missing).items() if missing else ():
        mutant = next(m for m in missing if m.number == number)
        ledger[mutant].code = code
    engine.memory.keep({m: ledger[m] for m in missing})


def _explain(engine: Engine, ledger: Ledger, clock: _Clock) -> None:
    """Says of each survivor how far the tests came."""
    missing = [m for m, known in alive(ledger).items() if known.why is None]
    for mutant in missing:
        known, number = ledger[mutant], mutant.number
        known.why = engine.reach.why(number)
        known.reached_in = engine.reach.reaching(number)
        known.differed_in = engine.reach.differing(number)
    engine.memory.keep({m: ledger[m] for m in missing})
    clock.lap("explaining")
