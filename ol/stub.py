"""Stubs: what `ol start` writes, a unit that compiles without a warning and fails its tests. Pure."""

import ast
import textwrap
from collections.abc import Mapping, Sequence

from ol.contract import Prototype, inherited, prototypes
from ol.manifest import Module, StubEntry

_WIDTH = 100


def c_stub(module: Module, unit: str, headers: Mapping[str, str], rules: StubEntry) -> str:
    """The stub of one C unit: each function of the contract that belongs in it, not done yet."""
    entry = _header_of(module, unit)
    known = prototypes(headers, entry)
    elsewhere = inherited(headers, entry) if len(module.units) > 1 else frozenset()
    names = [name for name in module.defines if name in known and name not in elsewhere]
    lines = [_top(module, unit, entry), f'#include "{entry}"', "", "#include <stddef.h>"]
    for name in names:
        lines += ["", _function(known[name], rules, known)]
    return "\n".join(lines) + "\n"


def _header_of(module: Module, unit: str) -> str:
    """A module with several units has one header for each, by the same name."""
    stem = unit.rpartition("/")[2].removesuffix(".c")
    return next((h for h in module.contract if h.endswith(f"/{stem}.h")), module.contract[0])


def _top(module: Module, unit: str, header: str) -> str:
    read = [
        f"{module.title} ({module.id}).",
        "",
        f"Contract: {header} (shapes, statuses, the order of operations). Rules: c/ABI.md.",
    ]
    if module.reading:
        read.append(f"Read: {module.reading}.")
    read += ["", f"ol tests {module.id}   what is tested, and why", f"ol check {module.id}   the verdict"]
    body = "\n".join(f" * {line}".rstrip() for part in read for line in textwrap.wrap(part, 96) or [""])
    return f"/* {unit.rpartition('/')[2]}\n *\n{body}\n */"


def _function(p: Prototype, rules: StubEntry, known: Mapping[str, Prototype]) -> str:
    body = [f"    (void){name};" for name in p.parameters]
    if rules.status and p.returns == rules.status:
        if rules.set_error in known:
            body.append(f'    {rules.set_error}("{p.name}: not written yet");')
        body.append(f"    return {rules.unsupported};")
    elif p.returns.endswith("*"):
        body.append("    return NULL;")
    elif p.returns != "void":
        body.append(f"    return ({p.returns}){{0}};")
    return "\n".join([f"{_wrapped(p.text)} {{", *body, "}"])


def _wrapped(text: str) -> str:
    """The prototype on lines that break between parameters."""
    head, _, rest = text.partition("(")
    lines = [head + "("]
    for part in rest.split(", "):
        fits = len(lines[-1]) + len(part) + 2 <= _WIDTH
        if fits or lines[-1].endswith("("):
            lines[-1] += part + ", "
        else:
            lines[-1] = lines[-1].rstrip()
            lines.append(" " * (len(head) + 1) + part + ", ")
    return "\n".join(lines).removesuffix(", ")


def python_stub(module: Module, contract: str) -> str:
    """The stub of a Python unit, made from its .pyi: every function and method fails when called."""
    tree = ast.parse(contract)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            doc = [node.body[0]] if ast.get_docstring(node) else []
            node.body = [*doc, ast.parse('raise RuntimeError("not written yet")').body[0]]
    head = [
        f'"""{module.title} ({module.id}).',
        "",
        f"ol tests {module.id}   what is tested, and why",
        f"ol check {module.id}   the verdict",
        '"""',
    ]
    body = [n for n in tree.body if not _is_docstring(n)]
    return "\n".join(head) + "\n\n" + _unparse(body) + "\n"


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _unparse(body: Sequence[ast.stmt]) -> str:
    return "\n\n".join(ast.unparse(ast.fix_missing_locations(node)) for node in body)
