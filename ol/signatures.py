"""A Python unit's signatures against its .pyi. Pure: the source is read, never run.

What is bound in a way that reading cannot follow (an alias, a decorator, a name made at run time) is left
to the tests; only a definition that is there and differs, or a name that is nowhere bound, is refused.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

Definition = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, kw_only=True)
class Mismatch:
    """`name` as in "PagedKVCache.append"; `line` is the student's, 0 where there is nothing."""

    name: str
    wanted: str
    found: str = ""
    line: int = 0


def mismatches(contract: str, source: str) -> list[Mismatch]:
    """Where `source` does not have what `contract` declares. Raises SyntaxError for a source that is no
    Python."""
    return list(_compare("", ast.parse(contract).body, ast.parse(source).body))


def _compare(prefix: str, wanted: list[ast.stmt], body: list[ast.stmt]) -> Iterator[Mismatch]:
    bound = {name: node for node in body for name in _binds(node)}
    starred = any(isinstance(n, ast.ImportFrom) and n.names[0].name == "*" for n in body)
    for node in wanted:
        if not isinstance(node, Definition | ast.ClassDef):
            continue
        name = f"{prefix}{node.name}"
        found = bound.get(node.name)
        if found is None:
            if not starred and not prefix:
                yield Mismatch(name=name, wanted=_shown(node))
        elif isinstance(node, ast.ClassDef):
            if isinstance(found, ast.ClassDef) and not prefix:
                yield from _compare(f"{name}.", node.body, found.body)
        elif isinstance(found, Definition) and not _fits(node, found):
            yield Mismatch(name=name, wanted=_shown(node), found=_shown(found), line=found.lineno)


def _binds(node: ast.stmt) -> list[str]:
    """The names that a statement binds, as far as they are written out; of a compound one, all inside."""
    if isinstance(node, Definition | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.Import | ast.ImportFrom):
        return [a.asname or a.name.split(".")[0] for a in node.names]
    inner = ast.walk(node)
    names = [n.id for n in inner if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    defined = [n.name for n in ast.walk(node) if isinstance(n, Definition | ast.ClassDef)]
    return names + defined


def _fits(wanted: Definition, found: Definition) -> bool:
    """Whether every call that the contract allows is one that the student's definition takes. What is
    always given by position may have another name; what has a default is given by its name as well."""
    if found.decorator_list and not wanted.decorator_list:
        return True
    mine, theirs = found.args, wanted.args
    names, own = _positional(theirs), _positional(mine)
    by_position = len(names) - len(theirs.defaults)
    enough = len(own) >= len(names) or mine.vararg is not None
    not_too_many = len(own) - len(mine.defaults) <= by_position
    named = names[by_position:] == own[by_position : len(names)] or mine.kwarg is not None
    given = {a.arg for a in theirs.kwonlyargs}
    taken = {a.arg for a in mine.kwonlyargs} | set(own[len(names) :])
    needed = {a.arg for a, d in zip(mine.kwonlyargs, mine.kw_defaults, strict=True) if d is None}
    return (
        enough and not_too_many and named and needed <= given and (given <= taken or mine.kwarg is not None)
    )


def _positional(arguments: ast.arguments) -> list[str]:
    return [a.arg for a in [*arguments.posonlyargs, *arguments.args]]


def _shown(node: Definition | ast.ClassDef) -> str:
    if isinstance(node, ast.ClassDef):
        return f"class {node.name}"
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    return f"def {node.name}({ast.unparse(node.args)}){returns}"
