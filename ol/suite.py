"""Runs the tests of a module: one supervisor process over a list of requests, frames back."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from ol import process
from ol.build import Built
from ol.errors import ToolError
from ol.exits import Exit
from ol.place import Place, placed
from ol.sandbox import OUTSIDE, Kind, Sandbox
from ol.stream import NOT_RUN, Ending, Frame, frames
from ol.toolchain import Sanitizer, Toolchain, environment, install_line

START_SECONDS = 20.0
RSS_MB = 2048
_CRASHES = ("segv", "sigbus", "sigfpe", "sigill", "abort")
_CALLERS = 2
"""Frames that are kept of who took a block: the leak detector passes over one whose second is not known."""
_ENDED_ALL = b"the process that watches the test was ended or stopped from within"


@dataclass(frozen=True, kw_only=True)
class Request:
    """One run of one test over units, opened in this order."""

    test: str
    units: tuple[Built, ...]
    seconds: float
    seed: int = 0
    mutant: int = 0
    steps: int = 0
    """That a mutant may take in a unit that counts them; 0 for any number."""
    unless_late: bool = False
    """Not to be run once another test of the same call has timed out."""


@dataclass(frozen=True, kw_only=True)
class Call:
    """How a supervisor is started, and where."""

    place: Place
    argv: list[str]
    env: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class Runner:
    """A supervisor with a suite, ready to run.

    `fixtures` is None in the unit role. `symbols` cost several times the rest of a run, and so does
    `leaks` where a test ends with more on the heap, or less, than it began with.
    """

    toolchain: Toolchain
    sanitizer: Sanitizer
    supervisor: Built
    suite: Built
    cache: Path
    fixtures: Path | None = None
    leaks: bool = False
    symbols: bool = False
    warm: bool = False
    """Opens units in the supervisor itself: for the course's own code and its mutants only."""
    brief: bool = False
    """Only whether a sanitizer reports counts: a run ends at its first finding, which is cut to a line, and
    a crash is a signal."""
    baseline: Path | None = None
    """A folder with what each test wrote of the unit itself: a run that goes the same way is told by its
    ending alone, and a mutant that does anything else meets no more tests in this call with `stops`."""
    stops: bool = False
    variables: tuple[tuple[str, str], ...] = ()
    """More of the environment, for a unit that writes down what it met."""
    sandbox: Sandbox = OUTSIDE

    @cached_property
    def key(self) -> str:
        """Digest of all that decides a run beside its request."""
        options = " ".join(f"{tool}={text}" for tool, text in self._options().items())
        fixtures = (
            files_digest(sorted(p for p in self.fixtures.rglob("*") if p.is_file()))
            if self.fixtures
            else ""
        )
        return f"{self.supervisor.key} {self.suite.key} {options} {fixtures} {self.sandbox.kind}"

    def tests(self) -> list[str]:
        """The names of the tests that the suite registers."""
        argv = [*self.toolchain.launch, str(self.supervisor.path), "--list", str(self.suite.path)]
        done = process.run(argv, cwd=self.cache, env=self._environment(self.cache), timeout=START_SECONDS)
        if done.code != 0:
            raise self._cannot_start(done)
        return done.out.decode().split()

    def run(self, requests: Sequence[Request]) -> list[Frame]:
        """One frame for each request, in their order."""
        got, done = exchange(self.ready(requests), requests)
        if got is None:
            self._must_start(done)
            return one_by_one(lambda q: exchange(self.ready([q]), [q])[0], requests)
        return got

    def _must_start(self, done: process.Finished) -> None:
        """Raises ToolError where not even a supervisor without units starts, or where no unit is run."""
        if self.fixtures is not None:
            raise self._cannot_start(done)
        try:
            self.tests()
        except ToolError:
            raise self._cannot_start(done) from None

    @contextmanager
    def ready(self, requests: Sequence[Request]) -> Iterator[Call]:
        """What starts a supervisor that can answer `requests`."""
        seen = {self.supervisor.path, self.suite.path, *(u.path for q in requests for u in q.units)}
        seen |= {folder for folder in (self.fixtures, self.baseline) if folder}
        with placed(self.sandbox, seen, cwd=self.suite.path.parent, cache=self.cache) as place:
            argv = [*self.toolchain.launch, place.at(self.supervisor.path), *self._manner(place)]
            argv += [place.at(self.suite.path), str(place.logs / "log")]
            argv += [place.at(self.fixtures)] if self.fixtures else []
            yield Call(place=place, argv=place.command(argv), env=self._environment(place.logs))

    def _manner(self, place: Place) -> list[str]:
        alone = self.sandbox.kind is Kind.BUBBLEWRAP
        words = ["--warm"] if self.warm else []
        words += ["--brief"] if self.brief else []
        words += ["--alone"] if alone else []
        words += ["--baseline", place.at(self.baseline)] if self.baseline else []
        return [*words, *(["--stop"] if self.stops else [])]

    def _options(self) -> dict[str, str]:
        """Of each sanitizer. LSAN's own are left out: in gcc's ASan they would overrule the rest."""
        common = f"symbolize={int(self.symbols)}:color=never:exitcode=86"
        brief = int(self.brief)
        crashes = "".join(f":handle_{signal}=0" for signal in _CRASHES) if self.brief else ""
        frames = f":malloc_context_size={_CALLERS}" if self.brief else ""
        return {
            "ASAN": f"{common}:detect_leaks={int(self.leaks)}:allocator_may_return_null=1{crashes}{frames}",
            "UBSAN": f"{common}:print_stacktrace={int(self.symbols)}:halt_on_error={brief}",
            "TSAN": f"{common}:halt_on_error={brief}{crashes}",
        }

    def _environment(self, logs: Path) -> dict[str, str]:
        return (
            environment()
            | dict(self.variables)
            | {
                f"{tool}_OPTIONS": f"{text}:log_path={_quoted(logs / f'log.{tool.lower()}')}"
                for tool, text in self._options().items()
            }
        )

    def _cannot_start(self, done: process.Finished) -> ToolError:
        said = (done.err + done.out[:200]).decode("utf-8", "replace").strip()
        if self.sanitizer is Sanitizer.NONE or "supervisor:" in said:
            return ToolError(
                f"the test supervisor ended with status {done.code}",
                where=said[:2000],
                next_step="run the command again; if it repeats, please report it",
            )
        return ToolError(
            f"a program built with {self.sanitizer} cannot run on this machine",
            where=said[:2000],
            next_step="check `sysctl vm.mmap_rnd_bits` (28 works everywhere) and the runtimes: "
            + install_line(self.toolchain.family),
            code=Exit.NO_TOOLCHAIN,
        )


def patience(requests: Sequence[Request]) -> float:
    """Seconds that a supervisor may take for `requests` and for its start."""
    return START_SECONDS + sum(3 * q.seconds + 2 for q in requests)


def exchange(
    ready: AbstractContextManager[Call], requests: Sequence[Request]
) -> tuple[list[Frame] | None, process.Finished]:
    """Gives a supervisor its requests and takes one frame for each, in their order; None where it did
    not answer them all."""
    with ready as call, call.place.sandbox.group(RSS_MB) as group:
        done = process.run(
            group.command(call.argv),
            cwd=call.place.cwd,
            env=call.env,
            stdin="".join(line_of(n, q) for n, q in enumerate(requests)).encode(),
            timeout=patience(requests),
            cap=1 << 30,
        )
        ran_out = group.ran_out()
    got = {f.number: f for f in frames(done.out)} if done.code == 0 else {}
    if len(got) == len(requests):
        return [got[n] for n in range(len(requests))], done
    if ran_out and len(requests) == 1:  # the supervisor has gone with the test
        return [replace(NOT_RUN, ending=Ending.OUT_OF_MEMORY, code=9, peak=group.memory_mb << 10)], done
    return None, done


def one_by_one(run: Callable[[Request], list[Frame] | None], requests: Sequence[Request]) -> list[Frame]:
    """The frames of a unit that ends the supervisor itself. After the first such test none is run."""
    got: list[Frame] = []
    for request in requests:
        met = run(request)
        if met is None:
            break
        got += met
    if len(got) < len(requests):
        got.append(replace(NOT_RUN, ending=Ending.SIGNALLED, code=9, err=_ENDED_ALL))
    return got + [NOT_RUN] * (len(requests) - len(got))


def line_of(number: int, q: Request) -> str:
    """A request as supervisor.c reads it."""
    units = " ".join(f"./{unit.path.name}" for unit in q.units)
    wall = round(q.seconds * 1000) * (-1 if q.unless_late else 1)
    mutant = f"{q.mutant}:{q.steps}" if q.steps else str(q.mutant)
    return f"{number} {wall} {RSS_MB} {q.seed} {mutant} {q.test} {units}\n"


def _quoted(path: Path) -> str:
    """A path as a sanitizer's option: quoted, for ':' and ' ' end an option."""
    return f"'{path}'" if "'" not in str(path) else f'"{path}"'


def files_digest(paths: Iterable[Path]) -> str:
    """Of the names and the bytes of files, in this order."""
    digest = hashlib.blake2b(digest_size=16)
    for path in paths:
        text = path.read_bytes()
        digest.update(path.name.encode() + b"\0" + len(text).to_bytes(8, "little") + text)
    return digest.hexdigest()
