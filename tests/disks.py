"""Disks that are too small, for what must be told when they are full."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from student import mounted


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[Path]:
    if not mounted(folder, size):
        pytest.skip("mounting a small disk needs root")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)
