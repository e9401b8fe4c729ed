"""Everything that a person, a course or a machine can do wrong around `ol audit`: a message with the next
step, the right exit status, and never a traceback."""

import errno
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import time
from pathlib import Path

import pytest
from disks import small_disk
from tinycourse import Ran, TinyCourse, edit, finish

from ol import toolchain
from ol.store import Store


def says(ran: Ran, code: int, *texts: str) -> None:
    """`ol` ended with that status, nothing on stdout, and on stderr these texts and a next step."""
    assert (ran.code, ran.out) == (code, ""), ran
    assert ran.err.startswith("ol: ")
    assert re.search(r"^next: \S", ran.err, re.MULTILINE), ran.err
    for text in texts:
        assert text in ran.err, ran.err


# ---- Names --------------------------------------------------------------------------------------------


def test_an_unknown_module_is_met_with_near_ones(tiny: TinyCourse) -> None:
    says(tiny.ol("audit", "t2"), 2, "there is no module 't2'; did you mean T0 or T1?", "`ol tests` lists")


def test_an_unknown_mutant_is_met_with_near_ones(tiny: TinyCourse) -> None:
    says(
        tiny.ol("audit", "T1", "s1"), 2, "there is no mutant of T1 's1'; did you mean s01", "s01, s02, s03"
    )


def test_a_module_without_mutants_says_so(tiny: TinyCourse) -> None:
    says(tiny.ol("audit", "T0"), 70, "T0 has no mutants", "course/modules/T0.toml")


@pytest.mark.parametrize(
    "arguments", [("--jobs", "0"), ("--compiler", "tcc"), ("--seed", "-1"), ("--frob",)]
)
def test_a_wrong_option_is_wrong_usage(tiny: TinyCourse, arguments: tuple[str, ...]) -> None:
    ran = tiny.ol("audit", "T1", *arguments)
    assert ran.code == 2
    assert arguments[0] in ran.err


def test_a_course_that_is_not_there_is_wrong_usage(tiny: TinyCourse) -> None:
    shutil.rmtree(tiny.root)
    says(tiny.ol("audit", "T1"), 2, "there is no course in this folder", str(tiny.root), "OL_COURSE")


# ---- Manifests ----------------------------------------------------------------------------------------

BROKEN = {
    "TOML": ('title = "A sum"', 'title = "A sum', "not valid TOML", 0),
    "unknown key": ('title = "A sum"', 'titel = "A sum"', "unknown key 'titel'; expected one of", 1),
    "wrong type": ('units = ["c/src/sum.c"]', "units = 3", "Expected `array`, got `int`", 1),
    "unknown test": (
        'test = "c:sums"',
        'test = "c:summs"',
        "mutant s01 names the test 'c:summs', which is not in the catalogue",
        1,
    ),
    "unknown way": ('how = "sanitizer"', 'how = "luck"', "'luck'", 1),
    "way that is no kill": ('how = "sanitizer"', 'how = "early exit"', "how is one of check, sanitizer", 1),
    "lost key": ('symptom = "values too small"', "", "missing required field `symptom`", 0),
    "two of one name": ('id = "s02"', 'id = "s01"', "two mutants are called 's01'", 0),
    "path outside": ('["c/src/sum.c"]', '["../sum.c"]', "a unit's path stays inside the tree", 1),
    "unknown dependency": (
        'depends = ["T0"]',
        'depends = ["T9"]',
        "'T0' is linked but is no dependency",
        0,
    ),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_manifest_is_told_with_file_and_line(tiny: TinyCourse, kind: str) -> None:
    old, new, said, has_line = BROKEN[kind]
    line = edit(tiny.manifest, old, new)
    ran = tiny.ol("audit", "T1")
    says(ran, 70, said, "course/modules/T1.toml", "correct the file")
    assert re.search(r"T1\.toml:\d+|at line \d+", ran.err)
    if has_line:
        assert f"course/modules/T1.toml:{line}\n" in ran.err


def test_modules_in_a_circle_are_told(tiny: TinyCourse) -> None:
    other = tiny.manifest.with_name("T0.toml")
    other.write_text(other.read_text() + 'depends = ["T1"]\n')
    says(tiny.ol("audit", "T1"), 70, "depend on each other in a circle: ", "T0 → T1 → T0")


def test_a_manifest_that_is_not_utf8_is_told(tiny: TinyCourse) -> None:
    tiny.manifest.write_bytes(b'title = "\xff"')
    says(tiny.ol("audit", "T1"), 70, "it is not UTF-8", "T1.toml")


# ---- Patches and sources ------------------------------------------------------------------------------


def test_a_patch_of_another_file_is_refused(tiny: TinyCourse) -> None:
    text = tiny.patch("s01").read_text()
    tiny.patch("s01").write_text(text.replace("c/src/sum.c", "c/src/square.c"))
    says(
        tiny.ol("audit", "T1"),
        70,
        "this patch touches c/src/square.c; expected c/src/sum.c alone",
        "mutants/T1/s01.patch",
        "diff -u",
    )


def test_a_patch_of_two_files_is_refused(tiny: TinyCourse) -> None:
    text = tiny.patch("s01").read_text()
    tiny.patch("s01").write_text(text + text.replace("c/src/sum.c", "c/src/square.c"))
    says(tiny.ol("audit", "T1"), 70, "touches c/src/square.c, c/src/sum.c; expected c/src/sum.c alone")


@pytest.mark.parametrize("text", ["", "not a patch\n", "--- a/x\n+++ b/x\n@@ -1,9 +1,9 @@\n-one\n"])
def test_a_patch_that_is_none_is_refused(tiny: TinyCourse, text: str) -> None:
    tiny.patch("s01").write_text(text)
    says(tiny.ol("audit", "T1"), 70, "this is not a unified diff", "mutants/T1/s01.patch", "diff -u")


def test_a_patch_cut_in_the_midst_is_refused(tiny: TinyCourse) -> None:
    text = tiny.patch("s02").read_text()
    tiny.patch("s02").write_text(text[: len(text) // 2])
    says(tiny.ol("audit", "T1"), 70, "this is not a unified diff", "mutants/T1/s02.patch")


def test_a_missing_patch_is_told(tiny: TinyCourse) -> None:
    tiny.patch("s02").unlink()
    says(tiny.ol("audit", "T1"), 70, "the patch of mutant s02 cannot be read", "mutants/T1/s02.patch")


def test_a_patch_that_is_not_utf8_is_told(tiny: TinyCourse) -> None:
    tiny.patch("s02").write_bytes(b"--- \xff\n")
    says(tiny.ol("audit", "T1"), 70, "the patch of mutant s02 cannot be read", "mutants/T1/s02.patch")


def test_a_missing_reference_is_told(tiny: TinyCourse) -> None:
    tiny.reference.unlink()
    says(tiny.ol("audit", "T1"), 70, "the reference of T1 cannot be read", str(tiny.reference))


def test_a_reference_that_does_not_compile_is_told(tiny: TinyCourse) -> None:
    edit(tiny.reference, "return 0;", "return nothing;")
    ran = tiny.ol("audit", "T1")
    says(ran, 70, "the reference of T1 or of what it depends on does not compile", "c/src/sum.c:12:")


def test_a_reference_that_is_not_utf8_is_told(tiny: TinyCourse) -> None:
    tiny.reference.write_bytes(b"/* \xff */\n" + tiny.reference.read_bytes())
    says(tiny.ol("audit", "T1"), 70, "the reference of T1 is not UTF-8", "reference/c/src/sum.c")


def test_a_dependency_that_does_not_compile_is_told(tiny: TinyCourse) -> None:
    edit(tiny.reference.with_name("square.c"), "x * x", "x ** x y")
    says(tiny.ol("audit", "T1"), 70, "what it depends on does not compile", "c/src/square.c:3:")


def test_a_test_that_does_not_compile_is_told(tiny: TinyCourse) -> None:
    edit(tiny.test_source, "ol_note(", "ol_knot(")
    says(tiny.ol("audit", "T1"), 70, "the suite of the course does not compile", "test_sum.c", "ol_knot")


def test_a_test_that_no_source_defines_is_told(tiny: TinyCourse) -> None:
    edit(tiny.test_source, "OL_TEST(sums)", "OL_TEST(sum)")
    says(tiny.ol("audit", "T1"), 70, "c:sums", "does not define it")


def test_a_reference_that_fails_its_baseline_is_shown_with_its_failing_test(tiny: TinyCourse) -> None:
    edit(tiny.reference, "if (n < 0) return 1;", "if (n < 0) return 0;")
    ran = tiny.ol("audit", "T1")
    assert ran.code == 1
    assert "T1: the reference fails its own tests, so no mutant was run" in ran.out
    assert "c:refuses_a_negative_size failed:" in ran.out
    assert "expected  T_EINVAL" in ran.out
    assert "c:sums failed" not in ran.out
    assert "correct the reference or the test, then run the audit again" in ran.out


# ---- Tests that misbehave -----------------------------------------------------------------------------

HANG = "for (volatile int k = 1; k;) {}"
MISDEEDS = {
    "hangs": (HANG, "still running after "),
    "sleeps": ("struct timespec t = {60, 0}; nanosleep(&t, 0);", "still running after "),
    "crashes": ("*(volatile int *)0 = 1;", "SEGV: a write through a NULL pointer"),
    "leaves": ("exit(0);", "the process left with status 0 before the end"),
    "floods": (
        'for (;;) ol_saw_u8("x", (uint8_t[1 << 16]){0}, OL_DIMS({"i", 1 << 16}));',
        "more than 64 MB",
    ),
}
HEADERS = "#include <stdio.h>\n#include <stdlib.h>\n#include <time.h>\n"


def misbehave(tiny: TinyCourse, where: str, deed: str) -> None:
    text = tiny.test_source.read_text()
    tiny.test_source.write_text(HEADERS + text)
    edit(tiny.test_source, 'ol_note("n=7");', f'ol_note("n=7"); {where} {{ {deed} }}')
    edit(tiny.manifest, '\n[[tests]]\nid = "c:ref', 'seconds = 0.5\n\n[[tests]]\nid = "c:ref')


@pytest.mark.parametrize("kind", MISDEEDS)
def test_a_test_that_misbehaves_on_the_reference_ends_the_audit(tiny: TinyCourse, kind: str) -> None:
    deed, said = MISDEEDS[kind]
    misbehave(tiny, "OL_UNIT", deed)
    if kind == "floods":
        edit(tiny.manifest, "seconds = 0.5", "seconds = 30")
    ran = tiny.ol("audit", "T1")
    assert ran.code == 1
    assert "the reference fails its own tests" in ran.out
    assert "c:sums failed:" in ran.out
    assert said in ran.out


@pytest.mark.parametrize("kind", ["hangs", "crashes", "leaves"])
def test_an_oracle_that_misbehaves_is_the_courses_fault(tiny: TinyCourse, kind: str) -> None:
    misbehave(tiny, "OL_ORACLE", MISDEEDS[kind][0])
    says(tiny.ol("audit", "T1"), 70, "the oracle of c:sums did not finish")


@pytest.mark.parametrize("role", ["OL_UNIT", "OL_ORACLE"])
def test_a_test_may_print_fifty_megabytes_and_any_bytes(tiny: TinyCourse, role: str) -> None:
    misbehave(
        tiny,
        role,
        'for (int k = 0; k < 50 << 10; k++) printf("%1023d\\n", k);'
        'puts("\\xff\\xfe"); fputs("\\xc3", stderr);',
    )
    edit(tiny.manifest, "seconds = 0.5", "seconds = 20")
    ran = tiny.ol("audit", "T1")
    assert (ran.code, ran.err) == (0, "")
    assert len(ran.out) < 2000


def test_bytes_that_are_not_utf8_are_shown_when_it_fails(tiny: TinyCourse) -> None:
    misbehave(tiny, "OL_ORACLE", 'fputs("\\xff\\xfe is what it says", stderr); abort();')
    says(tiny.ol("audit", "T1"), 70, "\ufffd\ufffd is what it says")


# ---- Toolchains ---------------------------------------------------------------------------------------


def fake_compiler(tiny: TinyCourse, folder: Path, real: str, script: str) -> None:
    """Puts a compiler in front that runs `script`, then the real one."""
    folder.mkdir()
    for name in ("gcc", "clang"):
        (folder / name).write_text(f'#!/bin/sh\n{script}\nexec {shutil.which(real)} "$@"\n')
        (folder / name).chmod(0o755)
    tiny.monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")


@pytest.mark.parametrize("arguments", [(), ("--compiler", "gcc"), ("--compiler", "clang")])
def test_without_a_compiler_the_install_line_is_shown(
    tiny: TinyCourse, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    tiny.monkeypatch.setenv("PATH", str(tmp_path))
    what = f"the compiler {arguments[1]}" if arguments else "a C compiler (gcc or clang)"
    ran = tiny.ol("audit", "T1", *arguments)
    says(
        ran,
        69,
        f"{what} is not on this machine",
        toolchain.install_line(arguments[-1] if arguments else "gcc"),
    )


REFUSALS = {
    "gcc without libasan": "/usr/bin/ld: cannot find -lasan: No such file or directory",
    "clang without its runtime": "/usr/bin/ld: cannot find libclang_rt.asan-x86_64.a: No such file",
    "a linker's error": "ld: error: cannot open libclang_rt.asan.a: No such file",
    "a compiler that lacks the option": "error: unsupported option '-fsanitize=address' for target 'armv5'",
    "another that lacks it": "gcc: error: unrecognized command-line option '-fsanitize=address,undefined'",
    "fedora": "/usr/bin/ld: cannot find /usr/lib64/libasan.so.8.0.0: No such file or directory",
}


@pytest.mark.parametrize("kind", REFUSALS)
def test_a_compiler_without_sanitizers_is_told(
    tiny: TinyCourse, tmp_path: Path, any_compiler: str, kind: str
) -> None:
    script = f'case "$*" in *-fsanitize=*) echo "{REFUSALS[kind]}" >&2; exit 1;; esac'
    fake_compiler(tiny, tmp_path / "bin", any_compiler, script)
    fresh = tiny.with_cache(tmp_path / "own")
    says(fresh.ol("audit", "T1"), 69, "sanitizers", REFUSALS[kind], "install")


def test_a_sanitizer_that_cannot_start_is_told(tiny: TinyCourse, tmp_path: Path, any_compiler: str) -> None:
    script = """
        out=""; shared=""; sanitized=""; last=""
        for a in "$@"; do
            case "$a" in -shared) shared=1;; -fsanitize=*) sanitized=1;; esac
            [ "$last" = -o ] && out="$a"
            last="$a"
        done
        if [ -n "$sanitized" ] && [ -z "$shared" ] && [ -n "$out" ]; then
            echo '#!/bin/sh' > "$out"
            echo 'echo "FATAL: AddressSanitizer: unexpected memory mapping" >&2; exit 66' >> "$out"
            chmod +x "$out"
            exit 0
        fi"""
    fake_compiler(tiny, tmp_path / "bin", any_compiler, script)
    fresh = tiny.with_cache(tmp_path / "own")
    ran = fresh.ol("audit", "T1")
    says(ran, 69, "a program built with asan cannot run on this machine", "unexpected memory mapping")
    assert "vm.mmap_rnd_bits" in ran.err


def test_a_compiler_that_does_not_answer_is_told(tiny: TinyCourse, tmp_path: Path) -> None:
    fake_compiler(tiny, tmp_path / "bin", "false", "")
    says(tiny.ol("audit", "T1"), 69, "the compiler does not answer to --version", "install")


def test_a_compiler_that_is_no_program_is_told(tiny: TinyCourse, tmp_path: Path) -> None:
    fake_compiler(tiny, tmp_path / "bin", "false", "")
    for path in (tmp_path / "bin").iterdir():
        path.write_bytes(b"\0\1\2")
    says(tiny.ol("audit", "T1"), 69, "the compiler", "install")


# ---- Disks --------------------------------------------------------------------------------------------


def test_a_full_disk_is_told(tiny: TinyCourse, tmp_path: Path) -> None:
    def full(**how: object) -> str:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    tiny.monkeypatch.setattr(tempfile, "mkdtemp", full)
    fresh = tiny.with_cache(tmp_path / "own")
    says(fresh.ol("audit", "T1"), 70, "No space left on device", str(fresh.cache), "OL_CACHE")


def test_a_full_store_is_told(tiny: TinyCourse, tmp_path: Path) -> None:
    def small(self: Store) -> sqlite3.Connection:
        db = opened(self)
        db.execute("PRAGMA max_page_count = 2")
        return db

    opened = Store._open
    tiny.monkeypatch.setattr(Store, "_open", small)
    fresh = tiny.with_cache(tmp_path / "own")
    says(fresh.ol("audit", "T1"), 70, "the store of results cannot be used", "full", "OL_CACHE")


@pytest.mark.parametrize("size", ["4k", "64k", "300k", "800k"])
def test_a_disk_that_fills_up_on_the_way_is_told(
    tiny: TinyCourse, tmp_path: Path, any_compiler: str, size: str
) -> None:
    with small_disk(tmp_path / "disk", size) as disk:
        fresh = tiny.with_cache(disk / "cache")
        says(fresh.ol("audit", "T1"), 70, "OL_CACHE")


def test_a_store_that_is_no_database_is_told(tiny: TinyCourse, tmp_path: Path) -> None:
    fresh = tiny.with_cache(tmp_path / "own")
    fresh.cache.mkdir()
    (fresh.cache / "results.sqlite").write_bytes(b"no database" * 1000)
    says(
        fresh.ol("audit", "T1"),
        70,
        "the store of results cannot be used",
        "results.sqlite",
        "delete the file",
    )


def test_a_cache_that_is_a_file_is_told(tiny: TinyCourse, tmp_path: Path) -> None:
    fresh = tiny.with_cache(tmp_path / "own")
    fresh.cache.write_text("a file")
    says(fresh.ol("audit", "T1"), 70, "cannot write to the cache", str(fresh.cache), "OL_CACHE")


# ---- Two at once, and interruption --------------------------------------------------------------------


def test_two_audits_may_share_a_cache(tiny: TinyCourse, tmp_path: Path) -> None:
    fresh = tiny.with_cache(tmp_path / "own")
    children = [fresh.start("audit", "T1") for _ in range(3)]
    for ran in [finish(child) for child in children]:
        assert (ran.code, ran.err) == (0, "")
        assert "3 of 3" in ran.out
    assert leftovers(fresh) == []


def leftovers(course: TinyCourse) -> list[str]:
    return [p.name for p in course.cache.glob("*-*") if p.is_dir()]


def alive(course: TinyCourse) -> list[str]:
    """Processes that work in this cache."""
    place = str(course.cache).encode()
    found = []
    for proc in Path("/proc").glob("[0-9]*"):
        try:
            if place in (proc / "cmdline").read_bytes() or place in bytes((proc / "cwd").readlink()):
                found.append((proc / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:
            continue
    return found


def wait_for(course: TinyCourse, name: str, child: "subprocess.Popen[bytes]") -> None:
    """Until a process whose command line holds `name` works in the cache."""
    for _ in range(2000):
        if any(name in line for line in alive(course)):
            return
        assert child.poll() is None, child.communicate()
        time.sleep(0.005)
    pytest.fail(f"{name} was never started")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda n: n.name)
@pytest.mark.parametrize("moment", ["compiling", "the unit runs", "the oracle runs"])
def test_an_interruption_ends_all_children_and_harms_nothing(
    tiny: TinyCourse, tmp_path: Path, moment: str, number: signal.Signals
) -> None:
    whole = tiny.test_source.read_text()
    fresh = tiny.with_cache(tmp_path / "own") if moment == "compiling" else tiny
    if moment != "compiling":
        misbehave(fresh, "OL_UNIT" if moment == "the unit runs" else "OL_ORACLE", HANG)
        edit(fresh.manifest, "seconds = 0.5", "seconds = 60")
    child = fresh.start("audit", "T1")
    wait_for(fresh, "-shared" if moment == "compiling" else "run-", child)
    time.sleep(0.05)
    child.send_signal(number)
    start = time.monotonic()
    ran = finish(child)
    assert (ran.code, ran.out) == (130, "")
    assert ran.err.strip() == "ol: interrupted; what was finished is kept"
    assert time.monotonic() - start < 15
    assert alive(fresh) == []
    assert leftovers(fresh) == []
    tiny.test_source.write_text(whole)
    assert fresh.spawn("audit", "T1").code == 0


def test_ctrl_c_twice_is_as_good_as_once(tiny: TinyCourse) -> None:
    misbehave(tiny, "OL_UNIT", HANG)
    edit(tiny.manifest, "seconds = 0.5", "seconds = 60")
    child = tiny.start("audit", "T1")
    wait_for(tiny, "run-", child)
    for _ in range(5):
        child.send_signal(signal.SIGINT)
    ran = finish(child)
    assert (ran.code, ran.err.strip()) == (130, "ol: interrupted; what was finished is kept")
    assert alive(tiny) == []


def handles_signals(child: "subprocess.Popen[bytes]") -> bool:
    status = Path(f"/proc/{child.pid}/status").read_text()
    caught = int(re.search(r"^SigCgt:\s*(\w+)", status, re.MULTILINE)[1], 16)  # type: ignore[index]
    return bool(caught >> (signal.SIGTERM - 1) & 1)


def test_ctrl_c_while_it_starts_gives_no_traceback(tiny: TinyCourse) -> None:
    """From the moment on at which `ol` itself runs; before that, Python is starting."""
    for step in range(8):
        child = tiny.start("audit", "T1")
        while not handles_signals(child):
            assert child.poll() is None
        time.sleep(step * 0.03)
        child.send_signal(signal.SIGINT)
        assert finish(child).code in (0, 130)


def test_a_reader_that_goes_away_is_no_fault(tiny: TinyCourse) -> None:
    child = tiny.start("audit", "T1")
    assert child.stdout
    child.stdout.close()
    assert child.stderr
    said = child.stderr.read()
    assert (child.wait(30), said) == (0, b"")
