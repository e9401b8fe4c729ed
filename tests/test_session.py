"""A supervisor that is kept answers call after call as one that is started for each."""

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from cworld import CWorld

from ol import process, slots
from ol.build import Built
from ol.session import Pool, Session
from ol.stream import Ending, Frame
from ol.suite import Request, Runner

SUITE = """
    void act(int how);
    OL_TEST(acts) { OL_UNIT { act((int)ol_seed()); } }
    OL_TEST(acts_too) { OL_UNIT { act((int)ol_seed()); } }
"""
UNIT = """
    #include <signal.h>
    #include <stdio.h>
    #include <unistd.h>
    void act(int how) {
        if (how == 1) for (;;) {}
        if (how == 2) kill(getppid(), SIGKILL);
        if (how == 3) usleep(300000);
        if (how == 4) for (int k = 0; k < 3000; k++) puts("much is said");
    }
"""
FINE, LOOPS, KILLS, SLEEPS, TALKS = range(5)


@pytest.fixture(scope="module")
def world(c_world: Callable[[str, str], CWorld], compiler: str) -> CWorld:
    return c_world(compiler, SUITE)


@pytest.fixture(scope="module")
def unit(world: CWorld) -> Built:
    return world.unit(UNIT)


@pytest.fixture
def session(world: CWorld) -> Iterator[Session]:
    made = Session(world.runner())
    yield made
    made.close()
    assert not process._live


def asked(unit: Built, *hows: int, test: str = "acts", mutant: int = 0) -> list[Request]:
    return [Request(test=test, units=(unit,), seconds=0.5, seed=how, mutant=mutant) for how in hows]


def told(frames: list[Frame]) -> list[tuple[int, Ending, int, bytes]]:
    return [(f.number, f.ending, f.code, f.out) for f in frames]


def test_one_supervisor_answers_every_call(world: CWorld, unit: Built, session: Session) -> None:
    first = session.run(asked(unit, FINE, TALKS))
    (pid,) = process._live
    many = asked(unit, *[FINE] * 400)
    assert told(session.run(many)) == told(world.runner().run(many))
    assert told(session.run(asked(unit, FINE, TALKS))) == told(first)
    assert set(process._live) == {pid}
    assert [f.ending for f in first] == [Ending.EXITED] * 2


def test_a_call_goes_on_where_the_supervisor_does_not(world: CWorld, unit: Built, session: Session) -> None:
    requests = asked(unit, FINE, KILLS, FINE)
    alone = world.runner().run(requests)
    assert [f.ending for f in alone] == [Ending.EXITED, Ending.SIGNALLED, Ending.NOT_RUN]
    session.run(asked(unit, FINE))
    assert told(session.run(requests)) == told(alone)
    assert [f.ending for f in session.run(asked(unit, FINE, FINE))] == [Ending.EXITED] * 2


def test_a_call_knows_nothing_of_the_one_before(world: CWorld, unit: Built, tmp_path: Path) -> None:
    for test in ("acts", "acts_too"):
        (tmp_path / test).write_bytes(b"what no test writes")
    runner: Runner = replace(world.runner(), warm=True, baseline=tmp_path, stops=True)
    session = Session(runner)
    both = [*asked(unit, FINE, mutant=7), *asked(unit, FINE, test="acts_too", mutant=7)]
    late = [replace(q, unless_late=True) for q in asked(unit, LOOPS, FINE)]
    try:
        for _ in range(2):
            assert [f.ending for f in session.run(both)] == [Ending.EXITED, Ending.NOT_RUN]
            assert [f.ending for f in session.run(late)] == [Ending.TIMED_OUT, Ending.NOT_RUN]
    finally:
        session.close()


def test_a_baseline_may_come_later(world: CWorld, unit: Built, tmp_path: Path) -> None:
    session = Session(replace(world.runner(), baseline=tmp_path))
    try:
        (first,) = session.run(asked(unit, FINE))
        assert first.ending is Ending.EXITED
        (tmp_path / "acts").write_bytes(first.stream)
        (second,) = session.run(asked(unit, FINE))
        assert (second.ending, second.stream) == (Ending.SAME, b"")
    finally:
        session.close()


def test_calls_at_a_time_have_supervisors_of_their_own(world: CWorld, unit: Built) -> None:
    slots.set_jobs(2)
    pool, endings = Pool(world.runner()), []
    calls = [
        threading.Thread(target=lambda: endings.extend(f.ending for f in pool.run(asked(unit, SLEEPS))))
        for _ in range(2)
    ]
    for call in calls:
        call.start()
    for call in calls:
        call.join()
    assert endings == [Ending.EXITED] * 2
    assert len(process._live) == 2
    pool.run(asked(unit, FINE))
    assert len(process._live) == 2
    pool.close()
    assert not process._live
