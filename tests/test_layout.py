"""The contracts compile as written: layouts, headers alone, and the reference without a warning."""

import subprocess
from pathlib import Path
from shutil import which

import pytest

from ol.course import find_course
from ol.manifest import Language

ROOT = Path(__file__).resolve().parents[1]
COURSE = find_course(ROOT / "ol")
HEADERS = sorted(p.relative_to(COURSE.include).as_posix() for p in COURSE.include.rglob("*.h"))
UNITS = [(m.id, u) for m in COURSE.modules.values() if m.language is Language.C for u in m.units]
STRICT = ("-Wall", "-Wextra", "-Werror", "-pedantic", "-fsyntax-only")


def compiled(compiler: str, folder: Path, *arguments: str) -> str:
    """What the compiler says; empty when it is content."""
    flags = COURSE.entry.c_flags
    argv = [which(compiler) or compiler, *flags, *STRICT, f"-I{COURSE.include}", *arguments]
    return subprocess.run(argv, cwd=folder, capture_output=True, text=True).stderr


def test_layouts_are_those_of_the_abi(compiler: str, tmp_path: Path) -> None:
    assert compiled(compiler, tmp_path, str(ROOT / "tests" / "layout.c")) == ""


def test_a_wrong_layout_would_be_noticed(compiler: str, tmp_path: Path) -> None:
    text = (ROOT / "tests" / "layout.c").read_text()
    (tmp_path / "layout.c").write_text(text.replace("sizeof(tl_kv_cfg) == 28", "sizeof(tl_kv_cfg) == 32"))
    assert "sizeof(tl_kv_cfg) == 32" in compiled(compiler, tmp_path, "layout.c")


@pytest.mark.parametrize("header", HEADERS)
def test_a_header_stands_alone_and_twice(compiler: str, tmp_path: Path, header: str) -> None:
    (tmp_path / "alone.c").write_text(f'#include "{header}"\n#include "{header}"\nextern int x;\n')
    assert compiled(compiler, tmp_path, "alone.c") == ""


@pytest.mark.parametrize(("module", "unit"), UNITS, ids=[u for _, u in UNITS])
def test_a_reference_compiles_without_a_warning(
    compiler: str, tmp_path: Path, module: str, unit: str
) -> None:
    held = [f for h in COURSE.modules[module].contract if h.endswith(".h") for f in ("-include", h)]
    assert compiled(compiler, tmp_path, *held, str(COURSE.reference(unit))) == ""
