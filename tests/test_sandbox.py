"""Inside a sandbox nothing of the user's is seen or changed, as root and as an ordinary user."""

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from tinycourse import ROOT

from ol import landlock, sandbox
from ol.errors import ToolError
from ol.sandbox import COMPILING, RUNNING, Kind, Sandbox, Wish

SECONDS = 60


@pytest.fixture(scope="module")
def bubble() -> Sandbox:
    found = sandbox.find(Wish.AUTO)
    if found.kind is not Kind.BUBBLEWRAP:
        pytest.skip("bubblewrap does not start here")
    return found


def said(argv: list[str]) -> str:
    done = subprocess.run(argv, capture_output=True, env={"PATH": "/usr/bin:/bin"}, timeout=SECONDS)
    return (done.stdout + done.stderr).decode()


def inside(bubble: Sandbox, script: str, **more) -> str:
    return said(bubble.command(["sh", "-c", script], cwd=Path("/"), limits=RUNNING, **more))


def test_only_what_was_named_is_seen(bubble, tmp_path):
    (tmp_path / "shown").write_text("shown")
    (tmp_path / "kept").write_text("kept")
    out = inside(bubble, f"cat {tmp_path}/*; ls {ROOT}; ls /home /root", readable=[tmp_path / "shown"])
    assert out.startswith("shown")
    assert "kept" not in out
    assert "reference" not in out


def test_a_folder_may_be_shown_without_what_is_hidden_in_it(bubble, tmp_path):
    for name in ("course", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(name)
    (tmp_path / "course" / "alone").write_text("named alone")
    tmp_path.chmod(0o755)
    hiding = Sandbox(kind=bubble.kind, program=bubble.program, hidden=(tmp_path / "course",))
    out = inside(hiding, f"cat {tmp_path}/*/*", readable=[tmp_path, tmp_path / "course" / "alone"])
    assert out == "named aloneother"


def test_nothing_can_be_written_but_tmp_and_that_is_bounded(bubble, tmp_path):
    target = tmp_path / "shown"
    target.write_text("")
    places = f"/ /usr /etc /dev {target} /proc/sys/kernel/core_uses_pid"
    script = f"for p in {places}; do echo x > $p/x || echo x > $p; done"
    inside(bubble, script, readable=[target])
    assert target.read_text() == ""
    assert "No space left" in inside(bubble, "head -c 99000000 /dev/zero > /tmp/x")


def test_there_is_no_root_no_network_and_no_other_process(bubble):
    script = "id -u; cat /proc/net/dev | wc -l; ls -d /proc/[0-9]* | wc -l; cat /proc/self/status"
    out = inside(bubble, script)
    uid, devices, processes, *rest = out.splitlines()
    assert uid != "0"
    assert int(devices) <= 3
    assert int(processes) < 8
    assert "CapEff:\t0000000000000000" in rest
    assert "CapBnd:\t0000000000000000" in rest or os.geteuid() != 0
    assert "NoNewPrivs:\t1" in rest


def test_the_environment_is_not_to_be_found(bubble, monkeypatch):
    assert inside(bubble, "env | grep -c SECRET; cat /proc/*/environ | tr '\\0' '\\n'").count("SECRET") == 0


def test_as_many_processes_as_allowed(bubble):
    out = inside(bubble, "for k in $(seq 2000); do sleep 5 & done 2>&1 | tail -3; echo end")
    assert "end" in out or "fork" in out.lower()


def test_one_that_is_required_and_missing_is_said(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setattr(landlock, "version", lambda: 0)
    sandbox.find.cache_clear()
    with pytest.raises(ToolError) as raised:
        sandbox.find(Wish.REQUIRED)
    assert raised.value.code == 69
    assert "bubblewrap" in raised.value.where
    assert sandbox.find(Wish.AUTO).kind is Kind.NONE
    sandbox.find.cache_clear()


def test_landlock_keeps_files_and_signals_too(tmp_path):
    shut = Sandbox(kind=Kind.LANDLOCK)
    if not landlock.version() or sandbox.refusal(shut):
        pytest.skip("Landlock does not start here")
    (tmp_path / "shown").write_text("shown")
    (tmp_path / "kept").write_text("kept")
    shown, kept = tmp_path / "shown", tmp_path / "kept"
    script = f"cat {shown}; cat {kept}; ls {ROOT}; echo x > {shown}; cat /etc/passwd"
    out = said(shut.command(["sh", "-c", script], readable=[tmp_path / "shown"], cwd=Path("/")))
    assert out.startswith("shown")
    assert out.count("denied") == 4
    assert "kept\n" not in out
    if landlock.version() >= 6:
        script = f"kill -0 {os.getpid()} && echo reached"
        assert "reached" not in said(shut.command(["sh", "-c", script], cwd=Path("/")))


def test_a_command_in_landlock_finds_signals_as_they_were():
    """Else the limit on files would be an error that a unit may overlook, and no end."""
    shut = Sandbox(kind=Kind.LANDLOCK)
    if not landlock.version() or sandbox.refusal(shut):
        pytest.skip("Landlock does not start here")
    status = said(shut.command(["cat", "/proc/self/status"], cwd=Path("/")))
    ignored = int(next(line for line in status.splitlines() if line.startswith("SigIgn")).split()[1], 16)
    assert not ignored >> (signal.SIGXFSZ - 1) & 1
    assert not ignored >> (signal.SIGPIPE - 1) & 1


def test_limits_go_before_the_command_also_without_a_sandbox():
    argv = Sandbox().command(["true"], cwd=Path("/"), limits=COMPILING)
    assert argv[-1] == "true"
    assert f"--cpu={COMPILING.cpu_seconds}" in argv
