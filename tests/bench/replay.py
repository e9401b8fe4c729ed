"""Runs recorded processes again, as a script without `ol` would: python replay.py RECORDING JOBS.

A recording is a list of stages, each a list of processes that may run side by side.
"""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path


def again(call: dict[str, object]) -> int:
    done = subprocess.run(
        call["argv"],  # type: ignore[call-overload]
        cwd=call["cwd"],
        env=call["env"],
        input=str(call["stdin"]).encode(),
        capture_output=True,
        check=False,
    )
    return int(done.returncode != call["code"])


def main() -> None:
    stages = json.loads(Path(sys.argv[1]).read_text())
    with ThreadPoolExecutor(int(sys.argv[2])) as pool:
        other = sum(sum(pool.map(again, stage)) for stage in stages)
    if other:
        sys.exit(f"{other} processes ended with another status than when they were recorded")


if __name__ == "__main__":
    main()
