"""A student at work: a workspace of a small course, and `ol` run in it, in this process or as a child."""

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from tinycourse import START, Ran, TinyCourse, edit, finish

UNIT = "c/src/sum.c"


def says(ran: Ran, code: int, *texts: str) -> None:
    """`ol` ended with that status, nothing on stdout, and on stderr these texts and a next step."""
    assert (ran.code, ran.out) == (code, ""), ran
    assert ran.err.startswith("ol: ")
    told(ran.err, *texts)


def refuses(ran: Ran, code: int, *texts: str) -> None:
    """`ol` came to a verdict: that status, nothing on stderr, and on stdout these texts and a next step."""
    assert (ran.code, ran.err) == (code, ""), ran
    told(ran.out, *texts)


def told(text: str, *parts: str) -> None:
    assert re.search(r"^next: \S", text, re.MULTILINE), text
    for part in parts:
        assert part in text, text


@dataclass(frozen=True, kw_only=True)
class Student:
    course: TinyCourse
    root: Path
    environment: dict[str, str] = field(default_factory=dict)
    before: list[str] = field(default_factory=list)
    """Words before the command line of a child."""

    def ol(self, *arguments: str) -> Ran:
        """One command in this process."""
        self.course.monkeypatch.setenv("OL_WORKSPACE", str(self.root))
        return self.course.ol(*arguments)

    def start(self, *arguments: str) -> "subprocess.Popen[bytes]":
        """One command as a child process."""
        return subprocess.Popen(
            [*self.before, sys.executable, "-c", START, *arguments],
            env=self.child_environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def spawn(self, *arguments: str) -> Ran:
        return finish(self.start(*arguments))

    def child_environment(self) -> dict[str, str]:
        place = {
            "OL_COURSE": str(self.course.root),
            "OL_CACHE": str(self.course.cache),
            "OL_WORKSPACE": str(self.root),
        }
        return {**os.environ, **place, **self.environment}

    def check(self, *arguments: str) -> Ran:
        return self.ol("check", "T1", "--ref-deps", *arguments)

    # ---- The unit -------------------------------------------------------------------------------------

    @property
    def unit(self) -> Path:
        return self.root / UNIT

    @property
    def correct(self) -> str:
        return self.course.reference.read_text()

    def write(self, text: str | bytes) -> None:
        self.unit.parent.mkdir(parents=True, exist_ok=True)
        self.unit.write_bytes(text.encode() if isinstance(text, str) else text)

    def does(self, deed: str, *, calls: str = "", headers: str = "") -> int:
        """The correct unit that does `deed` before its loop, in a module that may call `calls` and with
        a limit of half a second; the line of the deed."""
        edit(self.course.manifest, "\n[[tests]]", f"may_call = {calls.split()}\n\n[[tests]]")
        edit(self.course.manifest, '\n[[tests]]\nid = "c:ref', 'seconds = 0.5\n\n[[tests]]\nid = "c:ref')
        self.write("".join(f"#include <{name}>\n" for name in headers.split()) + self.correct)
        return edit(self.unit, "    for (int64_t", f"    {deed}\n    for (int64_t")


@pytest.fixture
def student(tiny: TinyCourse, tmp_path: Path) -> Student:
    """A fresh workspace of the tiny course, with nothing started."""
    return workspace(tiny, tmp_path / "mine")


def workspace(course: TinyCourse, root: Path) -> Student:
    (root / "c" / "src").mkdir(parents=True)
    (root / ".ol-workspace").touch()
    return Student(course=course, root=root)


def with_tests_of_the_square(course: TinyCourse) -> None:
    """Gives T0 of the tiny course a test, so that T1 can stand on a student's own unit."""
    folder = course.root / "course" / "tests" / "T0"
    folder.mkdir()
    folder.joinpath("test_square.c").write_text(
        '#include "ol_test.h"\n#include "tiny.h"\n\n'
        "OL_TEST(squares) {\n"
        "    float x[4] = {0.0f, 1.5f, -2.0f, 3.0f}, y[4];\n"
        "    OL_UNIT {\n"
        "        for (int i = 0; i < 4; i++) y[i] = tiny_square(x[i]);\n"
        '        ol_saw_f32("y", y, OL_DIMS({"i", 4}));\n'
        "    }\n"
        "    OL_ORACLE {\n"
        "        for (int i = 0; i < 4; i++) y[i] = x[i] * x[i];\n"
        '        ol_want_bits_f32("y", y, 4);\n'
        "    }\n"
        "}\n"
    )
    with (course.root / "course" / "modules" / "T0.toml").open("a") as manifest:
        manifest.write(
            '\n[[tests]]\nid = "c:squares"\nkind = ["unit"]\n'
            'checks = "four squares"\nwhy = "the sum stands on it"\n'
        )


# ---- Processes ----------------------------------------------------------------------------------------


def alive(cache: Path) -> list[str]:
    """Command lines of the processes that work in this cache."""
    place = str(cache).encode()
    found = []
    for proc in Path("/proc").glob("[0-9]*"):
        try:
            if int(proc.name) == os.getpid():
                continue
            line = (proc / "cmdline").read_bytes()
            if place in line or place in os.fsencode((proc / "cwd").readlink()):
                found.append(line.replace(b"\0", b" ").decode("utf-8", "replace"))
        except OSError:
            continue
    return found


def soon(holds: Callable[[], bool], child: "subprocess.Popen[bytes] | None" = None) -> None:
    """Waits until it holds, as long as the child runs."""
    end = time.monotonic() + 30
    while not holds():
        assert child is None or child.poll() is None, child.communicate()
        assert time.monotonic() < end
        time.sleep(0.005)


def leftovers(cache: Path) -> list[str]:
    """Folders that an ended `ol` should have removed from its cache."""
    return [p.name for p in cache.glob("*-*") if p.is_dir()]


def mounted(folder: Path, size: str) -> bool:
    """Whether a disk of that size could be put in `folder`, which takes root's rights."""
    folder.mkdir()
    mount = shutil.which("mount") or "false"
    done = subprocess.run(
        [mount, "-t", "tmpfs", "-o", f"size={size}", "none", str(folder)], capture_output=True
    )
    return done.returncode == 0
