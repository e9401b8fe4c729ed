"""The student's walk: from an empty folder to a verdict and a comparison, and what is remembered of it."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import usable
from student import UNIT, Student, refuses, says, student, told, with_tests_of_the_square, workspace
from tinycourse import ROOT, Ran, TinyCourse, edit

from ol import process
from ol.commands.group import ol as program
from ol.exits import Exit
from ol.manifest import Way
from ol.verdict import Grade, Outcome

__all__ = ["student"]
PAGED = "c/src/kernels/paged_attn.c"


@pytest.fixture
def real(tiny: TinyCourse, tmp_path: Path) -> Student:
    """A student of the course itself, in a folder that `ol init` made: a blank and accents in its path."""
    course = replace(tiny, root=ROOT)
    made = Student(course=course, root=tmp_path / "mes unités" / "été")
    ran = made.spawn("init", str(made.root))
    assert (ran.code, ran.err) == (0, "")
    return made


# ---- From a stub to a comparison ----------------------------------------------------------------------


@pytest.mark.parametrize("name", ["gcc", "clang"])
def test_a_unit_goes_from_a_stub_to_a_verdict_and_a_comparison(real: Student, name: str) -> None:
    def ol(*arguments: str) -> Ran:
        own = () if arguments[0] == "start" else ("--compiler", usable(name))
        return real.spawn(*arguments, *own)

    unit = real.root / PAGED
    ran = ol("start", "L9.4")
    assert (ran.code, ran.out.splitlines()[0]) == (0, f"wrote {unit}")

    refuses(
        ol("check", "L9.4", "--ref-deps"),
        1,
        "FAILED c:hand_example",
        "TL_EUNSUPPORTED",
        "L9.4: FAIL, 27 of 27",
    )
    says(ol("check", "L9.4"), 3, "L9.4 needs L7.7", "`ol start L7.7`", "`ol check L9.4 --ref-deps`")
    ran = ol("diff", "L9.4", "--ref-deps")
    assert (ran.code, ran.out) == (1, "")
    told(ran.err, "FAILED c:hand_example", "the reference of L9.4 is shown once your unit passes")

    shutil.copy(ROOT / "reference" / PAGED, unit)
    refuses(ol("check", "L9.4", "--ref-deps"), 0, "L9.4: PASS, 27 of 27 tests", "`ol diff L9.4`")
    ran = ol("diff", "L9.4")
    assert (ran.code, ran.out, ran.err) == (0, "", "L9.4: no difference from the reference\n")


def test_a_difference_is_one_patch_that_makes_the_reference(student: Student) -> None:
    student.write(student.correct)
    edit(student.unit, "2.0f * x + tiny_square(x)", "tiny_square(x) + 2.0f * x")
    student.write("static float unused_helper(float x) { return x; }\n" + student.unit.read_text())
    student.write(student.unit.read_text().replace("\n", "\r\n"))
    ran = student.ol("diff", "T1")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith(f"--- yours/{UNIT}\n+++ reference/{UNIT}\n@@ ")
    student.write(student.unit.read_bytes().replace(b"\r\n", b"\n"))
    subprocess.run(["patch", "-s", "-p1"], input=ran.out.encode(), cwd=student.root, check=True)
    assert student.unit.read_text() == student.correct


def test_the_reference_is_not_shown_to_a_unit_that_is_refused(student: Student) -> None:
    student.write(student.correct)
    edit(student.unit, "return 0;", "return nothing;")
    ran = student.ol("diff", "T1")
    assert (ran.code, ran.out) == (1, "")
    assert "nothing" in ran.err
    assert "return 0" not in ran.err


def test_a_debugger_gets_one_program_that_runs(student: Student) -> None:
    student.write(student.correct)
    ran = student.ol("debug", "T1", "sums", "--ref-deps")
    assert ran.code == 0
    words = ran.out.split()
    plain = (
        words[words.index("--args") + 1 :]
        if "--args" in words
        else words[words.index("--") + 1 :]
        if "--" in words
        else words
    )
    done = subprocess.run(plain, capture_output=True, check=False)
    assert done.returncode == 0, done
    edit(student.unit, "return 0;", "return nothing;")
    says(student.ol("debug", "T1", "sums", "--ref-deps"), 4, "the unit does not compile", f"{UNIT}:")


# ---- Starting -----------------------------------------------------------------------------------------


def test_start_leaves_a_file_alone(student: Student) -> None:
    student.write("mine")
    ran = student.ol("start", "T1")
    assert ran.code == 0
    assert ran.out.startswith(f"left {student.unit} as it is: it exists (--force")
    assert student.unit.read_text() == "mine"


def test_force_keeps_each_old_file_under_a_name_of_its_own(student: Student) -> None:
    for k, text in enumerate(["first", "second", "third"], start=1):
        student.write(text)
        ran = student.ol("start", "T1", "--force")
        assert f"kept the old one as {student.unit}.backup-{k}\nwrote {student.unit}\n" in ran.out
        assert ran.code == 0
    assert [Path(f"{student.unit}.backup-{k}").read_text() for k in (1, 2, 3)] == [
        "first",
        "second",
        "third",
    ]
    assert "not written" not in student.unit.read_text()  # the tiny course has no error slot
    assert "tiny_sum_f32" in student.unit.read_text()


@pytest.mark.parametrize("name", ["gcc", "clang"])
def test_the_stub_of_every_module_compiles_without_a_warning(real: Student, name: str) -> None:
    usable(name)
    for manifest in sorted((ROOT / "course" / "modules").glob("*.toml")):
        assert real.ol("start", manifest.stem).code == 0
    units = sorted((real.root / "c").rglob("*.c"))
    assert len(units) >= 6
    include = real.root / "contracts" / "c" / "include"
    flags = [
        "-std=c11",
        "-D_POSIX_C_SOURCE=200809L",
        "-Wall",
        "-Wextra",
        "-pedantic",
        "-Werror",
        "-fsyntax-only",
    ]
    done = subprocess.run(
        [name, *flags, f"-I{include}", *map(str, units)], capture_output=True, check=False
    )
    assert (done.returncode, done.stderr.decode()) == (0, "")
    assert "tl_set_last_error(" in (real.root / PAGED).read_text()


def test_init_leaves_what_is_in_the_folder(tiny: TinyCourse, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "README.md").write_text("my own")
    (tmp_path / ".gitignore").symlink_to("notes.txt")
    ran = tiny.ol("init", str(tmp_path))
    assert ran.code == 0
    assert f"kept  {tmp_path / 'README.md'}" in ran.out
    assert f"kept  {tmp_path / '.gitignore'}" in ran.out
    assert (tmp_path / "README.md").read_text() == "my own"
    assert (tmp_path / "notes.txt").read_text() == "mine"
    again = tiny.ol("init", str(tmp_path))
    assert again.code == 0
    assert "wrote" not in again.out


@pytest.mark.parametrize("kind", ["a file", "below a file"])
def test_init_where_no_folder_can_be_is_told(tiny: TinyCourse, tmp_path: Path, kind: str) -> None:
    (tmp_path / "taken").write_text("mine")
    folder = tmp_path / "taken" / ("deeper" if kind == "below a file" else "")
    says(tiny.ol("init", str(folder)), 2, "cannot write to the workspace", str(tmp_path / "taken"))
    assert (tmp_path / "taken").read_text() == "mine"


# ---- What an editor sees ------------------------------------------------------------------------------


def commands(student: Student) -> list[dict[str, object]]:
    found: list[dict[str, object]] = json.loads((student.root / "compile_commands.json").read_text())
    return found


def test_the_compile_commands_are_valid_and_current(
    tiny: TinyCourse, tmp_path: Path, any_compiler: str
) -> None:
    student = workspace(tiny, tmp_path / "a b é")
    student.ol("start", "T1")
    (entry,) = commands(student)
    assert entry["file"] == str(student.unit)
    argv = entry["arguments"]
    assert isinstance(argv, list)
    done = subprocess.run(
        [any_compiler, *argv[1:], "-fsyntax-only", "-Werror"],
        cwd=str(entry["directory"]),
        capture_output=True,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    student.ol("start", "T0")
    assert len(commands(student)) == 2
    student.unit.unlink()
    student.ol("check", "T1")
    assert [e["file"] for e in commands(student)] == [str(student.root / "c/src/square.c")]


def test_the_contracts_are_copies_that_decide_nothing_and_are_kept_current(student: Student) -> None:
    student.write(student.correct)
    student.check()
    copy = student.root / "contracts" / "c" / "include" / "tiny.h"
    ours = student.course.root / "course" / "contracts" / "c" / "include" / "tiny.h"
    assert copy.read_bytes() == ours.read_bytes()
    copy.write_text("#error broken\n")
    refuses(student.check(), 0, "PASS")
    assert copy.read_bytes() == ours.read_bytes()


# ---- Which workspace ----------------------------------------------------------------------------------


def test_the_workspace_is_named_by_option_then_variable_then_the_folder_around(
    student: Student, tmp_path: Path
) -> None:
    others = [workspace(student.course, tmp_path / name) for name in ("option", "around")]
    option, around = others
    around.course.monkeypatch.chdir(around.root / "c" / "src")
    student.ol("start", "T1", "--workspace", str(option.root))
    assert [w.unit.exists() for w in (student, option, around)] == [False, True, False]
    student.ol("start", "T1")
    assert [w.unit.exists() for w in (student, option, around)] == [True, True, False]
    student.course.monkeypatch.delenv("OL_WORKSPACE")
    student.course.ol("start", "T1")
    assert around.unit.exists()


def test_a_clone_of_the_course_is_a_workspace_itself(tiny: TinyCourse) -> None:
    (tiny.root / "c" / "src").mkdir(parents=True)
    tiny.monkeypatch.chdir(tiny.root / "c")
    tiny.monkeypatch.delenv("OL_WORKSPACE", raising=False)
    assert tiny.ol("start", "T1").code == 0
    assert (tiny.root / UNIT).exists()
    assert not (tiny.root / "contracts").exists()
    shutil.copy(tiny.reference, tiny.root / UNIT)
    refuses(tiny.ol("check", "T1", "--ref-deps"), 0, "PASS")


# ---- The catalogue ------------------------------------------------------------------------------------


def test_the_catalogue_lists_modules_and_what_each_test_checks_and_why(student: Student) -> None:
    ran = student.ol("tests")
    assert (ran.code, ran.err) == (0, "")
    told(ran.out, "T0", "A square", "T1", "A sum")
    ran = student.ol("tests", "T1")
    told(
        ran.out,
        "c:sums  (unit)",
        "checks  seven sums against doubles",
        "why     everything else stands on it",
    )
    assert "OL_TEST" not in ran.out
    ran = student.ol("tests", "T1", "-v")
    told(
        ran.out,
        "T1/test_sum.c:4",
        "OL_TEST(sums) {",
        "OL_STATUS(0, tiny_sum_f32(x, y, 7));",
        "OL_STATUS(1,",
    )


def test_every_test_of_the_course_shows_its_source(real: Student) -> None:
    for manifest in sorted((ROOT / "course" / "modules").glob("*.toml")):
        brief, verbose = real.ol("tests", manifest.stem), real.ol("tests", manifest.stem, "-v")
        assert (brief.code, verbose.code) == (0, 0)
        number = len(re.findall(r"^    checks  ", brief.out, re.MULTILINE))
        shown = re.findall(
            rf"^    course/tests/{re.escape(manifest.stem)}/\S+:\d+$", verbose.out, re.MULTILINE
        )
        assert number == len(shown) > 0, manifest.stem


NEAR = {
    "a module": (("check", "t2"), "there is no module 't2'; did you mean T0 or T1?"),
    "a test": (
        ("check", "T1", "--ref-deps", "-k", "sum s"),
        "there is no test of T1 'sum s'; did you mean sums?",
    ),
    "a test to debug": (
        ("debug", "T1", "summs", "--ref-deps"),
        "there is no test of T1 'summs'; did you mean sums?",
    ),
    "a command": (("chekc", "T1"), "there is no command 'chekc'; did you mean check?"),
    "a milestone": (("milestone", "MS-T1"), "there is no milestone 'MS-T1'; did you mean MS-T?"),
}


@pytest.mark.parametrize("kind", NEAR)
def test_a_mistyped_name_is_met_with_near_ones(student: Student, kind: str) -> None:
    words, said = NEAR[kind]
    student.write(student.correct)
    says(student.ol(*words), 2, said)


# ---- Some tests only ----------------------------------------------------------------------------------


def test_a_partial_pass_is_no_verdict_and_opens_no_reference(student: Student) -> None:
    student.write(student.correct)
    edit(student.unit, "if (n < 0) return 1;", "")
    refuses(student.check("-k", "sums"), 0, "1 of 1 chosen tests pass", "partial, no verdict")
    assert student.check("-k", "sums", "--json").json["verdict"] is None
    ran = student.ol("status")
    assert "not checked yet" in ran.out
    ran = student.ol("diff", "T1", "--ref-deps")
    assert (ran.code, ran.out) == (1, "")
    told(ran.err, "FAILED c:refuses_a_negative_size", "shown once your unit passes")


def test_a_partial_run_chooses_by_a_part_of_the_name_and_fails_as_a_whole_one(student: Student) -> None:
    student.write(student.correct)
    edit(student.unit, "2.0f", "3.0f")
    refuses(student.check("-k", "s"), 1, "FAILED c:sums", "1 of 2 chosen tests pass", "partial, no verdict")
    refuses(student.check("-k", "negative"), 0, "1 of 1 chosen tests pass")
    refuses(student.check("-k", "c:sums"), 1, "0 of 1 chosen tests pass")


# ---- Memory -------------------------------------------------------------------------------------------


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The argument lists of the processes that `ol` starts from now on."""
    lists: list[list[str]] = []

    def run(argv: list[str], **how: object) -> process.Finished:
        lists.append(argv)
        return real_run(argv, **how)  # type: ignore[arg-type]

    real_run = process.run
    monkeypatch.setattr(process, "run", run)
    return lists


def test_an_unchanged_unit_starts_neither_compiler_nor_test(
    student: Student, started: list[list[str]]
) -> None:
    student.write("/* not seen before */\n" + student.correct)
    first = student.check()
    assert any("-shared" in argv for argv in started)
    started.clear()
    again = student.check()
    assert (again, started) == (first, [])
    assert student.ol("diff", "T1").code == 0
    assert student.ol("status").code == 0
    assert started == []


def test_a_failure_is_remembered_word_for_word(student: Student, started: list[list[str]]) -> None:
    student.write(student.correct)
    edit(student.unit, "i < n; i++", "i <= n; i++")
    first = student.check()
    started.clear()
    assert student.check() == first
    assert first.code == 1
    assert started == []


def test_an_edit_is_noticed_and_an_edit_taken_back_is_known(
    student: Student, started: list[list[str]]
) -> None:
    student.write(student.correct)
    assert student.check().code == 0
    assert "passes with --ref-deps" in student.ol("status").out
    edit(student.unit, "2.0f", "3.0f")
    assert "changed since (was pass)" in student.ol("status").out
    assert student.check().code == 1
    assert "fails" in student.ol("status").out
    student.write(student.correct)
    started.clear()
    assert student.check().code == 0
    assert started == []


@pytest.mark.parametrize("what", ["a test", "the contract", "a dependency", "the seed"])
def test_what_else_decides_a_verdict_makes_it_stale(
    student: Student, started: list[list[str]], what: str
) -> None:
    student.write(student.correct)
    assert student.check().code == 0
    started.clear()
    folder = student.course.root
    match what:
        case "a test":
            edit(student.course.test_source, "n=7", "n is 7")
        case "the contract":
            edit(folder / "course/contracts/c/include/tiny.h", "T0:", "T0 is")
        case "a dependency":
            edit(folder / "reference/c/src/square.c", "x * x", "1.0f * x * x")
    from ol import memory

    memory._folder.cache_clear()  # each run of ol is a process of its own
    assert student.check(*(["--seed", "1"] if what == "the seed" else [])).code == 0
    assert started != []


# ---- The way through the course -----------------------------------------------------------------------


@pytest.fixture
def way(student: Student) -> Student:
    with_tests_of_the_square(student.course)
    return student


def standing(student: Student, module: str) -> str:
    line = next(x for x in student.ol("status").out.splitlines() if re.match(rf"\W*{module}\b", x))
    return re.sub(r"\s{2,}", "|", line)


def test_a_student_is_led_through_the_course(way: Student) -> None:
    assert "not started" in standing(way, "T0")
    assert way.ol("next").out == "`ol start T0` (A square)\n"
    says(way.ol("check", "T1"), 3, "it is not started yet", "run `ol start T1`")

    way.ol("start", "T0")
    assert "not checked yet" in standing(way, "T0")
    assert way.ol("next").out == "`ol check T0` (A square)\n"
    refuses(way.ol("check", "T0"), 1, "FAILED c:squares", "why       the sum stands on it")
    assert "fails" in standing(way, "T0")

    way.write(way.correct)
    says(
        way.ol("check", "T1"),
        3,
        "T1 needs T0, which does not pass yet: it fails c:squares",
        "`ol check T0`",
    )
    refuses(way.check(), 0, "PASS, 2 of 2 tests over the reference's dependencies")
    assert "passes with --ref-deps" in standing(way, "T1")
    ran = way.ol("milestone", "MS-T")
    assert ran.code == 1
    assert "MS-T: not reached yet" in ran.out

    shutil.copy(way.course.root / "reference/c/src/square.c", way.root / "c/src/square.c")
    assert "changed since (was fail)" in standing(way, "T0")
    refuses(way.ol("check", "T1"), 0, "PASS, 2 of 2 tests over your own dependencies")
    assert "passes" in standing(way, "T0")
    assert way.ol("next").out.startswith("every module passes")
    ran = way.ol("milestone", "MS-T")
    assert (ran.code, ran.err) == (0, "")
    assert "2 of 2 modules pass; 2 checked again, 0 unchanged" in ran.out
    assert ran.out.endswith("MS-T: reached\n")


def test_a_dependency_that_does_not_build_stops_what_stands_on_it(way: Student) -> None:
    way.write(way.correct)
    (way.root / "c/src/square.c").write_text("float tiny_square(float x) { return y; }\n")
    says(
        way.ol("check", "T1"), 3, "T1 needs T0, which does not pass yet: it does not build", "`ol check T0`"
    )


def test_a_check_of_all_says_what_is_unchanged(way: Student, started: list[list[str]]) -> None:
    assert way.ol("check", "--all").code == 3
    square = (way.course.root / "reference/c/src/square.c").read_text()
    (way.root / "c/src/square.c").write_text("/* not seen before */\n" + square)
    way.write("/* nor this */\n" + way.correct)
    ran = way.ol("check", "--all")
    assert (ran.code, ran.err) == (0, "")
    assert "2 of 2 modules pass; 2 checked again, 0 unchanged" in ran.out
    edit(way.unit, "return 1;", "return 2;")
    ran = way.ol("check", "--all")
    assert ran.code == 1
    assert "1 of 2 modules pass; 1 checked again, 1 unchanged" in ran.out
    started.clear()
    assert "1 of 2 modules pass; 0 checked again, 2 unchanged" in way.ol("check", "--all").out
    assert started == []


# ---- The command line ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shell", "mark"), [("bash", "complete -o nosort"), ("zsh", "#compdef ol"), ("fish", "complete")]
)
def test_each_shell_is_given_its_completion(tiny: TinyCourse, shell: str, mark: str) -> None:
    course = replace(tiny, environment={"_OL_COMPLETE": f"{shell}_source"})
    ran = course.spawn()
    assert (ran.code, ran.err) == (0, "")
    assert mark in ran.out
    assert "_OL_COMPLETE" in ran.out


@pytest.mark.parametrize(
    ("typed", "offered"), [("ol che", "check"), ("ol check t", "T1"), ("ol check T1 --ref", "--ref-deps")]
)
def test_commands_modules_and_options_are_completed(tiny: TinyCourse, typed: str, offered: str) -> None:
    words = typed.split()
    asked = {"_OL_COMPLETE": "bash_complete", "COMP_WORDS": typed, "COMP_CWORD": str(len(words) - 1)}
    ran = replace(tiny, environment=asked).spawn()
    assert f"plain,{offered}" in ran.out.splitlines()


def test_completion_outside_of_a_course_offers_nothing_and_breaks_nothing(tiny: TinyCourse) -> None:
    asked = {"_OL_COMPLETE": "bash_complete", "COMP_WORDS": "ol check t", "COMP_CWORD": "2"}
    shutil.rmtree(tiny.root)
    ran = replace(tiny, environment=asked).spawn()
    assert (ran.out.strip(), ran.err) == ("", "")


@pytest.mark.parametrize("name", list(program.commands))
def test_the_help_of_a_command_has_an_example_before_its_options(tiny: TinyCourse, name: str) -> None:
    ran = tiny.ol(name, "--help")
    assert ran.code == 0
    before, _, _ = ran.out.partition("Options:")
    assert re.search(rf"^  (  )?ol {name}\b", before, re.MULTILINE) or name == "mutant", ran.out
    assert max(map(len, ran.out.splitlines())) <= 100


def test_a_check_of_nothing_says_what_to_name(student: Student) -> None:
    ran = student.ol("check")
    assert ran.code == 2
    assert "`ol check L9.4`, or check --all" in ran.err


@pytest.mark.parametrize("option", [("--json",), ("-k", "sums")])
def test_a_check_of_all_takes_no_option_of_one_module(student: Student, option: tuple[str, ...]) -> None:
    ran = student.ol("check", "--all", *option)
    assert (ran.code, ran.out) == (2, "")
    assert "go with one module" in ran.err


# ---- What is documented -------------------------------------------------------------------------------


def test_the_exit_codes_are_those_of_the_docs() -> None:
    table = re.findall(r"^\| (\d+) \|", (ROOT / "docs" / "exit-codes.md").read_text(), re.MULTILINE)
    assert [int(code) for code in table] == [int(code) for code in Exit]


def section(name: str) -> str:
    text = (ROOT / "docs" / "json.md").read_text()
    return re.split(r"^## ", text.partition(f"## `{name}`")[2], flags=re.MULTILINE)[0]


KINDS: dict[str, Callable[[Student], object]] = {
    "pass": lambda s: None,
    "fail": lambda s: edit(s.unit, "i < n; i++", "i <= n; i++"),
    "refused": lambda s: edit(s.unit, "return 0;", "return nothing;"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_json_of_a_verdict_is_as_documented(student: Student, kind: str) -> None:
    student.write(student.correct)
    KINDS[kind](student)
    ran = student.check("--json", "--seed", "3")
    assert ran.err == ""
    found = ran.json
    documented = {
        n
        for row in re.findall(r"^\| (`.*?) \|", section("ol check --json"), re.MULTILINE)
        for n in re.findall(r"`(\w+)`", row)
    }
    assert documented >= {"verdict", "module", "compiler", "seed", "partial", "results", "refused"}
    assert documented <= set(found)
    assert (found["format_version"], found["kind"], found["verdict"]) == (1, "check", kind)
    assert (found["module"], found["seed"], found["reference_dependencies"], found["partial"]) == (
        "T1",
        3,
        True,
        False,
    )
    assert ran.code == {"pass": 0, "fail": 1, "refused": 4}[kind]
    for result in found["results"]:
        assert {"test", "outcome", "seconds", "failures"} <= set(result)
    failures = [f for r in found["results"] for f in r["failures"]]
    assert bool(failures) == (kind == "fail")
    for failure in failures:
        assert set(failure) >= {
            "way",
            "check",
            "expected",
            "got",
            "where",
            "bad",
            "total",
            "note",
            "detail",
        }
    for refused in found["refused"]:
        assert set(refused) >= {"rule", "what", "where", "instead", "detail"}
    assert bool(found["refused"]) == (kind == "refused")


def test_every_word_of_a_verdict_is_documented() -> None:
    text = section("ol check --json")
    for words in (Grade, Outcome, Way):
        for word in words:
            assert f"`{word}`" in text, word


def test_a_student_without_a_compiler_is_told_how_to_get_one(student: Student, tmp_path: Path) -> None:
    student.write(student.correct)
    student.course.monkeypatch.setenv("PATH", str(tmp_path))
    says(student.check(), 69, "a C compiler (gcc or clang) is not on this machine", "install it:")


def test_the_readme_shows_what_is_printed(student: Student) -> None:
    """The lines of the walk that do not depend on the unit."""
    readme = (ROOT / "README.md").read_text()
    student.write(student.correct)
    passed = student.check().out.splitlines()
    for line in passed:
        shape = line.replace("T1", "L9.4").replace("2 of 2", "27 of 27").replace("clang", "gcc")
        assert re.sub(r"gcc [\d.]+", "gcc", shape) in readme or "seed" in shape
    assert sys.executable not in readme
    assert os.sep + "tmp" not in readme
