"""Patches: applied exactly where they say, or not at all."""

import difflib

import pytest

from ol.errors import ToolError
from ol.patch import Misfit, StalePatch, apply, read

OLD = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n"


def diff(old: str, new: str, name: str = "c/u.c", context: int = 3) -> str:
    lines = (t.splitlines(keepends=True) for t in (old, new))
    return "".join(difflib.unified_diff(*lines, f"a/{name}", f"b/{name}", n=context))


def patched(text: str, original: str) -> str:
    return apply(read(text, ("c/u.c",), "s01.patch"), original)


@pytest.mark.parametrize(
    "new",
    [
        OLD.replace("two", "2"),
        OLD.replace("one", "1").replace("ten", "10"),
        OLD.replace("five\n", ""),
        OLD.replace("five\n", "five\nfive and a half\n"),
        "zero\n" + OLD,
        OLD + "eleven\n",
        OLD.removeprefix("one\n"),
        OLD.removesuffix("ten\n"),
        "",
        OLD.replace("five", "fünf"),
    ],
)
@pytest.mark.parametrize("context", [0, 1, 3])
def test_a_difference_applies_to_what_it_was_made_from(new: str, context: int) -> None:
    assert patched(diff(OLD, new, context=context), OLD) == new


def test_the_last_line_may_lack_its_newline() -> None:
    old, new = "one\ntwo", "one\n2"
    text = "--- a/c/u.c\n+++ b/c/u.c\n@@ -1,2 +1,2 @@\n one\n-two\n\\ No newline at end of file\n+2\n"
    assert patched(text + "\\ No newline at end of file\n", old) == new


def test_lines_end_at_newlines_alone() -> None:
    old = "one\ftwo\u2028three\x85\nfour\n"
    assert patched(diff("x\n", "y\n").replace("-x\n+y", "-four\n+4").replace("-1 +1", "-2 +2"), old) == (
        "one\ftwo\u2028three\x85\n4\n"
    )


@pytest.mark.parametrize("more", ["zero\n", "zero\nand a half\n"])
def test_an_offset_is_not_allowed(more: str) -> None:
    with pytest.raises(StalePatch) as caught:
        patched(diff(OLD, OLD.replace("five", "5")), more + OLD)
    assert caught.value.misfit is Misfit.MOVED


def test_fuzz_is_not_allowed() -> None:
    with pytest.raises(StalePatch) as caught:
        patched(diff(OLD, OLD.replace("five", "5")), OLD.replace("seven", "Seven"))
    assert (caught.value.misfit, caught.value.line, caught.value.expected) == (Misfit.GONE, 7, "seven")
    assert str(caught.value) == "no longer applies: line 7 of the reference is not 'seven'"


def test_white_space_counts() -> None:
    for other in (OLD.replace("four", "four "), OLD.replace("four", "\tfour"), OLD.replace("\n", "\r\n")):
        with pytest.raises(StalePatch):
            patched(diff(OLD, OLD.replace("five", "5")), other)


def test_a_line_past_the_end_is_stale() -> None:
    with pytest.raises(StalePatch) as caught:
        patched(diff(OLD, OLD.replace("ten", "10")), "one\n")
    assert caught.value.misfit is Misfit.GONE


def test_a_patch_that_was_applied_already_is_stale() -> None:
    new = OLD.replace("five", "5")
    with pytest.raises(StalePatch):
        patched(diff(OLD, new), new)


def test_one_stale_hunk_of_two_is_enough() -> None:
    long = "".join(f"line {k}\n" for k in range(40))
    text = diff(long, long.replace("line 3\n", "3\n").replace("line 33\n", "33\n"))
    assert text.count("@@ -") == 2
    with pytest.raises(StalePatch) as caught:
        patched(text, long.replace("line 33\n", "other\n"))
    assert caught.value.line == 34


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "not a unified diff, or it changes nothing"),
        ("hello\n", "not a unified diff, or it changes nothing"),
        ("--- a/c/u.c\n+++ b/c/u.c\n", "not a unified diff, or it changes nothing"),
        (diff(OLD, OLD + "x\n")[:-8], "not a unified diff"),
        (diff(OLD, OLD + "x\n", "c/other.c"), "touches c/other.c; expected c/u.c alone"),
        (diff(OLD, OLD + "x\n", "../u.c"), "touches ../u.c"),
        (diff(OLD, OLD + "x\n") + diff(OLD, OLD + "y\n", "c/v.c"), "touches c/u.c, c/v.c"),
        ("--- /dev/null\n+++ b/c/new.c\n@@ -0,0 +1 @@\n+x\n", "touches c/new.c"),
    ],
)
def test_what_is_no_patch_of_the_unit_is_refused(text: str, said: str) -> None:
    with pytest.raises(ToolError) as caught:
        read(text, ("c/u.c",), "mutants/X/s01.patch")
    assert said in caught.value.what
    assert caught.value.where == "mutants/X/s01.patch"
    assert "diff -u" in caught.value.next_step
