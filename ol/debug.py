"""`ol debug`: one test and one unit in one program, for a debugger. No policy, no sandbox, no verdict."""

import shutil
from dataclasses import dataclass
from pathlib import Path

from ol.build import Built, CompileError
from ol.check import Bench, chosen_tests, resolve
from ol.errors import ToolError
from ol.exits import Exit
from ol.manifest import Language, Module, TestEntry
from ol.toolchain import Sanitizer

DEBUGGERS = ("gdb", "lldb")


@dataclass(frozen=True, kw_only=True)
class Session:
    """`command` runs the program under a debugger, `plain` without one."""

    command: tuple[str, ...]
    plain: tuple[str, ...]
    folder: Path


def prepare(bench: Bench, module: Module, name: str, *, ref_deps: bool, seed: int) -> Session:
    """Builds the program. Raises ToolError with exit 4 when the unit does not compile."""
    test = next(iter(chosen_tests(module, name)))
    if test.language is Language.PYTHON or module.language is Language.PYTHON:
        raise ToolError(
            f"{test.id} is a Python test, which runs under no debugger for C",
            next_step=f"put print() where you want to look, then: ol check {module.id} -k {test.name}",
            code=Exit.USAGE,
        )
    try:
        program = _program(bench, module, ref_deps=ref_deps)
    except CompileError as error:
        raise ToolError(
            "the unit does not compile",
            where=error.diagnostics.strip()[:2000],
            next_step=f"correct the first error, then: ol debug {module.id} {name}",
            code=Exit.UNBUILDABLE,
        ) from None
    plain = (str(program.path), test.name, str(seed))
    return Session(command=_debugger(test, plain), plain=plain, folder=bench.workspace.root)


def _program(bench: Bench, module: Module, *, ref_deps: bool) -> Built:
    builder = bench.builder
    sources = bench.workspace.submission(module)
    dependencies = resolve(bench, module, ref_deps=ref_deps, progress=lambda what, done, total: None)
    # The oracles' modules too: what an unoptimised test names must be there, called or not.
    linked = [m for m in builder.course.oracles(module) if m.language is Language.C]
    objects = [builder.unit(dependencies[m.id], Sanitizer.DEBUG) for m in linked]
    return builder.debug_program(module, sources, objects, bench.workspace.root)


def _debugger(test: TestEntry, plain: tuple[str, ...]) -> tuple[str, ...]:
    found = next((path for name in DEBUGGERS if (path := shutil.which(name))), None)
    if found is None:
        return ()
    if found.endswith("lldb"):
        return (found, "-o", f"breakpoint set -n ol_body_{test.name}", "-o", "run", "--", *plain)
    return (found, "-q", "-ex", f"break ol_body_{test.name}", "-ex", "run", "--args", *plain)
