"""Everything that can be wrong with a student's unit, workspace or terminal: a message that says what,
where and the next command, the right exit status, nothing lost, and never a traceback."""

import errno
import fcntl
import os
import pty
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from student import (
    UNIT,
    Student,
    alive,
    leftovers,
    mounted,
    refuses,
    says,
    soon,
    student,
    told,
    workspace,
)
from tinycourse import START, TinyCourse, checked, edit, finish

__all__ = ["student"]

# ---- What lies in the place of the unit ---------------------------------------------------------------


def test_a_unit_that_does_not_exist_is_not_started(student: Student) -> None:
    says(student.check(), 3, "it is not started yet", UNIT, "next: run `ol start T1`")


@pytest.mark.parametrize("text", [b"", b" \r\n\t\n", b"\xef\xbb\xbf"], ids=["nothing", "blanks", "a BOM"])
def test_an_empty_unit_is_told(student: Student, text: bytes) -> None:
    student.write(text)
    says(student.check(), 4, "it is empty", UNIT, "`ol start T1 --force`")
    assert student.unit.read_bytes() == text


def test_a_unit_that_does_not_compile_shows_the_first_error_with_its_line_and_a_caret(
    student: Student,
) -> None:
    student.write(student.correct)
    line = edit(student.unit, "y[i] = term(x[i]);", "y[i] = therm(x[i]) + gone;")
    ran = student.check()
    refuses(
        ran, 4, f"{UNIT}:{line}:", "therm", f"{line} |         y[i] = therm(x[i]) + gone;", "ol check T1"
    )
    assert re.search(r"^ *\| +\^", ran.out, re.MULTILINE), ran.out
    assert "gone" not in ran.out.replace("therm(x[i]) + gone", "")


def test_a_unit_that_ends_in_the_midst_is_told_with_its_line(student: Student) -> None:
    student.write(student.correct[: student.correct.rindex("return")])
    refuses(student.check(), 4, f"{UNIT}:", "rule      it compiles")


def test_a_header_that_is_not_there_is_told_with_its_line(student: Student) -> None:
    student.write('#include "tine.h"\n' + student.correct)
    refuses(student.check(), 4, f"{UNIT}:1:", "tine.h")


def test_a_wrong_prototype_is_shown_beside_the_contracts(student: Student) -> None:
    student.write(student.correct)
    edit(student.unit, "int32_t tiny_sum_f32(const float *x,", "int32_t tiny_sum_f32(const double *x,")
    refuses(
        student.check(),
        4,
        f"{UNIT}:7:9: conflicting types for 'tiny_sum_f32'",
        "contract  int32_t tiny_sum_f32(const float *x, float *y, int64_t n)",
        "yours     int32_t tiny_sum_f32(const double *x, float *y, int64_t n)",
    )


def test_a_missing_function_is_told_with_the_prototype_of_the_contract(student: Student) -> None:
    student.write(student.correct)
    edit(student.unit, "tiny_sum_f32", "tiny_sums_f32")
    refuses(
        student.check(),
        4,
        "tiny_sum_f32",
        "contract  int32_t tiny_sum_f32(const float *x, float *y, int64_t n)",
        "yours     int32_t tiny_sums_f32(const float *x, float *y, int64_t n)",
    )


def test_a_function_that_the_contract_does_not_list_is_told_with_its_line(student: Student) -> None:
    student.write(student.correct)
    line = edit(student.unit, "static float term", "float term")
    refuses(student.check(), 4, f"{UNIT}:{line}:", "term", "static")


HARMLESS = {
    "CRLF": lambda text: text.replace("\n", "\r\n").encode(),
    "a BOM": lambda text: b"\xef\xbb\xbf" + text.encode(),
    "both": lambda text: b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode(),
    "Latin-1": lambda text: b"/* l'\xe9t\xe9 */\n" + text.encode(),
    "UTF-8": lambda text: "/* l'été */\n".encode() + text.encode(),
    "no newline at the end": lambda text: text.rstrip("\n").encode(),
    "tabs": lambda text: text.replace("    ", "\t").encode(),
}


@pytest.mark.parametrize("kind", HARMLESS)
def test_how_an_editor_saves_a_file_changes_no_verdict(student: Student, kind: str) -> None:
    text = HARMLESS[kind](student.correct)
    student.write(text)
    refuses(student.check(), 0, "T1: PASS, 2 of 2 tests")
    refuses_nothing = student.ol("diff", "T1")
    assert refuses_nothing.code == 0
    assert student.unit.read_bytes() == text


@pytest.mark.parametrize("kind", ["CRLF", "a BOM", "Latin-1", "tabs"])
def test_how_an_editor_saves_a_file_moves_no_line_of_an_error(student: Student, kind: str) -> None:
    student.write(student.correct)
    line = edit(student.unit, "return 0;", "return nought;")
    student.write(HARMLESS[kind](student.unit.read_text()))
    ran = student.check()
    refuses(ran, 4, f"{UNIT}:{line + (kind == 'Latin-1')}:", "nought")
    assert "\r" not in ran.out


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_utf16_is_refused_and_said_why(student: Student, encoding: str) -> None:
    student.write(student.correct.encode(encoding))
    says(student.check(), 4, "UTF-16", UNIT, "save it as UTF-8")


def in_place(student: Student, kind: str) -> None:
    student.unit.unlink(missing_ok=True)
    match kind:
        case "a symbolic link":
            student.unit.symlink_to(student.course.reference)
        case "a link to nothing":
            student.unit.symlink_to("nothing")
        case "a directory":
            student.unit.mkdir()
        case "a pipe":
            os.mkfifo(student.unit)
        case "a gigabyte":
            with student.unit.open("wb") as file:
                file.truncate(1 << 30)


ODD = {
    "a symbolic link": "it is a symbolic link",
    "a link to nothing": "it is a symbolic link",
    "a directory": "it is a directory",
    "a pipe": "it is no regular file",
    "a gigabyte": "it has 1073741824 bytes; the most is 1048576",
}


@pytest.mark.parametrize("kind", ODD)
@pytest.mark.parametrize("command", ["check", "diff", "debug"])
def test_what_is_no_source_file_is_refused_at_once(student: Student, command: str, kind: str) -> None:
    in_place(student, kind)
    start = time.monotonic()
    words = {"debug": ("debug", "T1", "sums")}.get(command, (command, "T1"))
    says(student.ol(*words, "--ref-deps"), 4, ODD[kind], UNIT, "next: put the source itself")
    assert time.monotonic() - start < 5
    assert os.path.lexists(student.unit)


@pytest.mark.parametrize("kind", ODD)
def test_what_is_no_source_file_stops_no_command_over_the_whole_course(student: Student, kind: str) -> None:
    in_place(student, kind)
    assert student.ol("status").code == 0
    assert student.ol("next").code == 0
    ran = student.ol("check", "--all", "--ref-deps")
    assert ran.code == 4
    assert ODD[kind].partition(";")[0] in ran.out.replace("\n", " ")


@pytest.mark.parametrize("kind", ODD)
def test_start_leaves_what_it_finds_and_force_keeps_it_aside(student: Student, kind: str) -> None:
    in_place(student, kind)
    before = student.unit.lstat().st_mode
    ran = student.ol("start", "T1")
    assert (ran.code, student.unit.lstat().st_mode) == (0, before)
    assert f"left {student.unit} as it is" in ran.out
    ran = student.ol("start", "T1", "--force")
    backup = student.unit.with_name("sum.c.backup-1")
    assert f"kept the old one as {backup}" in ran.out
    assert (ran.code, backup.lstat().st_mode) == (0, before)
    assert not student.unit.is_symlink()
    assert "tiny_sum_f32" in student.unit.read_text()
    assert student.correct == (student.course.reference.read_text())


def test_a_folder_of_the_unit_that_is_a_file_is_told(student: Student) -> None:
    student.unit.parent.rmdir()
    student.unit.parent.write_text("mine")
    assert student.check().code in (3, 4)
    says(student.ol("start", "T1"), 2, "cannot write to the workspace", "--workspace DIR")
    assert student.unit.parent.read_text() == "mine"


# ---- Where the workspace lies -------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a b", "é ü", "日本 語", "a'b\"c", "a$b;c", "a%b", "-a", "a:b,c", "a\\b"])
def test_a_path_may_hold_blanks_and_any_letters(tiny: TinyCourse, tmp_path: Path, name: str) -> None:
    student = workspace(tiny, tmp_path / name)
    student.write(student.correct)
    refuses(student.check(), 0, "T1: PASS")
    edit(student.unit, "return 0;", "return 7;")
    refuses(student.check(), 1, "expected  T_OK", "got       7")


@pytest.mark.parametrize("name", ["a b é", "a:b'c"])
def test_so_may_the_path_of_the_cache(tiny: TinyCourse, tmp_path: Path, name: str) -> None:
    student = workspace(tiny.with_cache(tmp_path / name), tmp_path / "mine")
    student.write(student.correct)
    refuses(student.check(), 0, "T1: PASS")
    edit(student.unit, "y[i] = term", "y[i + 1] = term")
    refuses(student.check(), 1, "heap-buffer-overflow", f"{UNIT}:10")


def powerless() -> list[str]:
    """The words before a command that take from root what files do not allow."""
    if os.geteuid() != 0:
        return []
    words = ["setpriv", "--bounding-set=-dac_override,-dac_read_search", "--"]
    if not shutil.which(words[0]) or subprocess.run([*words, "true"], check=False).returncode != 0:
        pytest.skip("root cannot give up its rights over files here")
    return words


@pytest.fixture
def ordinary(student: Student) -> Iterator[Student]:
    """A student without rights of root in a folder for reading only."""
    words = powerless()
    student.write(student.correct)
    paths = [student.root, *student.root.rglob("*")]
    for path in paths:
        path.chmod(0o555 if path.is_dir() else 0o444)
    yield replace(student, before=words)
    for path in paths:
        path.chmod(0o755)


def test_a_workspace_for_reading_only_can_be_checked(ordinary: Student) -> None:
    refuses(ordinary.spawn("check", "T1", "--ref-deps"), 0, "T1: PASS")


def test_a_workspace_for_reading_only_is_told_by_what_would_write(ordinary: Student) -> None:
    says(
        ordinary.spawn("start", "T1", "--force"),
        2,
        "cannot write to the workspace: Permission denied",
        str(ordinary.root),
        "--workspace DIR",
    )
    assert ordinary.unit.read_text() == ordinary.correct
    says(ordinary.spawn("init", str(ordinary.root / "deeper")), 2, "cannot write to the workspace")


def test_a_unit_that_may_not_be_read_is_told(ordinary: Student) -> None:
    ordinary.unit.chmod(0o200)
    says(ordinary.spawn("check", "T1", "--ref-deps"), 4, "Permission denied", UNIT)


def test_files_with_times_in_the_future_are_graded_by_what_they_hold(student: Student) -> None:
    future = time.time() + 10 * 365 * 86400

    def later() -> None:
        for folder in (student.root, student.course.root):
            for path in folder.rglob("*"):
                os.utime(path, (future, future))

    student.write(student.correct)
    later()
    refuses(student.check(), 0, "T1: PASS")
    edit(student.unit, "return 0;", "return 7;")
    later()
    refuses(student.check(), 1, "got       7")
    assert student.ol("start", "T1").code == 0


def test_a_folder_that_is_in_no_workspace_is_told(tiny: TinyCourse, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    tiny.monkeypatch.chdir(tmp_path / "elsewhere")
    tiny.monkeypatch.delenv("OL_WORKSPACE", raising=False)
    for words in (("check", "T1"), ("start", "T1"), ("status",), ("diff", "T1")):
        says(tiny.ol(*words), 2, "this folder is not in a workspace", "elsewhere", "`ol init DIR`")


@pytest.mark.parametrize("option", [True, False])
def test_a_workspace_that_is_not_there_is_told(student: Student, option: bool) -> None:
    shutil.rmtree(student.root)
    words = ("--workspace", str(student.root)) if option else ()
    says(student.check(*words), 2, "there is no such workspace", str(student.root), "`ol init")


# ---- What a kernel does -------------------------------------------------------------------------------


def test_a_kernel_that_loops_for_ever_costs_its_limit_and_the_rest_is_not_run(student: Student) -> None:
    student.does("for (volatile int k = 1; k;) {}")
    text = student.course.test_source.read_text()
    entries = []
    for k in range(8):
        text += f'\nOL_TEST(more{k}) {{ OL_STATUS(1, tiny_sum_f32(NULL, NULL, -1)); ol_note("{k}"); }}\n'
        entries.append(f'[[tests]]\nid = "c:more{k}"\nkind = ["unit"]\nchecks = "n = -1"\nwhy = "it is"\n')
    student.course.test_source.write_text("#include <stddef.h>\n" + text)
    edit(student.course.manifest, "[[mutants]]", "\n".join(entries) + "\n[[mutants]]")
    ran = student.check("--jobs", "1")
    refuses(ran, 1, "FAILED c:sums", "still running after ", "not run after the time-out: ", "n=7")
    assert "1 of 10 tests fail" in ran.out
    found = student.check("--json", "--jobs", "1").json
    assert {r["outcome"] for r in found["results"]} >= {"failed", "not run"}
    assert sum(r["seconds"] for r in found["results"]) < 5


def test_a_kernel_that_sleeps_costs_its_limit_too(student: Student) -> None:
    student.does("nanosleep(&(struct timespec){60, 0}, 0);", calls="nanosleep", headers="time.h")
    refuses(student.check(), 1, "still running after ")


def test_a_kernel_that_crashes_is_told_with_its_line_and_call(student: Student) -> None:
    line = student.does("*(volatile int *)0 = 1;")
    ran = student.check()
    refuses(
        ran,
        1,
        "the unit crashes",
        "with      n=7",
        f"at        {UNIT}:{line}",
        "SEGV: a write through a NULL pointer",
        f"{line} |     *(volatile int *)0 = 1;",
        f"in tiny_sum_f32  {UNIT}:{line}",
    )


DEADLY = {
    "recurses for ever": ("return tiny_sum_f32(x, y, n) + 1;", "", "", "stack-overflow"),
    "aborts": ("abort();", "abort", "stdlib.h", "SIGABRT, abort()"),
    "stops itself": ("int raise(int); raise(9);", "raise", "", "SIGKILL"),
    "exits": ("exit(0);", "exit", "stdlib.h", "the process left with status 0 before the end"),
    "exits at once": ("_exit(0);", "_exit", "unistd.h", "the process left with status 0 before the end"),
}


@pytest.mark.parametrize("kind", DEADLY)
def test_a_kernel_that_ends_its_process_is_told_how(student: Student, kind: str) -> None:
    deed, calls, headers, said = DEADLY[kind]
    student.does(deed, calls=calls, headers=headers)
    refuses(student.check(), 1, "FAILED c:sums", said, "with      n=7", "T1: FAIL, 1 of 2 tests fail")


def test_a_kernel_that_returns_garbage_is_told_what_came(student: Student) -> None:
    student.does("return -77;")
    refuses(student.check(), 1, "tiny_sum_f32", "expected  T_OK", "got       -77")
    student.write(student.correct)
    edit(student.unit, "y[i] = term(x[i]);", "y[i] = i == 5 ? 0.0f / (x[i] - x[i]) : term(x[i]);")
    refuses(student.check(), 1, "at        i 5", "got       nan", "with      n=7")
    edit(student.unit, "0.0f / ", "1e30f + ")
    refuses(student.check(), 1, "at        i 5", "got       1.0000000", "(off by 1e+30)")


FLOODS = {
    "on stdout": "char b[1 << 16]; memset(b, 'x', sizeof b);"
    " for (int k = 0; k < 3200; k++) if (write(1, b, sizeof b) < 0) return 9;",
    "on both": "char b[1 << 16]; memset(b, 27, sizeof b);"
    " for (int k = 0; k < 1600; k++) if (write(1, b, sizeof b) + write(2, b, sizeof b) < 0) return 9;",
}


@pytest.mark.parametrize("kind", FLOODS)
def test_a_kernel_that_prints_200_megabytes_passes_all_the_same(student: Student, kind: str) -> None:
    student.does(FLOODS[kind], calls="write", headers="string.h unistd.h")
    edit(student.course.manifest, "seconds = 0.5", "seconds = 30")
    ran = student.check()
    refuses(ran, 0, "T1: PASS")
    assert len(ran.out) < 2000


def test_a_kernel_that_prints_200_megabytes_and_dies_shows_a_few_lines(student: Student) -> None:
    student.does(FLOODS["on both"] + " _exit(3);", calls="write _exit", headers="string.h unistd.h")
    edit(student.course.manifest, "seconds = 0.5", "seconds = 30")
    ran = student.check()
    refuses(ran, 1, "left with status 3")
    assert len(ran.out) < 6000
    assert "\x1b" not in ran.out


def test_bytes_that_drive_a_terminal_or_are_no_utf8_are_shown_escaped(student: Student) -> None:
    student.does(
        r'puts("\x1b[2J\x1b]0;gone\a \xff\xfe caf\xc3\xa9 \xe2\x80\xae\r over"); fflush(0); abort();',
        calls="puts fflush abort",
        headers="stdio.h stdlib.h",
    )
    ran = student.check()
    refuses(ran, 1, r"\x1b[2J\x1b]0;gone\x07", "\ufffd\ufffd café", r"\u202e", "\n     over\n")
    assert not set("\x1b\a\r\u202e") & set(ran.out)


def test_a_kernel_that_prints_a_verdict_gets_its_own(student: Student) -> None:
    student.does(
        'puts("T1: PASS, 2 of 2 tests"); fflush(0); exit(0);',
        calls="puts fflush exit",
        headers="stdio.h stdlib.h",
    )
    refuses(student.check(), 1, "T1: FAIL, 1 of 2 tests fail")


def test_a_kernel_that_writes_past_its_output_is_told_where(student: Student) -> None:
    student.write(student.correct)
    edit(student.unit, "i < n; i++", "i <= n; i++")
    ran = student.check()
    refuses(ran, 1, "AddressSanitizer reports", "heap-buffer-overflow", "with      n=7", f"{UNIT}:10")
    assert re.search(r"^ *10 \|         y\[i\] = term\(x\[i\]\);$", ran.out, re.MULTILINE)


def test_a_kernel_that_reads_what_it_gave_back_is_told_where(student: Student) -> None:
    student.does(
        "volatile float *t = malloc(8); t[0] = 1; free((void *)t); y[0] = t[0];",
        calls="malloc free",
        headers="stdlib.h",
    )
    refuses(student.check(), 1, "heap-use-after-free", f"{UNIT}:")


def test_a_kernel_that_leaks_is_told_where(student: Student) -> None:
    line = student.does("float *volatile t = malloc(4); t = 0;", calls="malloc", headers="stdlib.h")
    refuses(student.check(), 1, "FAILED c:sums", "LeakSanitizer reports", f"{UNIT}:{line}")


def test_a_kernel_that_allocates_against_its_contract_is_refused_with_its_line(student: Student) -> None:
    student.write("#include <stdlib.h>\n" + student.correct)
    line = edit(
        student.unit,
        "    for (int64_t",
        "    volatile char *t = malloc(4); t[0] = 1; free((void *)t);\n    for (int64_t",
    )
    refuses(student.check(), 4, "malloc", f"{UNIT}:{line}:", "calls only what the module may call")


RACE = """
#include <pthread.h>
#include <stddef.h>
static void *call(void *ctx) {
    float x[3] = {0}, y[3];
    for (int k = 0; k < 100; k++) tiny_sum_f32(x, y, 3);
    return ctx;
}
OL_TEST(calls_at_once) {
    OL_UNIT {
        pthread_t t[2];
        for (int k = 0; k < 2; k++) pthread_create(&t[k], NULL, call, NULL);
        for (int k = 0; k < 2; k++) pthread_join(t[k], NULL);
    }
    OL_HOLDS("both came back", 1);
}
"""


def test_a_kernel_that_races_is_told_where(student: Student) -> None:
    with student.course.test_source.open("a") as file:
        file.write(RACE)
    entry = (
        '[[tests]]\nid = "c:calls_at_once"\nkind = ["unit"]\nchecks = "two"\nwhy = "no"\nthreads = true\n'
    )
    edit(student.course.manifest, "[[mutants]]", entry + "\n[[mutants]]")
    student.write(student.correct)
    refuses(student.check(), 0, "PASS, 3 of 3")
    line = edit(student.unit, "    for (int64_t", "    static int64_t calls; calls++;\n    for (int64_t")
    ran = student.check()
    refuses(ran, 1, "FAILED c:calls_at_once", "ThreadSanitizer reports", "data race", f"{UNIT}:{line}")
    assert "calls++" in ran.out


# ---- Two at once, and interruption --------------------------------------------------------------------


def test_two_checks_at_once_in_one_workspace_do_not_meet(student: Student, tmp_path: Path) -> None:
    fresh = workspace(student.course.with_cache(tmp_path / "own"), tmp_path / "two")
    fresh.write(fresh.correct)
    children = [fresh.start("check", "T1", "--ref-deps") for _ in range(2)]
    children.append(fresh.start("check", "T1", "--ref-deps", "--json"))
    for child in children:
        ran = finish(child, 120)
        assert (ran.code, ran.err) == (0, ""), ran
    assert leftovers(fresh.course.cache) == []
    assert [p.name for p in fresh.root.iterdir() if p.name.startswith(".ol-")] == [".ol-workspace"]
    assert fresh.unit.read_text() == fresh.correct


MOMENTS = {
    "the start": lambda line: True,
    "a compilation": lambda line: "-shared" in line,
    "the unit": lambda line: "/objects/" in line and "-shared" not in line,
}


@pytest.mark.parametrize("moment", MOMENTS)
def test_ctrl_c_leaves_nothing_running_and_everything_whole(
    student: Student, tmp_path: Path, moment: str
) -> None:
    fresh = moment != "the unit"
    cache = tmp_path / "own" if fresh else student.course.cache
    mine = workspace(student.course.with_cache(cache), tmp_path / "here")
    mine.does("for (volatile int k = 1; k;) {}")
    edit(mine.course.manifest, "seconds = 0.5", "seconds = 60")
    text = mine.unit.read_bytes()
    child = mine.start("check", "T1", "--ref-deps")
    if moment == "the start":
        soon(lambda: cache.exists(), child)
    else:
        soon(lambda: any(MOMENTS[moment](line) for line in alive(cache)), child)
    time.sleep(0.05)
    child.send_signal(signal.SIGINT)
    ran = finish(child, 20)
    assert (ran.code, ran.out) == (130, "")
    assert ran.err.strip() == "ol: interrupted; what was finished is kept"
    soon(lambda: alive(cache) == [])
    assert leftovers(cache) == []
    assert mine.unit.read_bytes() == text
    mine.write(mine.correct)
    refuses(mine.check(), 0, "T1: PASS")


# ---- Terminals ----------------------------------------------------------------------------------------


def on_terminal(
    student: Student, *arguments: str, columns: int = 80, environment: dict[str, str] | None = None
) -> tuple[int, str]:
    """Exit status and screen of one command on a terminal of that width, both streams together."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    env = {
        k: v for k, v in student.child_environment().items() if k not in ("COLUMNS", "LINES", "NO_COLOR")
    }
    child = subprocess.Popen(
        [sys.executable, "-c", START, *arguments],
        env={**env, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8", **(environment or {})},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    text = b""
    while True:
        try:
            data = os.read(ours, 1 << 16)
        except OSError:
            break
        if not data:
            break
        text += data
    os.close(ours)
    code = child.wait(60)
    shown = text.decode().replace("\r\n", "\n")
    checked(code, shown, "")
    return code, shown


def plain(screen: str) -> str:
    """What is left to see: progress is wiped, colour taken away."""
    return re.sub(r"\x1b\[[0-9;]*[mK]", "", re.sub(r"\r\x1b\[K[^\r\n]*(?=\r)", "", screen))


@pytest.fixture
def failing(student: Student) -> Student:
    student.write(student.correct)
    edit(student.unit, "2.0f * x", "3.0f * x")
    edit(student.unit, "return 1;", "return 7;")
    return student


def test_without_a_terminal_nothing_but_text_is_written(failing: Student) -> None:
    for words in (("check", "T1", "--ref-deps"), ("status",), ("tests", "T1"), ("tests",)):
        ran = failing.spawn(*words)
        assert ran.err == ""
        assert "\x1b" not in ran.out
        assert "\r" not in ran.out


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_a_terminal_of_any_width_can_be_read(failing: Student, columns: int) -> None:
    code, shown = on_terminal(failing, "check", "T1", "--ref-deps", columns=columns)
    told(plain(shown), "FAILED c:sums", "also failed: c:refuses_a_negative_size", "T1: FAIL, 2 of 2")
    assert code == 1
    for words in (("status",), ("tests",), ("tests", "T1"), ("check", "--all", "--ref-deps")):
        code, shown = on_terminal(failing, *words, columns=columns)
        assert code == (1 if "--all" in words else 0)
        assert "T1" in plain(shown)
        tables = [line for line in plain(shown).splitlines() if not line.startswith(("next:", "T1:"))]
        assert max(len(line) for line in tables) <= columns, plain(shown)


def test_no_color_is_honoured_and_nothing_else_changes(student: Student) -> None:
    student.write(student.correct)
    edit(student.unit, "2.0f * x", "x * 2.0f")
    assert student.check().code == 0
    _, coloured = on_terminal(student, "diff", "T1")
    _, without = on_terminal(student, "diff", "T1", environment={"NO_COLOR": "1"})
    _, dumb = on_terminal(student, "diff", "T1", environment={"TERM": "dumb"})
    colour = r"\x1b\[(\d;)*3\dm"
    assert re.search(colour, coloured)
    assert not re.search(colour, without)
    assert "\x1b" not in dumb
    assert plain(coloured) == plain(without)


ASCII_ONLY = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


@pytest.mark.parametrize("how", [ASCII_ONLY, {"PYTHONIOENCODING": "ascii"}], ids=["C", "PYTHONIOENCODING"])
def test_an_ascii_only_locale_reads_plain_letters(
    failing: Student, tmp_path: Path, how: dict[str, str]
) -> None:
    here = workspace(failing.course, tmp_path / "é ü")
    here.write(failing.unit.read_bytes())
    here.environment.update(how)
    for words in (
        ("check", "T1", "--ref-deps"),
        ("status",),
        ("tests", "T1"),
        ("check", "T1"),
        ("init", str(here.root)),
    ):
        child = here.start(*words)
        out, err = child.communicate(timeout=60)
        assert child.returncode in (0, 1, 3)
        assert (out + err).isascii(), out + err
        assert b"Traceback" not in err
    child = here.start("check", "T1", "--ref-deps")
    out, _ = child.communicate(timeout=60)
    assert re.search(rb"expected  \S+ \+/- \d", out), out
    assert b"?" not in out


# ---- Disks --------------------------------------------------------------------------------------------


def test_a_full_disk_for_the_cache_is_told(student: Student, tmp_path: Path) -> None:
    def full(**how: object) -> str:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    fresh = workspace(student.course.with_cache(tmp_path / "own"), tmp_path / "here")
    fresh.write(fresh.correct)
    fresh.course.monkeypatch.setattr(tempfile, "mkdtemp", full)
    says(fresh.check(), 70, "No space left on device", str(fresh.course.cache), "OL_CACHE=DIR")


@pytest.mark.parametrize("size", ["64k", "400k"])
def test_a_disk_that_fills_up_during_a_check_is_told(student: Student, tmp_path: Path, size: str) -> None:
    disk = tmp_path / "disk"
    if not mounted(disk, size):
        pytest.skip("mounting a small disk needs root")
    try:
        fresh = workspace(student.course.with_cache(disk / "cache"), tmp_path / "here")
        fresh.write(fresh.correct)
        says(fresh.check(), 70, "OL_CACHE=DIR")
        assert fresh.unit.read_text() == fresh.correct
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


def test_a_full_disk_for_the_workspace_loses_nothing(student: Student, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    if not mounted(disk, "64k"):
        pytest.skip("mounting a small disk needs root")
    try:
        here = workspace(student.course, disk / "mine")
        here.write(here.correct)
        with (disk / "filler").open("wb", buffering=0) as file, pytest.raises(OSError, match="No space"):
            while True:
                file.write(b"x" * 512)
        refuses(here.check(), 0, "T1: PASS")
        says(here.ol("start", "T1", "--force"), 2, "cannot write to the workspace: No space left on device")
        kept = [p for p in here.unit.parent.iterdir() if p.read_text() == here.correct]
        assert kept
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)
