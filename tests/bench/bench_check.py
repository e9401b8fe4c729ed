"""How fast `ol check` is, as ratios from one run: python tests/bench/bench_check.py [--pairs N] [MODULE]

after an edit      `ol check MODULE --ref-deps` on a unit that has just changed, all tests, against the very
                   compilers, linkers and test processes that it starts (Python's too), run with the same
                   number of jobs by a script that does nothing else. They are taken down in one run of `ol`
                   and run again by replay.py. The kit, the suites and the reference are built in both.
nothing changed    the same check again, against `ol --help`

A sandbox around them is part of both sides, and hides their CPU time. For the second the CPU time says
more than the other where the machine is busy.

Pairs alternate, so that a busy machine is busy for both; the ratio is that of the medians.
"""

import argparse
import json
import os
import shutil
import statistics
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench_audit import ENTRY, ROOT, Cost, quietly, timed

from ol.course import find_course

MOST_TIMES = 1.3
MOST_SECONDS = 0.5
REPLAY = Path(__file__).with_name("replay.py")
RECORD = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from bench_check import record
record({{0!r}})
{ENTRY}
"""


def record(scratch: str) -> None:
    """Makes this process's `ol` write down what it starts, and keep what is compiled."""
    import atexit

    from ol import process

    calls: list[dict[str, Any]] = []
    real = process.run

    def run(argv: Sequence[str], *, cwd: Path, env: dict[str, str], **how: Any) -> process.Finished:
        kept = None
        if cwd.name.startswith("build-"):
            kept = Path(tempfile.mkdtemp(dir=scratch, prefix="kept-"))
            shutil.copytree(cwd, kept, dirs_exist_ok=True)
            for path in (kept, *kept.rglob("*")):  # the compiler runs as whoever it ran as
                path.chmod(0o777)
        done = real(argv, cwd=cwd, env=env, **how)
        logs = [part for word in (*argv, *env.values()) for part in _logs(word)]
        call = {
            "argv": list(argv),
            "cwd": str(cwd),
            "env": dict(env),
            "stdin": how.get("stdin", b"").decode(),
            "code": done.code,
            "logs": logs,
        }
        text = json.dumps(call)
        calls.append(
            json.loads(text.replace(str(cwd), str(kept)) if kept else text) | {"compiles": bool(kept)}
        )
        return done

    def write() -> None:
        tests = [c for c in calls if not c["compiles"] and c["stdin"]]
        stages = [[c for c in calls if c["compiles"]], tests]
        Path(scratch, "recording.json").write_text(json.dumps(stages))

    process.run = run  # type: ignore[assignment]
    atexit.register(write)


def _logs(word: str) -> list[str]:
    """Folders of the sanitizers' reports that a word of a command names; they are gone afterwards."""
    return [str(p) for p in Path(word).parents if p.name.startswith("run-")] if "run-" in word else []


@dataclass(frozen=True, kw_only=True)
class Student:
    """A workspace whose unit is the reference, with a remark that changes."""

    module: str
    unit: str
    scratch: Path
    jobs: int
    compiler: list[str] = field(default_factory=list)

    def edit(self, k: int) -> None:
        path = self.scratch / "mine" / self.unit
        path.parent.mkdir(parents=True, exist_ok=True)
        (self.scratch / "mine" / ".ol-workspace").touch()
        path.write_text(f"/* edit {k} */\n" + (ROOT / "reference" / self.unit).read_text())

    def ol(self, code: str, *arguments: str) -> Cost:
        env = {
            **os.environ,
            "OL_CACHE": str(self.scratch / "cache"),
            "OL_WORKSPACE": str(self.scratch / "mine"),
        }

        def run() -> None:
            done = quietly([sys.executable, "-c", code, *arguments], env=env)
            if done.returncode != 0:
                sys.exit((done.stdout + done.stderr).decode())

        return timed(run)

    def check(self, code: str = ENTRY) -> Cost:
        return self.ol(code, "check", self.module, "--ref-deps", "--jobs", str(self.jobs), *self.compiler)

    def record(self) -> list[int]:
        """Takes down a check after an edit; how many processes each stage has."""
        self.check(RECORD.format(str(self.scratch)))
        stages = json.loads(self.recording.read_text())
        for call in (c for stage in stages for c in stage):
            for folder in call["logs"]:
                Path(folder).mkdir(parents=True, exist_ok=True)
        return [len(stage) for stage in stages]

    @property
    def recording(self) -> Path:
        return self.scratch / "recording.json"

    def replay(self) -> Cost:
        def run() -> None:
            done = quietly([sys.executable, str(REPLAY), str(self.recording), str(self.jobs)])
            if done.returncode != 0:
                sys.exit(done.stderr.decode())

        return timed(run)


def middle(costs: Sequence[Cost], kind: str) -> float:
    return statistics.median(getattr(cost, kind) for cost in costs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("module", nargs="?", default="L9.4")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--compiler", default=None)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    chosen = parser.parse_args()
    module = find_course(ROOT / "ol").module(chosen.module)
    with tempfile.TemporaryDirectory(prefix="ol-bench-") as scratch:
        Path(scratch).chmod(0o755)
        student = Student(
            module=module.id,
            unit=module.units[0],
            scratch=Path(scratch),
            jobs=chosen.jobs,
            compiler=["--compiler", chosen.compiler] if chosen.compiler else [],
        )
        measure(student, chosen.pairs)


def measure(student: Student, pairs: int) -> None:
    student.edit(0)
    student.check()
    student.edit(-1)
    compiles, tests = student.record()
    ours, theirs, same, helps = [], [], [], []
    for k in range(1, pairs + 1):
        print(f"pair {k} of {pairs}", file=sys.stderr)
        student.edit(k)
        ours.append(student.check())
        theirs.append(student.replay())
        for _ in range(3):
            same.append(student.check())
            helps.append(student.ol(ENTRY, "--help"))
    print(f"{student.module}, {student.jobs} jobs, {pairs} pairs; at a check")
    print(f"{compiles} compilations and links, {tests} supervisors of tests")
    a, b = middle(ours, "wall"), middle(theirs, "wall")
    print(f"after an edit    wall {a:7.3f} s / {b:7.3f} s = {a / b:5.2f}     at most {MOST_TIMES}")
    for kind in ("wall", "cpu"):
        a, b = middle(same, kind), middle(helps, kind)
        print(
            f"nothing changed  {kind:<4} {a:7.3f} s - {b:7.3f} s = {a - b:5.2f} s  at most {MOST_SECONDS} s"
        )


if __name__ == "__main__":
    main()
