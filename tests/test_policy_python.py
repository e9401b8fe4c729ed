"""Each rule of the policy on Python sources, and what honest units may do beside it."""

from pathlib import Path

import pytest
from attacking import COURSE
from tinycourse import ROOT

from ol.policy import check_python
from ol.policy.refusal import Refusal, Rule

REFUSED = {
    "import os": (Rule.IMPORT, "import of os", 1),
    "import numpy as np, sys": (Rule.IMPORT, "import of sys", 1),
    "def f():\n    from subprocess import run": (Rule.IMPORT, "import of subprocess", 2),
    "from . import other": (Rule.IMPORT, "import of .", 1),
    "import ctypes": (Rule.IMPORT, "import of ctypes", 1),
    "import scipy": (Rule.IMPORT, "import of scipy", 1),
    "import numpy.testing": (Rule.IMPORT, "import of numpy.testing", 1),
    "m = __import__('os')": (Rule.REFLECTION, "__import__", 1),
    "x = 1\neval('x')": (Rule.REFLECTION, "eval", 2),
    "run = exec": (Rule.REFLECTION, "exec", 1),
    "compile('1', '', 'eval')": (Rule.REFLECTION, "compile", 1),
    "globals()['f'] = 1": (Rule.REFLECTION, "globals", 1),
    "vars(x)": (Rule.REFLECTION, "vars", 1),
    "eval = eval": (Rule.REFLECTION, "eval", 1),
    "def f():\n    global eval\n    eval = 1\n    return eval('x')": (Rule.REFLECTION, "eval", 3),
    "def f(eval=eval): return eval('1')": (Rule.REFLECTION, "eval", 1),
    "def f():\n    class A: exec = 1\n    return exec('x')": (Rule.REFLECTION, "exec", 2),
    "def f():\n    def g(eval): pass\n    return eval('x')": (Rule.REFLECTION, "eval", 3),
    "class A:\n    eval = 1\n    def f(self): return eval('x')": (Rule.REFLECTION, "eval", 2),
    "().__class__.__subclasses__()": (Rule.REFLECTION, ".__subclasses__", 1),
    "f.__globals__": (Rule.REFLECTION, ".__globals__", 1),
    "__builtins__['open']": (Rule.REFLECTION, "__builtins__", 1),
    "type(x).__mro__": (Rule.REFLECTION, ".__mro__", 1),
    "getattr(x, '__globals__')": (Rule.REFLECTION, ".__globals__", 1),
    "getattr(x, '__glo' + 'bals__')": (Rule.REFLECTION, "getattr of a name that is computed", 1),
    "setattr(*x)": (Rule.REFLECTION, "setattr of a name that is computed", 1),
    "import operator\noperator.attrgetter('a')": (Rule.REFLECTION, "operator.attrgetter", 2),
    "from operator import attrgetter": (Rule.REFLECTION, "operator.attrgetter", 1),
    "import typing as t\nt.get_type_hints(f)": (Rule.REFLECTION, "typing.get_type_hints", 2),
    "from types import FunctionType": (Rule.REFLECTION, "types.FunctionType", 1),
    "import numpy as np\nnp.testing.assert_equal": (Rule.REFLECTION, "numpy.testing", 2),
    "import numpy as np\nnp._core": (Rule.REFLECTION, "numpy._core", 2),
    "import contextlib\ncontextlib.os.system('true')": (Rule.REFLECTION, ".os", 2),
    "try: 1 / 0\nexcept Exception as e: e.__traceback__": (Rule.REFLECTION, ".__traceback__", 2),
    "g.gi_frame": (Rule.REFLECTION, ".gi_frame", 1),
    "match f:\n    case object(__globals__=g): g.clear()": (Rule.REFLECTION, ".__globals__", 2),
    "match x:\n    case object(tofile=write): write('y')": (Rule.FILES, ".tofile", 2),
    "open('x')": (Rule.FILES, "open", 1),
    "import numpy as np\nnp.load('x')": (Rule.FILES, "numpy.load", 2),
    "from numpy import fromfile": (Rule.FILES, "numpy.fromfile", 1),
    "x.tofile('y')": (Rule.FILES, ".tofile", 1),
    "import numpy as np\nnp.allclose = max": (Rule.PATCHING, "np.allclose is changed", 2),
    "from numpy import linalg\nlinalg.norm = max": (Rule.PATCHING, "linalg.norm is changed", 2),
    "import numpy.typing\ndel numpy.linalg.norm": (Rule.PATCHING, "numpy.linalg.norm is changed", 2),
}
WITH_CTYPES = {
    "import ctypes\nlib = ctypes.CDLL(None)": (Rule.REFLECTION, ".CDLL", 2),
    "import ctypes as c\nc.pythonapi": (Rule.REFLECTION, ".pythonapi", 2),
    "from ctypes import CDLL\ndef f(lib: CDLL): return CDLL(None)": (Rule.REFLECTION, "CDLL", 2),
    "import numpy as np\nnp.ctypeslib.load_library('x', '.')": (Rule.REFLECTION, ".load_library", 2),
}
HONEST = (
    "def f(input, open): return open(input)",
    "def f():\n    compile = 1\n    def g(): return compile\n    return g",
    "f = lambda vars: vars",
    "[x for x in y]",
    "class A:\n    def __init__(self):\n        super().__init__()\n        x = self.__class__.__name__",
    "class A:\n    __slots__ = ('x',)\n    def __init__(self, x): object.__setattr__(self, 'x', x)",
    "if __name__ == '__main__': print('hello')",
    "match x:\n    case complex(real=a, imag=b): a + b",
    "x = getattr(y, 'shape', None)",
    "import numpy as np\nfrom numpy.typing import NDArray\nx = np.zeros(3)\nx.flags.writeable = False",
    "import numpy as np\nx.ctypes.data, np.linalg.norm(x), np.random.default_rng(0)",
    "import numpy as np\nnp.lib.stride_tricks.sliding_window_view(x, 3)",
    "import numpy as np\ndef f(np): np.shape = (3,)",
    "from collections.abc import Sequence\nfrom math import *\nfrom types import TracebackType",
    "'os.system and __globals__ in a text'",
)


def found(source: str, may_import: tuple[str, ...] = ()) -> list[Refusal]:
    return list(check_python(source.encode(), "u.py", may_import=may_import))


@pytest.mark.parametrize("source", REFUSED)
def test_each_rule(source: str) -> None:
    first = found(source)[0]
    assert (first.rule, first.found, first.line) == REFUSED[source]
    assert first.instead
    assert first.column


@pytest.mark.parametrize("source", WITH_CTYPES)
def test_libraries_are_handed_out_and_not_opened(source: str) -> None:
    (one,) = found(source, ("ctypes",))
    assert (one.rule, one.found, one.line) == WITH_CTYPES[source]


def test_a_library_may_be_named_as_a_type() -> None:
    assert found("import ctypes\ndef f(lib: ctypes.CDLL) -> 'x': ...", ("ctypes",)) == []
    assert found("from ctypes import CDLL\ndef f(lib: CDLL): ...", ("ctypes",)) == []


@pytest.mark.parametrize("source", HONEST)
def test_honest_code_stays(source: str) -> None:
    assert found(source) == []


def test_each_finding_once_and_at_most_twenty() -> None:
    assert len(found("import os\nimport os")) == 1
    assert len(found("\n".join(f"import m{k}" for k in range(99)))) == 20


def test_a_source_that_no_parser_ends_with_is_refused() -> None:
    deep = "x = " + "-" * 50_000 + "1"
    assert [r.rule for r in found(deep)] == [Rule.SIZE]
    (large,) = found("#" * (1 << 18) + "\n")
    assert "262,145" in large.found


def test_one_nested_deeply_is_read_to_its_end() -> None:
    source = "x = " + " + ".join(["1"] * 500 + ["eval('1')"])
    assert [r.found for r in found(source)] == ["eval"]


def test_the_encoding_is_the_sources_own() -> None:
    source = b"# coding: utf-7\nx = 1\n+AGUAdgBhAGw-('1')\n"
    assert [r.found for r in check_python(source, "u.py")] == ["eval"]


def units(module: str) -> list[Path]:
    path = COURSE.module(module).units[0]
    places = [ROOT / "tests" / kind / module for kind in ("fair", "unfair")]
    return [ROOT / "reference" / path, *sorted(p for place in places for p in place.rglob("*.py"))]


@pytest.mark.parametrize("module", [m.id for m in COURSE.modules.values() if m.language == "python"])
def test_solutions_fair_and_unfair_are_not_refused(module: str) -> None:
    more = COURSE.module(module).may_import
    assert len(units(module)) > 5
    assert {p.name: r for p in units(module) if (r := check_python(p.read_bytes(), may_import=more))} == {}
