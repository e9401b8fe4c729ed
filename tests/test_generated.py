"""`ol audit --generated` on a tiny course: every state of a mutant, what is said of it, and bad input."""

import json
import re
import signal
import sqlite3
import subprocess
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pages import Page, fetched_schema
from tinycourse import TinyCourse, edit, finish


def audit(tiny: TinyCourse, *arguments: str) -> tuple[int, dict[str, Any]]:
    ran = tiny.ol("audit", "T1", "--generated", "--json", *arguments)
    return ran.code, ran.json


def states(document: dict[str, Any]) -> dict[str, str]:
    return {m["id"]: m["state"] for m in document["mutants"]}


def accept(tiny: TinyCourse, *entries: tuple[str, list[str]]) -> Path:
    path = tiny.root / "mutants" / "T1" / "accepted.toml"
    blocks = [
        f"[[accepted]]\nreason = {json.dumps(why)}\nmutants = {json.dumps(k)}\n" for why, k in entries
    ]
    path.write_text("\n".join(blocks))
    return path


def test_every_mutant_has_a_state_and_survivors_fail_the_audit(tiny: TinyCourse, compiler: str) -> None:
    code, found = audit(tiny, "--compiler", compiler)
    assert code == 1
    assert sum(found["counts"].values()) == len(found["mutants"]) > 30
    assert found["counts"]["killed"] > 25
    assert found["counts"]["survived"] == len([m for m in found["mutants"] if m["state"] == "survived"]) > 0
    assert found["skipped"] == [] and found["never_called"] == []
    killed = [m for m in found["mutants"] if m["state"] == "killed"]
    assert all(m["kills"][0]["test"] in ("c:sums", "c:refuses_a_negative_size") for m in killed)
    assert {m["kills"][0]["way"] for m in killed} >= {"check", "sanitizer"}


def test_a_survivor_is_shown_at_its_line_with_a_caret_and_the_reason(tiny: TinyCourse) -> None:
    ran = tiny.ol("audit", "T1", "--generated", "--line", "8")
    assert ran.code == 1
    shown = re.search(
        r"^sum\.c:8:11 replace < with <=.*\n +8 \| (.*)\n +\| ( *)\^\n  (.*)$", ran.out, re.MULTILINE
    )
    assert shown, ran.out
    assert shown[1][len(shown[2])] == "<"
    assert shown[3].startswith("reached in c:sums, c:refuses_a_negative_size, but the value was always")


def test_a_second_run_remembers_everything_and_says_the_same(tiny: TinyCourse) -> None:
    first, second = audit(tiny), audit(tiny)
    assert first[0] == second[0]
    assert first[1]["mutants"] == second[1]["mutants"]
    assert second[1]["timing"]["measured"] == second[1]["timing"]["runs"] == 0


def test_what_changes_is_measured_again(tiny: TinyCourse) -> None:
    audit(tiny, "--line", "4")
    edit(tiny.test_source, "1e-6, 1e-7", "1e-6, 2e-7")
    assert audit(tiny, "--line", "4")[1]["timing"]["measured"] > 0


def test_a_place_that_no_test_runs_is_never_reached_and_its_function_never_called(tiny: TinyCourse) -> None:
    edit(tiny.reference, "int32_t tiny_sum", "static int lone(int n) { return n + 3; }\nint32_t tiny_sum")
    edit(
        tiny.reference,
        "    if (n < 0) return 1;",
        "    if (n < 0) return 1;\n    if (n > 900) return lone(2);",
    )
    _, found = audit(tiny, "--line", "7")
    assert found["never_called"] == ["lone"]
    alive = [m for m in found["mutants"] if m["state"] == "survived"]
    assert alive
    assert {m["why"] for m in alive} == {"never reached"}


def test_a_difference_that_no_check_notices_is_told_from_one_that_never_was(tiny: TinyCourse) -> None:
    edit(tiny.test_source, "1e-6, 1e-7", "1e9, 1e9")
    _, found = audit(tiny, "--line", "4")
    alive = [m for m in found["mutants"] if m["state"] == "survived"]
    unnoticed = next(m for m in alive if (m["original"], m["replacement"]) == ("2.0f * x", "2.0f"))
    assert (unnoticed["why"], unnoticed["differed_in"]) == ("differed and was not noticed", ["c:sums"])


def test_the_same_code_is_equivalent_or_a_duplicate_and_counted_once(tiny: TinyCourse) -> None:
    edit(
        tiny.reference,
        "    return 0;",
        "    unsigned u = (unsigned)n;\n    if (u <= 0u) return 0;\n    return 0;",
    )
    _, found = audit(tiny, "--line", "13")
    equal = [m for m in found["mutants"] if m["state"] == "equivalent"]
    assert equal
    assert all(m["kills"] == [] for m in equal)
    twins = [m for m in found["mutants"] if m["state"] == "duplicate"]
    assert all(m["same_as"] in states(found) for m in twins)


def test_accepted_survivors_hold_and_the_audit_passes(tiny: TinyCourse) -> None:
    _, found = audit(tiny)
    alive = [m["key"] for m in found["mutants"] if m["state"] == "survived"]
    accept(tiny, ("no caller can see this", alive))
    code, again = audit(tiny)
    assert code == 0
    assert again["counts"]["survived"] == 0
    assert [m["reason"] for m in again["mutants"] if m["state"] == "accepted"] == [
        "no caller can see this"
    ] * len(alive)


def test_a_reason_may_hold_for_one_compiler_alone(tiny: TinyCourse, any_compiler: str) -> None:
    _, found = audit(tiny, "--compiler", any_compiler)
    dead = next(m["key"] for m in found["mutants"] if m["state"] == "killed")
    other = {"gcc": "clang", "clang": "gcc"}[any_compiler]
    path = accept(tiny, ("it lives with the other one", [dead]))
    path.write_text(path.read_text() + f'compiler = "{other}"\n')
    assert audit(tiny, "--compiler", any_compiler)[1]["stale"] == []
    path.write_text(path.read_text().replace(other, any_compiler))
    assert len(audit(tiny, "--compiler", any_compiler)[1]["stale"]) == 1


def test_an_edit_elsewhere_orphans_no_reason(tiny: TinyCourse) -> None:
    _, found = audit(tiny)
    accept(
        tiny, ("no caller can see this", [m["key"] for m in found["mutants"] if m["state"] == "survived"])
    )
    edit(tiny.reference, "static float term", "/* a line more */\nstatic float term")
    assert audit(tiny)[0] == 0


def test_a_reason_whose_mutant_is_gone_or_dies_fails(tiny: TinyCourse) -> None:
    _, found = audit(tiny)
    dead = next(m["key"] for m in found["mutants"] if m["state"] == "killed")
    alive = [m["key"] for m in found["mutants"] if m["state"] == "survived"]
    accept(tiny, ("no caller can see this", alive), ("it was a survivor once", [dead, "sum.c | gone"]))
    ran = tiny.ol("audit", "T1", "--generated")
    assert ran.code == 1
    assert "accepted.toml: gone, the source has no such mutant: sum.c | gone" in ran.out
    assert re.search(rf"accepted.toml: killed by c:\w+: {re.escape(dead)}", ran.out)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[accepted]]\nreason = 'no such thing here'\n", "missing required field `mutants`"),
        ("[[accepted]]\nreason = 'because'\nmutants = ['a']\n", "this is no reason: 'because'"),
        ("[[accepted", "Expected ']]'"),
        (
            "[[accepted]]\nreason = 'one two three'\nmutants = ['a']\ncompiler = 'tcc'\n",
            "no compiler: 'tcc'",
        ),
        ("[[accepted]]\nreason = 'one two three'\nmutants = ['a', 'a']\n", "accepted twice: a"),
    ],
)
def test_broken_reasons_are_named(tiny: TinyCourse, text: str, said: str) -> None:
    accept(tiny).write_text(text)
    ran = tiny.ol("audit", "T1", "--generated")
    assert ran.code == 70
    assert said in ran.err and "mutants/T1/accepted.toml" in ran.err


def test_scopes_choose_mutants_and_shares_make_up_the_whole(tiny: TinyCourse) -> None:
    whole = states(audit(tiny)[1])
    shares = [states(audit(tiny, "--shard", f"{k}/3")[1]) for k in (1, 2, 3)]
    assert sum(len(s) for s in shares) == len(whole)
    assert shares[0] | shares[1] | shares[2] == whole
    found = audit(tiny, "--operator", "relational", "--line", "8-9")[1]["mutants"]
    assert {(m["operator"], m["line"]) for m in found} == {("relational", 8), ("relational", 9)}
    assert audit(tiny, "--line", "sum.c:4")[1]["mutants"]


def test_since_takes_only_the_lines_that_changed(tiny: TinyCourse) -> None:
    def git(*arguments: str) -> None:
        name = ["-c", "user.name=a", "-c", "user.email=a@b"]
        subprocess.run(["git", *name, *arguments], cwd=tiny.root, check=True, capture_output=True)

    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "first")
    ran = tiny.ol("audit", "T1", "--generated", "--since", "HEAD")
    assert (ran.code, "none of the" in ran.err) == (2, True)
    line = edit(tiny.reference, "y[i] = term(x[i]);", "y[i] = term(x[i]) + 0.0f;")
    assert {m["line"] for m in audit(tiny, "--since", "HEAD")[1]["mutants"]} == {line}
    assert tiny.ol("audit", "T1", "--generated", "--since", "nowhere").code == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--operator", "relatonal"], "did you mean relational"),
        (["--line", "x"], "not a line: 'x'"),
        (["--shard", "4/3"], "not a share: '4/3'"),
        (["--shard", "0/3"], "not a share"),
        (["--line", "99999"], "none of the"),
        (["--since", "--help"], "not a revision"),
        (["s01"], "do not go with --generated"),
    ],
)
def test_a_wrong_scope_is_a_usage_error(tiny: TinyCourse, arguments: list[str], said: str) -> None:
    ran = tiny.ol("audit", "T1", "--generated", *arguments)
    assert ran.code == 2
    assert said in ran.err


def test_options_of_generated_mutants_need_the_word(tiny: TinyCourse) -> None:
    ran = tiny.ol("audit", "T1", "--line", "4")
    assert (ran.code, "--line goes with --generated" in ran.err) == (2, True)


def test_a_score_may_be_asked_for(tiny: TinyCourse) -> None:
    assert tiny.ol("audit", "T1", "--generated", "--fail-under", "50").code == 0
    assert tiny.ol("audit", "T1", "--generated", "--fail-under", "100").code == 1


def test_the_full_matrix_runs_every_test(tiny: TinyCourse) -> None:
    _, found = audit(tiny, "--matrix", "--line", "4")
    killed = [m for m in found["mutants"] if m["state"] == "killed"]
    assert killed
    assert sum(t["kills"] for t in found["tests"]) == sum(len(m["kills"]) for m in killed)
    assert next(t["alone"] for t in found["tests"] if t["id"] == "c:sums") > 0


def test_a_reference_that_fails_does_not_compile_or_is_flaky_runs_no_mutant(tiny: TinyCourse) -> None:
    original = tiny.reference.read_text()
    edit(tiny.reference, "2.0f * x", "3.0f * x")
    ran = tiny.ol("audit", "T1", "--generated")
    assert (ran.code, "fails c:sums, so no mutant was run" in ran.err) == (70, True)
    tiny.reference.write_text(original.replace("2.0f * x", "2.0f * y"))
    ran = tiny.ol("audit", "T1", "--generated")
    assert ran.code == 70
    assert "the reference of T1 does not compile" in ran.err and "sum.c:4" in ran.err


def test_a_flaky_test_is_an_error(tiny: TinyCourse, tmp_path: Path) -> None:
    mark = tmp_path / "seen"
    flaky = f'\n#include <stdio.h>\nstatic int every_other_time(void) {{ FILE *f = fopen("{mark}", "a"); '
    flaky += "fputc(1, f); fflush(f); long n = ftell(f); fclose(f); return n % 2; }\n"
    edit(tiny.test_source, "\nOL_TEST(sums)", flaky + "\nOL_TEST(sums)")
    edit(
        tiny.test_source,
        'OL_UNIT { ol_saw_f32("y", y, OL_DIMS({"i", 7})); }',
        'OL_UNIT { y[0] += 9.0f * (float)every_other_time(); ol_saw_f32("y", y, OL_DIMS({"i", 7})); }',
    )
    ran = tiny.ol("audit", "T1", "--generated")
    assert (ran.code, "c:sums is flaky" in ran.err) == (70, True)


def test_no_mutants_at_all_is_an_error(tiny: TinyCourse) -> None:
    tiny.reference.write_text(
        '#include "tiny.h"\n#define BODY(x, y, n) { (void)x; (void)y; (void)n; for (;;) {} }\n'
        "int32_t tiny_sum_f32(const float *x, float *y, int64_t n) BODY(x, y, n)\n"
    )
    ran = tiny.ol("audit", "T1", "--generated")
    assert ran.code == 70
    assert "no operator finds anything to change in T1" in ran.err


def test_a_unit_of_one_line_is_audited(tiny: TinyCourse) -> None:
    text = " ".join(tiny.reference.read_text().partition("\n")[2].split())
    tiny.reference.write_text(f'#include "tiny.h"\n{text}\n')
    _, found = audit(tiny)
    assert found["counts"]["killed"] > 25


def test_mutants_that_hang_eat_memory_or_print_for_ever_are_killed(tiny: TinyCourse) -> None:
    edit(tiny.reference, '#include "tiny.h"', '#include "tiny.h"\n#include <stdio.h>\n#include <stdlib.h>')
    edit(
        tiny.reference,
        "    return 0;",
        (
            "    int turns = 0;\n    while (turns < 3) turns++;\n"
            '    for (int64_t k = 0; k < 1; k++) { puts("a line"); }\n'
            "    char *kept[2] = {0};\n"
            "    for (int k = 0; k < 1; k++) { kept[0] = malloc(1 << 20); free(kept[0]); }\n    return 0;"
        ),
    )
    start = time.monotonic()
    _, found = audit(tiny, "--line", "14-18")
    assert time.monotonic() - start < 120
    ways = {k["way"] for m in found["mutants"] for k in m["kills"]}
    assert "time-out" in ways
    assert found["counts"]["killed"] > 5


def kept(cache: Path) -> int:
    """How many mutants the store knows."""
    path = cache / "results.sqlite"
    if not path.exists():
        return 0
    with sqlite3.connect(path, timeout=30) as store:
        query = "SELECT count(*) FROM blob WHERE key LIKE 'generated %'"
        try:
            return int(store.execute(query).fetchone()[0])
        except sqlite3.OperationalError:
            return 0


def test_an_interrupt_keeps_what_is_done(tiny: TinyCourse, tmp_path: Path) -> None:
    own = replace(tiny, cache=tmp_path / "own")
    child = own.start("audit", "T1", "--generated", "--jobs", "1")
    end = time.monotonic() + 120
    while not kept(own.cache) and child.poll() is None and time.monotonic() < end:
        time.sleep(0.02)
    child.send_signal(signal.SIGINT)
    assert finish(child).code in (1, 130)
    assert kept(own.cache) > 0
    assert audit(own)[1]["counts"]["killed"] > 25


def test_two_audits_at_once_agree(tiny: TinyCourse) -> None:
    pair = [tiny.start("audit", "T1", "--generated", "--json") for _ in range(2)]
    done = [finish(child, 240) for child in pair]
    assert done[0].code == done[1].code == 1
    assert done[0].json["mutants"] == done[1].json["mutants"]


def test_the_page_stands_alone_and_says_what_the_terminal_says(tiny: TinyCourse, tmp_path: Path) -> None:
    edit(tiny.reference, "    return 0;", '    return 0; /* <b> & "quotes" */')
    _, found = audit(tiny, "--html", str(tmp_path / "page.html"))
    page = Page()
    page.feed((tmp_path / "page.html").read_text())
    page.close()
    assert page.open == []
    assert page.addresses == ["#source"]
    counts = {state: n for state, n in found["counts"].items() if n}
    assert {state: page.states.count(state) for state in counts} == counts
    text = "".join(page.text)
    assert '/* <b> & "quotes" */' in text
    for mutant in found["mutants"]:
        if mutant["state"] == "survived":
            assert mutant["id"].partition(" ")[2] in text
    assert "http" not in (tmp_path / "page.html").read_text().replace("http-equiv", "")


def test_the_reports_for_other_programs_hold_every_mutant(tiny: TinyCourse, tmp_path: Path) -> None:
    code, found = audit(tiny, "--report", str(tmp_path / "r.json"), "--sarif", str(tmp_path / "r.sarif"))
    assert code == 1
    report = json.loads((tmp_path / "r.json").read_text())
    (unit,) = report["files"].values()
    assert len(unit["mutants"]) == len(found["mutants"])
    lines = unit["source"].splitlines()
    for mutant, told in zip(unit["mutants"], found["mutants"], strict=True):
        start, end = mutant["location"]["start"], mutant["location"]["end"]
        if start["line"] == end["line"]:
            assert lines[start["line"] - 1][start["column"] - 1 : end["column"] - 1] == told["original"]
    sarif = json.loads((tmp_path / "r.sarif").read_text())
    assert len(sarif["runs"][0]["results"]) == found["counts"]["survived"]
    ran = tiny.ol("audit", "T1", "--generated", "--html", str(tmp_path / "no" / "page.html"))
    assert (ran.code, "cannot write the report" in ran.err) == (2, True)


def test_the_mutation_reports_fit_their_published_schema(tiny: TinyCourse, tmp_path: Path) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    schema = fetched_schema(tmp_path)
    audit(tiny, "--report", str(tmp_path / "generated.json"))
    edit(tiny.manifest, 'how = "sanitizer"', 'how = "check"')
    tiny.ol("audit", "T1", "--report", str(tmp_path / "planted.json"))
    for name in ("generated", "planted"):
        jsonschema.validate(json.loads((tmp_path / f"{name}.json").read_text()), schema)
