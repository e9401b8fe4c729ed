"""The supervisor for Python, the twin of supervisor.c: holds a suite and no student code. It reads
requests from its input, forks a child for each, and writes what came of it to its output. Requests and
results have the layout that supervisor.c describes:

    python -I pysupervisor.py --list SUITE_DIR
    python -I pysupervisor.py SUITE_DIR LOG_PREFIX [FIXTURES] < requests > results

A suite is a folder with test_*.py. With FIXTURES it stands in the oracle role, else in the unit role, in
which every `if ol.oracle:` block is left out of the tests. An object that ends in .so is a C unit, any
other is the folder of a Python unit. LOG_PREFIX is not used: Python units have no sanitizer's log.
"""

import ast
import ctypes
import gc
import os
import struct
import sys
from pathlib import Path
from types import ModuleType
from typing import NoReturn

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
PR_SET_DUMPABLE = 4
SIGKILL = 9
SIGCONT = 18
prctl = ctypes.CDLL(None).prctl
prctl(PR_SET_PDEATHSIG, SIGKILL)  # for what is imported and loaded takes long

os.environ.update(
    dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1"),
    PYTEST_DISABLE_PLUGIN_AUTOLOAD="1",
)
sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))

import numpy as np  # noqa: E402, F401
import pytest  # noqa: E402
from pychild import Job, Plugin, options, run_child  # noqa: E402
from pywatch import STREAM_CAP, Capture, Ending, Outcome, watch  # noqa: E402


def fault(what: str, why: object) -> NoReturn:
    """Leave: something is wrong that no unit has caused."""
    os.write(2, f"supervisor: {what}: {why}\n".encode("utf-8", "backslashreplace"))
    os._exit(70)


class UnitRole(ast.NodeTransformer):
    """Leaves out what only the oracle's process may hold."""

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt]:
        """Keep of `if ol.oracle:` only its else, of `if ol.unit:` only its body."""
        self.generic_visit(node)
        condition = ast.unparse(node.test)
        if condition == "ol.oracle":
            return node.orelse or ast.copy_location(ast.Pass(), node)
        if condition == "ol.unit":
            node.orelse = []
        return node


def parse_suite(folder: Path) -> dict[Path, ast.Module]:
    """The sources of a suite by path."""
    paths = sorted(folder.resolve().glob("test_*.py"))
    if not paths:
        fault("no tests", folder)
    try:
        return {path: ast.parse(path.read_bytes(), str(path)) for path in paths}
    except (SyntaxError, OSError) as error:
        fault("cannot read a test", error)


def tests_of(suite: dict[Path, ast.Module]) -> dict[str, Path]:
    """The names of the tests, without "test_", in the order of the sources."""
    found: dict[str, Path] = {}
    for path, tree in suite.items():
        for node in tree.body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                name = node.name.removeprefix("test_")
                if name in found:
                    fault("two tests have one name", name)
                found[name] = path
    return found


def load(suite: dict[Path, ast.Module], *, oracle: bool) -> None:
    """Make modules of the sources, where pytest finds them; they import no unit at their top."""
    for path, tree in suite.items():
        kept = tree if oracle else ast.fix_missing_locations(UnitRole().visit(tree))
        module = ModuleType(path.stem)
        module.__file__ = str(path)
        sys.modules[path.stem] = module
        sys.path.insert(0, str(path.parent))
        try:
            exec(compile(kept, str(path), "exec", dont_inherit=True), module.__dict__)
        except Exception as error:
            fault("cannot load a test", f"{path.name}: {type(error).__name__}: {error}")
        finally:
            del sys.path[0]


def run(job: Job, plugin: Plugin, results: int) -> Outcome:
    """Run one test in a child of its own."""
    supervisor = os.getpid()
    ends = [os.pipe() for _ in range(3)]
    stream, out, err = (write for _, write in ends)
    pid = os.fork()
    if pid == 0:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(out, 1)
        os.dup2(err, 2)
        os.closerange(3, stream)
        os.closerange(stream + 1, 1024)
        run_child(job, plugin, stream, supervisor)
    for read, write in ends:
        os.close(write)
        os.set_blocking(read, False)
    stream, out, err = (read for read, _ in ends)
    o = Outcome(Capture(stream, STREAM_CAP, whole=True), Capture(out), Capture(err))
    watch(pid, o, seconds=job.seconds, rss_mb=job.rss_mb, results=results)
    return o


def send(results: int, number: int, o: Outcome) -> None:
    """Write a result to a descriptor."""
    kept = (o.stream.kept, o.out.kept, o.err.kept, b"")
    rest = struct.pack("<IBiQQ", number, o.ending, o.code, o.wall_us, o.peak_kb)
    rest += b"".join(struct.pack("<I", len(blob)) + blob for blob in kept)
    rest += struct.pack("<Q", o.out.dropped + o.err.dropped)
    left = memoryview(struct.pack("<I", len(rest)) + rest)
    while left:
        left = left[os.write(results, left) :]


def serve(plugin: Plugin, tests: dict[str, Path], fixtures: str | None, results: int) -> None:
    """Answer each request until the input ends."""
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    prctl(PR_SET_DUMPABLE, 0)  # no child may reach into this process
    prctl(PR_SET_PDEATHSIG, SIGCONT)  # a unit may have stopped this process: see pywatch
    gc.freeze()
    late = False
    for line in iter(sys.stdin.buffer.readline, b""):
        if line == b"\n":
            late = False
            continue
        try:
            number, wall_ms, rss_mb, seed, mutant, test, *objects = line.decode().split()
        except ValueError:
            fault("a request is cut short", line)
        o = Outcome(Capture(-1), Capture(-1), Capture(-1), ending=Ending.NO_SUCH_TEST)
        if test in tests and late and int(wall_ms) < 0:
            o.ending = Ending.NOT_RUN
        elif test in tests:
            job = Job(
                source=tests[test],
                test=test,
                objects=objects,
                seconds=abs(int(wall_ms)) / 1000,
                rss_mb=int(rss_mb),
                seed=int(seed),
                mutant=int(mutant),
                fixtures=fixtures,
            )
            o = run(job, plugin, results)
        late = late or o.ending is Ending.TIMED_OUT
        send(results, int(number), o)
        o.close()


def main(arguments: list[str]) -> None:
    """Run from the command line."""
    if len(arguments) == 2 and arguments[0] == "--list":
        os.write(1, "".join(f"{name}\n" for name in tests_of(parse_suite(Path(arguments[1])))).encode())
        return
    if len(arguments) not in (2, 3):
        fault("usage", "pysupervisor.py --list SUITE_DIR | pysupervisor.py SUITE_DIR LOG_PREFIX [FIXTURES]")
    results = os.dup(1)
    os.dup2(2, 1)  # what a test prints while it is loaded is no result
    fixtures = arguments[2] if len(arguments) == 3 else None
    suite = parse_suite(Path(arguments[0]))
    tests = tests_of(suite)
    load(suite, oracle=fixtures is not None)
    folder = Path(arguments[0]).resolve()
    plugin = Plugin(lambda ready: serve(ready, tests, fixtures, results))
    if code := pytest.main([*options(folder), *map(str, suite)], plugins=[plugin]):
        fault("pytest cannot collect the tests", code)


if __name__ == "__main__":
    main(sys.argv[1:])
