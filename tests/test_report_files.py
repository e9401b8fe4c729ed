"""The files of `ol audit`: all of one or nothing, wherever it goes."""

import os
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from disks import small_disk
from tinycourse import START, TinyCourse

from ol.store import Store

OPTIONS = ("--html", "--report", "--sarif")
KINDS = ((), ("--generated", "--line", "4"))
both_kinds = pytest.mark.parametrize("kind", KINDS, ids=("planted", "generated"))
each_option = pytest.mark.parametrize("option", OPTIONS)


@both_kinds
@each_option
def test_a_report_that_finds_the_disk_full_leaves_the_old_one_whole(
    tiny: TinyCourse, tmp_path: Path, kind: tuple[str, ...], option: str
) -> None:
    with small_disk(tmp_path / "disk", "64k") as disk:
        path = disk / "report"
        path.write_text("the report of yesterday")
        with (disk / "filler").open("wb", buffering=0) as filler, pytest.raises(OSError):
            while True:
                filler.write(bytes(4096))
        ran = tiny.ol("audit", "T1", *kind, option, str(path))
        assert (ran.code, ran.out) == (2, "")
        assert "cannot write the report: No space left on device" in ran.err and str(path) in ran.err
        assert path.read_text() == "the report of yesterday"
        assert sorted(p.name for p in disk.iterdir()) == ["filler", "report"]


def test_a_report_for_a_folder_that_cannot_be_written_to_is_told(tiny: TinyCourse, tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "64k") as disk:
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        ran = tiny.ol("audit", "T1", "--sarif", str(disk / "found.sarif"))
        assert (ran.code, "cannot write the report: Read-only file system" in ran.err) == (2, True)


@both_kinds
def test_a_report_with_nowhere_to_go_costs_no_audit(
    tiny: TinyCourse, tmp_path: Path, kind: tuple[str, ...]
) -> None:
    fresh = tiny.with_cache(tmp_path / "own")
    ran = fresh.ol("audit", "T1", *kind, "--html", str(tmp_path / "no" / "page.html"))
    assert (ran.code, "cannot write the report: no such folder" in ran.err) == (2, True)
    assert not fresh.cache.exists()


@both_kinds
@each_option
def test_a_report_goes_where_it_is_told_whatever_the_name(
    tiny: TinyCourse, tmp_path: Path, kind: tuple[str, ...], option: str
) -> None:
    folder = tmp_path / "zwei Wörter 報告"
    folder.mkdir()
    path = folder / "der Bericht – 'x' \"y\"\n.out"
    tiny.ol("audit", "T1", *kind, option, str(path))
    assert list(folder.iterdir()) == [path]
    assert len(path.read_text("utf-8")) > 200


def test_a_report_may_go_to_a_pipe(tiny: TinyCourse, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE, text=True)
    assert tiny.ol("audit", "T1", "s03", "--sarif", str(pipe)).code == 0
    assert '"version": "2.1.0"' in reader.communicate(timeout=20)[0]


@pytest.mark.parametrize("arguments", [["--json"], [], ["--generated", "--line", "4"]])
def test_output_that_finds_the_disk_full_is_told(tiny: TinyCourse, arguments: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        environment = {**os.environ, "OL_COURSE": str(tiny.root), "OL_CACHE": str(tiny.cache)}
        argv = [sys.executable, "-c", START, "audit", "T1"]
        done = subprocess.run(
            [*argv, *arguments],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
            timeout=240,
        )
    assert (done.returncode, "a fault of ol" in done.stderr) == (70, False)
    assert "cannot write the output: No space left on device" in done.stderr


@pytest.mark.parametrize("size", ["64k", "300k", "800k"])
def test_a_disk_that_fills_up_while_generated_mutants_run_is_told(
    tiny: TinyCourse, tmp_path: Path, size: str
) -> None:
    start = time.monotonic()
    with small_disk(tmp_path / "disk", size) as disk:
        ran = tiny.with_cache(disk / "cache").ol("audit", "T1", "--generated")
    assert (ran.code, "OL_CACHE" in ran.err) == (70, True)
    assert time.monotonic() - start < 120


def test_a_store_that_fills_up_while_generated_mutants_run(tiny: TinyCourse, tmp_path: Path) -> None:
    def small(self: Store) -> sqlite3.Connection:
        db = opened(self)
        db.execute("PRAGMA max_page_count = 5")
        return db

    opened = Store._open
    fresh = tiny.with_cache(tmp_path / "own")
    with tiny.monkeypatch.context() as patched:
        patched.setattr(Store, "_open", small)
        ran = fresh.ol("audit", "T1", "--generated")
        assert (ran.code, "the store of results cannot be used" in ran.err) == (70, True)
    assert fresh.ol("audit", "T1", "--generated").code == 1
