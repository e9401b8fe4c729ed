"""What safety costs: the sandbox per run and per check, an endless loop, a gigabyte printed.

    python tests/bench/bench_sandbox.py

Runs are taken in turn with and without. On a busy machine only the least of many counts for anything, and
a loop may go on by the clock until it has had its limit of processor time, up to three times.
"""

import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import attack_units
from attacking import COURSE, KERNEL

from ol import process, sandbox
from ol.build import Builder
from ol.grade import grade
from ol.lane import Trial
from ol.sandbox import RUNNING, Sandbox, Wish
from ol.store import Store
from ol.testbed import Testbed, prepare
from ol.toolchain import Sanitizer, environment, find

ROUNDS = 15
CHECKS = 3


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def start_of(place: Sandbox) -> None:
    argv = place.command(["true"], cwd=Path("/"), limits=RUNNING)
    process.run(argv, cwd=Path("/"), env=environment(), timeout=30)


def check(place: Sandbox, cache: Path) -> None:
    """A check with everything built, and the unit compiled anew."""
    builder = Builder(COURSE, find(None), cache, place)
    needed = {m.id: builder.reference_sources(m) for m in COURSE.closure(KERNEL.depends)}
    mark = f"\n/* {time.time_ns()} */\n".encode()
    unit = {n: text + mark for n, text in builder.reference_sources(KERNEL).items()}
    store = Store(Path(":memory:"))
    verdict = grade(unit, KERNEL, needed, builder, store, seed=0, reference_dependencies=True)
    assert not verdict.failed
    assert not verdict.refused


def bed(place: Sandbox, cache: Path, limit: float) -> Testbed:
    builder = Builder(COURSE, find(None), cache, place)
    needed = {m.id: builder.reference_sources(m) for m in COURSE.closure(KERNEL.depends)}
    tests = [replace(KERNEL.tests[0], seconds=limit)]
    return prepare(builder, Store(Path(":memory:")), KERNEL, needed, tests)


def run(made: Testbed, source: bytes, limit: float) -> float:
    unit = made.build({KERNEL.units[0]: source}, [Sanitizer.ASAN])
    test = replace(KERNEL.tests[0], seconds=limit)
    trial = Trial(unit=unit[Sanitizer.ASAN], mutant=0, test=test, sanitizer=Sanitizer.ASAN)
    made.wanted([test])
    return seconds(lambda: made.run_trials([trial]))


def flood() -> bytes:
    """The attack that prints, until its limit or a gigabyte."""
    return attack_units.source("giant_stdout")


def main() -> None:
    inside, outside = sandbox.find(Wish.AUTO), sandbox.find(Wish.OFF)
    if inside == outside:
        sys.exit("no sandbox starts on this machine")
    pairs = [(seconds(lambda: start_of(inside)), seconds(lambda: start_of(outside))) for _ in range(ROUNDS)]
    least = min(a for a, _ in pairs) - min(b for _, b in pairs)
    median = statistics.median(a - b for a, b in pairs)
    print(f"a start inside adds {1000 * least:.0f} ms, {1000 * median:.0f} in the median (at most 30)")
    with tempfile.TemporaryDirectory() as folder:
        cache = Path(folder)
        for place in (inside, outside):
            check(place, cache)
        pairs = [
            (seconds(lambda: check(inside, cache)), seconds(lambda: check(outside, cache)))
            for _ in range(CHECKS)
        ]
        ratio = min(a for a, _ in pairs) / min(b for _, b in pairs)
        print(f"a check inside takes {ratio:.2f} times one outside (at most 1.15)")
        made = bed(inside, cache, 2)
        quick = run(made, attack_units.source("control_honest"), 2)
        took = run(made, attack_units.source("infinite_loop"), 2)
        print(
            f"an endless loop costs its limit of 2 s and {took - 2:.2f} s (at most 0.50;"
            f" a run that ends by itself takes {quick:.2f} s)"
        )
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        run(made, flood(), 10)
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        print(f"a unit that prints without end costs {grown:.0f} MB here (at most 64)")


if __name__ == "__main__":
    main()
