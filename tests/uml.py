"""Another kernel on this machine, as a program: Debian's user-mode-linux. It sees the files of this system,
runs a script as its first process, and halts."""

import os
import shutil
import signal
import subprocess
from pathlib import Path

MEMORY = 1536 << 20
SECONDS = 240
HEAD = """#!/bin/sh
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mount -t tmpfs -o mode=1777 tmpfs /mnt
export TMPDIR=/mnt
"""
TAIL = "\nsync\npoweroff -f || reboot -f\n"


def missing() -> str:
    """Why there is no such kernel here; empty where there is one."""
    return "" if shutil.which("linux.uml") else "user-mode-linux is not installed"


def opened(*paths: Path) -> str:
    """The lines of a script after which an ordinary user can reach these folders, wherever they lie. The
    system outside does not change."""
    lines = []
    for path in paths:
        closed = next((a for a in reversed(path.parents) if not a.stat().st_mode & 0o001), None)
        if closed:
            beside = Path("/mnt/closed", *closed.parts[1:])
            lines.append(
                f"[ -d {beside} ] || (mkdir -p {beside}; mount --bind {closed} {beside};"
                f" mount -t tmpfs -o mode=755 tmpfs {closed})"
            )
            lines.append(f"mkdir -p {path}; mount --bind {beside / path.relative_to(closed)} {path}")
    return "\n".join(lines)


def boot(script: str, folder: Path) -> str:
    """Runs a script in it; what the kernel had to say. Its /mnt is its own, all else is this system."""
    init = folder / "init"
    init.write_text(HEAD + script + TAIL)
    init.chmod(0o755)
    shared = Path("/dev/shm")  # quicker than a disk for its memory
    roomy = os.access(shared, os.W_OK) and shutil.disk_usage(shared).free > MEMORY
    words = [
        "linux.uml",
        f"mem={MEMORY >> 20}M",
        "root=/dev/root",
        "rootfstype=hostfs",
        "rootflags=/",
        "rw",
    ]
    words += [f"init={init}", "cgroup_no_v1=all", "con=null", "con0=fd:0,fd:1"]
    with subprocess.Popen(
        words,
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "TMPDIR": str(shared if roomy else folder),
        },
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    ) as kernel:
        try:
            said, _ = kernel.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(kernel.pid, signal.SIGKILL)
            said, _ = kernel.communicate()
    return said.decode("utf-8", "replace")
