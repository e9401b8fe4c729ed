"""What the tests of generated mutants share: units, compilers, and mutants compiled alone."""

import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest

from ol.csource import Source, read
from ol.operators import Edit, apply_edit, edits
from ol.schemata import Schemata, blame

ROOT = Path(__file__).resolve().parent.parent
OWN = Path(__file__).parent / "mutation_c"
INCLUDE = ROOT / "course/contracts/c/include"
UNITS = sorted((ROOT / "reference/c/src").rglob("*.c"))
COMPILERS = [name for name in ("gcc", "clang") if shutil.which(name)]
FLAGS = ["-std=c11", "-D_POSIX_C_SOURCE=200809L", "-ffp-contract=off", "-pthread", f"-I{INCLUDE}", "-w"]

needs_compiler = pytest.mark.skipif(not COMPILERS, reason="no C compiler")
each_compiler = pytest.mark.parametrize("compiler", COMPILERS)
each_unit = pytest.mark.parametrize("unit", UNITS, ids=lambda p: p.stem)


@cache
def mutated(path: Path) -> tuple[Source, list[Edit]]:
    headers = [p.read_text() for p in sorted(INCLUDE.rglob("*.h"))]
    source = read(path.read_text(), name=path.name, headers=headers)
    return source, edits(source)


def small(text: str) -> tuple[Source, list[Edit]]:
    source = read(text, name="small.c")
    return source, edits(source)


def compile_c(compiler: str, folder: Path, name: str, text: str, *flags: str) -> str:
    """What the compiler says; empty when it accepts the text."""
    (folder / name).write_text(text)
    limit = "-fmax-errors=0" if compiler == "gcc" else "-ferror-limit=0"
    argv = [compiler, *FLAGS, limit, name, *flags]
    done = subprocess.run(argv, cwd=folder, capture_output=True, text=True, timeout=120)
    return "" if done.returncode == 0 else done.stderr


def viable(compiler: str, folder: Path, schemata: Schemata, *flags: str) -> Schemata:
    """What is left when all that the compiler complains about is gone."""
    name = schemata.source.name
    while said := compile_c(compiler, folder, name, schemata.text, "-fsyntax-only", *flags):
        blamed = blame(said, schemata.layout)
        assert blamed, said
        schemata = schemata.without(blamed)
    return schemata


def alone(source: Source, edit: Edit, number: int) -> str:
    """The mutated function by another name, to stand beside the original."""
    function = next(f for f in source.functions if f.name == edit.function)
    end = len(source.text) - source.tokens[function.last].end
    start = source.tokens[function.first].start
    text = apply_edit(source.text, edit)
    body = text[start : len(text) - end]
    renamed = f"{function.name} {function.name}_{number}"
    return f'\n#line 1 "mutant_{number}"\n#define {renamed}\n{body}\n#undef {function.name}\n'
