"""course/AUTHORING.md, run: its commands make a module that holds."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "course" / "AUTHORING.md"
BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.skipif(
    not (shutil.which("gcc") and shutil.which("clang")), reason="ol lint needs gcc and clang"
)
def test_the_commands_of_the_page_make_a_module_that_holds(tmp_path):
    course = tmp_path / "course of mine"
    shutil.copytree(ROOT / "tests" / "courses" / "tiny", course)
    environment = os.environ | {
        "OL_COURSE": str(course),
        "OL_CACHE": str(tmp_path / "cache"),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }
    said = ""
    for commands in BLOCK.findall(PAGE.read_text(encoding="utf-8")):
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", commands],
            cwd=course,
            env=environment,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, f"{commands}\n{done.stdout}\n{done.stderr}"
        said += done.stdout
    assert said.count("X1: 2 of 2 mutants killed by their named tests") == 2
    assert "every mutant is killed as planned" in said
    assert "X1 s01: moved" in said
