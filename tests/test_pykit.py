"""Every check of the Python kit, seen to pass and seen to fail."""

import shutil
import warnings
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyworld import World

from ol import toolchain
from ol.build import Builder
from ol.course import find_course
from ol.errors import ToolError
from ol.manifest import Way
from ol.pytree import stage
from ol.toolchain import Sanitizer
from ol.verdict import Failure


@dataclass(frozen=True)
class Case:
    """An observation, a wish, and what came of it: None, or (expected, got) of the failure."""

    saw: str
    want: str
    fails: tuple[str, str] | None = None


ONE, ONES = "np.float32([1, 2])", "np.array([1.0, 2.0])"
UNJUDGED = ("a wish of the oracle for every observation", "an observation (saw_array) that nothing judges")
CASES = [
    Case(f"saw_f32('x', {ONE})", "want_close_f32('x', [1, 2.0001], 1e-4, 0)"),
    Case(
        f"saw_f32('x', {ONE})", "want_close_f32('x', [1, 2.5], 0, 0.01)", ("2.5 ± 0.01", "2 (off by 0.5)")
    ),
    Case("saw_f32('x', np.float32([np.nan]))", "want_close_f32('x', [np.nan], 1, 1)", ("nan ± nan", "nan")),
    Case("saw_f32('x', np.float32([-np.inf]))", "want_close_f32('x', [-np.inf], 0, 0)"),
    Case(f"saw_f32('x', {ONE})", "want_close_f32('x', [1], 0, 0)", ("1 values of f32", "2 values of f32")),
    Case(f"saw_f32('x', {ONES})", "want_close_f32('x', [1, 2], 0, 0)", ("2 values of f32", "float64 [2]")),
    Case("saw_f32('x', None)", "want_close_f32('x', [1], 0, 0)", ("1 values of f32", "NoneType")),
    Case(f"saw_f32('x', {ONE}, 'ij')", "want_bits_f32('x', [1, 2])", ("2 values of f32", "float32 [2]")),
    Case(f"saw_f64('x', {ONES})", "want_close_f64('x', [1, 2 + 1e-15], 0, 1e-14)"),
    Case(f"saw_f64('x', {ONES})", "want_close_f64('x', [1, 3], 0, 1e-9)", ("3 ± 1e-09", "2 (off by 1)")),
    Case("saw_f32('x', np.float32([1 + 2**-23]))", "want_ulp_f32('x', [1.0], 1)"),
    Case(
        "saw_f32('x', np.float32([1.5]))",
        "want_ulp_f32('x', [1], 1)",
        ("1 within 1 ulp", "1.5 (off by 0.5)"),
    ),
    Case("saw_f32('x', np.float32([np.nan, -np.nan]))", "want_nan_f32('x', 2)"),
    Case("saw_f32('x', np.float32([np.nan, 1]))", "want_nan_f32('x', 2)", ("nan", "1")),
    Case("saw_f32('x', ol.sentinel_f32((2, 2)))", "want_bits_f32('x', ol.sentinel_f32(4))"),
    Case(
        "saw_f32('x', np.float32([0.0]))",
        "want_bits_f32('x', [-0.0])",
        ("-0 (0x80000000)", "0 (0x00000000) (off by 0)"),
    ),
    Case(f"saw_f64('x', {ONES})", "want_bits_f64('x', [1, 2])"),
    Case(f"saw_f64('x', {ONES})", "want_bits_f64('x', [1, 3])", ("3", "2 (off by 1)")),
    Case("saw_i64('x', np.int64([-1]))", "want_i64('x', [-1])"),
    Case("saw_i64('x', np.int64([-1]))", "want_i64('x', [1])", ("1", "-1")),
    Case("saw_u32('x', np.arange(6, dtype=np.uint32)[::2])", "want_u32('x', [0, 2, 4])"),
    Case("saw_u32('x', np.int64([1]))", "want_u32('x', [1])", ("1 values of u32", "int64 [1]")),
    Case("saw_u16('x', np.float16([1]))", "want_u16('x', [0x3C00])"),
    Case("saw_u16('x', np.uint16([1]))", "want_u16('x', np.float16([1]))", ("15360", "1")),
    Case("saw_u8('x', np.array([True, False]))", "want_u8('x', np.array([True, False]))"),
    Case("saw_u8('x', np.uint8([1]))", "want_u8('x', [2])", ("2", "1")),
    Case("saw_int('x', np.int32(-7))", "want_int('x', -7)"),
    Case("saw_int('x', 7)", "want_int('x', 8)", ("8", "7")),
    Case("saw_int('x', 7.0)", "want_int('x', 7)", ("1 values of i64", "float")),
    Case("saw_text('x', 'one\\ud800')", "want_text('x', 'one\\ud800')"),
    Case("saw_text('x', None)", "want_text('x', 'one')", ("'one'", "'None'")),
    Case("saw_text('x', 'one two')", "want_text_with('x', 'two')"),
    Case("saw_text('x', 'one')", "want_text_with('x', 'two')", ("a text with 'two'", "'one'")),
    Case("saw_form('x', np.zeros((2, 3)))", "want_form('x', 'float64', (2, 3))"),
    Case(
        "saw_form('x', np.zeros(6))", "want_form('x', 'f8', (2, 3))", ("'float64 [2, 3]'", "'float64 [6]'")
    ),
    Case(f"saw_f32('y', {ONE}); ol.saw_f32('x', {ONE})", "want_same('y', 'x')"),
    Case("saw_int('y', 1); ol.saw_int('x', 2)", "want_same('y', 'x')", ("1", "2")),
    Case("saw_int('x', 1)", "note('no wish')", UNJUDGED),
    Case("note('nothing seen')", "want_int('x', 1)", ("an observation", "none")),
]
SHARED = [
    Case("ol.status('x', 1, lambda: 1)", ""),
    Case("ol.status('x', 0, lambda: 1)", "", ("OK", "EINVAL")),
    Case("ol.holds('x', lambda: 1 < 2)", ""),
    Case("ol.holds('x', lambda: 2 < 1)", "", ("2 < 1", "it does not hold")),
    Case("ol.raises('x', 'LookupError', lambda: {}['k'])", ""),
    Case("ol.raises('x', 'KeyError', lambda: None)", "", ("'KeyError'", "'nothing'")),
    Case("ol.raises('x', 'OSError', lambda: {}['k'])", "", ("'OSError'", "\"KeyError: 'k'\"")),
]
BODY = "def test_case_{}(ol):\n    if ol.unit:\n        ol.{}\n    if ol.oracle:\n        ol.{}\n"


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Failure, ...]]:
    """The failures of all cases, from one run of each role."""
    tests = [BODY.format(k, c.saw, c.want) for k, c in enumerate(CASES)]
    tests += [f"def test_case_{k}(ol):\n    {c.saw}\n" for k, c in enumerate(SHARED, len(CASES))]
    world = World(tmp_path_factory.mktemp("cases")).write("\n".join(tests))
    found = world.failures([f"case_{k}" for k in range(len(tests))])
    return list(found.values())


@pytest.mark.parametrize("k", range(len(CASES + SHARED)), ids=lambda k: (CASES + SHARED)[k].saw)
def test_a_check_judges_as_it_says(k: int, results: list[tuple[Failure, ...]]) -> None:
    case = (CASES + SHARED)[k]
    came = [(f.way, f.expected, f.got) for f in results[k]]
    assert came == ([(Way.CHECK, *case.fails)] if case.fails else [])


def test_a_failure_stands_in_the_arrays_own_coordinates_under_its_note(tmp_path: Path) -> None:
    world = World(tmp_path).write("""
        def test_place(ol):
            ol.note("two by three")
            x = np.zeros((2, 3), np.float32)
            if ol.oracle:
                x[1, 2] = 1
                ol.want_bits_f32("x", x)
            else:
                ol.saw_f32("x", x, ("row", "column"))
    """)
    (failure,) = world.failures(["place"])["place"]
    assert (failure.where, failure.bad, failure.total) == ("row 1, column 2", 1, 6)
    assert failure.note == "two by three"


def test_seed_and_fixtures_reach_the_test(tmp_path: Path) -> None:
    world = World(tmp_path).write("""
        def test_told(ol):
            if ol.unit:
                ol.saw_int("seed", ol.seed - 2**63)
            else:
                ol.want_text("seed", ol.fixture("small.bin").decode())
    """)
    (tmp_path / "fixtures").mkdir()
    (tmp_path / "fixtures" / "small.bin").write_bytes(b"bytes")
    seen = world.frames(["told"], seed=2**63 + 5)[0].stream
    assert (5).to_bytes(8, "little") in seen
    assert b"bytes" in world.frames(["told"], oracle=True)[0].stream


def test_the_units_process_does_not_hold_the_oracles_block(tmp_path: Path) -> None:
    world = World(tmp_path).write("""
        def test_blind(ol):
            import sys
            if ol.unit:
                ol.saw_text("held", repr(sys._getframe().f_code.co_consts))
            elif ol.oracle:
                ol.want_text("held", "a secret of the oracle")
            if ol.oracle:
                ol.want_text("held", "another secret")
    """)
    stream = world.frames(["blind"])[0].stream
    assert b"held" in stream
    assert b"secret" not in stream
    assert b"another secret" in world.frames(["blind"], oracle=True)[0].stream


def test_a_test_that_mixes_its_roles_is_the_courses_fault(tmp_path: Path) -> None:
    world = World(tmp_path).write("""
        def test_wishes(ol):
            ol.want_int("x", 1)
        def test_sees(ol):
            ol.saw_int("x", 1)
        def test_breaks(ol):
            if ol.oracle:
                raise ValueError("the oracle is broken")
    """)
    (frame,) = world.frames(["wishes"])
    assert (frame.code, b"x: only the oracle role wants" in frame.err) == (97, True)
    for name, words in (("sees", "only the unit role sees"), ("breaks", "the oracle is broken")):
        with pytest.raises(ToolError) as caught:
            world.failures([name])
        assert words in caught.value.where


def test_listing_runs_no_code_and_loading_opens_no_unit(tmp_path: Path) -> None:
    world = World(tmp_path).write("""
        from tinyllm.unit import something
        def helper(): ...
        def test_second(ol): ...
        def test_first(ol): ...
    """)
    assert world.runner().tests() == ["second", "first"]
    unit = world.unit(unit="something = 1")
    with pytest.raises(ToolError) as caught:
        world.frames(["first"], unit)
    assert "No module named 'tinyllm'" in caught.value.where


def test_a_test_that_is_not_there_is_the_catalogues_fault(tmp_path: Path) -> None:
    with pytest.raises(ToolError):
        World(tmp_path).write("def test_here(ol): ...").failures(["gone"])


def test_the_key_follows_tests_role_and_fixtures(tmp_path: Path) -> None:
    world = World(tmp_path).write("def test_x(ol): ...")
    keys = {world.runner().key, world.runner(oracle=True).key}
    world.write("def test_x(ol): pass")
    keys |= {world.runner().key, world.runner(oracle=True).key}
    assert len(keys) == 4
    assert world.runner().key in keys


def test_a_unit_is_staged_once_under_its_content(tmp_path: Path) -> None:
    sources = {"python/tinyllm/infer/paged.py": b"x = 1\n"}
    first, again = stage(tmp_path, sources), stage(tmp_path, sources)
    assert first == again
    assert (first.path / "tinyllm/infer/paged.py").read_bytes() == b"x = 1\n"
    assert [p.name for p in tmp_path.iterdir()] == ["objects"]
    assert stage(tmp_path, {"python/tinyllm/infer/paged.py": b"x = 2\n"}).key != first.key


@pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler")
def test_c_units_and_python_trees_are_opened_together(tmp_path: Path) -> None:
    world = World(tmp_path).write("""
        def test_both(ol):
            if ol.unit:
                import tinyllm.one, tinyllm.two
                ol.saw_int("sum", ol.lib["tl_outer"](tinyllm.one.X + tinyllm.two.X))
            else:
                ol.want_int("sum", 131)
    """)
    course = find_course(Path(__file__).parents[1] / "ol")
    builder = Builder(course, toolchain.find(None), tmp_path / "cache")
    inner = builder.unit({"inner.c": b"int tl_inner(int x) { return x + 100; }"}, Sanitizer.NONE)
    text = b"int tl_inner(int x); int tl_outer(int x) { return tl_inner(x); }"
    outer = builder.unit({"outer.c": text}, Sanitizer.NONE)
    units = (inner, world.unit(one="X = 1"), outer, world.unit(two="X = 30"))
    assert world.failures(["both"], *units) == {"both": ()}


def test_an_untouched_array_is_far_from_any_wish_and_quietly_so(tmp_path: Path) -> None:
    world = World(tmp_path).write("""
        def test_untouched(ol):
            if ol.unit:
                ol.saw_f32("x", ol.sentinel_f32(2))
            if ol.oracle:
                ol.want_close_f32("x", [0, 0], 1, 1)
    """)
    with warnings.catch_warnings(action="error"):
        (failure,) = world.failures(["untouched"])["untouched"]
    assert (failure.got, failure.bad) == ("untouched, as it was before the call", 2)
