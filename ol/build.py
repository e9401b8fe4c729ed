"""Objects from sources, in a content-addressed cache.

A key is the digest of the sources, the headers of the course, the flags and the compiler; equal keys are
equal objects, so what is in the cache is never built again. An object appears under its name in one
step, complete; several runs may share a cache.
"""

import errno
import hashlib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from pathlib import Path

from ol import process
from ol.confined import confined, keep, work_folder
from ol.course import Course
from ol.errors import ToolError
from ol.exits import Exit
from ol.manifest import Module
from ol.sandbox import COMPILING, OUTSIDE, Sandbox
from ol.toolchain import Sanitizer, Toolchain, environment, install_line

COMPILE_SECONDS = 60.0
_SUPERVISOR = (
    *("supervisor.c", "child.c", "watch.c", "stuck.c"),
    *("threads.c", "tree.c", "tidy.c", "baseline.c", "bind.c"),
)
_NO_RUNTIME = ("cannot find -l", "libclang_rt", "libasan", "libtsan", "libubsan", "liblsan")
_NO_OPTION = re.compile(r"^(?:[^:\n]+: )?error: un\w+ .*-fsanitize=", re.MULTILINE)
_DISK = (
    *(errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS, errno.EACCES, errno.EPERM),
    *(errno.ENOTDIR, errno.EEXIST, errno.ELOOP, errno.ENAMETOOLONG),
)


class Role(StrEnum):
    UNIT = "UNIT"
    ORACLE = "ORACLE"


class CompileError(Exception):
    """The compiler refused a source; `diagnostics` is what it said."""

    def __init__(self, diagnostics: str):
        super().__init__(diagnostics.partition("\n")[0])
        self.diagnostics = diagnostics


@dataclass(frozen=True, kw_only=True)
class Built:
    key: str
    """Digest of all that it was made from."""
    path: Path


@contextmanager
def disk_errors(folder: Path) -> Iterator[None]:
    """Turns a full or read-only disk into a ToolError that says so."""
    try:
        yield
    except OSError as error:
        if error.errno not in _DISK:
            raise
        raise ToolError(
            f"cannot write to the cache: {error.strerror}",
            where=str(folder),
            next_step="free some space, or name another folder: OL_CACHE=DIR",
        ) from None


@dataclass(frozen=True)
class Builder:
    course: Course
    toolchain: Toolchain
    cache: Path
    """Folder of the cache; it is made when something is built."""
    sandbox: Sandbox = OUTSIDE
    """Where units are compiled and run."""

    @property
    def objects(self) -> Path:
        return self.cache / "objects"

    @cached_property
    def _headers(self) -> str:
        digest = hashlib.blake2b(digest_size=16)
        folders = (self.course.include, self.course.testkit)
        for path in sorted(p for folder in folders for p in folder.rglob("*.[ch]")):
            digest.update(path.name.encode() + b"\0")
            digest.update(path.read_bytes() + b"\0")
        return digest.hexdigest()

    @property
    def flags(self) -> tuple[str, ...]:
        """What every compilation of a unit or a test of the course is given."""
        return (
            *self.course.entry.c_flags,
            "-Werror=implicit-function-declaration",
            f"-I{self.course.include}",
            "-fmax-errors=20" if self.toolchain.family == "gcc" else "-ferror-limit=20",
        )

    def supervisor(self, sanitizer: Sanitizer) -> Built:
        sources = {name: (self.course.testkit / name).read_bytes() for name in _SUPERVISOR}
        shown = ("-fvisibility=hidden", "-rdynamic")  # to libraries, what says so itself
        extra = (f"-I{self.course.testkit}", *shown, "-ldl")
        return self._make("supervisor", sources, (*sanitizer.flags, *extra), "")

    def suite(self, module: Module, role: Role, sanitizer: Sanitizer) -> Built:
        """The C tests of a module for one role. Raises ToolError when they do not compile."""
        sources = {"kit.c": (self.course.testkit / "kit.c").read_bytes()}
        sources |= {p.name: p.read_bytes() for p in sorted(self.course.tests(module).glob("*.[ch]"))}
        extra = (f"-I{self.course.testkit}", f"-DOL_ROLE_{role}", "-fvisibility=hidden")
        return self._make("suite", sources, (*sanitizer.flags, *extra, *_SHARED), ".so")

    def unit(self, sources: Mapping[str, bytes], sanitizer: Sanitizer) -> Built:
        """One unit as a shared object, compiled against its contract's headers. `sources` maps a path
        in the tree to its bytes.

        Raises CompileError with the compiler's words when it does not compile.
        """
        held = self.held(next(iter(sources)))
        return self._make("unit", sources, (*sanitizer.flags, *held, *_SHARED), ".so")

    def mutants(self, sources: Mapping[str, bytes], sanitizer: Sanitizer) -> Built:
        """A unit that holds its mutants, as `unit` builds it but without symbols, which take a quarter of
        the time: nobody asks where such a unit failed. Raises CompileError."""
        held = self.held(next(iter(sources)))
        return self._make("unit", sources, (*sanitizer.flags, "-g0", *held, *_SHARED), ".so")

    def held(self, path: str) -> tuple[str, ...]:
        """The flags that hold a unit against its contract."""
        headers = [h for h in self.course.contract_of(path) if h.endswith(".h")]
        return tuple(flag for header in headers for flag in ("-include", header))

    def probe(self, sources: Mapping[str, bytes]) -> Built:
        """A unit that watches its own mutants: no sanitizers, and overflow wraps. Raises CompileError."""
        flags = ("-O1", "-g0", "-fwrapv", "-w", *self.held(next(iter(sources))), *_SHARED)
        return self._make("unit", sources, flags, ".so")

    def strictly(self, sources: Mapping[str, bytes]) -> Built:
        """The unit without a single warning, or CompileError."""
        flags = (*Sanitizer.NONE.flags, "-pedantic", "-Wall", "-Wextra", "-Werror")
        return self._make("unit", sources, (*flags, *_SHARED), ".so")

    def debug_program(
        self, module: Module, sources: Mapping[str, bytes], linked: Sequence[Built], tree: Path
    ) -> Built:
        """The tests in the unit role and the unit as one unoptimised program over the objects in
        `linked`. A debugger finds the unit's source in `tree`. Raises CompileError."""
        kit = ("kit.c", "debug_main.c")
        whole = dict(sources) | {n: (self.course.testkit / n).read_bytes() for n in kit}
        whole |= {p.name: p.read_bytes() for p in sorted(self.course.tests(module).glob("*.[ch]"))}
        mapped = f"-fdebug-prefix-map=c/={tree}{os.sep}c{os.sep}"
        role = (f"-I{self.course.testkit}", f"-DOL_ROLE_{Role.UNIT}", "-rdynamic")
        flags = (*Sanitizer.DEBUG.flags, *role, mapped, *(f"-l:{b.path.name}" for b in linked))
        place = (f"-L{self.objects}", f"-Wl,-rpath,{self.objects}", "-Wl,--no-as-needed")
        return self._make("program", whole, (*flags, *place, "-ldl"), "")

    def reference_sources(self, module: Module) -> dict[str, bytes]:
        try:
            return {unit: self.course.reference(unit).read_bytes() for unit in module.units}
        except OSError as error:
            raise ToolError(
                f"the reference of {module.id} cannot be read: {error.strerror}",
                where=str(error.filename),
                next_step="restore the file from the course's repository",
            ) from None

    def key(self, sources: Mapping[str, bytes], flags: tuple[str, ...]) -> str:
        digest = hashlib.blake2b(digest_size=16)
        places = (str(self.course.testkit), str(self.course.root))
        shown = [_without(f, places) for f in (*self.flags, *flags)]
        for part in (self.toolchain.identity, self._headers, *shown):
            digest.update(part.encode() + b"\0")
        for name, text in sources.items():
            digest.update(name.encode() + b"\0" + len(text).to_bytes(8, "little") + text)
        return digest.hexdigest()

    def _make(self, what: str, sources: Mapping[str, bytes], flags: tuple[str, ...], suffix: str) -> Built:
        seen = (self.sandbox.kind,) if what == "unit" and self.sandbox.kind != OUTSIDE.kind else ()
        key = self.key(sources, (*flags, *seen))  # what a compiler may read depends on where it runs
        path = self.objects / f"{key}{suffix}"
        if path.is_file():
            return Built(key=key, path=path)
        with disk_errors(self.cache):
            self.objects.mkdir(parents=True, exist_ok=True)
            with work_folder(self.sandbox if what == "unit" else OUTSIDE, self.cache) as work:
                keep(self._compile(what, work, sources, flags), path)
        return Built(key=key, path=path)

    def _compile(self, what: str, work: Path, sources: Mapping[str, bytes], flags: tuple[str, ...]) -> Path:
        for name, text in sources.items():
            target = work / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(text)
        made = work / "made"
        mapped = f"-ffile-prefix-map={work}=."
        libraries = [f for f in flags if f.startswith("-l")]
        argv = [self.toolchain.path, *self.flags, *(f for f in flags if f not in libraries)]
        compiled = [name for name in sources if not name.endswith(".h")]
        argv += [mapped, "-o", str(made), *compiled, *libraries, "-lm"]
        env = environment(self.toolchain.path) | {"TMPDIR": str(work)}
        if what == "unit":
            argv = confined(self.sandbox, argv, work, self.course.include)
        with (self.sandbox if what == "unit" else OUTSIDE).group(COMPILING.address_mb) as group:
            done = process.run(group.command(argv), cwd=work, env=env, timeout=COMPILE_SECONDS)
            ran_out = group.ran_out()
        if done.code == 0 and made.is_file() and not made.is_symlink():
            return made
        said = done.err.decode("utf-8", "replace").replace(str(work) + os.sep, "")
        if ran_out:
            said = f"out of memory: the compiler used more than {group.memory_mb} MB\n{said}"
        raise self._refusal(what, said, timed_out=done.timed_out)

    def _refusal(self, what: str, said: str, *, timed_out: bool) -> Exception:
        if "No space left on device" in said:
            return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        if timed_out:
            said = f"the compiler was still running after {COMPILE_SECONDS:.0f} s\n{said}"
        no_runtime = "error:" not in said.partition("ld:")[0] and any(t in said for t in _NO_RUNTIME)
        if no_runtime or _NO_OPTION.search(said):
            return ToolError(
                f"{self.toolchain.family} cannot link with sanitizers on this machine",
                where=said.strip()[:1000],
                next_step=f"install the runtimes: {install_line(self.toolchain.family)}",
                code=Exit.NO_TOOLCHAIN,
            )
        if what in ("unit", "program"):
            return CompileError(said)
        return ToolError(
            f"the {what} of the course does not compile",
            where=said.strip()[:4000],
            next_step="correct the course's source; `ol audit` shows whether it holds again",
        )


_SHARED = ("-shared", "-fPIC", "-Wl,-z,lazy")


def _without(flag: str, places: tuple[str, ...]) -> str:
    """A flag that does not depend on where the course lies, for a key."""
    for place in places:
        flag = flag.replace(place, "")
    return flag
