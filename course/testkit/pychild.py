"""The child, the twin of child.c: takes its limits, opens the units, runs one test with pytest. All code
of a student runs in here.
"""

import ctypes
import faulthandler
import os
import resource
import signal
import sys
import traceback
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import pytest
import pytidy
from olkit import KitFault, Ol

PR_SET_PDEATHSIG = 1
FILE_BYTES = 64 << 20
STACK_BYTES = 8 << 20
MOST_FRAMES = 20
MOST_TEXT = 2000
FAULT = 97
"""Exit status where the test itself is at fault."""

_NOT_NEEDED = (
    *("cacheprovider", "debugging", "doctest", "faulthandler", "junitxml", "legacypath", "logging"),
    *("pastebin", "setuponly", "setupplan", "stepwise", "terminal", "threadexception"),
    *("unraisableexception", "warnings"),
)
prctl = ctypes.CDLL(None).prctl


def options(folder: Path) -> list[str]:
    """Pytest's options for a suite: nothing of the user's, nothing that prints or rewrites."""
    fixed = ["-c", os.devnull, "--noconftest", "--capture=no", "--assert=plain"]
    plugins = [option for plugin in _NOT_NEEDED for option in ("-p", f"no:{plugin}")]
    return [*fixed, *plugins, "--rootdir", str(folder), "--confcutdir", str(folder)]


@dataclass(frozen=True, kw_only=True)
class Job:
    """One test to run: over which units, for how long, and what it is told."""

    source: Path
    test: str
    objects: Sequence[str]
    seconds: float
    rss_mb: int
    seed: int
    mutant: int
    fixtures: str | None

    @property
    def trees(self) -> list[str]:
        """The folders of Python units among the objects."""
        return [str(Path(o).resolve()) for o in self.objects if not o.endswith(".so")]


def _limit(which: int, soft: int, hard: int) -> None:
    _, most = resource.getrlimit(which)
    hard = hard if most == resource.RLIM_INFINITY else min(hard, most)
    resource.setrlimit(which, (min(soft, hard), hard))


def _take_limits(seconds: float) -> None:
    cpu = 4 * (int(seconds) + 1)  # a pool's threads add up their CPU time
    _limit(resource.RLIMIT_CPU, cpu, cpu + 1)
    _limit(resource.RLIMIT_CORE, 0, 0)
    _limit(resource.RLIMIT_FSIZE, FILE_BYTES, FILE_BYTES)
    _limit(resource.RLIMIT_STACK, STACK_BYTES, STACK_BYTES)


def _open_units(job: Job) -> ctypes.CDLL:
    """Open the C units in order and put the Python units on the path."""
    for path in job.objects:
        if not path.endswith(".so"):
            continue
        unit = ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
        if job.mutant:
            with suppress(ValueError):
                ctypes.c_int.in_dll(unit, "ol_mutant").value = job.mutant
    sys.path[:0] = job.trees
    return ctypes.CDLL(None)


def _leave(code: int) -> NoReturn:
    for pipe in (sys.stdout, sys.stderr):
        with suppress(BaseException):
            pipe.flush()
    os._exit(code)  # nothing of a unit has a say after the end


def _fault(what: object) -> NoReturn:
    os.write(2, f"ol: {what}\n".encode("utf-8", "backslashreplace"))
    _leave(FAULT)


class Plugin:
    """Makes of pytest's loop over the tests that of the supervisor; in a child it offers the fixture `ol`
    and ends the process at the first exception, whoever raised it. Pytest is started and the tests are
    collected once: that takes longer than most of them."""

    _ol: Ol
    _job: Job
    _before: dict[str, object]

    def __init__(self, serve: Callable[["Plugin"], None]) -> None:
        """Let `serve` answer the requests once the tests are collected."""
        self._serve = serve
        self._items: dict[tuple[Path, str], list[pytest.Item]] = {}

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Instead of all tests run what is asked for, and report nothing."""
        if session.testsfailed or not session.items:
            return True
        for item in session.items:
            name = getattr(item, "originalname", item.name)
            self._items.setdefault((item.path, name), []).append(item)
        self._serve(self)
        return True

    def run(self, ol: Ol, job: Job, before: dict[str, object]) -> bool:
        """Run one test, which finds the process in the state `before`; False where there is none."""
        self._ol, self._job, self._before = ol, job, before
        items = self._items.get((job.source, f"test_{job.test}"), [])
        for item in items:
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)
        return bool(items)

    @pytest.fixture
    def ol(self) -> Ol:
        """The kit."""
        return self._ol

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self) -> Generator[None, Any, Any]:
        """Meet exceptions of fixtures."""
        return (yield from self._guard())

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self) -> Generator[None, Any, Any]:
        """Meet exceptions of the test and of the unit, and what they have left changed: pytest itself goes
        back to its folder at the end."""
        result = yield from self._guard()
        if self._ol.unit:
            for what in pytidy.changed(self._before):
                self._ol.left(what)
        return result

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self) -> Generator[None, Any, Any]:
        """Meet exceptions of fixtures."""
        return (yield from self._guard())

    def _guard(self) -> Generator[None, Any, Any]:
        try:
            return (yield)
        except KitFault as fault:
            _fault(fault)
        except BaseException as error:
            name, (message, trace) = type(error).__name__, describe(error, self._job)
            if self._ol.oracle:
                print(f"{name}: {message}\n{trace}", file=sys.stderr)
            self._ol.raised(name, f"{message}\0{trace}")
            _leave(1)


def _message(error: BaseException) -> str:
    if isinstance(error, SyntaxError):
        return str(error.msg)
    try:
        text = str(error)
    except BaseException:
        return "its text cannot be told"
    return text.replace("\0", "\\0")[:MOST_TEXT]


def describe(error: BaseException, job: Job) -> tuple[str, str]:
    """Message, and the traceback cut to the units' own frames, innermost last; where a unit has none,
    the frames of the test."""
    trees = {f"{tree}{os.sep}": f"python{os.sep}" for tree in job.trees}
    frames = list(traceback.extract_tb(error.__traceback__))
    if isinstance(error, SyntaxError) and error.filename:
        line = error.text.strip() if error.text else ""
        frames.append(traceback.FrameSummary(error.filename, error.lineno, "<module>", line=line))
    for prefixes in (trees, {f"{job.source.parent}{os.sep}": ""}):
        shown = [
            f'  File "{name}{f.filename.removeprefix(prefix)}", line {f.lineno}, in {f.name}\n    {f.line}'
            for f in frames
            for prefix, name in prefixes.items()
            if f.filename.startswith(prefix)
        ]
        if shown:
            return _message(error), "\n".join(shown[-MOST_FRAMES:])
    return _message(error), ""


def run_child(job: Job, plugin: Plugin, stream: int, supervisor: int) -> NoReturn:
    """Run the test and leave; what it saw or wants is on `stream` then."""
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != supervisor:
        os._exit(1)  # it ended before it could be followed
    os.setsid()
    _take_limits(job.seconds)
    sys.stdin, sys.stdout, sys.stderr = (
        open(fd, mode, buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
        for fd, mode in ((0, "r"), (1, "w"), (2, "w"))
    )
    faulthandler.enable(2)
    before = pytidy.state()
    try:
        lib = _open_units(job)
    except OSError as error:
        _fault(f"cannot open a unit: {error}")
    ol = Ol(stream=stream, seed=job.seed, fixtures=job.fixtures, lib=lib)
    if not plugin.run(ol, job, before):
        _fault("pytest has not collected the test")
    ol.finish()
    _leave(0)
