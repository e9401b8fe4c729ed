"""`ol debug`: one test and one unit in one program, for a debugger. No policy, no sandbox, no verdict."""

import shutil
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from ol.build import Built
from ol.check import Bench, chosen_tests, resolve
from ol.errors import ToolError
from ol.exits import Exit
from ol.manifest import Language, Module, TestEntry

DEBUGGERS = ("gdb", "lldb")


@dataclass(frozen=True, kw_only=True)
class Session:
    """`command` runs the program under a debugger, `plain` without one."""

    command: tuple[str, ...]
    plain: tuple[str, ...]
    folder: Path


def prepare(bench: Bench, module: Module, name: str, *, ref_deps: bool, seed: int) -> Session:
    """Builds the program. Raises CompileError when the unit does not compile."""
    test = next(iter(chosen_tests(module, name)))
    if test.language is Language.PYTHON or module.language is Language.PYTHON:
        raise ToolError(
            f"{test.id} is a Python test, which runs under no debugger for C",
            next_step=f"put print() where you want to look, then: ol check {module.id} -k {test.name}",
            code=Exit.USAGE,
        )
    program = _program(bench, module, ref_deps=ref_deps)
    plain = (str(program.path), test.name, str(seed))
    return Session(command=_debugger(test, plain), plain=plain, folder=bench.workspace.root)


def _program(bench: Bench, module: Module, *, ref_deps: bool) -> Built:
    builder = bench.builder
    quiet = partial(lambda what, done, total: None)
    sources = dict(bench.workspace.submission(module))
    dependencies = resolve(bench, module, ref_deps=ref_deps, progress=quiet)
    for linked in builder.course.linked(module):
        if linked.language is Language.C:
            sources |= dependencies[linked.id]
    return builder.debug_program(module, sources, bench.workspace.root)


def _debugger(test: TestEntry, plain: tuple[str, ...]) -> tuple[str, ...]:
    found = next((path for name in DEBUGGERS if (path := shutil.which(name))), None)
    if found is None:
        return ()
    if found.endswith("lldb"):
        return (found, "-o", f"breakpoint set -n ol_body_{test.name}", "-o", "run", "--", *plain)
    return (found, "-q", "-ex", f"break ol_body_{test.name}", "-ex", "run", "--args", *plain)
