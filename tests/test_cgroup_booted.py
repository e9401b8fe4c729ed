"""What tests/test_cgroup.py shows of groups of processes, on a kernel that has them: as root, and as an
ordinary user in a subtree given to it. Such a kernel is slow, so each way runs what tells it apart."""

import shlex
import sys
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Way:
    """Who starts tests, in which group, and which of them."""

    start: str = ""
    tests: str = ""


WAYS = {
    "root in the first group": Way(tests="(bubblewrap and not python) or report or swept"),
    "a user's only process in what was given": Way(
        f"{GIVEN} rmdir shell; echo 0 > cgroup.procs; exec {AS_USER}",
        "(none and memory and not python) or report",
    ),
    "a user beside a shell in what was given": Way(
        f"{GIVEN} echo 0 > shell/cgroup.procs; {AS_USER}", "(python and none) or report or swept"
    ),
}


@pytest.mark.parametrize("who", WAYS)
def test_groups_of_processes_hold_what_they_promise(who: str, tmp_path: Path) -> None:
    if why := uml.missing():
        pytest.skip(why)
    way, started, result = WAYS[who], tmp_path / "started", tmp_path / "result"
    argv = [sys.executable, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "addopts=-rs"]
    argv += [str(ROOT / "tests" / "test_cgroup.py"), "-k", way.tests]
    tests = f"({way.start} {shlex.join(argv)}) > {result} 2>&1; echo status $? >> {result}"
    paths = uml.opened(ROOT, Path(sys.prefix), Path(sys.base_prefix))
    said = uml.boot(f"touch {started}\n{paths}\n{tests}", tmp_path)
    if not started.exists():
        pytest.skip(f"no other kernel boots here: {said[-300:]}")
    assert result.read_text().endswith("status 0\n"), result.read_text() + said[-2000:]
    assert "SKIPPED" not in result.read_text(), result.read_text()
