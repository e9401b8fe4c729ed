"""Contracts: the prototypes that a unit must define, read from the course's headers. Pure.

pycparser reads the headers; it never decides a verdict. What the compiler accepts against the
force-included header is right, whatever this module can show.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from pycparser import c_ast, c_generator, c_parser

_LIBC = (
    "int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t size_t ptrdiff_t intptr_t "
    "uintptr_t bool"
)
_PRELUDE = "".join(f"typedef int {name};" for name in _LIBC.split())
_DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", re.MULTILINE)
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class Prototype:
    name: str
    text: str
    """On one line, without the semicolon."""
    returns: str
    parameters: tuple[str, ...]


def prototypes(headers: Mapping[str, str], entry: str) -> dict[str, Prototype]:
    """The functions that the header `entry` and those it includes declare, by name.

    `headers` maps an include name such as "tinyllm/abi.h" to its text.
    """
    text = _COMMENT.sub(" ", _flatten(headers, entry, set()))
    tree = c_parser.CParser().parse(_PRELUDE + _DIRECTIVE.sub("", text))
    writer = c_generator.CGenerator()
    found = {}
    for node in tree.ext:
        if isinstance(node, c_ast.Decl) and isinstance(node.type, c_ast.FuncDecl):
            found[node.name] = _prototype(node, writer)
    return found


def inherited(headers: Mapping[str, str], entry: str) -> frozenset[str]:
    """The functions that the header `entry` has from those that it includes."""
    included = [name for name in _INCLUDE.findall(headers[entry]) if name in headers]
    return frozenset(function for name in included for function in prototypes(headers, name))


def _flatten(headers: Mapping[str, str], name: str, seen: set[str]) -> str:
    if name in seen or name not in headers:
        return ""
    seen.add(name)
    text = headers[name]
    included = "".join(_flatten(headers, other, seen) for other in _INCLUDE.findall(text))
    return included + text + "\n"


def _prototype(node: c_ast.Decl, writer: c_generator.CGenerator) -> Prototype:
    arguments = node.type.args.params if node.type.args else []
    names = tuple(a.name for a in arguments if getattr(a, "name", None))
    return Prototype(
        name=node.name,
        text=" ".join(writer.visit(node).split()),
        returns=" ".join(writer.visit(node.type.type).split()),
        parameters=names,
    )


def written(source: str, name: str) -> str:
    """What a student's source has for the function `name`, up to its body; empty when it has nothing."""
    text = _COMMENT.sub(" ", source)
    found = re.search(rf"^[^\n;{{}}#]*\b{re.escape(name)}\s*\([^;{{}}]*\)\s*\{{", text, re.MULTILINE)
    return " ".join(found.group()[:-1].split()) if found else ""
