"""A small course that a test may break, and `ol` run on it, in this process or as a child."""

import difflib
import json
import os
import subprocess
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
START = "from ol.cli import main; main()"
CANNOT_BE = ("Traceback (most recent call last)", "a fault of ol itself")


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.out)
        return found


@dataclass(frozen=True, kw_only=True)
class TinyCourse:
    root: Path
    cache: Path
    monkeypatch: pytest.MonkeyPatch
    capsys: pytest.CaptureFixture[str]
    environment: dict[str, str] = field(default_factory=dict)
    """What a child sees beside this process's own."""

    def with_cache(self, cache: Path) -> "TinyCourse":
        return replace(self, cache=cache)

    def ol(self, *arguments: str) -> Ran:
        """One command in this process. No output of `ol` may ever hold a traceback."""
        from ol import cli, process

        self.monkeypatch.setenv("OL_COURSE", str(self.root))
        self.monkeypatch.setenv("OL_CACHE", str(self.cache))
        self.monkeypatch.setattr(process, "adopt", lambda: None)  # a test has children of its own
        self.capsys.readouterr()
        code = cli.run(list(arguments))
        return checked(code, *self.capsys.readouterr())

    def start(self, *arguments: str) -> "subprocess.Popen[bytes]":
        """One command as a child process."""
        return subprocess.Popen(
            [sys.executable, "-c", START, *arguments],
            env=self._child_environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def spawn(self, *arguments: str) -> Ran:
        return finish(self.start(*arguments))

    def _child_environment(self) -> dict[str, str]:
        place = {"OL_COURSE": str(self.root), "OL_CACHE": str(self.cache)}
        return {**os.environ, **place, **self.environment}

    # ---- Breaking it ----------------------------------------------------------------------------------

    @property
    def manifest(self) -> Path:
        return self.root / "course" / "modules" / "T1.toml"

    @property
    def test_source(self) -> Path:
        return self.root / "course" / "tests" / "T1" / "test_sum.c"

    @property
    def reference(self) -> Path:
        return self.root / "reference" / "c" / "src" / "sum.c"

    def patch(self, mutant: str) -> Path:
        return self.root / "mutants" / "T1" / f"{mutant}.patch"

    def plant(self, mutant: str, old: str, new: str) -> None:
        """Makes `mutant` the reference with `old` replaced."""
        text = self.reference.read_text()
        assert old in text
        path = "c/src/sum.c"
        before, after = (t.splitlines(keepends=True) for t in (text, text.replace(old, new, 1)))
        lines = difflib.unified_diff(before, after, f"a/{path}", f"b/{path}")
        self.patch(mutant).write_text("".join(lines))


def edit(path: Path, old: str, new: str) -> int:
    """Replaces the first `old`; returns its line."""
    text = path.read_text()
    assert old in text, f"{path} does not hold {old!r}"
    path.write_text(text.replace(old, new, 1))
    return text.count("\n", 0, text.index(old)) + 1


def finish(child: "subprocess.Popen[bytes]", seconds: float = 60) -> Ran:
    out, err = child.communicate(timeout=seconds)
    return checked(child.returncode, out.decode(), err.decode())


def checked(code: int, out: str, err: str) -> Ran:
    for text in CANNOT_BE:
        assert text not in out + err, out + err
    return Ran(code, out, err)
