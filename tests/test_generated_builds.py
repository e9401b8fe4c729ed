"""What C tests under ASan let live is built again: for TSan where a test has threads, and for Python."""

from typing import Any

import pytest
from tinycourse import TinyCourse, edit

LOCKED = """
#include <pthread.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int64_t calls;

static void count(void) {
    pthread_mutex_lock(&lock);
    calls = calls + 1;
    pthread_mutex_unlock(&lock);
}

static float term("""
BODY = """    count();
    if (n > 100) return 3;
    if (n < 0)"""
THREADED = """
#include <pthread.h>
static void *sum_often(void *y) {
    const float x[1] = {1.0f};
    for (int k = 0; k < 20; k++) tiny_sum_f32(x, y, 1);
    return NULL;
}
OL_TEST(two_at_once) {
    OL_UNIT {
        float y[2] = {0.0f, 0.0f};
        pthread_t other;
        pthread_create(&other, NULL, sum_often, &y[1]);
        sum_often(&y[0]);
        pthread_join(other, NULL);
        ol_saw_f32("y", y, OL_DIMS({"thread", 2}));
    }
    OL_ORACLE { ol_want_bits_f32("y", (float[]){3.0f, 3.0f}, 2); }
}
"""
PYTHON = """
import ctypes


def test_many(ol):
    n = ctypes.c_int64(101)
    ol.status("tiny_sum_f32(NULL, NULL, 101)", 3, lambda: ol.lib.tiny_sum_f32(None, None, n))
"""
ENTRIES = """[[tests]]
id = "c:two_at_once"
kind = ["property"]
checks = "two threads"
why = "they share what they count"
threads = true

[[tests]]
id = "py:many"
kind = ["boundary"]
checks = "101 numbers from Python"
why = "too many are refused"

[[mutants]]
id = "s01\""""


@pytest.fixture
def course(tiny: TinyCourse) -> TinyCourse:
    edit(tiny.reference, "\nstatic float term(", LOCKED)
    edit(tiny.reference, "    if (n < 0)", BODY)
    tests = tiny.test_source
    tests.write_text(tests.read_text() + THREADED)
    (tests.parent / "test_many.py").write_text(PYTHON)
    edit(tiny.root / "course" / "modules" / "T1.toml", '[[mutants]]\nid = "s01"', ENTRIES)
    return tiny


def kills(document: dict[str, Any]) -> dict[str, list[tuple[str, str]]]:
    """By what was changed: the test that killed it, and how."""
    return {
        m["id"].partition(" ")[2]: [(k["test"], k["way"]) for k in m["kills"]] for m in document["mutants"]
    }


def test_each_build_kills_what_only_it_can_see(course: TinyCourse, compiler: str) -> None:
    ran = course.ol("audit", "T1", "--generated", "--json", "--compiler", compiler)
    found = kills(ran.json)
    assert found["delete pthread_mutex_lock(&lock);"] == [("c:two_at_once", "sanitizer")]
    assert found["delete pthread_mutex_unlock(&lock);"][0][1] == "time-out"
    assert found["replace 3 with 4"] == [("py:many", "check")]
    assert found["replace n > 100 with 0"] == [("py:many", "crash")]
    again = course.ol("audit", "T1", "--generated", "--json", "--compiler", compiler)
    assert kills(again.json) == found
