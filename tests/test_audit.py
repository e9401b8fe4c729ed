"""`ol audit` on a tiny course: every fate of a mutant, what is said of it, and the exit status."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pages import Page
from tinycourse import ROOT, TinyCourse, edit

from ol import process, slots

LOOP = "for (int64_t i = 0; i < n; i++) {"


def fates(tiny: TinyCourse, *arguments: str) -> dict[str, tuple[str, list[str]]]:
    found = tiny.ol("audit", "T1", "--json", *arguments).json["mutants"]
    return {m["entry"]["id"]: (m["fate"], m["ways"]) for m in found}


def test_all_mutants_are_killed_by_their_named_tests(tiny: TinyCourse, compiler: str) -> None:
    ran = tiny.ol("audit", "T1", "--compiler", compiler)
    assert (ran.code, ran.err) == (0, "")
    assert "T1: 3 of 3 mutants killed by their named tests" in ran.out
    rows = [line.split()[0] for line in ran.out.splitlines() if re.match(r"s\d\d ", line)]
    assert rows == ["s01", "s02", "s03"]
    assert re.search(r"^s02 +writing one past the end +c:sums +sanitizer +\d+ ms$", ran.out, re.MULTILINE)


def test_only_the_mutants_asked_for_are_run(tiny: TinyCourse) -> None:
    ran = tiny.ol("audit", "T1", "s03", "s01")
    assert ran.code == 0
    assert "2 of 2 mutants" in ran.out
    assert "s02" not in ran.out


def test_a_survivor_is_named_with_the_test_that_missed_it(tiny: TinyCourse) -> None:
    edit(tiny.manifest, 'test = "c:sums"', 'test = "c:refuses_a_negative_size"')
    ran = tiny.ol("audit", "T1")
    assert ran.code == 1
    assert "T1: 2 of 3 mutants killed" in ran.out
    assert "s01 survived: c:refuses_a_negative_size does not notice forgetting the square" in ran.out
    assert "see the fault: ol audit T1 s01 --show" in ran.out
    assert re.search(r"^s01 .*SURVIVED$", ran.out, re.MULTILINE)


def test_another_tests_kill_does_not_count(tiny: TinyCourse) -> None:
    edit(tiny.manifest, 'test = "c:sums"', 'test = "c:refuses_a_negative_size"')
    ran = tiny.ol("audit", "T1", "s01", "--matrix", "--json")
    (mutant,) = ran.json["mutants"]
    assert (ran.code, mutant["fate"], mutant["also"]) == (1, "survived", ["c:sums"])


def test_a_death_of_another_kind_is_no_kill(tiny: TinyCourse) -> None:
    edit(tiny.manifest, 'how = "sanitizer"', 'how = "check"')
    ran = tiny.ol("audit", "T1", "s02")
    assert ran.code == 1
    assert "s02 died by sanitizer; its entry says check" in ran.out
    assert "heap-buffer-overflow" in ran.out
    assert "sanitizer, not check" in ran.out


def test_a_mutant_that_crashes_is_killed_by_the_crash(tiny: TinyCourse) -> None:
    tiny.plant("s02", LOOP, "*(volatile float *)0 = 1.0f; " + LOOP)
    edit(tiny.manifest, 'how = "sanitizer"', 'how = "crash"')
    assert fates(tiny, "s02")["s02"] == ("killed", ["crash"])


def test_a_mutant_that_leaves_early_is_no_kill_by_a_check(tiny: TinyCourse) -> None:
    tiny.plant("s01", "    return 2.0f", "    extern void _exit(int); _exit(0);\n    return 2.0f")
    assert fates(tiny, "s01")["s01"][0] == "died another way"


def test_an_offset_makes_a_patch_stale(tiny: TinyCourse) -> None:
    edit(tiny.reference, '#include "tiny.h"', '/* one line more */\n#include "tiny.h"')
    ran = tiny.ol("audit", "T1")
    assert ran.code == 1
    assert "s01 is stale: the reference has changed under its patch" in ran.out
    assert re.search(r"mutants/T1/s01.patch: applies only with an offset: line 1 of the reference", ran.out)
    assert "0 of 3 mutants" in ran.out


def test_a_patch_that_no_longer_applies_is_stale_and_the_others_count(tiny: TinyCourse) -> None:
    edit(tiny.reference, "2.0f * x + tiny_square(x)", "tiny_square(x) + 2.0f * x")
    ran = tiny.ol("audit", "T1")
    assert ran.code == 1
    said = "mutants/T1/s01.patch: no longer applies: line 4 of the reference is not"
    assert said in ran.out
    assert "T1: 2 of 3 mutants killed" in ran.out


def test_fuzz_is_not_allowed(tiny: TinyCourse) -> None:
    edit(tiny.patch("s01"), ' #include "tiny.h"', ' #include "tinier.h"')
    assert fates(tiny, "s01")["s01"][0] == "stale"


def test_a_mutant_that_does_not_compile_proves_nothing(tiny: TinyCourse) -> None:
    tiny.plant("s01", "return 2.0f", "retrun 2.0f")
    ran = tiny.ol("audit", "T1")
    assert ran.code == 1
    assert "s01 does not compile, so it proves nothing:" in ran.out
    assert "c/src/sum.c:4:" in ran.out
    assert "T1: 2 of 3 mutants killed" in ran.out


def test_a_mutant_that_cannot_be_opened_is_no_kill(tiny: TinyCourse) -> None:
    tiny.plant("s01", "return 2.0f", "extern float nobody(float); return nobody(x) + 2.0f")
    assert fates(tiny)["s01"] == ("died another way", ["early exit"])


def test_a_mutant_may_change_more_than_a_body(tiny: TinyCourse) -> None:
    tiny.plant("s01", "static float term(float x)", "static int term(float x)")
    assert fates(tiny) == {
        "s01": ("killed", ["check"]),
        "s02": ("killed", ["sanitizer"]),
        "s03": ("killed", ["check"]),
    }


@pytest.mark.parametrize(("seconds", "fate"), [(0.4, "survived"), (0.1, "killed")])
def test_a_time_out_counts_after_a_second_longer_run_alone(
    tiny: TinyCourse, monkeypatch: pytest.MonkeyPatch, seconds: float, fate: str
) -> None:
    others: list[int] = []
    run = process.run

    def watched(argv: list[str], **how: Any) -> process.Finished:
        others.append(slots._slots._free)
        return run(argv, **how)

    monkeypatch.setattr(process, "run", watched)
    head = '#include "tiny.h"'
    edit(tiny.reference, head, f"{head}\n#include <time.h>")
    edit(tiny.manifest, '[[mutants]]\nid = "s01"', f'seconds = {seconds}\n\n[[mutants]]\nid = "s01"')
    edit(tiny.manifest, 'negative_size"\nhow = "check"', 'negative_size"\nhow = "time-out"')
    nap = "struct timespec t = {0, 500000000}; nanosleep(&t, 0); "
    tiny.plant("s03", "if (n < 0) return 1;", f"if (n < 0) {{ {nap} return 1; }}")
    assert fates(tiny, "s03")["s03"] == (fate, ["time-out"] if fate == "killed" else [])
    assert others[-1] == 1, "all slots but one were held during the second run"


def test_show_prints_the_fault_and_runs_nothing(tiny: TinyCourse, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    ran = tiny.ol("audit", "T1", "s01", "--show")
    assert ran.code == 0
    assert "# T1 s01: forgetting the square (c:sums must kill it by check)" in ran.out
    assert "-    return 2.0f * x + tiny_square(x);\n+    return 2.0f * x;" in ran.out


def test_the_matrix_lists_who_else_noticed(tiny: TinyCourse) -> None:
    tiny.plant("s03", LOOP, "return 7; " + LOOP)
    edit(tiny.manifest, 'test = "c:refuses_a_negative_size"', 'test = "c:sums"')
    ran = tiny.ol("audit", "T1", "--matrix")
    assert ran.code == 0
    assert "also noticed by" in ran.out
    assert re.search(r"^s01 .* nothing$", ran.out, re.MULTILINE)


def test_json_has_the_fields_that_the_docs_list_and_no_others(tiny: TinyCourse) -> None:
    docs = (ROOT / "docs" / "json.md").read_text()
    table = docs.partition("(`kind`: `audit`)")[2].partition("\n## ")[0]
    rows = [
        re.findall(r"`(\w+)`", row.split("|")[1]) for row in table.splitlines() if row.startswith("| `")
    ]
    listed = {name for row in rows for name in row}
    found = tiny.ol("audit", "T1", "--json").json
    assert set(found) == listed | {"format_version", "kind"}
    assert (found["format_version"], found["kind"], found["holds"], found["killed"]) == (
        1,
        "audit",
        True,
        3,
    )
    assert set(found["mutants"][0]) == {"entry", "fate", "ways", "seconds", "detail", "also"}
    assert set(found["mutants"][0]["entry"]) == {"id", "pitfall", "symptom", "test", "how"}
    assert set(found["baseline"][0]) == {"test", "outcome", "failures", "seconds"}


def test_one_job_at_a_time_gives_the_same(tiny: TinyCourse, tmp_path: Path) -> None:
    many = fates(tiny)
    alone = tiny.with_cache(tmp_path / "own")
    assert fates(alone, "--jobs", "1") == many
    assert slots.jobs() == 1


def test_another_seed_is_said_and_gives_the_same_fates(tiny: TinyCourse) -> None:
    assert fates(tiny, "--seed", "7") == fates(tiny)
    assert "seed 7" in tiny.ol("audit", "T1", "--seed", "7").out


def test_what_is_remembered_starts_no_process(tiny: TinyCourse, monkeypatch: pytest.MonkeyPatch) -> None:
    first = tiny.ol("audit", "T1", "--json").json
    started: list[object] = []
    monkeypatch.setattr(process, "run", lambda argv, **how: started.append(argv))
    assert tiny.ol("audit", "T1", "--json").json == first
    assert started == []


def test_a_changed_test_is_not_remembered(tiny: TinyCourse) -> None:
    assert fates(tiny)["s01"] == ("killed", ["check"])
    edit(tiny.test_source, 'ol_want_close_f32("y", y, 7, 1e-6, 1e-7)', 'ol_want_close_f32("y", y, 7, 9, 9)')
    assert fates(tiny)["s01"] == ("survived", [])


def test_a_variant_among_others_fares_as_it_does_alone(
    tiny: TinyCourse, monkeypatch: pytest.MonkeyPatch, compiler: str
) -> None:
    together = fates(tiny, "--compiler", compiler)
    seen: list[int] = []

    def none_fits(reference: object, mutants: list[object]) -> tuple[object, list[int]]:
        seen.append(len(mutants))
        return reference, [0] * len(mutants)

    monkeypatch.setattr("ol.audit.combined_sources", none_fits)
    tiny.plant("s01", "2.0f * x + tiny_square(x)", "2.0f * x ")
    tiny.plant("s02", "i < n", "i <= n ")
    tiny.plant("s03", "n < 0", "n < -1 ")
    assert fates(tiny, "--compiler", compiler) == together
    assert seen == [3]


def test_the_course_is_read_and_never_written(tiny: TinyCourse, tmp_path: Path) -> None:
    def listing() -> dict[str, tuple[int, int]]:
        paths = tiny.root.rglob("*")
        return {str(p): (p.stat().st_mtime_ns, p.stat().st_size) for p in paths}

    for path in tiny.root.rglob("*"):
        path.chmod(0o555 if path.is_dir() else 0o444)
    before = listing()
    fresh = tiny.with_cache(tmp_path / "own")
    ran = fresh.ol("audit", "T1")
    assert (ran.code, listing()) == (0, before)
    for path in tiny.root.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)


def test_any_path_will_do_for_course_and_cache(tiny: TinyCourse, tmp_path: Path, compiler: str) -> None:
    place = tmp_path / "mit Leerzeichen, Ümlaut, it's: a=b, 日本"
    place.mkdir()
    tiny.root.rename(place / "course")
    moved = replace(tiny, root=place / "course", cache=place / "das Lager ß")
    ran = moved.ol("audit", "T1", "--compiler", compiler)
    assert (ran.code, ran.err) == (0, "")
    assert "3 of 3" in ran.out


def test_a_child_says_the_same_as_this_process(tiny: TinyCourse) -> None:
    here, there = tiny.ol("audit", "T1"), tiny.spawn("audit", "T1")
    assert (there.code, there.out) == (here.code, here.out)


def test_the_locale_may_lack_the_letters(tiny: TinyCourse) -> None:
    tiny.environment.update({"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"})
    edit(tiny.manifest, "forgetting the square", "das Quadrat fürs Ganze – vergessen ²")
    tiny.environment["PYTHONIOENCODING"] = "ascii"
    ran = tiny.spawn("audit", "T1")
    assert ran.code == 0
    assert "das Quadrat f" in ran.out
    assert ran.out.isascii()


def test_json_of_a_broken_baseline_says_so(tiny: TinyCourse) -> None:
    edit(tiny.reference, "2.0f * x +", "2.5f * x +")
    ran = tiny.ol("audit", "T1", "--json")
    assert (ran.code, ran.json["holds"], ran.json["mutants"]) == (1, False, [])
    failed = [r["test"] for r in ran.json["baseline"] if r["outcome"] == "failed"]
    assert failed == ["c:sums"]
    assert json.dumps(ran.json["baseline"][0]["failures"][0]["check"]) == '"y"'


def reports(tiny: TinyCourse, folder: Path, *arguments: str) -> tuple[Page, dict[str, Any], dict[str, Any]]:
    """The page, the mutation report's mutants by id, and the findings by line."""
    files = [folder / name for name in ("page.html", "report.json", "found.sarif")]
    options = ("--html", "--report", "--sarif")
    tiny.ol("audit", "T1", *arguments, *(str(a) for pair in zip(options, files, strict=True) for a in pair))
    page = Page()
    page.feed(files[0].read_text())
    page.close()
    (unit,) = json.loads(files[1].read_text())["files"].values()
    (run,) = json.loads(files[2].read_text())["runs"]
    found = {r["locations"][0]["physicalLocation"]["region"]["startLine"]: r for r in run["results"]}
    return page, {m["id"]: m for m in unit["mutants"]}, found


def test_planted_mutants_come_in_the_reports_of_generated_ones(tiny: TinyCourse, tmp_path: Path) -> None:
    page, mutants, found = reports(tiny, tmp_path)
    assert (page.open, page.addresses, page.states) == ([], ["#source"], ["killed"] * 3)
    text = "".join(page.text)
    assert "3 planted mutants, 3 of 3 killed by their named tests" in text
    assert "s02: writing one past the end" in text and "killed by c:sums (sanitizer)" in text
    assert {m: (one["status"], one["killedBy"]) for m, one in mutants.items()} == {
        "s01": ("Killed", ["c:sums"]),
        "s02": ("Killed", ["c:sums"]),
        "s03": ("Killed", ["c:refuses_a_negative_size"]),
    }
    assert found == {}


def test_a_report_shows_each_fate_where_the_patch_changes_something(
    tiny: TinyCourse, tmp_path: Path
) -> None:
    edit(tiny.manifest, 'how = "sanitizer"', 'how = "check"')
    edit(tiny.manifest, 'test = "c:sums"', 'test = "c:refuses_a_negative_size"')
    tiny.plant("s03", "    return 0;", "    return nothing;")
    page, mutants, found = reports(tiny, tmp_path)
    fates = {m: one["status"] for m, one in mutants.items()}
    assert fates == {"s01": "Survived", "s02": "RuntimeError", "s03": "CompileError"}
    assert sorted(page.states) == ["died another way", "does not compile", "survived"]
    lines = tiny.reference.read_text().splitlines()
    changed = {"s01": "2.0f * x", "s02": LOOP, "s03": "return 0;"}
    for mutant, text in changed.items():
        start, end = (mutants[mutant]["location"][side] for side in ("start", "end"))
        shown = lines[start["line"] - 1][start["column"] - 1 : end["column"] - 1]
        assert text in shown and shown == lines[start["line"] - 1].strip()
        assert (start["line"] in found) == (mutant != "s03")


def test_a_report_names_what_is_stale_and_a_reference_that_fails(tiny: TinyCourse, tmp_path: Path) -> None:
    tiny.patch("s01").write_text(tiny.patch("s01").read_text().replace("return", "yield"))
    page, mutants, _ = reports(tiny, tmp_path)
    assert set(mutants) == {"s02", "s03"}
    assert "s01 is stale: " in "".join(page.text)
    edit(tiny.reference, "2.0f * x", "3.0f * x")
    page, mutants, _ = reports(tiny, tmp_path, "s02")
    assert (mutants, page.states) == ({}, [])
    assert "the reference fails its own tests, so no mutant was run" in "".join(page.text)


def test_a_report_of_the_matrix_shows_every_test_that_noticed(tiny: TinyCourse, tmp_path: Path) -> None:
    edit(tiny.manifest, 'test = "c:sums"', 'test = "c:refuses_a_negative_size"')
    page, mutants, _ = reports(tiny, tmp_path, "s01", "--matrix")
    assert "killedBy" not in mutants["s01"] and mutants["s01"]["status"] == "Survived"
    assert page.cells == ["k"]
