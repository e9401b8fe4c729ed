"""Every check of the C kit, seen to pass and seen to fail, through the real supervisor and judge."""

import struct
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from cworld import STATUSES, TESTKIT, CWorld

from ol.build import Role
from ol.errors import ToolError
from ol.judge import judge
from ol.manifest import Way
from ol.toolchain import Sanitizer
from ol.verdict import Failure

sys.path.insert(0, str(TESTKIT))
from olrand import Rand

Make = Callable[[str, str], CWorld]


@dataclass(frozen=True)
class Case:
    """An observation, a wish, and what came of it: None, or (expected, got) of the failure."""

    saw: str
    want: str
    fails: tuple[str, str] | None = None


def saw(*x: str, kind: str = "f32", type_: str = "float", n: int = 0) -> str:
    """An observation of an array called x."""
    count = n or len(x)
    return f'ol_saw_{kind}("x", ({type_}[]){{{", ".join(x)}}}, OL_DIMS({{"i", {count}}}));'


def close(*x: str, rtol: str = "0", atol: str = "0") -> str:
    return f'ol_want_close_f32("x", (float[]){{{", ".join(x)}}}, {len(x)}, {rtol}, {atol});'


def bits(*x: str) -> str:
    return f'ol_want_bits_f32("x", (float[]){{{", ".join(x)}}}, {len(x)});'


def ulp(x: str, most: str) -> str:
    return f'ol_want_ulp_f32("x", (double[]){{{x}}}, 1, {most});'


def whole(kind: str, type_: str, *x: str) -> str:
    return f'ol_want_{kind}("x", ({type_}[]){{{", ".join(x)}}}, {len(x)});'


def coded(code: str) -> str:
    return f"{{ uint32_t code = {code}; float v; memcpy(&v, &code, 4); ol_XXX; }}"


UNJUDGED = "a wish of the oracle for every observation"
SEEN_CODE = coded("0x7FC00001").replace("ol_XXX;", 'ol_saw_f32("x", &v, OL_DIMS({"i", 1}));')
SAME_CODE = coded("0x7FC00001").replace("ol_XXX;", 'ol_want_bits_f32("x", &v, 1);')
OTHER_CODE = SAME_CODE.replace("0001", "0002")
CASES = [
    Case(saw("1", "2"), close("1", "2.0001f", rtol="1e-4")),
    Case(saw("1", "2"), close("1", "2.5f", atol="0.01"), ("2.5 ± 0.01", "2 (off by 0.5)")),
    Case(saw("1", "NAN"), close("1", "NAN", rtol="1", atol="1"), ("nan ± nan", "nan")),
    Case(saw("NAN"), close("1", atol="INFINITY"), ("1 ± inf", "nan")),
    Case(saw("1"), close("NAN", atol="INFINITY"), ("nan ± nan", "1")),
    Case(saw("INFINITY", "-INFINITY"), close("INFINITY", "-INFINITY")),
    Case(saw("INFINITY"), close("-INFINITY", rtol="1"), ("-inf ± inf", "inf")),
    Case(saw("0x1p127f"), close("INFINITY", rtol="1"), ("inf ± inf", "1.70141183e+38")),
    Case(saw("INFINITY"), close("0x1p127f", atol="INFINITY"), ("1.70141183e+38 ± inf", "inf")),
    Case(saw("-0.0f"), close("0")),
    Case(saw("1", "2"), close("1"), ("1 values of f32", "2 values of f32")),
    Case(saw("1", kind="u32", type_="uint32_t"), close("1"), ("1 values of f32", "1 values of u32")),
    Case(saw("1.00000012f"), ulp("1", "1")),
    Case(saw("1.00000024f"), ulp("1", "1"), ("1 within 1 ulp", "1.00000024 (off by 2.38e-07)")),
    Case(saw("NAN"), ulp("NAN", "1e9"), ("nan within 1e+09 ulp", "nan")),
    Case(saw("NAN"), ulp("1", "1e9"), ("1 within 1e+09 ulp", "nan")),
    Case(saw("INFINITY"), ulp("1e300", "0")),
    Case(saw("INFINITY"), ulp("1", "1e9"), ("1 within 1e+09 ulp", "inf")),
    Case(saw("NAN", "-NAN"), 'ol_want_nan_f32("x", 2);'),
    Case(saw("NAN", "INFINITY"), 'ol_want_nan_f32("x", 2);', ("nan", "inf")),
    Case(saw("NAN"), 'ol_want_nan_f32("x", 2);', ("2 values of f32", "1 values of f32")),
    Case(saw("-0.0f", "1.5f"), bits("-0.0f", "1.5f")),
    Case(saw("-0.0f"), bits("0"), ("0 (0x00000000)", "-0 (0x80000000) (off by 0)")),
    Case(SEEN_CODE, SAME_CODE),
    Case(SEEN_CODE, OTHER_CODE, ("nan (0x7fc00002)", "nan (0x7fc00001)")),
    Case(saw("1"), bits("1", "2"), ("2 values of f32", "1 values of f32")),
    Case(saw("-1", kind="i64", type_="int64_t"), whole("i64", "int64_t", "-1")),
    Case(saw("-1", kind="i64", type_="int64_t"), whole("i64", "int64_t", "1"), ("1", "-1")),
    Case(saw("1", "2", kind="u32", type_="uint32_t"), whole("u32", "uint32_t", "1", "2")),
    Case(
        saw("1", "~0u", kind="u32", type_="uint32_t"),
        whole("u32", "uint32_t", "1", "2"),
        ("2", "4294967295"),
    ),
    Case(saw("7", kind="u16", type_="uint16_t"), whole("u16", "uint16_t", "7")),
    Case(saw("7", kind="u16", type_="uint16_t"), whole("u16", "uint16_t", "8"), ("8", "7")),
    Case(saw("7", kind="u8", type_="uint8_t"), whole("u8", "uint8_t", "7")),
    Case(saw("7", kind="u8", type_="uint8_t"), whole("u8", "uint8_t", "8"), ("8", "7")),
    Case(
        saw("7", kind="u8", type_="uint8_t"),
        whole("u16", "uint16_t", "7"),
        ("1 values of u16", "1 values of u8"),
    ),
    Case('ol_saw_int("x", INT64_MIN);', 'ol_want_int("x", INT64_MIN);'),
    Case('ol_saw_int("x", 7);', 'ol_want_int("x", 8);', ("8", "7")),
    Case('ol_saw_text("x", "one");', 'ol_want_text("x", "one");'),
    Case('ol_saw_text("x", NULL);', 'ol_want_text("x", "one");', ("'one'", "'(NULL)'")),
    Case('ol_saw_text("x", "on\\xff");', 'ol_want_text("x", "one");', ("'one'", "'on\ufffd'")),
    Case('ol_saw_text("x", "one two");', 'ol_want_text_with("x", "two");'),
    Case('ol_saw_text("x", "one");', 'ol_want_text_with("x", "two");', ("a text with 'two'", "'one'")),
    Case('ol_saw_text("x", "one");', 'ol_want_int("x", 1);', ("1 values of i64", "one")),
    Case('ol_saw_status("x", 1);', 'ol_want_status("x", 1);'),
    Case('ol_saw_status("x", 1);', 'ol_want_status("x", 0);', ("OK", "EINVAL")),
    Case('ol_saw_status("x", -3);', 'ol_want_status("x", 1);', ("EINVAL", "-3, which is no status")),
    Case('ol_saw_status("x", 1);', 'ol_want_int("x", 1);', ("want_bits", "saw_status")),
    Case('ol_saw_fact("x", 1, "1 < 2");', 'ol_want_fact("x");'),
    Case('ol_saw_fact("x", 0, "2 < 1");', 'ol_want_fact("x");', ("2 < 1", "it does not hold")),
    Case('ol_saw_int("x", 7); ol_saw_int("y", 7);', 'ol_want_same("x", "y");'),
    Case('ol_saw_int("x", 7); ol_saw_int("y", 8);', 'ol_want_same("x", "y");', ("7", "8")),
    Case('ol_saw_int("x", 1);', "", (UNJUDGED, "an observation (saw_array) that nothing judges")),
    Case("", 'ol_want_int("x", 1);', ("an observation", "none")),
    Case("", 'ol_want_same("x", "y");', ("an observation", "none")),
    Case("", ""),
]
SHARED = [
    Case("OL_STATUS(1, 1);", ""),
    Case("OL_STATUS(0, 1);", "", ("OK", "EINVAL")),
    Case('OL_HOLDS("x", 1 < 2);', ""),
    Case('OL_HOLDS("x", 2 < 1);', "", ("2 < 1", "it does not hold")),
]
ALL = CASES + SHARED
MORE = """
OL_TEST(place) {
    float x[6] = {0};
    ol_note("%d by three", 2);
    OL_UNIT { ol_saw_f32("x", x, OL_DIMS({"row", 2}, {"column", 3})); }
    OL_ORACLE {
        x[5] = 1;
        ol_want_bits_f32("x", x, 6);
    }
}
OL_TEST(second_of_two) {
    OL_UNIT { ol_saw_int("x", 1); ol_saw_int("x", 2); }
    OL_ORACLE { ol_want_int("x", 1); ol_want_int("x", 3); }
}
OL_TEST(every_check_is_judged) {
    OL_UNIT { ol_saw_int("x", 1); ol_saw_int("y", 2); ol_saw_int("z", 3); }
    OL_ORACLE { ol_want_int("x", 0); ol_want_int("y", 2); ol_want_int("z", 0); }
}
OL_TEST(numbers) {
    ol_rng r = ol_rng_at(ol_seed());
    float unit[5];
    uint32_t below[5], order[9] = {0, 1, 2, 3, 4, 5, 6, 7, 8};
    uint16_t half[40];
    int64_t draw = (int64_t)ol_next(&r);
    ol_fill_unit_f32(&r, unit, 5);
    for (int k = 0; k < 40; k++) half[k] = ol_half(&r);
    for (uint32_t k = 0; k < 5; k++) below[k] = ol_below(&r, k + 1);
    ol_shuffle_u32(&r, order, 9);
    OL_UNIT {
        ol_saw_i64("draw", &draw, OL_DIMS({"i", 1}));
        ol_saw_f32("unit", unit, OL_DIMS({"i", 5}));
        ol_saw_u16("half", half, OL_DIMS({"i", 40}));
        ol_saw_u32("below", below, OL_DIMS({"i", 5}));
        ol_saw_u32("order", order, OL_DIMS({"i", 9}));
    }
}
OL_TEST(sentinel) {
    float x[3];
    ol_fill_sentinel_f32(x, 3);
    OL_UNIT { ol_saw_u32("x", (uint32_t *)(void *)x, OL_DIMS({"i", 3})); }
    OL_ORACLE { ol_want_u32("x", (uint32_t[]){0x7FB00000, 0x7FB00001, 0x7FB00002}, 3); }
}
OL_TEST(hook) {
    OL_UNIT {
        void *p = ol_hook_alloc(NULL, 100, 64), *q = ol_hook_alloc(NULL, 1, 1);
        ol_saw_int("aligned", (int64_t)((uintptr_t)p % 64));
        ol_saw_int("allocs", ol_hook_allocs());
        ol_hook_free(NULL, q);
        ol_hook_free(NULL, NULL);
        ol_saw_int("live", ol_hook_live());
        ol_hook_fail_at(2);
        q = ol_hook_alloc(NULL, 1, 1);
        OL_HOLDS("first", q != NULL);
        ol_hook_free(NULL, q);
        q = ol_hook_alloc(NULL, 1, 1);
        OL_HOLDS("second", q == NULL);
        q = ol_hook_alloc(NULL, 1, 1);
        OL_HOLDS("third", q != NULL);
        ol_hook_free(NULL, q);
        ol_hook_free(NULL, p);
        ol_saw_int("live", ol_hook_live());
        ol_saw_int("allocs", ol_hook_allocs());
    }
    OL_ORACLE {
        ol_want_int("aligned", 0);
        ol_want_int("allocs", 2);
        ol_want_int("live", 1);
        ol_want_fact("first");
        ol_want_fact("second");
        ol_want_fact("third");
        ol_want_int("live", 0);
        ol_want_int("allocs", 5);
    }
}
OL_TEST(heap) {
    OL_UNIT {
        int64_t before = ol_heap_allocs();
        void *volatile p = malloc(8);
        p = realloc(p, 4096);
        int64_t after = ol_heap_allocs();
        free(p);
        ol_saw_int("allocs", before < 0 ? before : after - before);
    }
    OL_ORACLE { ol_want_int("allocs", 2); }
}
OL_TEST(new_is_zero) {
    unsigned char *x = ol_new(1 << 12, 3);
    int64_t sum = 0;
    for (int k = 0; k < 3 << 12; k++) sum += x[k];
    OL_HOLDS("no bytes are some memory", ol_new(0, 8) != NULL);
    OL_UNIT { ol_saw_int("sum", sum); }
    OL_ORACLE { ol_want_int("sum", 0); }
}
OL_TEST(one_past_the_end) {
    char *volatile x = ol_new(3, 5);
    OL_UNIT { x[15] = 1; }
}
OL_TEST(reads_a_fixture) {
    OL_UNIT { ol_saw_text("bytes", "a fixture"); ol_saw_int("size", 18); }
    OL_ORACLE {
        size_t n = 0;
        const char *bytes = (const char *)ol_fixture("small.bin", &n);
        ol_want_text("bytes", bytes);
        ol_want_int("size", (int64_t)n);
    }
}
OL_TEST(unit_reads_a_fixture) {
    size_t n = 0;
    OL_UNIT { (void)ol_fixture("small.bin", &n); }
}
OL_TEST(oracle_lacks_a_fixture) {
    size_t n = 0;
    OL_ORACLE { (void)ol_fixture("none.bin", &n); }
}
OL_TEST(hidden) {
    OL_UNIT { ol_saw_text("text", "none"); }
    OL_ORACLE {
        ol_want_text("text", "a secret of the oracle");
        ol_want_close_f32("number", (float[]){1234567.0f}, 1, 0, 6.25e-9);
    }
}
"""


@pytest.fixture(scope="session")
def kit(compiler: str, c_world: Make) -> CWorld:
    tests = [
        f"OL_TEST(case_{k}) {{\n    OL_UNIT {{ {c.saw} }}\n    OL_ORACLE {{ {c.want} }}\n}}"
        for k, c in enumerate(CASES)
    ]
    tests += [f"OL_TEST(case_{k}) {{ {c.saw} }}" for k, c in enumerate(SHARED, len(CASES))]
    return c_world(compiler, "\n".join([*tests, MORE]))


@pytest.fixture(scope="session")
def judged(kit: CWorld) -> Mapping[str, tuple[Failure, ...]]:
    return kit.failures([f"case_{k}" for k in range(len(ALL))])


def test_a_check_judges_as_it_says(judged: Mapping[str, tuple[Failure, ...]]) -> None:
    wrong = {}
    for k, case in enumerate(ALL):
        came = [(f.way, f.expected, f.got) for f in judged[f"case_{k}"]]
        if came != ([(Way.CHECK, *case.fails)] if case.fails else []):
            wrong[f"{case.saw} {case.want}"] = came
    assert wrong == {}


def test_a_failure_stands_in_the_arrays_own_coordinates_under_its_note(kit: CWorld) -> None:
    (failure,) = kit.failures(["place"])["place"]
    assert (failure.where, failure.bad, failure.total) == ("row 1, column 2", 1, 6)
    assert failure.note == "2 by three"


def test_the_kth_observation_meets_the_kth_wish_and_all_are_judged(kit: CWorld) -> None:
    found = kit.failures(["second_of_two", "every_check_is_judged"])
    assert [(f.check, f.got) for f in found["second_of_two"]] == [("x", "2")]
    assert [f.check for f in found["every_check_is_judged"]] == ["x", "z"]


@pytest.mark.parametrize("seed", [0, 1, 2**64 - 1])
def test_numbers_are_those_of_the_python_kit(kit: CWorld, seed: int) -> None:
    seen = kit.seen("numbers", seed=seed)
    rand, order = Rand(seed), list(range(9))
    assert struct.unpack("<Q", seen["draw"].data)[0] == rand.u64()
    assert seen["unit"].data == rand.unit_f32(5).tobytes()
    assert seen["half"].data == rand.half(40).view(np.uint16).tobytes()
    assert np.frombuffer(seen["below"].data, "<u4").tolist() == [rand.below(n) for n in range(1, 6)]
    rand.shuffle(order)
    assert np.frombuffer(seen["order"].data, "<u4").tolist() == order


@pytest.mark.parametrize("test", ["sentinel", "hook", "heap", "new_is_zero", "reads_a_fixture"])
def test_a_helper_of_the_kit_does_what_it_says(kit: CWorld, test: str) -> None:
    assert kit.failures([test]) == {test: ()}


def test_heap_allocations_are_counted_under_tsan_too_and_not_without_a_sanitizer(kit: CWorld) -> None:
    assert kit.failures(["heap"], sanitizer=Sanitizer.TSAN) == {"heap": ()}
    (failure,) = kit.failures(["heap"], sanitizer=Sanitizer.NONE)["heap"]
    assert failure.got == "-1"


def test_one_past_the_end_of_an_input_is_seen(kit: CWorld) -> None:
    failure = kit.failures(["one_past_the_end"])["one_past_the_end"][0]
    assert (failure.way, failure.got) == (Way.SANITIZER, "heap-buffer-overflow")


def test_fixtures_are_for_the_oracle_alone(kit: CWorld) -> None:
    (failure,) = kit.failures(["unit_reads_a_fixture"])["unit_reads_a_fixture"]
    assert failure.way is Way.CRASH
    assert "fixtures are read in the oracle role only" in failure.detail
    with pytest.raises(ToolError) as caught:
        kit.wanted(["oracle_lacks_a_fixture"])
    assert "a fixture is missing" in caught.value.where


def test_a_test_that_is_not_there_is_the_catalogues_fault(kit: CWorld) -> None:
    (frame,) = kit.frames(["gone"])
    with pytest.raises(ToolError, match="does not define it"):
        judge("gone", frame, (), STATUSES)


def test_the_units_suite_holds_nothing_that_is_wanted(kit: CWorld) -> None:
    def held(path: Path) -> list[bool]:
        text = path.read_bytes()
        secrets = (b"a secret of the oracle", struct.pack("<f", 1234567.0), struct.pack("<d", 6.25e-9))
        return [secret in text for secret in secrets]

    for sanitizer in (Sanitizer.ASAN, Sanitizer.TSAN):
        assert held(kit.builder.suite(kit.module, Role.UNIT, sanitizer).path) == [False] * 3
    oracle = held(kit.builder.suite(kit.module, Role.ORACLE, Sanitizer.NONE).path)
    assert oracle[0]


def test_the_suite_lists_its_tests(kit: CWorld) -> None:
    names = kit.runner().tests()
    assert names[:2] == ["case_0", "case_1"]
    assert names[-1] == "hidden"
