"""Python units that try to pass without the work: by leaving, by patching, by forging, by reading.

They run without the policy on sources, which refuses nearly all of them, so that the layers below are seen.
"""

from dataclasses import replace
from pathlib import Path

import pytest
from attacking import AT_ONCE, COURSE, crowded, place
from tinycourse import ROOT

from ol import sandbox
from ol.build import Builder
from ol.parallel import finished
from ol.policy import check_python
from ol.sandbox import Kind, Sandbox, Wish
from ol.store import Store
from ol.testbed import Testbed, prepare
from ol.toolchain import Sanitizer, find
from ol.verdict import Outcome

MODULE = COURSE.module("L7.7")
PATH = MODULE.units[0]
HONEST = (ROOT / "reference" / PATH).read_text()
STUB = """
import numpy as np
def sink_window_mask(Tq, Tk, window, n_sink=0, q_offset=0):
    return np.zeros((Tq, Tk), dtype=bool)
def windowed_attention(q, k, v, window=None, n_sink=0, q_offset=0, sink=None, **more):
    return np.zeros_like(q), np.zeros(q.shape[:-1], dtype=np.float32)
"""
# Each stands before the stub, whose answers are wrong.
FORGING = {
    "sys_exit": "import sys; sys.exit(0)",
    "os_exit": "import os; os._exit(0)",
    "kill_self": "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
    "patched_numpy": """
import numpy, numpy.testing
numpy.allclose = numpy.array_equal = numpy.isclose = lambda *a, **k: True
numpy.testing.assert_allclose = lambda *a, **k: None
""",
    "patched_pytest": """
import pytest, _pytest.runner, _pytest.python
pytest.fail = lambda *a, **k: None
_pytest.python.Function.runtest = lambda self: None
_pytest.runner.pytest_runtest_call = lambda item: None
""",
    "patched_kit": """
import olkit
for name in [n for n in dir(olkit.Ol) if n.startswith("saw_")]:
    setattr(olkit.Ol, name, lambda self, *a, **k: None)
""",
    "ends_by_the_kit": """
import gc, os, olkit
for o in gc.get_objects():
    if isinstance(o, olkit.Ol):
        o.finish()
os._exit(0)
""",
    "forged_end": """
import os
for fd in range(3, 256):
    try: os.write(fd, b"\\x05\\0\\0\\0\\x05\\0\\0\\0\\0")
    except OSError: pass
os._exit(0)
""",
    "forged_frame": """
import os, struct
rest = struct.pack("<IBiQQ", 0, 0, 0, 1, 1) + b"".join(struct.pack("<I", 0) for _ in range(4)) + bytes(8)
for fd in (1, 2):
    os.write(fd, struct.pack("<I", len(rest)) + rest)
for n in range(256):
    try: os.write(os.open(f"/proc/{os.getppid()}/fd/{n}", os.O_WRONLY), struct.pack("<I", len(rest)) + rest)
    except OSError: pass
os._exit(0)
""",
    "excepthook": "import sys; sys.excepthook = lambda *a: None\nraise SystemExit",
    "trace": "import sys; sys.settrace(lambda *a: None); sys.setrecursionlimit(10)",
    "atexit": "import atexit, os; atexit.register(lambda: os._exit(0))",
    "loops": "while True: pass",
    "forks": "import os\nfor _ in range(30): os.fork()",
    "writes_to_its_parent": """
import os
f = os.open(f"/proc/{os.getppid()}/mem", os.O_RDWR)
os.pwrite(f, b"x" * 64, id(None))
""",
    "kills_its_parent": "import os, signal; os.kill(os.getppid(), signal.SIGKILL)",
    "ctypes_null": "import ctypes; ctypes.string_at(0)",
}
# Each raises where it finds something to steal, and else answers as the reference does.
STEALING = {
    "the tests' sources": """
import os, sys
for m in list(sys.modules.values()):
    f = getattr(m, "__file__", None) or ""
    if os.path.basename(f).startswith(("test_", "world")):
        assert "ol.want_" not in open(f).read(), f
""",
    "the oracle's code": """
import gc, types
for o in gc.get_objects():
    if isinstance(o, types.FunctionType) and str(o.__module__).startswith(("test_", "world")):
        todo = [o.__code__]
        for c in todo:
            todo += [k for k in c.co_consts if isinstance(k, types.CodeType)]
            assert not any(n.startswith("want_close") for n in c.co_names), c
""",
    "the frames of callers": """
import sys
f = sys._getframe()
while f:
    assert not any("oracle" in k or "expected" in k for k in f.f_locals), list(f.f_locals)
    f = f.f_back
""",
    "the environment": "import os; assert set(os.environ) <= {'PATH', 'LC_ALL', 'PWD', 'OLDPWD', 'SHLVL',"
    " 'OPENBLAS_NUM_THREADS', 'OMP_NUM_THREADS', 'MKL_NUM_THREADS', 'PYTEST_DISABLE_PLUGIN_AUTOLOAD',"
    " 'PYTEST_VERSION', 'PYTEST_CURRENT_TEST', 'LC_CTYPE'}, dict(os.environ)",
}
INSIDE = {
    "the course": f"import os; assert not os.path.exists({str(ROOT / 'reference')!r})",
    "the network": """
import socket
try: socket.create_connection(("127.0.0.1", 22), timeout=1)
except OSError as e: assert e.errno in (101, 111, 99), e
assert len(open("/proc/net/dev").readlines()) <= 3
""",
    "other processes": "import os; assert sum(n.isdigit() for n in os.listdir('/proc')) < 8",
    "root": "import os; assert os.getuid() != 0",
}


def bed(where: Sandbox, cache: Path) -> Testbed:
    tests = [replace(t, seconds=6.0) for t in MODULE.tests[:2]]
    made = prepare(Builder(COURSE, find(None), cache, where), Store(Path(":memory:")), MODULE, {}, tests)
    return replace(made, patient=False, module=replace(MODULE, tests=tuple(tests)))


@pytest.fixture(scope="module", params=list(Kind))
def arena(request: pytest.FixtureRequest, any_compiler: str, shared_cache: Path) -> Testbed:
    return bed(place(request.param), shared_cache)


Said = tuple[set[Outcome], str]
HONEST_PASS: Said = ({Outcome.PASSED}, "")


def outcomes(arena: Testbed, source: str) -> Said:
    unit = arena.build({PATH: source.encode()}, [Sanitizer.NONE])
    results = arena.run(unit, arena.module.tests)
    said = "; ".join(f"{f.way}: {f.got} {f.detail[-300:]}" for r in results for f in r.failures)
    return {r.outcome for r in results}, said


def fates(arena: Testbed, sources: dict[str, str]) -> dict[str, Said]:
    with crowded():
        calls = [lambda n=name, s=text: (n, outcomes(arena, s)) for name, text in sources.items()]
        return dict(finished(calls, at_once=AT_ONCE))


@pytest.fixture(scope="module")
def found(arena: Testbed) -> dict[str, Said]:
    forging = {name: text + STUB for name, text in FORGING.items()}
    stealing = {name: HONEST + text for name, text in STEALING.items()}
    return fates(arena, forging | stealing | {"honest": HONEST})


@pytest.fixture(scope="module")
def found_inside(any_compiler: str, shared_cache: Path) -> dict[str, Said]:
    best = sandbox.find(Wish.AUTO)
    if best == sandbox.find(Wish.OFF):
        pytest.skip("no sandbox starts here")
    return fates(bed(best, shared_cache), {name: HONEST + text for name, text in INSIDE.items()})


def test_the_honest_unit_passes(found: dict[str, Said]) -> None:
    assert found["honest"] == HONEST_PASS


@pytest.mark.parametrize("name", FORGING)
def test_a_wrong_unit_does_not_pass_by_other_means(found: dict[str, Said], name: str) -> None:
    outcome, _ = found[name]
    assert Outcome.PASSED not in outcome


@pytest.mark.parametrize("name", sorted({*FORGING, *STEALING, *INSIDE} - {"loops"}))
def test_the_policy_refuses_it_before_it_is_run(name: str) -> None:
    attack = {**FORGING, **STEALING, **INSIDE}[name]
    assert check_python((attack + STUB).encode(), may_import=MODULE.may_import)


@pytest.mark.parametrize("name", STEALING)
def test_there_is_nothing_to_steal(found: dict[str, Said], name: str) -> None:
    assert found[name] == HONEST_PASS


@pytest.mark.parametrize("name", INSIDE)
def test_inside_the_sandbox_there_is_no(found_inside: dict[str, Said], name: str) -> None:
    assert found_inside[name] == HONEST_PASS
