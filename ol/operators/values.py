"""Constants and the values that are handed on: arguments, results, indices, bounds of loops."""

import re
from collections.abc import Iterator

from pycparser import c_ast

from ol.csource.libc import OTHER_BOUND, VALUES
from ol.csource.tokens import Kind as TokenKind
from ol.csource.types import Kind, of_number
from ol.operators import repeats
from ol.operators.body import Body, Expression, Place, Role
from ol.operators.change import compared, of_operand, of_swap
from ol.operators.edit import Edit
from ol.operators.swap import is_truth

_SUFFIX = re.compile(r"[uUlL]*$")


def constant(body: Body) -> Iterator[Edit]:
    """One more, one less, 0, and for named bounds the other bound. Types and suffixes stay. In a comparison
    it makes a difference where that one comes out differently."""
    covered, comparisons = repeats.constants(body), compared(body)
    for spot in body.expressions:
        if id(spot.node) in body.nulls:
            continue
        for replacement in _neighbours(body, spot, covered.get(id(spot.node), set())):
            comparison = comparisons.get(id(spot.node))
            change = of_operand(body, comparison, spot.node, replacement) if comparison else ""
            yield body.replace(spot, replacement, "constant", change)


def _neighbours(body: Body, spot: Expression, covered: set[int]) -> Iterator[str]:
    node = spot.node
    if isinstance(node, c_ast.Constant) and node.type not in ("string", "char"):
        text = body.source.tokens[spot.first].text
        is_number = re.match(r"[.\d]", text)
        yield from _near_number(text, covered) if is_number else _near_name(body, spot, text, covered)
    elif isinstance(node, c_ast.Constant) and node.type == "char":
        text = body.bare(spot)
        yield from ("1",) if text == r"'\0'" else (f"({text} + 1)", f"({text} - 1)", r"'\0'")
    elif isinstance(node, c_ast.ID) and _is_constant(body, node.name, spot):
        yield from _near_name(body, spot, body.bare(spot), covered)


def _is_constant(body: Body, name: str, spot: Expression) -> bool:
    env = body.source.environment
    if any(name in scope for scope in env.scopes) or not spot.type.is_arithmetic or name == "errno":
        return False
    if body.source.tokens[spot.first].kind is not TokenKind.NAME:
        return False
    return name in env.enumerators or name in VALUES or name in env.macros


def _near_number(text: str, covered: set[int]) -> Iterator[str]:
    if of_number(text).kind is Kind.FLOATING:
        yield from _near_float(text)
        return
    text = text.replace("'", "")
    digits = _SUFFIX.sub("", text)
    suffix = text[len(digits) :]
    is_octal = digits[0] == "0" and digits.isdigit()
    try:
        value = int(digits, 8 if is_octal else 0)
    except ValueError:
        return
    own = of_number(text)
    for near in sorted({value + 1, value - 1, 0} - {value} - covered):
        shown = _spelled(near, digits, suffix)
        if near < 0:
            yield f"({shown})"
        elif of_number(shown) == own:
            yield shown


def _spelled(value: int, like: str, suffix: str) -> str:
    if value > 9 and like[:2] in ("0x", "0X"):
        body = f"{value:x}" if like[2:] == like[2:].lower() else f"{value:X}"
        return f"{like[:2]}{body.rjust(len(like) - 2, '0')}{suffix}"
    return f"{value}{suffix}"


def _near_float(text: str) -> Iterator[str]:
    suffix = text[-1] if text[-1] in "fFlL" else ""
    try:
        bare = (
            text.rstrip("fFlL")
            if not text.lower().startswith("0x") or suffix in "lL" or "p" in text
            else text
        )
        value = float.fromhex(bare) if text.lower().startswith("0x") else float(bare)
    except ValueError:
        return
    if value != 0:
        yield f"0.0{suffix}"
    if value == int(value) and abs(value) < 1e6 and "x" not in text.lower():
        yield f"{value + 1:.1f}{suffix}"
        if value != 1:
            yield f"({value - 1:.1f}{suffix})" if value < 1 else f"{value - 1:.1f}{suffix}"
    else:
        yield f"({text} + 1.0{suffix})"
        yield f"({text} - 1.0{suffix})"


def _near_name(body: Body, spot: Expression, text: str, covered: set[int]) -> Iterator[str]:
    """A macro or an enumerator, at its use."""
    value = body.value(spot.node)
    if text in OTHER_BOUND:
        yield f"({OTHER_BOUND[text]})" if OTHER_BOUND[text][0] == "-" else OTHER_BOUND[text]
    if value is None and spot.type.kind is Kind.FLOATING:
        yield "0.0f" if spot.type.name == "float" else "0.0"
    elif value not in (0, 1, -1) and 0 not in covered:
        yield "0"
    if text in ("INFINITY", "NAN", "true", "false"):
        return
    if not text.endswith("MAX") and (value is None or value + 1 not in covered):
        yield f"({text} + 1)"
    if not text.endswith("MIN") and (value is None or value - 1 not in covered):
        yield f"({text} - 1)"


def argument(body: Body) -> Iterator[Edit]:
    """Swaps neighbours among the arguments of one type."""
    for spot in body.expressions:
        if not isinstance(spot.node, c_ast.FuncCall) or spot.node.args is None:
            continue
        last_of: dict[str, c_ast.Node] = {}
        for node in spot.node.args.exprs:
            found = body.types.get(id(node))
            if found is None or not found.is_scalar or found.name.startswith(("*", "?", "const *")):
                continue
            if found.kind is Kind.INTEGER and id(node) in body.nulls:
                continue
            before = last_of.get(found.name)
            last_of[found.name] = node
            if before is not None and body.text(before) != body.text(node):
                yield _swapped(body, spot, before, node)


def _swapped(body: Body, spot: Expression, one: c_ast.Node, other: c_ast.Node) -> Edit:
    tokens, spans = body.source.tokens, body.spans
    a, b = spans.of(one), spans.of(other)
    start, end = tokens[a[0]].start, tokens[b[1]].end
    between = body.flat(tokens[a[1]].end, tokens[b[0]].start)
    first = body.flat(start, tokens[a[1]].end)
    second = body.flat(tokens[b[0]].start, end)
    return body.edit(spot, start, end, f"{second}{between}{first}", "argument", of_swap(body, one, other))


def result(body: Body) -> Iterator[Edit]:
    """Another value to return."""
    for spot in body.expressions:
        if spot.place is not Place.RETURNED or body.value(spot.node) == 0:
            continue
        is_constant = isinstance(spot.node, c_ast.Constant) or body.value(spot.node) is not None
        if _has_neighbours(body, spot.node):
            continue
        if body.returns.is_scalar and spot.type.kind in (body.returns.kind, Kind.INTEGER, Kind.FLOATING):
            yield body.replace(spot, "0", "result")
        if is_truth(spot.node):
            yield body.replace(spot, "1", "result")
        elif is_constant or repeats.shifts_a_constant(body, spot.node):
            continue
        elif body.returns.kind is Kind.INTEGER and spot.type.kind is Kind.INTEGER:
            yield body.replace(spot, _plus(body, spot, "+ 1"), "result")


def _has_neighbours(body: Body, node: c_ast.Node) -> bool:
    """Whether 0 is among the constants that it becomes anyway."""
    if isinstance(node, c_ast.Constant):
        return str(node.type) != "string"
    return isinstance(node, c_ast.ID) and body.value(node) is not None


def _plus(body: Body, spot: Expression, change: str) -> str:
    simple = (c_ast.ID, c_ast.FuncCall, c_ast.ArrayRef, c_ast.StructRef, c_ast.UnaryOp, c_ast.Cast)
    text = body.bare(spot)
    tight = isinstance(spot.node, c_ast.BinaryOp) and spot.node.op in ("+", "-", "*", "/", "%")
    return f"{text} {change}" if isinstance(spot.node, simple) or tight else f"({text}) {change}"


def _shifted(body: Body, spot: Expression, operator: str) -> Iterator[Edit]:
    for change in ("+ 1", "- 1"):
        text = _plus(body, spot, change)
        yield body.replace(spot, text if body.is_enclosed(spot) else f"({text})", operator)


def _can_shift(body: Body, node: c_ast.Node) -> bool:
    return body.value(node) is None and not repeats.shifts_a_constant(body, node)


def index(body: Body) -> Iterator[Edit]:
    for spot in body.expressions:
        if spot.place is Place.INDEX and _can_shift(body, spot.node):
            yield from _shifted(body, spot, "index")


def pointer_offset(body: Body) -> Iterator[Edit]:
    """One element further or less far, where an offset is added or a pointer followed."""
    for spot in body.expressions:
        is_sum = isinstance(spot.node, c_ast.BinaryOp) and spot.node.op in ("+", "-")
        to = spot.type.to
        if not _can_shift(body, spot.node):
            continue
        offsets = spot.type.kind is Kind.POINTER and (is_sum or spot.place is Place.DEREFERENCED)
        if offsets and to is not None and to.kind not in (Kind.VOID, Kind.FUNCTION, Kind.UNKNOWN):
            yield from _shifted(body, spot, "pointer offset")


_BOUND = {"<": ("- 1",), "<=": ("+ 1",), ">": ("+ 1",), ">=": ("- 1",), "!=": ("- 1", "+ 1")}


def loop_bound(body: Body) -> Iterator[Edit]:
    """Starts one later or earlier, ends one later or earlier. What a neighbouring comparison does
    already is left out."""
    starts = {id(s.node): s for s in body.expressions if s.place is Place.START and s.role is Role.VALUE}
    for spot in starts.values():
        if _can_shift(body, spot.node) and spot.type.kind is Kind.INTEGER:
            yield from _shifted(body, spot, "loop bound")
    by_node = {id(s.node): s for s in body.expressions}
    for spot in body.expressions:
        if spot.role is not Role.LOOP or not isinstance(spot.node, c_ast.BinaryOp):
            continue
        bound = by_node.get(id(getattr(spot.node, "right", None)))
        if bound is None or bound.type.kind is not Kind.INTEGER or body.value(bound.node) is not None:
            continue
        for change in _BOUND.get(spot.node.op, ()):
            yield body.replace(bound, f"({_plus(body, bound, change)})", "loop bound")
