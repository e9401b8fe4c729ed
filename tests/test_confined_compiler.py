"""A unit's compiler runs as whoever runs units, in every kind of sandbox: never as root."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from attacking import COURSE, place

from ol.build import Builder, CompileError
from ol.errors import ToolError
from ol.sandbox import Kind
from ol.toolchain import Sanitizer, Toolchain, find

SAYS_WHO = """#!/bin/sh
for word; do [ "$before" = -o ] && made=$word; before=$word; done
[ -n "$made" ] || exit 0
id -u > "$made"; id -g >> "$made"; cat c/src/unit.c include/tinyllm/abi.h >> "$made" 2>&1
exit 0
"""


@pytest.fixture
def everybodys() -> Iterator[Path]:
    """A folder that an ordinary user can reach, as those of pytest cannot be where root runs it."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


def compiler(folder: Path, text: str) -> Toolchain:
    path = folder / "bin" / "cc"
    path.parent.mkdir()
    path.write_text(text)
    path.chmod(0o755)
    return Toolchain(family="gcc", path=str(path), version="1", launch=())


@pytest.mark.parametrize("kind", Kind)
def test_it_is_not_roots(kind: Kind, everybodys: Path, tmp_path: Path) -> None:
    tools = compiler(everybodys, SAYS_WHO)
    made = []
    for number in range(2):
        builder = Builder(COURSE, tools, tmp_path / str(number), place(kind))
        built = builder.unit({"c/src/unit.c": b"int unit;"}, Sanitizer.ASAN)
        made.append(built.path.read_text().split(maxsplit=2))
    (user, group, text), (later, _, _) = made
    assert text.startswith("int unit;")
    if os.geteuid() != 0:
        assert int(user) == os.geteuid()
        return
    assert int(user) == int(group) > 65534
    assert user != later
    assert ("tl_status" in text) is (kind is not Kind.BUBBLEWRAP), "headers that nobody may read are copied"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root is left")
def test_one_that_others_cannot_start_is_the_machines_fault(everybodys: Path, tmp_path: Path) -> None:
    everybodys.chmod(0o700)
    builder = Builder(COURSE, compiler(everybodys, SAYS_WHO), tmp_path, place(Kind.NONE))
    with pytest.raises(ToolError) as raised:
        builder.unit({"c/src/unit.c": b"int unit;"}, Sanitizer.ASAN)
    assert raised.value.code == 69


def test_a_shared_folder_of_headers_keeps_its_name_in_what_the_compiler_says(
    any_compiler: str, tmp_path: Path
) -> None:
    builder = Builder(COURSE, find(any_compiler), tmp_path, place(Kind.NONE))
    with pytest.raises(CompileError) as raised:
        builder.unit({"c/src/runtime/abi.c": b"int tl_abi_version(void) { return 1; }"}, Sanitizer.ASAN)
    assert "tinyllm/abi.h" in raised.value.diagnostics
