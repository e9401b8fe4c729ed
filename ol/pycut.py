"""A Python test as the unit's process may read it: without what stands under `if ol.oracle:`. Pure.

Lines keep their numbers, so that places in messages stay true.
"""

import ast
from collections.abc import Iterator


def unit_part(text: bytes, name: str) -> bytes:
    """The source with `pass` in place of what only the oracle's process may hold. A source that cannot
    be read is returned as it is: the supervisor says what is wrong with it."""
    try:
        tree = ast.parse(text, name)
    except (SyntaxError, ValueError):
        return text
    lines = text.decode("utf-8").split("\n")
    for block in _oracle_parts(tree):
        _blank(lines, block)
    return "\n".join(lines).encode("utf-8")


def _oracle_parts(node: ast.AST) -> Iterator[list[ast.stmt]]:
    """The outermost blocks to be left out."""
    gone: list[ast.stmt] = []
    if isinstance(node, ast.If):
        condition = ast.unparse(node.test)
        if condition == "ol.oracle":
            gone = node.body
        elif condition == "ol.unit":
            gone = node.orelse
    if gone:
        yield gone
    for child in ast.iter_child_nodes(node):
        if child not in gone:
            yield from _oracle_parts(child)


def _blank(lines: list[str], block: list[ast.stmt]) -> None:
    first, last = block[0], block[-1]
    assert last.end_lineno is not None
    assert last.end_col_offset is not None
    decorators = getattr(first, "decorator_list", [])
    at = min([first.lineno, *(d.lineno for d in decorators)]) - 1
    head = lines[at].encode()[: first.col_offset].decode()
    is_elif = isinstance(first, ast.If) and lines[at].encode()[first.col_offset :].startswith(b"elif")
    tail = lines[last.end_lineno - 1].encode()[last.end_col_offset :].decode()
    for k in range(at, last.end_lineno):
        lines[k] = ""
    lines[at] = head + ("else: pass" if is_elif else "pass")
    if last.end_lineno - 1 == at:
        lines[at] += tail
