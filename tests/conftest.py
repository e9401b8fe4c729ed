"""What many tests share: compilers, one cache, small courses to break, and runs of `ol` in them."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest
from cworld import CWorld
from tinycourse import ROOT, TinyCourse

COMPILERS = ("gcc", "clang")


@cache
def lacks(compiler: str) -> str:
    """Why this machine cannot build tests with `compiler`; empty when it can."""
    path = shutil.which(compiler)
    if not path:
        return f"{compiler} is not installed"
    for sanitizer in ("address,undefined", "thread"):
        argv = [path, f"-fsanitize={sanitizer}", "-x", "c", "-", "-o", "/dev/null"]
        done = subprocess.run(argv, input=b"int main(void) { return 0; }", capture_output=True)
        if done.returncode != 0:
            return f"{compiler} has no runtime for -fsanitize={sanitizer}"
    return ""


def usable(compiler: str) -> str:
    if why := lacks(compiler):
        pytest.skip(why)
    return compiler


@pytest.fixture(scope="session", params=COMPILERS)
def compiler(request: pytest.FixtureRequest) -> str:
    """Each compiler in turn; skipped where it or its sanitizers are missing."""
    return usable(request.param)


@pytest.fixture(scope="session")
def any_compiler() -> str:
    """One compiler that works."""
    found = next((c for c in COMPILERS if not lacks(c)), None)
    return found or usable(COMPILERS[0])


@pytest.fixture(scope="session")
def shared_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache for the whole session: what is in it is never built again."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def tiny(
    tmp_path: Path,
    shared_cache: Path,
    any_compiler: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Iterator[TinyCourse]:
    """A copy of the tiny course, to run `ol` on and to break."""
    from ol import slots

    shutil.copytree(ROOT / "tests" / "courses" / "tiny", tmp_path / "tiny")
    yield TinyCourse(root=tmp_path / "tiny", cache=shared_cache, monkeypatch=monkeypatch, capsys=capsys)
    slots.set_jobs(os.cpu_count() or 1)


@pytest.fixture(scope="session")
def c_world(tmp_path_factory: pytest.TempPathFactory, shared_cache: Path) -> Callable[[str, str], CWorld]:
    """Makes a C suite from a compiler and a source; the kit below it is shared."""

    def make(compiler: str, source: str) -> CWorld:
        return CWorld.make(tmp_path_factory.mktemp("suite"), compiler, shared_cache, source).ready()

    return make
