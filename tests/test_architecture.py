"""The rooms of the house: what may import what, who may start a process or exit, and how long it all is."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FLOORS = {
    "pure": [
        *(
            "catalogue_text",
            "compare",
            "contract",
            "csource",
            "csource.*",
            "errors",
            "exits",
            "fate",
            "judge",
        ),
        *("manifest", "operators", "operators.*", "patch", "policy", "policy.*", "pycut"),
        *("reports", "schemata", "schemata.*", "signatures", "stream", "stub", "variants"),
        "verdict",
    ],
    "services": [
        *(
            "build",
            "cgroup",
            "confined",
            "course",
            "kept",
            "landlock",
            "lane",
            "memory",
            "offspring",
            "parallel",
            "process",
            "pysuite",
            "pytree",
            "session",
            "settings",
            "slots",
            "user",
        ),
        *("store", "suite", "testbed", "toolchain", "workspace", "sandbox", "place", "gate", "landlock"),
    ],
    "use cases": ["*"],
    "renderers": ["report", "report.*"],
    "commands": ["commands", "commands.*"],
    "cli": ["cli"],
}
ORDER = list(FLOORS)
WORLDLY = {
    "os",
    "subprocess",
    "sys",
    "shutil",
    "tempfile",
    "sqlite3",
    "threading",
    "time",
    "socket",
    "signal",
}
LONGEST_FILE, LONGEST_FUNCTION = 280, 45


@cache
def trees() -> dict[str, ast.Module]:
    found = {}
    for path in sorted((ROOT / "ol").rglob("*.py")):
        parts = path.relative_to(ROOT / "ol").with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found[name] = ast.parse(path.read_text())
    return found


def floor(module: str) -> str:
    """The first floor whose patterns match, those with a wild card for all last."""
    named = [f for f in FLOORS if any(p != "*" and fnmatchcase(module, p) for p in FLOORS[f])]
    return named[0] if named else "use cases"


def imports(module: str, *, for_types: bool = False) -> set[str]:
    """All that a module imports, in functions too; what only a type checker reads when asked for."""
    found: set[str] = set()
    for node in nodes(trees()[module], for_types):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"ol.{module}: imports are absolute"
            whole = {f"{node.module}.{alias.name}" for alias in node.names}
            submodules = {w for w in whole if w.removeprefix("ol.") in trees() and w.startswith("ol.")}
            found |= submodules or {str(node.module)}
    return found


def nodes(tree: ast.AST, for_types: bool) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING" and not for_types:
            continue
        yield child
        yield from nodes(child, for_types)


def own(module: str, **how: bool) -> set[str]:
    names = {i.removeprefix("ol.") for i in imports(module, **how) if i.startswith("ol.")}
    return {n for n in names if n in trees()} - {module}


def test_no_module_imports_itself_by_a_detour() -> None:
    list(TopologicalSorter({m: own(m) for m in trees()}).static_order())


def test_a_module_imports_only_from_its_own_floor_and_those_below() -> None:
    wrong = [
        f"{module} ({floor(module)}) imports {other} ({floor(other)})"
        for module in trees()
        if module
        for other in own(module)
        if ORDER.index(floor(other)) > ORDER.index(floor(module))
    ]
    assert wrong == []


def test_pure_modules_know_nothing_of_the_machine() -> None:
    pure = [m for m in trees() if floor(m) == "pure"]
    assert len(pure) > 20
    wrong = {m: sorted(imports(m) & WORLDLY) for m in pure if imports(m) & WORLDLY}
    assert wrong == {}


def test_renderers_know_nothing_of_the_machine_but_for_the_screen() -> None:
    renderers = [m for m in trees() if floor(m) == "renderers" and m != "report.screen"]
    wrong = {m: sorted(imports(m) & WORLDLY) for m in renderers if imports(m) & WORLDLY}
    assert wrong == {}


def test_only_one_module_starts_processes() -> None:
    starters = [m for m in trees() if imports(m) & {"subprocess", "multiprocessing", "pty"}]
    assert starters == ["process"]
    calls = {m: used(m, "os", ("system", "fork", "popen", "spawn", "execv", "execvp")) for m in trees()}
    assert {m: c for m, c in calls.items() if c} == {"process": {"execv"}}


def used(module: str, name: str, attributes: tuple[str, ...]) -> set[str]:
    return {
        node.attr
        for node in ast.walk(trees()[module])
        if isinstance(node, ast.Attribute)
        and node.attr.startswith(attributes)
        and isinstance(node.value, ast.Name)
        and node.value.id == name
    }


def test_only_the_command_line_exits() -> None:
    exits = [m for m in trees() if used(m, "sys", ("exit",)) or used(m, "os", ("_exit", "abort"))]
    assert exits == ["cli"]
    raised = [
        m
        for m, tree in trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and node.id in ("SystemExit", "exit", "quit")
    ]
    assert raised == []


def test_nothing_below_the_commands_reads_the_environment_but_settings_and_the_screen() -> None:
    readers = {m for m in trees() if used(m, "os", ("environ", "getenv")) and floor(m) != "commands"}
    assert readers == {"settings", "report.screen"}


def test_only_the_screen_prints() -> None:
    printing = {
        m
        for m, tree in trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    }
    writing = {m for m in trees() if used(m, "sys", ("stdout", "stderr"))}
    assert printing == set()
    assert {m for m in writing if floor(m) not in ("commands", "renderers")} == set()


def test_files_are_short_enough_to_read() -> None:
    lengths = {p: len(p.read_text().splitlines()) for p in (ROOT / "ol").rglob("*.py")}
    assert {p.name: n for p, n in lengths.items() if n > LONGEST_FILE} == {}


def test_functions_are_short_enough_to_read() -> None:
    long = {
        f"{module}.{node.name}": length(node)
        for module, tree in trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and length(node) > LONGEST_FUNCTION
    }
    assert long == {}


def length(function: ast.FunctionDef) -> int:
    """In lines, without the signature and the docstring."""
    first = function.body[bool(ast.get_docstring(function)) and len(function.body) > 1]
    return (function.end_lineno or first.lineno) - first.lineno + 1


def test_the_kit_is_short_enough_to_read() -> None:
    kit = ROOT / "course" / "testkit"
    lengths = {
        p.name: len(p.read_text().splitlines()) for p in kit.iterdir() if p.suffix in (".c", ".h", ".py")
    }
    assert {name: n for name, n in lengths.items() if n > 400} == {}


@pytest.mark.parametrize(
    "heavy", ["numpy", "msgspec", "rich", "pycparser", "sqlite3", "pathlib", "difflib"]
)
def test_a_command_line_is_parsed_without(heavy: str) -> None:
    code = "import sys, ol.cli, ol.commands.group; print(*sys.modules, sep='\\n')"
    assert heavy not in loaded(code)


@cache
def loaded(code: str) -> frozenset[str]:
    done = subprocess.run([sys.executable, "-S", "-c", path() + code], capture_output=True, check=True)
    return frozenset(done.stdout.decode().split())


def path() -> str:
    return f"import sys; sys.path[:] = {sys.path!r}; "
