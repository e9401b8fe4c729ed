"""The compiler of this machine and what it can do, found by trying."""

import os
import platform
import shutil
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path

from ol import process
from ol.errors import ToolError
from ol.exits import Exit

FAMILIES = ("gcc", "clang")


class Sanitizer(StrEnum):
    """How an object is built. NONE is for oracles and for Python, DEBUG for a person's debugger."""

    ASAN = "asan"
    TSAN = "tsan"
    NONE = "none"
    DEBUG = "debug"

    @property
    def flags(self) -> tuple[str, ...]:
        frames = ("-O1", "-g", "-fno-omit-frame-pointer")
        match self:
            case Sanitizer.ASAN:
                return (*frames, "-fsanitize=address,undefined")
            case Sanitizer.TSAN:
                return (*frames, "-fsanitize=thread")
            case Sanitizer.NONE:
                return ("-O2", "-g0")
            case Sanitizer.DEBUG:
                return ("-O0", "-g3")


@dataclass(frozen=True, kw_only=True)
class Toolchain:
    """`launch` goes before every sanitized program: it turns address randomisation off where the
    machine allows that, for sanitizers cannot always start with it."""

    family: str
    path: str
    version: str
    launch: tuple[str, ...]

    @property
    def identity(self) -> str:
        """Changes whenever the same source could give another object."""
        return f"{self.path} {self.version} {_libc()}"


def environment(compiler: str = "") -> dict[str, str]:
    """What a child of ol sees: a path to tools, the C locale, nothing of the user's."""
    folders = [str(Path(compiler).parent)] if compiler else []
    return {
        "PATH": os.pathsep.join([*folders, "/usr/local/bin", "/usr/bin", "/bin"]),
        "LC_ALL": "C",
    }


def find(family: str | None) -> Toolchain:
    """The compiler asked for, or the first that is there. Raises ToolError (exit 69) with the install
    line of this system when there is none."""
    for name in [family] if family else [*FAMILIES, "cc"]:
        if path := shutil.which(name):
            return _known(path)
    what = f"the compiler {family}" if family else "a C compiler (gcc or clang)"
    raise ToolError(
        f"{what} is not on this machine",
        next_step=f"install it: {install_line(family or 'gcc')}",
        code=Exit.NO_TOOLCHAIN,
    )


@cache
def _known(path: str) -> Toolchain:
    version = _version(path)
    if not version:
        raise ToolError(
            "the compiler does not answer to --version",
            where=path,
            next_step=f"install it again: {install_line('gcc')}",
            code=Exit.NO_TOOLCHAIN,
        )
    family = "clang" if "clang" in version else "gcc"
    return Toolchain(family=family, path=path, version=version, launch=_launch())


def _version(path: str) -> str:
    """The first line of what the compiler says of itself; empty when it cannot be run."""
    try:
        done = process.run([path, "--version"], cwd=Path("/"), env=environment(path), timeout=20, cap=8192)
    except OSError:
        return ""
    return "" if done.code != 0 else done.out.decode("utf-8", "replace").partition("\n")[0]


def _launch() -> tuple[str, ...]:
    setarch = shutil.which("setarch")
    if not setarch:
        return ()
    prefix = (setarch, "-R")
    done = process.run([*prefix, "true"], cwd=Path("/"), env=environment(), timeout=20)
    return prefix if done.code == 0 else ()


@cache
def _libc() -> str:
    """The C library's headers are part of every object, but not of any key: their version stands in."""
    name, version = platform.libc_ver()
    return f"{name} {version} {platform.machine()}"


def install_line(family: str) -> str:
    """The command that installs a compiler with its sanitizer runtimes on this system."""
    try:
        release = platform.freedesktop_os_release()
    except OSError:
        release = {}
    like = f"{release.get('ID', '')} {release.get('ID_LIKE', '')}".split()
    clang = family == "clang"
    if "alpine" in like:
        return "Alpine's musl has no sanitizers for gcc: use a Debian or Fedora container"
    if {"fedora", "rhel", "centos"} & set(like):
        packages = "clang compiler-rt" if clang else "gcc libasan libubsan libtsan"
        return f"sudo dnf install {packages}"
    if "arch" in like:
        return f"sudo pacman -S {'clang compiler-rt' if clang else 'gcc'}"
    if {"suse", "opensuse"} & set(like):
        return f"sudo zypper install {'clang' if clang else 'gcc'}"
    packages = "clang llvm" if clang else "gcc libc6-dev"
    return f"sudo apt-get install {packages}"
