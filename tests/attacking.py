"""Attacks compiled and run as grading does, with or without the policies in front."""

import os
import secrets
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import attack_units
import pytest

from ol import gate, landlock, sandbox, slots
from ol.build import Builder, CompileError
from ol.course import Course, find_course
from ol.lane import Lane
from ol.manifest import Module
from ol.parallel import finished
from ol.sandbox import Kind, Sandbox, Wish
from ol.store import Store
from ol.submission import diagnosed
from ol.suite import Runner
from ol.testbed import Testbed, prepare
from ol.toolchain import Sanitizer, find
from ol.verdict import Outcome

COURSE: Course = find_course(attack_units.ROOT / "ol")
KERNEL: Module = COURSE.module("L9.4")
PASS = "pass"
AT_ONCE = 2 * (os.cpu_count() or 1)


def place(kind: Kind) -> Sandbox:
    """A sandbox of that kind; the test is skipped where none starts."""
    outside, best = sandbox.find(Wish.OFF), sandbox.find(Wish.AUTO)
    shut = replace(outside, kind=Kind.LANDLOCK)
    found = {Kind.NONE: outside, best.kind: best, Kind.LANDLOCK: shut}
    if kind not in found or (kind is Kind.LANDLOCK and (not landlock.version() or sandbox.refusal(shut))):
        pytest.skip(f"{kind} does not start here")
    return found[kind]


@contextmanager
def crowded() -> Iterator[None]:
    """Many attacks at a time, for most of them wait, and less memory to fill for those that fill it."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("ol.suite.RSS_MB", 512)
        slots.set_jobs(AT_ONCE)
        yield
    slots.set_jobs(os.cpu_count() or 1)


@dataclass(frozen=True)
class Arena:
    """A bed that is made once for many attacks."""

    bed: Testbed

    @classmethod
    def make(cls, compiler: str, sandbox: Sandbox, cache_folder: Path, seconds: float = 5) -> "Arena":
        builder = Builder(COURSE, find(compiler), cache_folder, sandbox)
        dependencies = {m.id: builder.reference_sources(m) for m in COURSE.closure(KERNEL.depends)}
        tests = [replace(t, seconds=seconds) for t in KERNEL.tests[:2]]
        bed = prepare(builder, Store(Path(":memory:")), KERNEL, dependencies, tests).careful()
        return cls(replace(bed, patient=False, module=replace(KERNEL, tests=tuple(tests))))

    def fates(self, names: Iterable[str], *, policy: bool) -> dict[str, tuple[str, list[int]]]:
        """What came of each attack, and the processes that it left."""

        def one(name: str) -> tuple[str, tuple[str, list[int]]]:
            mark = secrets.token_hex(16)
            fate = self.fate(name, policy=policy, mark=mark)
            return name, (fate, left_alive(mark))

        with crowded():
            return dict(finished([partial(one, name) for name in names], at_once=AT_ONCE))

    def fate(self, name: str, *, policy: bool, mark: str = "") -> str:
        """What came of an attack: the layer that stopped it and how, or `pass`."""
        bed, sources = self.bed, {KERNEL.units[0]: attack_units.source(name)}
        if policy and (found := gate.refused_sources(COURSE, bed.store, sources)):
            return f"source: {found[0].rule}"
        try:
            unit = bed.build(sources, [Sanitizer.ASAN])
        except CompileError as error:
            return f"compiler: {diagnosed(COURSE, KERNEL, sources, error.diagnostics).rule}"
        if policy and (found := gate.refused_objects(COURSE, bed.store, KERNEL, sources, unit)):
            return f"object: {found[0].rule}"
        marked = replace(bed, units={s: _marked_lane(lane, mark) for s, lane in bed.units.items()})
        failed = [r for r in marked.run(unit, bed.module.tests) if r.outcome is not Outcome.PASSED]
        if not failed:
            return PASS
        first = next(r for r in failed if r.failures)
        return f"run: {', '.join(dict.fromkeys(f.way for f in first.failures))}"


def _marked_lane(lane: Lane, mark: str) -> Lane:
    assert isinstance(lane.runner, Runner)
    return replace(lane, runner=replace(lane.runner, variables=(("OL_TEST_MARK", mark),)))


def left_alive(mark: str, *, seconds: float = 2.0) -> list[int]:
    """The processes that a run with this mark has left, two seconds later at most."""
    end = time.monotonic() + seconds
    while (found := _marked(mark)) and time.monotonic() < end:
        time.sleep(0.05)
    return found


def _marked(mark: str) -> list[int]:
    return [pid for pid in pids() if mark.encode() in proc(pid, "environ")]


def named(name: str) -> set[int]:
    """The processes that have given themselves this name."""
    return {pid for pid in pids() if proc(pid, "comm").strip() == name.encode()}


def pids() -> list[int]:
    return [int(folder.name) for folder in Path("/proc").iterdir() if folder.name.isdigit()]


def proc(pid: int, file: str) -> bytes:
    """What the system says of a process; nothing where it has ended."""
    try:
        return Path(f"/proc/{pid}/{file}").read_bytes()
    except OSError:
        return b""
