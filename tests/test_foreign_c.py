"""C that nobody here wrote, from packages of the index: mutants on every function, and no crash."""

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from mutation import COMPILERS, compile_c, needs_compiler, viable

from ol.csource import Source, read
from ol.operators import Edit, edits
from ol.schemata import Probe, Schemata

FILES = {
    "lz4==4.4.5": ("lz4libs/lz4frame.c", "lz4libs/lz4hc.c", "lz4libs/xxhash.c"),
    "crc32c==2.9.post0": ("src/crc32c/ext/crc32c_sw.c",),
}


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The files of all packages; skipped where no index is reached."""
    folder = tmp_path_factory.mktemp("foreign")
    argv = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:"]
    for package in FILES:
        done = subprocess.run([*argv, package], cwd=folder, capture_output=True, text=True, timeout=300)
        if done.returncode != 0:
            pytest.skip(f"{package} cannot be fetched: {done.stderr.strip().splitlines()[-1:]}")
    for archive in folder.glob("*.tar.gz"):
        subprocess.run(["tar", "xzf", archive.name], cwd=folder, check=True, timeout=60)
    return [next(folder.glob(f"*/{name}")) for names in FILES.values() for name in names]


def mutated(path: Path) -> tuple[Source, list[Edit]]:
    source = read(
        path.read_text(), name=path.name, headers=[p.read_text() for p in path.parent.glob("*.h")]
    )
    return source, edits(source)


def test_every_function_of_source_that_nobody_here_wrote_has_mutants_or_a_reason(
    sources: list[Path],
) -> None:
    assert len(sources) == 4
    for path in sources:
        source, found = mutated(path)
        mutants = Counter(edit.function for edit in found)
        told = {s.function for s in source.skipped}
        assert [f.name for f in source.functions if not mutants[f.name] and f.name not in told] == []
        assert len([f for f in source.functions if mutants[f.name]]) >= 0.9 * len(source.functions) > 0
        assert len({edit.key for edit in found}) == len(found) > 400
        for edit in found:
            assert source.text[edit.start : edit.end] == edit.original


@needs_compiler
def test_mutants_of_source_that_nobody_here_wrote_compile_together(
    sources: list[Path], tmp_path: Path
) -> None:
    for path in sources:
        source, found = mutated(path)
        flags = (f"-I{path.parent}", "-std=gnu11")
        for compiler in COMPILERS:
            left = viable(compiler, tmp_path, Schemata(source, found), *flags)
            assert len(left.excluded) <= len(found) // 100
            probe = Probe(source, found, left.excluded).text
            assert compile_c(compiler, tmp_path, path.name, probe, "-fsyntax-only", *flags) == ""
