"""Where the files of one run lie: as they are, or copied for nobody where root runs without a sandbox."""

import shutil
import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from ol.build import disk_errors
from ol.sandbox import RUNNING, Kind, Sandbox


@dataclass(frozen=True, kw_only=True)
class Place:
    sandbox: Sandbox
    seen: tuple[Path, ...]
    cwd: Path
    logs: Path
    """A folder that the unit's process may write to."""
    copies: dict[Path, Path] = field(default_factory=dict)

    def at(self, path: Path) -> str:
        return str(self.copies.get(path, path))

    def command(self, argv: list[str]) -> list[str]:
        seen = [Path(self.at(p)) for p in self.seen]
        writable = [] if self.sandbox.kind is Kind.BUBBLEWRAP else [self.logs]
        return self.sandbox.command(argv, readable=seen, writable=writable, cwd=self.cwd, limits=RUNNING)


@contextmanager
def placed(sandbox: Sandbox, seen: Collection[Path], *, cwd: Path, cache: Path) -> Iterator[Place]:
    """The place of one run over the files and folders in `seen`; what it made is gone afterwards."""
    sandbox = sandbox.alone()
    paths = tuple(sorted(p for p in seen if p.exists()))
    if sandbox.kind is Kind.BUBBLEWRAP:
        yield Place(sandbox=sandbox, seen=paths, cwd=cwd, logs=Path("/tmp"))
        return
    with disk_errors(cache):
        # What is copied for nobody must not lie in a home.
        parent = None if sandbox.leaves_root else cache
        folder = Path(tempfile.mkdtemp(prefix="run-", dir=parent))
    try:
        if not sandbox.leaves_root:
            yield Place(sandbox=sandbox, seen=paths, cwd=cwd, logs=folder)
            return
        with disk_errors(folder):
            copies, logs = _copied(sandbox, paths, folder)
        yield Place(sandbox=sandbox, seen=paths, cwd=folder, logs=logs, copies=copies)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _copied(sandbox: Sandbox, paths: tuple[Path, ...], folder: Path) -> tuple[dict[Path, Path], Path]:
    """Copies by the names that they have, and a folder to write to. No other run's user comes in."""
    copies: dict[Path, Path] = {}
    for path in paths:
        copy = folder / path.name
        if copy.exists():
            copy = folder / f"also{len(copies)}"
        copies[path] = copy
        if path.is_dir():
            shutil.copytree(path, copy)
        else:
            shutil.copyfile(path, copy)
        for one in (copy, *copy.rglob("*")):
            one.chmod(0o755)
    logs = folder / "logs"
    logs.mkdir(mode=0o700)
    sandbox.give(logs)
    sandbox.give(folder)
    folder.chmod(0o750)
    return copies, logs
