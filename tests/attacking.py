"""Attacks compiled and run as grading does, with or without the policies in front."""

import secrets
import time
from dataclasses import dataclass, replace
from pathlib import Path

import attack_units
import pytest

from ol import gate, landlock, sandbox
from ol.build import Builder, CompileError
from ol.course import Course, find_course
from ol.lane import Lane
from ol.manifest import Module
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


def place(kind: Kind) -> Sandbox:
    """A sandbox of that kind; the test is skipped where none starts."""
    outside, best = sandbox.find(Wish.OFF), sandbox.find(Wish.AUTO)
    shut = replace(outside, kind=Kind.LANDLOCK)
    found = {Kind.NONE: outside, best.kind: best, Kind.LANDLOCK: shut}
    if kind not in found or (kind is Kind.LANDLOCK and (not landlock.version() or sandbox.refusal(shut))):
        pytest.skip(f"{kind} does not start here")
    return found[kind]


@dataclass(frozen=True)
class Arena:
    """A bed that is made once for many attacks."""

    bed: Testbed
    mark: str

    @classmethod
    def make(cls, compiler: str, sandbox: Sandbox, cache_folder: Path, seconds: float = 5) -> "Arena":
        builder = Builder(COURSE, find(compiler), cache_folder, sandbox)
        dependencies = {m.id: builder.reference_sources(m) for m in COURSE.closure(KERNEL.depends)}
        tests = [replace(t, seconds=seconds) for t in KERNEL.tests[:2]]
        bed = prepare(builder, Store(Path(":memory:")), KERNEL, dependencies, tests).careful()
        mark = secrets.token_hex(16)
        lanes = {s: _marked_lane(lane, mark) for s, lane in bed.units.items()}
        module = replace(KERNEL, tests=tuple(tests))
        return cls(replace(bed, patient=False, module=module, units=lanes), mark)

    def fate(self, name: str, *, policy: bool) -> str:
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
        failed = [r for r in bed.run(unit, bed.module.tests) if r.outcome is not Outcome.PASSED]
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
