"""A Python unit's signatures are held against its .pyi, and nothing that is right is refused."""

from pathlib import Path

import pytest

from ol.signatures import Mismatch, mismatches

ROOT = Path(__file__).parent.parent
CONTRACT = """
def plain(a: int, b: int = 0) -> int: ...
class Box(RuntimeError):
    def __init__(self, size: int) -> None: ...
    def put(self, x: float, *, twice: bool = False) -> None: ...
    @property
    def full(self) -> bool: ...
"""
FITS = """
def plain(a, b=0, *, more=1): return a
class Box(RuntimeError):
    def __init__(self, size): self.size = size
    def put(self, x, *, twice=False): pass
    @property
    def full(self): return True
"""


def found(source: str) -> list[str]:
    return [m.name for m in mismatches(CONTRACT, source)]


def test_what_fits_is_not_refused():
    assert mismatches(CONTRACT, FITS) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("def plain(a, b=0, *, more=1): return a", "def plain(x, b=0): return x"),
        ("def plain(a, b=0, *, more=1): return a", "from elsewhere import plain"),
        ("def plain(a, b=0, *, more=1): return a", "plain = lambda a, b=0: a"),
        ("def plain(a, b=0, *, more=1): return a", "def plain(*args, **kwargs): return args[0]"),
        ("def plain(a, b=0, *, more=1): return a", "if True:\n    def plain(a, b=0): return a"),
        ("class Box(RuntimeError):", "class Base:\n    pass\nclass Box(Base):"),
        ("    def put(self, x, *, twice=False): pass\n", ""),
        ("    @property\n    def full(self): return True", "    full = True"),
    ],
)
def test_another_way_to_bind_a_name_is_left_to_the_tests(old, new):
    assert old in FITS
    assert found(FITS.replace(old, new)) == []


@pytest.mark.parametrize(
    ("old", "new", "name"),
    [
        ("def plain(a, b=0, *, more=1)", "def plain(b, a=0)", "plain"),
        ("def plain(a, b=0, *, more=1)", "def plain()", "plain"),
        ("def plain(a, b=0, *, more=1)", "def plain(a, c, b=0)", "plain"),
        ("def plain(a, b=0, *, more=1)", "def plain(a, b)", "plain"),
        ("def plain(a, b=0, *, more=1)", "def plain(a, b=0, *, more)", "plain"),
        ("def plain(a, b=0, *, more=1)", "def plane(a, b=0)", "plain"),
        ("def put(self, x, *, twice=False)", "def put(self, x)", "Box.put"),
        ("def __init__(self, size)", "def __init__(self)", "Box.__init__"),
    ],
)
def test_a_definition_that_differs_is_told(old, new, name):
    assert old in FITS
    assert found(FITS.replace(old, new)) == [name]


def test_both_signatures_and_the_line_are_shown():
    assert mismatches("def f(x: int) -> int: ...", "\n\ndef f(y, z): pass") == [
        Mismatch(name="f", wanted="def f(x: int) -> int", found="def f(y, z)", line=3)
    ]


@pytest.mark.parametrize("unit", ["modern/window", "infer/paged"])
def test_references_and_correct_solutions_fit_their_contracts(unit):
    contract = (ROOT / f"course/contracts/python/tinyllm/{unit}.pyi").read_text()
    module = {"modern/window": "L7.7", "infer/paged": "L8.3"}[unit]
    solutions = list((ROOT / f"tests/fair/{module}").glob("*.py"))
    assert len(solutions) >= 3
    for path in (ROOT / f"reference/python/tinyllm/{unit}.py", *solutions):
        assert (path.name, mismatches(contract, path.read_text())) == (path.name, [])
