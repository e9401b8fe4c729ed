"""What the source of a Python unit may not hold. Pure: the source is read, never run.

A filter in front of sandbox, limits and judge, not a boundary: whoever wants to gets around it, and gains
nothing. It keeps honest units to what the module is about and tells of it in words.
"""

import ast
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from ol.policy import python_names as names
from ol.policy.refusal import Refusal, Rule

MOST_BYTES = 1 << 18
_MOST = 20
_Scope = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


def check_python(text: bytes, name: str = "", *, may_import: Collection[str] = ()) -> tuple[Refusal, ...]:
    """The refusals of one source in the order of their lines; each finding once, at most 20.

    `may_import` are the modules that the catalogue allows beside those of every unit. Raises SyntaxError or
    ValueError for a source that is no Python.
    """
    if len(text) > MOST_BYTES:
        return (_refusal(Rule.SIZE, f"{len(text):,} bytes", f"keep it under {MOST_BYTES:,} bytes", name),)
    try:
        tree = ast.parse(text)
    except (RecursionError, MemoryError):
        deep = "write it in several statements"
        return (_refusal(Rule.SIZE, "an expression nested too deeply", deep, name),)
    every: list[Refusal] = []
    modules, more = _modules(tree), frozenset(may_import)
    for place in _places(tree):
        for rule, said, instead in _found(place, modules, more):
            line, column = getattr(place.node, "lineno", 0), getattr(place.node, "col_offset", 0) + 1
            every.append(_refusal(rule, said, instead, name, line, column))
    found: dict[tuple[Rule, str], Refusal] = {}
    for one in sorted(every, key=lambda r: (r.line, r.column)):
        found.setdefault((one.rule, one.found), one)
    return tuple(found.values())[:_MOST]


def _refusal(rule: Rule, said: str, instead: str, file: str, line: int = 1, column: int = 1) -> Refusal:
    return Refusal(rule=rule, found=said, instead=instead, file=file, line=line, column=column)


@dataclass(frozen=True)
class _Place:
    """A node, the names that are local to the functions around it, and whether it is only a type."""

    node: ast.AST
    local: frozenset[str]
    is_type: bool


def _places(tree: ast.AST) -> Iterator[_Place]:
    """All nodes, without recursion: a unit may be nested as deeply as it likes."""
    todo = [_Place(tree, frozenset(), False)]
    while todo:
        place = todo.pop()
        yield place
        node = place.node
        for field, value in ast.iter_fields(node):
            is_type = place.is_type or field in ("annotation", "returns")
            inside = isinstance(node, _Scope) and field == "body"  # a default is made outside
            local = place.local | _locals(node) if inside else place.local
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    todo.append(_Place(child, local, is_type))


def _locals(function: ast.AST) -> frozenset[str]:
    """The names that can only be the function's own wherever they stand in it."""
    bound, elsewhere = set(), set()
    todo = list(ast.iter_child_nodes(function))
    while todo:
        node = todo.pop()
        if isinstance(node, ast.arg):
            bound.add(node.arg)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            bound.add(node.id)
        elif isinstance(node, ast.Global | ast.Nonlocal):
            elsewhere |= set(node.names)
        if not isinstance(node, _Scope | ast.ClassDef):
            todo += ast.iter_child_nodes(node)
    return frozenset(bound - elsewhere)


def _modules(tree: ast.Module) -> dict[str, str]:
    """What imported names stand for."""
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name.partition(".")[0]
                found[alias.asname or top] = alias.name if alias.asname else top
        elif isinstance(node, ast.ImportFrom):
            found |= {a.asname or a.name: f"{node.module}.{a.name}" for a in node.names}
    return found


Found = Iterator[tuple[Rule, str, str]]


def _found(place: _Place, modules: dict[str, str], more: frozenset[str]) -> Found:
    match place.node:
        case ast.Import(names=aliases):
            for alias in aliases:
                yield from _import(alias.name, more)
        case ast.ImportFrom(module=module, names=aliases, level=level):
            yield from _import("." * level + (module or ""), more)
            for alias in aliases:
                yield from _member(module or "", alias.name)
        case ast.Name(id=name) if name not in place.local:
            yield from _name(name, place.is_type)
        case ast.Attribute(value=owner, attr=attribute, ctx=context):
            yield from _attribute(attribute, place.is_type)
            if isinstance(owner, ast.Name) and owner.id in modules and owner.id not in place.local:
                yield from _member(modules[owner.id], attribute)
            root = _root(owner)
            if not isinstance(context, ast.Load) and root in modules and root not in place.local:
                yield Rule.PATCHING, f"{ast.unparse(place.node)} is changed", names.PATCHING
        case ast.MatchClass(kwd_attrs=attributes):
            for attribute in attributes:
                yield from _attribute(attribute, place.is_type)
        case ast.Call(func=ast.Name(id="getattr" | "setattr" | "delattr" as call), args=[_, asked, *_]):
            if not (isinstance(asked, ast.Constant) and isinstance(asked.value, str)):
                yield Rule.REFLECTION, f"{call} of a name that is computed", names.COMPUTED
            else:
                yield from _attribute(asked.value, place.is_type)
        case ast.Call(func=ast.Name(id="getattr" | "setattr" | "delattr" as call)):
            yield Rule.REFLECTION, f"{call} of a name that is computed", names.COMPUTED


def _import(module: str, more: frozenset[str]) -> Found:
    if module not in names.MODULES and module not in more:
        yield Rule.IMPORT, f"import of {module}", names.instead_of(module, more)


def _member(module: str, name: str) -> Found:
    """What stands in an allowed module and is none of a unit's business."""
    if name in names.FILES.get(module, ()):
        yield Rule.FILES, f"{module}.{name}", names.DATA
    elif name in names.BEYOND.get(module, ()) or (name.startswith("_") and not _is_dunder(name)):
        yield Rule.REFLECTION, f"{module}.{name}", names.PRIVATE
    else:
        yield from _attribute(name, module == "ctypes")  # what it is used for is seen where it stands


def _name(name: str, is_type: bool) -> Found:
    if name in names.FILES_BY_NAME:
        yield Rule.FILES, name, names.DATA
    elif name in names.REFLECTION or (_is_dunder(name) and name not in names.DUNDER_NAMES):
        yield Rule.REFLECTION, name, names.REFLECTION.get(name, names.PRIVATE)
    elif name in names.LIBRARIES and not is_type:
        yield Rule.REFLECTION, name, names.LIBRARY


def _attribute(name: str, is_type: bool) -> Found:
    if name in names.LIBRARIES and not is_type:
        yield Rule.REFLECTION, f".{name}", names.LIBRARY
    elif name in names.INSIDES or (_is_dunder(name) and name not in names.DUNDER_ATTRIBUTES):
        yield Rule.REFLECTION, f".{name}", names.PRIVATE
    elif name in names.FILES_BY_ATTRIBUTE:
        yield Rule.FILES, f".{name}", names.DATA


def _is_dunder(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def _root(node: ast.AST) -> str:
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""
