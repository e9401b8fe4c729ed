"""What tests/test_cgroup.py shows of groups of processes, on a kernel that has them: as root, and as an
ordinary user in a subtree that was given to it."""

import shlex
import sys
from pathlib import Path

import pytest
import uml
from tinycourse import ROOT

USER = 12345
GIVEN = f"""
echo "+memory +pids" > /sys/fs/cgroup/cgroup.subtree_control
mkdir -p /sys/fs/cgroup/given/shell
cd /sys/fs/cgroup/given
chown {USER} . cgroup.procs cgroup.subtree_control
"""
AS_USER = f"setpriv --reuid {USER} --regid {USER} --clear-groups "
# How the tests are started: by root, who is in the first group; by a user's only process in what was given;
# and beside a shell, in a group that lies in it.
WAYS = {
    "root": "",
    "user": f"{GIVEN} rmdir shell; echo 0 > cgroup.procs; exec {AS_USER}",
    "shell": f"{GIVEN} echo 0 > shell/cgroup.procs; {AS_USER}",
}


@pytest.mark.parametrize("way", WAYS)
def test_groups_of_processes_hold_what_they_promise(way: str, tmp_path: Path) -> None:
    if why := uml.missing():
        pytest.skip(why)
    started, result = tmp_path / "started", tmp_path / "result"
    argv = [sys.executable, "-B", "-m", "pytest", "-q", "-rA", "-p", "no:cacheprovider", "-o", "addopts="]
    argv += ["--durations=25"]
    argv.append(str(ROOT / "tests" / "test_cgroup.py"))
    tests = f"({WAYS[way]} {shlex.join(argv)}) > {result} 2>&1; echo status $? >> {result}"
    paths = uml.opened(ROOT, Path(sys.prefix), Path(sys.base_prefix))
    said = uml.boot(f"touch {started}\n{paths}\n{tests}", tmp_path)
    if not started.exists():
        pytest.skip(f"no other kernel boots here: {said[-300:]}")
    assert result.read_text().endswith("status 0\n"), result.read_text() + said[-2000:]
    skipped = [line for line in result.read_text().splitlines() if line.startswith("SKIPPED")]
    assert all("may do what its user may" in line for line in skipped), skipped
