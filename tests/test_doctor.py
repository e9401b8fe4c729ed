"""`ol doctor` tells the truth, also where nothing is installed."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tinycourse import START, Ran, TinyCourse, checked

from ol import doctor
from ol.toolchain import FAMILIES

ALL = ("bwrap", "clang", "prlimit", "setpriv", "llvm-symbolizer", "gdb", "lldb", "systemd-run")


def bare(tiny: TinyCourse, without: tuple[str, ...], *arguments: str, users: tuple[str, ...] = ()) -> Ran:
    """`ol` in namespaces of its own, where these programs are no programs."""
    code = "import shutil, sys; print(*filter(None, map(shutil.which, sys.argv[1:])))"
    hide = (
        f"for p in $({sys.executable} -c '{code}' {' '.join(without)}); do mount --bind /dev/null $p; done"
    )
    script = f'{hide}; exec "$@"'
    argv = ["unshare", "--mount", *users, "sh", "-c", script, "sh", sys.executable, "-c", START, *arguments]
    place = {"OL_COURSE": str(tiny.root), "OL_CACHE": str(tiny.cache), "OL_WORKSPACE": str(tiny.root)}
    if subprocess.run(["unshare", "--mount", *users, "true"], capture_output=True).returncode != 0:
        pytest.skip("no namespaces can be made here")
    done = subprocess.run(argv, env={**os.environ, **place}, capture_output=True, text=True, timeout=300)
    return checked(done.returncode, done.stdout, done.stderr)


def holds(ran: Ran) -> dict[str, bool]:
    return {f["name"]: f["holds"] for f in json.loads(ran.out)["findings"]}


ROOT_ALONE = ("--user", "--map-root-user")
LEAVES = "other users for units, for this is root (setpriv)"


def test_it_ends_well_where_a_compiler_works(tiny):
    ran = tiny.ol("doctor", "--json")
    found = {f["name"]: f for f in ran.json["findings"]}
    assert ran.json["usable"]
    assert ran.code == 0
    assert found["a compiler with its sanitizers"]["said"]
    assert any(found[family]["holds"] for family in FAMILIES)


def test_a_bare_machine_is_told_what_to_install(tiny, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setattr(doctor, "_tried", lambda *_: (127, "No such file or directory"))
    ran = tiny.ol("doctor")
    assert ran.code == 69
    assert "NO   a compiler with its sanitizers" in ran.out
    assert "install" in ran.out


def test_a_sanitizer_that_reports_nothing_does_not_hold(monkeypatch):
    monkeypatch.setattr(doctor, "_tried", lambda *_: (0, ""))
    assert doctor._trouble("gcc", "thread", b"") == "a fault is not reported"


@pytest.fixture
def fresh(tiny: TinyCourse, tmp_path: Path) -> TinyCourse:
    """A course whose tree is a workspace with a right unit, and of which no verdict is remembered."""
    (tiny.root / ".ol-workspace").touch()
    place = tiny.root / "c" / "src"
    place.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(tiny.reference, place / "sum.c")
    return tiny.with_cache(tmp_path / "own cache")


@pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user is root of nothing else")
def test_a_bare_container_with_a_compiler_and_all_users_can_grade(fresh: TinyCourse) -> None:
    without = tuple(p for p in ALL if p != "setpriv")
    said = bare(fresh, without, "doctor", "--json")
    found = holds(said)
    assert (said.code, found["gcc"], found[LEAVES]) == (0, True, True)
    for name in ("clang", "bubblewrap", "limits on compiler and processes (prlimit)", "a debugger"):
        assert found[name] is False
    ran = bare(fresh, without, "check", "T1", "--ref-deps")
    assert ran.code == 0, ran


@pytest.mark.parametrize("without", [ALL, tuple(p for p in ALL if p != "setpriv")])
def test_a_container_whose_root_is_its_only_user_cannot(
    fresh: TinyCourse, without: tuple[str, ...]
) -> None:
    said = bare(fresh, without, "doctor", "--json", users=ROOT_ALONE)
    found = holds(said)
    assert (said.code, found[LEAVES], found["bubblewrap"]) == (69, False, False)
    assert found["Landlock, where bubblewrap is missing"] is False
    ran = bare(fresh, without, "check", "T1", "--ref-deps", users=ROOT_ALONE)
    assert ran.code == 69
    assert "units are not run as root" in ran.err


def test_a_machine_without_any_compiler(tiny: TinyCourse) -> None:
    compilers = ("gcc", "clang", "cc")
    said = bare(tiny, compilers, "doctor", "--json", users=() if os.geteuid() == 0 else ROOT_ALONE)
    assert said.code == 69
    assert holds(said)["a compiler with its sanitizers"] is False
