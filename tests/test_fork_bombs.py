"""A unit that forks without end gets so many processes and no more, and is over by its limit."""

import secrets
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from attacking import named, place
from cworld import CWorld
from pyworld import World

from ol import slots
from ol.errors import ToolError
from ol.sandbox import RUNNING, Kind
from ol.stream import Frame
from ol.suite import Request

C_SUITE = "void act(void);\nOL_TEST(acts) { OL_UNIT { act(); } }"
C_UNIT = """
    #include <sys/prctl.h>
    #include <unistd.h>
    void act(void) { prctl(15, "NAME"); for (;;) fork(); }
"""
PYTHON_SUITE = """
    def test_acts(ol):
        if ol.unit:
            import tinyllm.acts
"""
PYTHON_UNIT = """
    import ctypes, os
    ctypes.CDLL(None).prctl(15, b"NAME")
    while True:
        try: os.fork()
        except OSError: pass
"""
SECONDS = 1.0


def bounded(name: str, run: Callable[[], list[Frame]]) -> None:
    start = time.monotonic()
    with ThreadPoolExecutor() as pool:
        running, most = pool.submit(run), 0
        while not running.done():
            most = max(most, len(named(name)))
            time.sleep(0.05)
    took, (frame,) = time.monotonic() - start, running.result()
    assert 10 < most <= RUNNING.processes * slots.jobs(), frame
    assert named(name) == set()
    assert took < 3 * SECONDS + 10


@pytest.mark.parametrize("kind", Kind)
def test_in_c(c_world: Callable[[str, str], CWorld], any_compiler: str, kind: Kind) -> None:
    world, name = c_world(any_compiler, C_SUITE), secrets.token_hex(7)
    runner = replace(world.runner(), sandbox=place(kind))
    request = Request(test="acts", units=(world.unit(C_UNIT.replace("NAME", name)),), seconds=SECONDS)
    bounded(name, lambda: runner.run([request]))


@pytest.mark.parametrize("kind", Kind)
def test_in_python(tmp_path: Path, kind: Kind) -> None:
    world, name = World(tmp_path).write(PYTHON_SUITE), secrets.token_hex(7)
    runner = replace(world.runner(), sandbox=place(kind))
    unit = world.unit(acts=PYTHON_UNIT.replace("NAME", name))
    try:
        bounded(name, lambda: runner.run([Request(test="acts", units=(unit,), seconds=SECONDS)]))
    except ToolError as error:
        pytest.skip(error.what)
