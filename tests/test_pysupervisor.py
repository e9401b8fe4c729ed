"""What a Python unit may do to escape its verdict, through the real supervisor and judge."""

import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest
from pyworld import TESTKIT, World

from ol.judge import judge, wishes
from ol.manifest import Way
from ol.stream import Ending
from ol.verdict import Failure

TEST = """
def test_{0}(ol):
    if ol.unit:
        import tinyllm.{0} as unit
        ol.saw_int("answer", unit.answer())
    if ol.oracle:
        ol.want_int("answer", 42)
"""
UNITS = {
    "honest": "def answer():\n    return 42",
    "leaves": "import sys\nsys.exit(0)",
    "leaves_now": "import os\nos._exit(0)",
    "loops": "while True:\n    pass",
    "interrupts": "raise KeyboardInterrupt",
    "skips": "import pytest\npytest.skip('not today', allow_module_level=True)",
    "stops": "import pytest\npytest.exit('done', 0)",
    "faults": "import ctypes\nctypes.string_at(0)",
    "misspelt": "def answer()\n    return 42",
    "claims": "import os\nprint('1 passed')\nos.write(2, b'OK')\nos._exit(0)",
    "forges": """
        import os
        end = bytes([5, 0, 0, 0, 5, 0, 0, 0, 0])
        for fd in range(3, 64):
            try:
                os.write(fd, end)
            except OSError:
                pass
        os._exit(0)
        """,
    "talks": "def answer():\n    for _ in range(50):\n        print('x' * 999_999)\n    return 42",
    "asks": "def answer():\n    return input()",
    "eats": "def answer():\n    return [bytearray(b'x' * 2**20) for _ in range(1000)]",
    "forks": "import os\ndef answer():\n    if os.fork():\n        os.wait()\n    return 42",
    "lingers": """
        import os, time
        def answer():
            read, write = os.pipe()
            if os.fork() == 0:
                os.setsid()
                if os.fork():
                    os._exit(0)
                print(os.getpid(), flush=True)
                os.write(write, b"x")
                time.sleep(60)
            os.read(read, 1)
            return 42
        """,
    "deep": """
        class OutOfBlocks(RuntimeError):
            pass

        def inner(n):
            raise OutOfBlocks(f"{n} blocks needed,\\n0 left")

        def answer():
            return sorted([1], key=inner)
        """,
    "awkward": """
        class Awkward(Exception):
            def __str__(self):
                raise ValueError

        def answer():
            raise Awkward
        """,
}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return World(tmp_path_factory.mktemp("world")).write("\n".join(map(TEST.format, UNITS)))


ENDS = {
    "leaves": (Way.CRASH, "SystemExit: 0", "python/tinyllm/leaves.py:2"),
    "interrupts": (Way.CRASH, "KeyboardInterrupt", "python/tinyllm/interrupts.py:1"),
    "skips": (Way.CRASH, "Skipped: not today", "python/tinyllm/skips.py:2"),
    "stops": (Way.CRASH, "Exit: done", "python/tinyllm/stops.py:2"),
    "misspelt": (Way.CRASH, "SyntaxError: expected ':'", "python/tinyllm/misspelt.py:1"),
    "asks": (Way.CRASH, "EOFError: EOF when reading a line", "python/tinyllm/asks.py:2"),
    "deep": (Way.CRASH, "OutOfBlocks: 1 blocks needed,\n0 left", "python/tinyllm/deep.py:6"),
    "awkward": (Way.CRASH, "Awkward: its text cannot be told", "python/tinyllm/awkward.py:7"),
    "faults": (Way.CRASH, "SIGSEGV, a bad address", ""),
    "leaves_now": (Way.EXIT, "the process left with status 0 before the end", ""),
    "claims": (Way.EXIT, "the process left with status 0 before the end", ""),
    "forges": (Way.CHECK, "none", ""),
}


@pytest.fixture(scope="module")
def ended(world: World) -> Mapping[str, tuple[Failure, ...]]:
    return world.failures(list(ENDS), world.unit(**UNITS))


@pytest.mark.parametrize("name", ENDS)
def test_a_unit_that_ends_the_test_has_failed(ended: Mapping[str, tuple[Failure, ...]], name: str) -> None:
    (failure,) = ended[name]
    assert (failure.way, failure.got, failure.where) == ENDS[name]


def test_an_honest_unit_passes_and_may_talk(world: World) -> None:
    assert world.failures(["honest", "talks"], world.unit(**UNITS)) == {"honest": (), "talks": ()}


def test_a_traceback_shows_the_units_own_lines(ended: Mapping[str, tuple[Failure, ...]]) -> None:
    (failure,) = ended["deep"]
    assert failure.detail.splitlines() == [
        '  File "python/tinyllm/deep.py", line 9, in answer',
        "    return sorted([1], key=inner)",
        '  File "python/tinyllm/deep.py", line 6, in inner',
        '    raise OutOfBlocks(f"{n} blocks needed,\\n0 left")',
    ]


def test_where_the_unit_has_no_line_the_tests_own_is_shown(world: World) -> None:
    (failure,) = world.failures(["honest"], world.unit(other="x = 1"))["honest"]
    assert failure.got == "ModuleNotFoundError: No module named 'tinyllm.honest'"
    assert failure.where == "test_small.py:5"


def test_an_endless_import_is_ended(world: World) -> None:
    start = time.monotonic()
    (failure,) = world.failures(["loops"], world.unit(**UNITS), seconds=0.5)["loops"]
    assert failure.way is Way.TIMEOUT
    assert time.monotonic() - start < 20


def test_output_is_kept_at_both_ends(world: World) -> None:
    (frame,) = world.frames(["talks"], world.unit(**UNITS))
    assert len(frame.out) + frame.dropped == 50 * 10**6
    assert len(frame.out) <= 32 << 10
    assert frame.out.startswith(b"x" * 99)


def test_memory_is_limited(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ol.suite.RSS_MB", 100)
    (failure,) = world.failures(["eats"], world.unit(**UNITS))["eats"]
    assert failure.way is Way.MEMORY


def test_a_flood_of_observations_is_stopped(tmp_path: Path) -> None:
    world = World(tmp_path).write("""
        def test_flood(ol):
            while ol.unit:
                ol.saw_u8("x", np.zeros(1 << 20, np.uint8))
    """)
    (failure,) = world.failures(["flood"])["flood"]
    assert failure.way is Way.OUTPUT


def test_a_second_process_in_the_test_is_seen_twice(world: World) -> None:
    (failure,) = world.failures(["forks"], world.unit(**UNITS))["forks"]
    assert failure.got == "an observation (saw_array) that nothing judges"


def test_a_grandchild_that_holds_the_pipes_is_ended(world: World) -> None:
    start = time.monotonic()
    (frame,) = world.frames(["lingers"], world.unit(**UNITS), seconds=20)
    assert time.monotonic() - start < 5
    assert frame.ending is Ending.EXITED
    assert not Path(f"/proc/{int(frame.out)}").exists()


def test_a_child_gets_limits_no_input_and_one_thread(tmp_path: Path) -> None:
    world = World(tmp_path).write("""
        def test_limits(ol):
            import os, resource, sys
            limits = [resource.getrlimit(r)[0] for r in (resource.RLIMIT_CORE, resource.RLIMIT_CPU)]
            print(limits, os.environ["OPENBLAS_NUM_THREADS"], os.getsid(0) == os.getpid(), end=" ")
            print(repr(sys.stdin.read()), len(os.listdir("/proc/self/fd")), "HOME" in os.environ)
    """)
    first, second = world.frames(["limits", "limits"], seconds=3)
    assert first.out == b"[0, 16] 1 True '' 5 False\n"
    assert second.out == first.out


def test_one_run_leaves_nothing_to_the_next(tmp_path: Path) -> None:
    world = World(tmp_path).write("""
        seen = []
        def test_count(ol):
            seen.append(1)
            if ol.unit:
                ol.saw_int("runs", len(seen))
            else:
                ol.want_int("runs", 1)
    """)
    frames = world.frames(["count"] * 3)
    (oracle,) = world.frames(["count"], oracle=True)
    wanted = wishes("count", oracle)
    assert [judge("count", f, wanted, ()).failures for f in frames] == [(), (), ()]


def test_a_suite_of_which_pytest_collects_nothing_does_not_start(tmp_path: Path) -> None:
    (tmp_path / "test_a.py").write_text("class Holder:\n    def test_b(self):\n        pass\n")
    argv = [sys.executable, "-I", str(TESTKIT / "pysupervisor.py"), str(tmp_path), "log"]
    ran = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True)
    assert ran.returncode == 70
    assert b"pytest cannot collect the tests" in ran.stderr
