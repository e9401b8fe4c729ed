"""Small sources made into objects with the compilers of this machine, as bytes. Nothing is ever run."""

import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[1]
COMPILERS = tuple(c for c in ("gcc", "clang") if shutil.which(c))
COMMON = ("-std=c11", "-D_POSIX_C_SOURCE=200809L", "-ffp-contract=off", "-pthread", "-w")
FRAMES = ("-O1", "-g", "-fno-omit-frame-pointer")
BUILDS = {
    "asan": (*FRAMES, "-fsanitize=address,undefined"),
    "tsan": (*FRAMES, "-fsanitize=thread"),
    "plain": ("-O2", "-g0"),
}
SHARED = ("-shared", "-fPIC", "-Wl,-z,lazy")
OBJECT = ("-c", "-fPIC")


class DoesNotCompile(Exception):
    pass


def made(folder: Path, compiler: str, flags: tuple[str, ...], *sources: bytes) -> bytes:
    names = []
    for number, text in enumerate(sources):
        name = f"unit{number}.c"
        (folder / name).write_bytes(text)
        names.append(name)
    include = f"-I{ROOT / 'course' / 'contracts' / 'c' / 'include'}"
    argv = [compiler, *COMMON, include, *flags, *names, "-o", "made"]
    if "-c" not in flags:
        argv.append("-lm")
    done = subprocess.run(argv, cwd=folder, capture_output=True, timeout=120)
    if done.returncode:
        raise DoesNotCompile(done.stderr.decode("utf-8", "replace")[:2000])
    return (folder / "made").read_bytes()
