"""Runs the Python tests of a module: the same requests and frames as in ol.suite, another supervisor."""

import hashlib
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.metadata import version
from pathlib import Path

from ol import process
from ol.build import disk_errors
from ol.errors import ToolError
from ol.exits import Exit
from ol.parallel import PARSING
from ol.place import placed
from ol.pycut import unit_part
from ol.pytree import stage
from ol.sandbox import OUTSIDE, Sandbox
from ol.stream import Frame
from ol.suite import START_SECONDS, Call, Request, exchange, one_by_one
from ol.toolchain import environment
from ol.user import fresh, leave_root


@dataclass(frozen=True, kw_only=True)
class PyRunner:
    """The supervisor for Python with a suite, ready to run.

    `testkit` is the folder of the kit, `suite` that of a module's tests. `fixtures` is None in the unit
    role, and a folder, which need not exist, in the oracle role.
    """

    testkit: Path
    suite: Path
    cache: Path
    fixtures: Path | None = None
    variables: tuple[tuple[str, str], ...] = ()
    """More of the environment, for a unit that writes down what it met."""
    sandbox: Sandbox = OUTSIDE

    @cached_property
    def key(self) -> str:
        """Digest of all that decides a run beside its request."""
        digest = hashlib.blake2b(digest_size=16)
        role = "unit" if self.fixtures is None else "oracle"
        for part in (
            role,
            sys.version,
            str(self.sandbox.kind),
            *(version(name) for name in ("numpy", "pytest")),
        ):
            digest.update(part.encode() + b"\0")
        files = [p for folder in (self.testkit, self.suite) for p in sorted(folder.glob("*.py"))]
        if self.fixtures is not None:
            files += sorted(p for p in self.fixtures.rglob("*") if p.is_file())
        for path in files:
            text = path.read_bytes()
            digest.update(path.name.encode() + b"\0" + len(text).to_bytes(8, "little") + text)
        return digest.hexdigest()

    def tests(self) -> list[str]:
        """The names of the tests that the suite defines, without "test_"."""
        argv = [sys.executable, "-I", str(self.testkit / "pysupervisor.py"), "--list", str(self.suite)]
        done = process.run(argv, cwd=self.suite, env=environment(), timeout=START_SECONDS)
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
        if process.run(
            [sys.executable, "-I", str(self.testkit / "pysupervisor.py"), str(self.suite), "log"],
            cwd=self.cache,
            env=environment(),
            timeout=START_SECONDS,
        ).code:
            raise self._cannot_start(done)

    @contextmanager
    def ready(self, requests: Sequence[Request]) -> Iterator[Call]:
        """What starts a supervisor that can answer `requests`."""
        objects = self.cache / "objects"
        with disk_errors(self.cache):
            objects.mkdir(parents=True, exist_ok=True)
        suite, kit = self._shown(), tuple(self.testkit.glob("*.py"))
        seen = {suite, *kit, *(u.path for q in requests for u in q.units)}
        seen |= {self.fixtures} if self.fixtures else set()
        if self.sandbox.leaves_root:
            _must_be_reachable()
        else:
            seen |= _interpreter()
        with placed(self.sandbox, seen, cwd=objects, cache=self.cache) as place:
            supervisor = place.at(self.testkit / "pysupervisor.py")
            argv = [sys.executable, "-I", supervisor, place.at(suite), str(place.logs / "log")]
            argv += [place.at(self.fixtures)] if self.fixtures else []
            yield Call(place=place, argv=place.command(argv), env=environment() | dict(self.variables))

    def _shown(self) -> Path:
        """The suite as this role may read it: to the unit's, a copy without the parts of the oracle."""
        if self.fixtures is not None:
            return self.suite
        sources = {p.name: p.read_bytes() for p in sorted(self.suite.glob("*.py"))}
        with PARSING:
            shown = {name: unit_part(text, name) for name, text in sources.items()}
        return stage(self.cache, shown).path

    def _cannot_start(self, done: process.Finished) -> ToolError:
        said = (done.err + done.out[:200]).decode("utf-8", "replace").strip()
        return ToolError(
            f"the test supervisor for Python ended with status {done.code}",
            where=said[:2000],
            next_step="run the command again; if it repeats, please report it",
        )


def _interpreter() -> set[Path]:
    """The folders that this Python starts from."""
    return {Path(sys.prefix), Path(sys.base_prefix), Path(sys.executable).resolve().parents[1]}


@cache
def is_reachable() -> bool:
    """Whether the users that root's units run as can start this Python."""
    argv = [*leave_root(fresh()), sys.executable, "-I", "-c", "import numpy, pytest"]
    return process.run(argv, cwd=Path("/"), env=environment(), timeout=START_SECONDS).code == 0


def _must_be_reachable() -> None:
    """Raises ToolError where they cannot: no unit is ever imported as root."""
    if not is_reachable():
        raise ToolError(
            "Python units are not run as root, and without a sandbox an ordinary user cannot start"
            " this Python",
            where=sys.executable,
            next_step="install bubblewrap, or run ol as an ordinary user",
            code=Exit.NO_TOOLCHAIN,
        )
