"""How fast generated mutants are: ratios from one run, for they mean something on a busy machine too.

    python tests/bench/bench_generated.py L9.2
    python tests/bench/bench_generated.py L9.4 --samples 40 --universalmutator /path/to/venv/bin/mutate

End to end is everything from the source to the verdicts with an empty store; the tests themselves are
built before, for they are the same on both sides. The other side compiles and links a sample of the
mutants one by one with the same flags, and runs each with the test that killed it, or with all.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
ROOT = Path(__file__).resolve().parents[2]

from ol.build import Builder  # noqa: E402
from ol.course import find_course  # noqa: E402
from ol.generated.audit import audit_generated  # noqa: E402
from ol.generated.model import GeneratedReport, MutantResult, State  # noqa: E402
from ol.generated.scope import Scope  # noqa: E402
from ol.operators import apply_edit  # noqa: E402
from ol.store import Store  # noqa: E402
from ol.testbed import Testbed, prepare  # noqa: E402
from ol.toolchain import Sanitizer, find  # noqa: E402
from ol.verdict import Outcome  # noqa: E402


def quiet(what: str, done: int, total: int) -> None:
    pass


def audited(builder: Builder, store: Store, module: str, shard: str = "") -> tuple[GeneratedReport, float]:
    start = time.monotonic()
    entry = builder.course.module(module)
    report = audit_generated(builder, store, entry, scope=Scope(shard=shard), progress=quiet)
    return report, time.monotonic() - start


def one_by_one(bed: Testbed, results: list[MutantResult]) -> tuple[float, int]:
    """Seconds for each of `results` compiled, linked and run alone; and how many verdicts are others."""
    reference = bed.builder.reference_sources(bed.module)
    start, other = time.monotonic(), 0
    for result in results:
        edit, path = result.mutant.edit, result.mutant.file
        text = apply_edit(reference[path].decode(), edit)
        killers = [t for t in bed.module.tests if t.id in {k.test for k in result.kills}]
        tests = killers or [t for t in bed.module.tests if t.id.startswith("c:")]
        built = bed.builder.unit({**reference, path: text.encode()}, Sanitizer.ASAN)
        unit = {Sanitizer.ASAN: built, Sanitizer.TSAN: built, Sanitizer.NONE: built}
        tests = [t for t in tests if not t.threads] or tests[:0]
        failed = (
            any(r.outcome is Outcome.FAILED for r in bed.run(unit, tests)) if tests else bool(result.kills)
        )
        other += failed != (result.state is State.KILLED)
    return time.monotonic() - start, other


def universal(mutate: str, unit: Path) -> tuple[float, int]:
    """Seconds that universalmutator takes for a file, and how many valid mutants it makes."""
    with tempfile.TemporaryDirectory() as folder:
        start = time.monotonic()
        include = f"-I{ROOT / 'course/contracts/c/include'}"
        command = f"gcc -std=c11 -D_POSIX_C_SOURCE=200809L {include} -c MUTANT -o {folder}/x.o"
        argv = [mutate, str(unit), "--mutantDir", folder, "--cmd", command]
        subprocess.run(argv, capture_output=True, cwd=folder, check=False)
        return time.monotonic() - start, len(list(Path(folder).glob("*.mutant.*")))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("module", nargs="?", default="L9.2")
    parser.add_argument("--samples", type=int, default=20)
    parser.add_argument("--compiler", default=None)
    parser.add_argument("--universalmutator", metavar="MUTATE", default="")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        course = find_course(ROOT / "ol")
        builder = Builder(course, find(chosen.compiler), Path(folder))
        measure(builder, chosen.module, chosen.samples, chosen.universalmutator)


def measure(builder: Builder, module: str, samples: int, mutate: str) -> None:
    entry = builder.course.module(module)
    needed = {m.id: builder.reference_sources(m) for m in builder.course.closure(entry.depends)}
    bed = prepare(builder, Store(builder.cache / "0.sqlite"), entry, needed, entry.tests)
    bed.wanted(entry.tests)
    report, whole = audited(builder, Store(builder.cache / "1.sqlite"), module)
    viable = [m for m in report.mutants if m.state is not State.UNVIABLE]
    hung = [m for m in viable if any(k.way == "time-out" for k in m.kills)]
    told = [m for m in viable if m not in hung]
    alone, other = one_by_one(bed, told[:: max(1, len(told) // samples)][:samples])
    each = alone / min(samples, len(told))
    _, quarter = audited(builder, Store(builder.cache / "2.sqlite"), module, "1/4")
    timing = report.timing
    _, again = audited(builder, Store(builder.cache / "1.sqlite"), module)
    print(f"{module}: {len(viable)} viable mutants, {len(hung)} of them hang; {report.compiler}")
    print(f"end to end                       {whole:8.1f} s, {timing.runs} runs")
    print(
        f"one by one, {samples} of them            {each:8.2f} s each, {each * len(viable):.0f} s for all"
    )
    print(f"ratio                            {each * len(viable) / whole:8.1f}")
    print(f"mutants per second once built    {len(viable) / timing.running:8.1f}")
    print(f"other verdicts one by one        {other:8d} of {samples}")
    print(f"four times the mutants           {whole / quarter:8.2f} times the time of a quarter")
    print(f"a second run                     {again:8.1f} s")
    if mutate:
        unit = ROOT / "reference" / entry.units[0]
        seconds, made = universal(mutate, unit)
        ours = timing.generating + timing.building
        print(
            f"universalmutator                 {seconds / max(made, 1):8.2f} s for each of {made} mutants"
        )
        print(f"ratio for making them            {seconds / max(made, 1) / (ours / len(viable)):8.1f}")


if __name__ == "__main__":
    main()
