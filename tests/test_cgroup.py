"""Groups of processes: where they are looked for, and, on a kernel that lets this user make them, what they
hold. tests/test_cgroup_booted.py shows the latter on such a kernel."""

import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from attacking import named, place
from cworld import STATUSES, CWorld
from pyworld import World

from ol import cgroup, doctor, process
from ol.errors import ToolError
from ol.judge import judge
from ol.sandbox import RUNNING, Kind, Limits, Sandbox
from ol.stream import Ending, Frame
from ol.suite import Request
from ol.toolchain import Sanitizer
from ol.verdict import Way

V1 = "30 23 0:26 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
V2 = "31 23 0:27 / /sys/fs/cgroup rw,relatime shared:9 - cgroup2 cgroup2 rw\n"
MB = 48  # each, of a unit and of what runs beside it
KINDS = [Kind.NONE, Kind.BUBBLEWRAP]

SUITE = """
    void act(void); int add(int, int);
    OL_TEST(acts) { OL_UNIT { act(); } }
    OL_TEST(adds) { OL_HOLDS("the sum", add(1, 2) == 3); }
"""
UNIT = """
    #define _GNU_SOURCE
    #include <fcntl.h>
    #include <signal.h>
    #include <stdio.h>
    #include <string.h>
    #include <sys/mman.h>
    #include <sys/prctl.h>
    #include <unistd.h>
    static void fill(void) {
        static char some[16 << 20];
        memset(some, 1, sizeof some);
        for (;;) {
            int file = memfd_create("some", 0);
            for (int k = 0; k < 3; k++) if (write(file, some, sizeof some) < 0) pause();
        }
    }
    void act(void) { prctl(PR_SET_NAME, "OWNNAME"); DEED }
    int add(int a, int b) { return a + b; }
"""
# Memory that no process is seen to hold; more than there may be, in one step; that of two, with no watch.
EATS = {
    "in files": "fill();",
    "at once": "mmap(0, 1u << 30, 3, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);",
    "unwatched": "kill(getppid(), SIGSTOP); fork();"
    "char *x = mmap(0, 1u << 30, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); memset(x, 1, 1u << 30);",
}
FORKS = """
    int n = 0;
    for (int child; n < 500 && (child = fork()) >= 0; n++) while (child == 0) pause();
    printf("%d", n);
"""
DAEMON = "if (fork() == 0) { setsid(); if (fork() == 0) for (;;) pause(); _exit(0); }"


@pytest.fixture
def parent() -> Iterator[Path]:
    """Where groups may be made; none of them is left."""
    found = cgroup.find()
    if found.parent is None:
        pytest.skip(f"no groups of processes here: {found.why}")
    yield found.parent
    assert list(found.parent.glob("ol-run-*")) == []


@pytest.fixture(params=KINDS)
def sandbox(request: pytest.FixtureRequest, parent: Path, monkeypatch: pytest.MonkeyPatch) -> Sandbox:
    monkeypatch.setattr("ol.suite.RSS_MB", MB)
    monkeypatch.setattr("ol.sandbox._BESIDE_MB", MB)
    found = place(request.param)
    assert found.groups == parent
    return found


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, shared_cache: Path) -> CWorld:
    return CWorld.make(tmp_path_factory.mktemp("suite"), "gcc", shared_cache, SUITE)


def ran(world: CWorld, sandbox: Sandbox, deed: str, *tests: str, name: str = "unit") -> list[Frame]:
    """What comes of tests of a unit that is compiled and run in groups, without sanitizers."""
    inside = replace(world, builder=replace(world.builder, sandbox=sandbox))
    source = UNIT.replace("OWNNAME", name).replace("DEED", deed)
    unit = inside.unit(source, Sanitizer.NONE)
    runner = replace(inside.runner(Sanitizer.NONE), sandbox=sandbox)
    return runner.run([Request(test=t, units=(unit,), seconds=20) for t in tests])


@pytest.mark.parametrize(
    "own, mounts, found",
    [
        ("4:memory:/\n", V1, []),
        ("4:memory:/\n0::/\n", V1, []),
        ("0::/\n", V1 + V2, ["/sys/fs/cgroup"]),
        ("0::/a/b\n", V1 + V2, ["/sys/fs/cgroup/a/b", "/sys/fs/cgroup/a"]),
        ("0::/docker/x\n", V2.replace(" / ", " /docker/x "), ["/sys/fs/cgroup"]),
        ("0::/docker/x/in\n", V2.replace(" / ", " /docker/x "), ["/sys/fs/cgroup/in", "/sys/fs/cgroup"]),
        ("0::/elsewhere\n", V2.replace(" / ", " /docker/x "), []),
    ],
)
def test_it_looks_at_its_own_group_and_at_the_one_above(own: str, mounts: str, found: list[str]) -> None:
    assert cgroup.places(mounts, own) == [Path(p) for p in found]


def test_why_a_folder_holds_no_groups(tmp_path: Path) -> None:
    assert cgroup.refusal(tmp_path / "none") == "No such file or directory"
    (tmp_path / "cgroup.controllers").write_text("hugetlb\n")
    assert cgroup.refusal(tmp_path) == "no controllers for memory and pids, only: hugetlb"
    (tmp_path / "cgroup.controllers").write_text("cpu memory pids\n")
    assert cgroup.refusal(tmp_path) == "No such file or directory"


def test_files_that_limit_nothing_are_not_believed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All is as in a group, but it is a folder."""
    (tmp_path / "cgroup.controllers").write_text("memory pids\n")
    (tmp_path / "cgroup.subtree_control").write_text("memory pids\n")
    monkeypatch.setattr(cgroup, "_END_SECONDS", 0)
    monkeypatch.setattr(cgroup, "_limit", lambda folder, *_: (folder / "memory.events").write_text("oom 0"))
    assert cgroup.refusal(tmp_path) == "a process in a group passed its limits"


def test_without_groups_a_command_is_as_it_was() -> None:
    with Sandbox().group(1) as group:
        assert group.command(["true"]) == ["true"]
        assert not group.ran_out()


def test_a_group_that_cannot_be_made_any_more_is_told(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    with pytest.raises(ToolError) as raised, Sandbox(groups=gone).group(1):
        pass
    assert raised.value.what == "no group of processes can be made for a run: No such file or directory"
    assert raised.value.where == str(gone)


def test_a_report_says_where_they_are(parent: Path) -> None:
    found = doctor._cgroup()
    assert (found.holds, found.said) == (True, f"in {parent}")


def test_a_command_is_in_its_group_from_the_first_and_finds_signals_as_they_were(parent: Path) -> None:
    with cgroup.made(parent, memory_mb=64, processes=4) as group:
        argv = group.command(["cat", "/proc/self/cgroup", "/proc/self/status"])
        done = process.run(argv, cwd=Path("/"), env={"PATH": "/usr/bin:/bin"}, timeout=20)
        assert group.folder
    lines = done.out.decode().splitlines()
    assert next(line for line in lines if line.startswith("0::")).endswith(f"/{group.folder.name}")
    ignored = int(next(line for line in lines if line.startswith("SigIgn")).split()[1], 16)
    assert not ignored >> (signal.SIGXFSZ - 1) & 1
    assert not ignored >> (signal.SIGPIPE - 1) & 1


@pytest.mark.parametrize("deed", EATS)
def test_memory(world: CWorld, sandbox: Sandbox, deed: str) -> None:
    name = secrets.token_hex(7)
    eats, adds = ran(world, sandbox, DAEMON + EATS[deed], "acts", "adds", name=name)
    assert named(name) == set()
    (failure,) = judge("acts", eats, (), STATUSES).failures
    assert (failure.way, failure.got.startswith("used ")) == (Way.MEMORY, True)
    assert judge("adds", adds, world.wanted(["adds"])["adds"], STATUSES).failures == ()


def test_memory_in_python(tmp_path: Path, sandbox: Sandbox) -> None:
    world = World(tmp_path).write("""
        def test_acts(ol):
            if ol.unit:
                import tinyllm.acts
        def test_adds(ol):
            ol.holds("the sum", lambda: 1 + 2 == 3) if ol.unit else ol.want_fact("the sum")
    """)
    unit = world.unit(
        acts="import os\nfor k in range(99): os.write(os.memfd_create('some'), bytes(32 << 20))\n"
    )
    runner = replace(world.runner(), sandbox=sandbox)
    requests = [Request(test="acts", units=(unit,), seconds=20)]
    assert [f.ending for f in runner.run(requests)] == [Ending.OUT_OF_MEMORY]


def test_a_unit_is_no_longer_alone_with_its_limits(world: CWorld, sandbox: Sandbox) -> None:
    """Two at once: what one takes is not counted for the other."""
    with ThreadPoolExecutor() as pool:
        eats = pool.submit(ran, world, sandbox, EATS["in files"], "acts")
        adds = pool.submit(ran, world, sandbox, "", "acts", "adds")
        endings = [[f.ending for f in future.result()] for future in (eats, adds)]
    assert endings == [[Ending.OUT_OF_MEMORY], [Ending.EXITED, Ending.EXITED]]


def test_processes(world: CWorld, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the limit of the group alone."""
    monkeypatch.setattr("ol.suite.RSS_MB", 1024)
    monkeypatch.setattr("ol.place.RUNNING", Limits())
    name = secrets.token_hex(7)
    (frame,) = ran(world, sandbox, FORKS, "acts", name=name)
    assert (frame.ending, frame.code) == (Ending.EXITED, 0)
    assert RUNNING.processes <= int(frame.out) < RUNNING.processes + 16
    assert named(name) == set()


def test_a_unit_does_not_get_out(world: CWorld, sandbox: Sandbox, parent: Path) -> None:
    if sandbox.kind is Kind.NONE and os.geteuid() != 0:
        pytest.skip("without a sandbox a unit may do what its user may")
    enter = f'int group = open("{parent}/cgroup.procs", O_WRONLY);'
    (frame,) = ran(world, sandbox, enter + 'puts(write(group, "0", 1) < 0 ? "in" : "out");', "acts")
    assert frame.out == b"in\n"


def test_what_a_killed_ol_has_left_is_swept(parent: Path) -> None:
    code = f"""if True:
        import subprocess, sys, time
        from pathlib import Path
        from ol import cgroup
        with cgroup.made(Path({str(parent)!r}), memory_mb=64, processes=9) as group:
            child = subprocess.Popen(group.command(["sleep", "600"]), stdin=subprocess.DEVNULL)
            print(group.folder, child.pid, flush=True)
            time.sleep(600)
    """
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as ol:
        assert ol.stdout
        folder, pid = ol.stdout.readline().split()
        try:
            soon(lambda: (Path(folder) / "cgroup.procs").read_text().split() == [pid])
            cgroup.sweep(parent)
            assert Path(folder).is_dir(), "it is held"
        finally:
            ol.kill()
    assert (Path(folder) / "cgroup.procs").read_text().split() == [pid]
    cgroup.sweep(parent)
    assert not Path(folder).exists()


def soon(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.01)
