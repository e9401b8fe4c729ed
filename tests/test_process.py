"""The only place that starts a process: bounds, time-outs, groups, and an end to all."""

import os
import sys
import threading
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from ol import parallel, process, slots
from ol.kept import CUT

PYTHON = sys.executable
ENV = {"PATH": os.environ["PATH"]}


def run(code: str, *, timeout: float = 20, **how: object) -> process.Finished:
    return process.run([PYTHON, "-c", code], cwd=Path("/"), env=ENV, timeout=timeout, **how)  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def usual() -> Iterator[None]:
    yield
    process._closed.clear()
    slots.set_jobs(os.cpu_count() or 1)


def gone(pid: int) -> bool:
    for _ in range(200):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return True
        if state == "Z":
            return True
        time.sleep(0.01)
    return False


def test_output_status_and_input_go_through() -> None:
    done = run(
        "import sys; data = sys.stdin.read(); print(data[::-1]); print('e', file=sys.stderr); sys.exit(7)",
        stdin=b"abc",
    )
    assert (done.code, done.out, done.err, done.timed_out) == (7, b"cba\n", b"e\n", False)


def test_much_input_and_much_output_do_not_wait_for_each_other() -> None:
    data = os.urandom(1 << 16) * 64
    done = run(
        "import sys; d = sys.stdin.buffer.read(); sys.stderr.buffer.write(d); sys.stdout.buffer.write(d)",
        stdin=data,
        cap=1 << 24,
    )
    assert done.out == done.err == data


def test_input_that_nobody_reads_is_no_fault() -> None:
    assert run("import os; os.close(0); print('ok')", stdin=b"x" * (1 << 22)).out == b"ok\n"


def test_output_is_kept_at_both_ends() -> None:
    done = run("print('first'); print('x' * 50_000_000); print('last', end='')", cap=1000)
    assert done.out.startswith(b"first\n")
    assert done.out.endswith(b"x\nlast")
    assert CUT in done.out
    assert len(done.out) == 1000 + len(CUT)


@pytest.mark.parametrize("n", [999, 1000, 1001, 1499, 2001])
def test_the_cut_neither_loses_nor_invents(n: int) -> None:
    text = (bytes(range(65, 91)) * 100)[:n]
    out = run(f"print({text.decode()!r}, end='')", cap=1000).out
    head, cut, tail = out.partition(CUT)
    assert text.startswith(head)
    assert text.endswith(tail)
    assert (head + tail == text) is (cut == b"")


def test_what_is_cut_is_not_held_in_memory() -> None:
    tracemalloc.start()
    run("for _ in range(40): print('x' * 1_000_000)", cap=1000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 5_000_000


def test_a_signal_is_a_negative_status() -> None:
    assert run("import os; os.kill(os.getpid(), 11)").code == -11


def test_a_time_out_ends_the_whole_group() -> None:
    start = time.monotonic()
    done = run(
        "import os, time\nif os.fork() == 0: time.sleep(60)\n"
        "print(os.getpid(), flush=True); time.sleep(60)",
        timeout=0.7,
    )
    assert (done.timed_out, done.code) == (True, -9)
    assert time.monotonic() - start < 3
    assert gone(int(done.out.split()[0]))


def test_a_grandchild_that_holds_the_pipes_is_not_waited_for() -> None:
    start = time.monotonic()
    done = run(
        "import os, time\npid = os.fork()\nif pid == 0: time.sleep(60)\nprint(pid, flush=True); os._exit(0)"
    )
    assert time.monotonic() - start < 3
    assert done.code == 0
    assert gone(int(done.out))


def test_the_environment_is_what_is_given_and_the_session_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "1")
    out = run("import os; print('SECRET' in os.environ, os.getsid(0) == os.getpid(), os.getcwd())").out
    assert out == b"False True /\n"


def test_a_program_that_is_not_there_is_an_error() -> None:
    with pytest.raises(FileNotFoundError):
        process.run(["/none/such"], cwd=Path("/"), env=ENV, timeout=5)


def test_no_more_run_at_a_time_than_are_allowed() -> None:
    slots.set_jobs(2)
    code = "import time; print(time.monotonic()); time.sleep(0.2); print(time.monotonic())"
    times = [tuple(map(float, d.out.split())) for d in parallel.together([lambda: run(code)] * 5)]
    most = max(sum(a <= start < b for a, b in times) for start, _ in times)
    assert most <= 2


def test_who_gives_a_slot_back_comes_after_those_who_wait() -> None:
    slots.set_jobs(1)
    served: list[str] = []

    def greedy() -> None:
        for _ in range(5):
            with slots.one():
                served.append("greedy")
                time.sleep(0.05)

    def modest() -> None:
        with slots.one():
            served.append("modest")

    threads = [threading.Thread(target=greedy), threading.Thread(target=modest)]
    for thread in threads:
        thread.start()
        time.sleep(0.02)
    for thread in threads:
        thread.join()
    assert served[:2] == ["greedy", "modest"]
    assert len(served) == 6


def test_alone_means_one_at_a_time() -> None:
    slots.set_jobs(3)

    def others() -> None:
        time.sleep(0.1)
        for _ in range(3):
            run("import time; time.sleep(0.1)")

    with slots.alone():
        threads = [threading.Thread(target=others, daemon=True) for _ in range(3)]
        for thread in threads:
            thread.start()
        seen = [len(process._live) for _ in range(200) if not time.sleep(0.003)]
        assert run("print('alone')").out == b"alone\n"
    for thread in threads:
        thread.join()
    assert max(seen) == 1
    assert slots._slots._free == 3


def test_the_end_of_all_ends_what_runs_and_what_would() -> None:
    results: list[BaseException] = []

    def work() -> None:
        try:
            run("import time; time.sleep(60)", timeout=60)
        except process.Interrupted as error:
            results.append(error)

    slots.set_jobs(2)
    threads = [threading.Thread(target=work, daemon=True) for _ in range(4)]
    for thread in threads:
        thread.start()
    while len(process._live) < 2:
        time.sleep(0.01)
    pids = set(process._live)
    process.end_all()
    for thread in threads:
        thread.join(5)
    assert len(results) == 4
    assert all(gone(pid) for pid in pids)


def test_results_come_in_order_and_the_first_error_is_raised() -> None:
    assert parallel.together([lambda k=k: k for k in range(5)]) == list(range(5))
    assert sorted(parallel.finished([lambda k=k: k for k in range(5)], at_once=2)) == list(range(5))

    def fails() -> int:
        raise KeyError("no")

    with pytest.raises(KeyError):
        parallel.together([fails, lambda: 1])
    with pytest.raises(KeyError):
        list(parallel.finished([fails, lambda: 1], at_once=1))
