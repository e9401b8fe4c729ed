"""Nothing that a unit started, and nothing that watches it, is alive two seconds after `ol` has ended,
however it ended."""

import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from attacking import named, place, proc
from student import soon, workspace
from tinycourse import ROOT, START, TinyCourse, edit, finish

from ol import offspring
from ol.sandbox import Kind

WITHOUT_BUBBLEWRAP = (
    "from ol import sandbox; which = sandbox.shutil.which; "
    "sandbox.shutil.which = lambda name: None if name == 'bwrap' else which(name); "
)
WITHOUT_POLICIES = (
    "from ol import gate; "
    "gate.refused_sources = gate.refused_python = gate.refused_objects = lambda *a, **k: []; "
)
WINDOW = "python/tinyllm/modern/window.py"
LOOPS = {"c": "for (;;);", "python": "while True: pass"}
# A daemon outside of the test's session, with no parent that waits for it.
DAEMON = {
    "c": "if (fork() == 0) { setsid(); if (fork() == 0) for (;;); _exit(0); }",
    "python": """
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        while True: pass
    os._exit(0)
""",
}
KILLS = {
    "c": "nanosleep(&(struct timespec){.tv_sec = 1}, 0); kill(getppid(), 9);",
    "python": "import time; time.sleep(1); os.kill(os.getppid(), 9)",
}
STOPS = {name: f"{text.replace('9)', '19)')}\n{LOOPS[name]}" for name, text in KILLS.items()}


@pytest.fixture(params=list(Kind))
def kind(request: pytest.FixtureRequest) -> Kind:
    return place(request.param).kind


class Marked:
    """`ol check` of a unit whose processes carry a name of their own."""

    def __init__(self, tiny: TinyCourse, folder: Path, kind: Kind, language: str, deed: str):
        self.name = secrets.token_hex(7)
        student = workspace(tiny, folder / "mine")
        if language == "c":
            student.does(
                f'prctl(15, "{self.name}"); {deed}', headers="signal.h time.h unistd.h sys/prctl.h"
            )
            edit(tiny.manifest, "seconds = 0.5", "seconds = 30")
            environment, module = student.child_environment(), "T1"
        else:
            unit = student.root / WINDOW
            unit.parent.mkdir(parents=True)
            named = f"import ctypes, os; ctypes.CDLL(None).prctl(15, b'{self.name}')\n"
            unit.write_text((ROOT / "reference" / WINDOW).read_text() + named + deed)
            environment, module = student.child_environment() | {"OL_COURSE": str(ROOT)}, "L7.7"
        code = WITHOUT_POLICIES + (WITHOUT_BUBBLEWRAP if kind is Kind.LANDLOCK else "") + START
        wish = "off" if kind is Kind.NONE else "required"
        self.ol = subprocess.Popen(
            [sys.executable, "-c", code, "check", module, "--ref-deps", "--sandbox", wish],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def alive(self) -> set[int]:
        return named(self.name)

    def started(self, at_least: int) -> set[int]:
        """All processes below `ol`, and those of the unit, once so many of these run."""
        end = time.monotonic() + 60
        while len(found := self.alive()) < at_least:
            if self.ol.poll() is not None:
                said = b"".join(self.ol.communicate()).decode()
                pytest.skip(said) if "cannot start this Python" in said else pytest.fail(said)
            assert time.monotonic() < end
            time.sleep(0.02)
        return found | set(_below(self.ol.pid))

    def ended_by(self, number: int) -> None:
        self.ol.send_signal(number)
        self.ol.communicate(timeout=20)


def _below(pid: int) -> Iterator[int]:
    for child in offspring.children(pid):
        yield child
        yield from _below(child)


def left(pids: set[int]) -> list[bytes]:
    """What of these is alive two seconds from now at most."""
    end = time.monotonic() + 2
    while (found := [s for p in pids if (s := _running(p))]) and time.monotonic() < end:
        time.sleep(0.05)
    return found


def _running(pid: int) -> bytes:
    stat = proc(pid, "stat")
    return b"" if b") Z" in stat else stat


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
@pytest.mark.parametrize("language", LOOPS)
def test_of_an_interrupted_check(
    tiny: TinyCourse, tmp_path: Path, kind: Kind, language: str, number: int
) -> None:
    marked = Marked(tiny, tmp_path, kind, language, DAEMON[language] + LOOPS[language])
    pids = marked.started(2)
    marked.ended_by(number)
    assert left(pids | marked.alive()) == []


@pytest.mark.parametrize("language", LOOPS)
def test_of_a_check_whose_supervisor_the_unit_has_stopped(
    tiny: TinyCourse, tmp_path: Path, kind: Kind, language: str
) -> None:
    marked = Marked(tiny, tmp_path, kind, language, DAEMON[language] + STOPS[language])
    pids = marked.started(2)
    time.sleep(1.2)
    marked.ended_by(signal.SIGKILL)
    assert left(pids | marked.alive()) == []


@pytest.mark.parametrize("language", LOOPS)
def test_of_a_check_whose_supervisor_the_unit_has_killed(
    tiny: TinyCourse, tmp_path: Path, kind: Kind, language: str
) -> None:
    marked = Marked(tiny, tmp_path, kind, language, DAEMON[language] + KILLS[language])
    pids = marked.started(2)
    assert finish(marked.ol).code == 1
    assert left(pids | marked.alive()) == []


def test_of_a_check_that_ends_while_python_is_still_loading(tiny: TinyCourse, tmp_path: Path) -> None:
    marked = Marked(tiny, tmp_path, Kind.NONE, "python", LOOPS["python"])
    soon(lambda: any(b"pysupervisor" in proc(p, "cmdline") for p in _below(marked.ol.pid)), marked.ol)
    pids = set(_below(marked.ol.pid))
    marked.ended_by(signal.SIGKILL)
    assert left(pids | marked.alive()) == []
