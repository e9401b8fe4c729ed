"""What this machine can do for ol, found by trying each thing."""

import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ol import cgroup, landlock, process, pysuite, sandbox
from ol.toolchain import FAMILIES, environment, install_line
from ol.user import has_own, is_root, stays_root

SECONDS = 30.0
_CLEAN = b"int main(void) { return 0; }\n"
_FAULTS = {
    "address,undefined": b"#include <stdlib.h>\nint main(int n, char **v) { char *p = malloc(1);"
    b" return p[n] = 1, free(p), 0; }\n",
    "thread": b"#include <pthread.h>\nstatic int x; static void *f(void *p) { x++; return p; }\n"
    b"int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); x++; pthread_join(t, 0); return 0; }\n",
    "leak": b"#include <stdlib.h>\nstatic void f(void) { volatile char *p = malloc(9); p[0] = 1; }\n"
    b"int main(void) { f(); return 0; }\n",
}
_TOOL = {"address,undefined": "AddressSanitizer", "thread": "ThreadSanitizer", "leak": "LeakSanitizer"}


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One thing that was tried. `install` is what to do where it does not hold."""

    name: str
    holds: bool
    said: str = ""
    install: str = ""
    needed: bool = False
    """Without it nothing can be graded."""


def examine() -> Iterator[Finding]:
    """Everything, in the order of a report."""
    compilers = [f for family in FAMILIES for f in _compiler(family)]
    yield from compilers
    works = {f.name for f in compilers if f.holds}
    needed = ("address,undefined", "thread")
    usable = [x for x in FAMILIES if all(f"{x} with -fsanitize={flags}" in works for flags in needed)]
    yield Finding(
        name="a compiler with its sanitizers",
        holds=bool(usable),
        said=", ".join(usable),
        install=install_line("gcc"),
        needed=True,
    )
    yield _runs(
        "fixed addresses (setarch -R)", ["setarch", "-R", "true"], "util-linux, or allow personality()"
    )
    if is_root():
        yield from _other_users()
    yield _bubblewrap()
    yield _runs("user namespaces", ["unshare", "--user", "true"], "sysctl user.max_user_namespaces=10000")
    limits = ["prlimit", "--cpu=5", "--nproc=64", "true"]
    yield _runs("limits on compiler and processes (prlimit)", limits, "util-linux")
    yield _landlock()
    yield _cgroup()
    yield _tracing()
    yield _found("names in clang's reports (llvm-symbolizer)", _symbolizer(), "sudo apt-get install llvm")
    yield _found("a debugger", shutil.which("gdb") or shutil.which("lldb"), "sudo apt-get install gdb")


def _compiler(family: str) -> Iterator[Finding]:
    path = shutil.which(family)
    yield Finding(name=family, holds=bool(path), said=path or "not found", install=install_line(family))
    if not path:
        return
    for flags, fault in _FAULTS.items():
        said = _trouble(path, flags, fault)
        yield Finding(
            name=f"{family} with -fsanitize={flags}",
            holds=not said,
            said=said,
            install=install_line(family),
        )


def _trouble(compiler: str, flags: str, fault: bytes) -> str:
    """Why a sanitizer is of no use here: a clean program must end well and a fault must be reported."""
    option = "address" if flags == "leak" else flags
    launch = ["setarch", "-R"] if shutil.which("setarch") else []
    with tempfile.TemporaryDirectory(prefix="ol-doctor-") as name:
        folder = Path(name)
        for source in (_CLEAN, fault):
            (folder / "x.c").write_bytes(source)
            argv = [compiler, "-g", f"-fsanitize={option}", "x.c", "-o", "x", "-pthread"]
            code, said = _tried(argv, folder)
            if code != 0:
                return f"does not link: {said}"
            code, said = _tried([*launch, "./x"], folder)
            if source is _CLEAN and code != 0:
                return f"a clean program ends with status {code}: {said}"
        return "" if _TOOL[flags] in said else "a fault is not reported"


def _tried(argv: list[str], folder: Path = Path("/")) -> tuple[int, str]:
    """Status and what was said, in one line."""
    env = environment() | {"ASAN_OPTIONS": "detect_leaks=1"}
    try:
        done = process.run(argv, cwd=folder, env=env, timeout=SECONDS, cap=8192)
    except OSError as error:
        return 127, error.strerror or "cannot be started"
    text = (done.err + done.out).decode("utf-8", "replace").split()
    return done.code, " ".join(text)[:300]


def _runs(name: str, argv: list[str], install: str) -> Finding:
    code, said = _tried(argv)
    return Finding(name=name, holds=code == 0, said="" if code == 0 else said, install=install)


def _found(name: str, path: str | None, install: str) -> Finding:
    return Finding(name=name, holds=bool(path), said=path or "not found", install=install)


def _other_users() -> Iterator[Finding]:
    """What root needs, for no unit is run or compiled as root."""
    why = stays_root()
    said = why or ("of their own" if has_own() else "nobody, for this container has no more")
    name = "other users for units, for this is root (setpriv)"
    yield Finding(
        name=name, holds=not why, said=said, install="util-linux, or an ordinary user", needed=True
    )
    if why:
        return
    yield Finding(
        name="Python for those users, where bubblewrap is missing",
        holds=pysuite.is_reachable(),
        said=sys.executable,
        install="an environment outside of root's home",
    )


def _bubblewrap() -> Finding:
    program = shutil.which("bwrap")
    install = "sudo apt-get install bubblewrap"
    if not program:
        return Finding(name="bubblewrap", holds=False, said="not found", install=install)
    found = sandbox.Sandbox(kind=sandbox.Kind.BUBBLEWRAP, program=program)
    why = sandbox.refusal(found)
    advice = (
        "allow user namespaces (on Ubuntu: an AppArmor profile for bwrap), or give the container SYS_ADMIN"
    )
    user = "as nobody, for this is root" if is_root() else "as this user"
    return Finding(name="bubblewrap", holds=not why, said=why or user, install=advice)


def _landlock() -> Finding:
    version = landlock.version()
    shut = sandbox.Sandbox(kind=sandbox.Kind.LANDLOCK, leaves_root=is_root())
    why = sandbox.refusal(shut) if version else "the kernel has none"
    scope = "files, TCP and signals" if version > 5 else "files and TCP" if version > 3 else "files"
    return Finding(
        name="Landlock, where bubblewrap is missing",
        holds=not why,
        said=why or f"version {version}: {scope}",
        install="a kernel with lsm=landlock",
    )


def _cgroup() -> Finding:
    found = cgroup.find()
    user = "" if is_root() else " --user"
    return Finding(
        name="limits for each run by cgroup v2",
        holds=found.parent is not None,
        said=found.why or f"in {found.parent}",
        install=f"where the kernel has them: systemd-run{user} --scope -p Delegate=yes ol …;"
        " without, ol watches memory and processes itself",
    )


def _tracing() -> Finding:
    place = Path("/proc/sys/kernel/yama/ptrace_scope")
    scope = place.read_text().strip() if place.is_file() else "0"
    holds = scope in ("0", "1")
    return Finding(
        name="tracing of a process by its child, for leaks",
        holds=holds,
        said=f"kernel.yama.ptrace_scope is {scope}" if place.is_file() else "",
        install="sudo sysctl kernel.yama.ptrace_scope=1",
    )


def _symbolizer() -> str | None:
    names = ["llvm-symbolizer", *(f"llvm-symbolizer-{n}" for n in range(30, 10, -1))]
    return next((path for name in names if (path := shutil.which(name))), None)
