"""Mutation operators for C: each a generator of edits over the body of one function."""

import dataclasses
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator

from ol.csource.reader import Function, NotMutated, Source
from ol.csource.spans import Lost, Spans
from ol.operators import arithmetic, conditions, statements, values
from ol.operators.asked import asked_for_truth
from ol.operators.body import Body, Place
from ol.operators.edit import Edit, Site, SiteKind, apply_edit
from ol.operators.walk import walk

__all__ = ["OPERATORS", "Edit", "Site", "SiteKind", "apply_edit", "edits"]

OPERATORS: dict[str, Callable[[Body], Iterator[Edit]]] = {
    "relational": conditions.relational,
    "unordered": conditions.unordered,
    "logical": conditions.logical,
    "condition": conditions.condition,
    "negation": conditions.negation,
    "arithmetic": arithmetic.arithmetic,
    "bitwise": arithmetic.bitwise,
    "operand": arithmetic.operand,
    "assignment": arithmetic.assignment,
    "increment": arithmetic.increment,
    "unary": arithmetic.unary,
    "constant": values.constant,
    "index": values.index,
    "pointer offset": values.pointer_offset,
    "loop bound": values.loop_bound,
    "argument": values.argument,
    "result": values.result,
    "initializer": statements.initializer,
    "jump": statements.jump,
    "deletion": statements.deletion,
}


def edits(source: Source, operators: Collection[str] = tuple(OPERATORS)) -> list[Edit]:
    """All mutants of a unit, in the order of their sites; none repeats another.

    What could not be mutated is added to `source.skipped`; no function is passed over in silence.
    """
    spans = Spans(source)
    bodies = list(_bodies(source, spans))
    asked = asked_for_truth(source, bodies)
    found: list[Edit] = []
    for body in bodies:
        if body.function.name in asked:
            body.truths |= {id(s.node) for s in body.expressions if s.place is Place.RETURNED}
        try:
            made = [edit for name in OPERATORS if name in operators for edit in OPERATORS[name](body)]
        except (Lost, RecursionError) as error:
            source.skipped.append(_left_out(source, body.function, error))
        else:
            found += _distinct(made)
            if not made and set(operators) == set(OPERATORS):
                source.skipped.append(_nothing(source, body.function))
    found.sort(key=lambda e: (e.site.start, -e.site.end, e.start, e.end))
    return list(_numbered(found))


def _bodies(source: Source, spans: Spans) -> Iterator[Body]:
    for function in source.functions:
        try:
            yield walk(source, function, spans)
        except (Lost, RecursionError) as error:
            source.skipped.append(_left_out(source, function, error))
            source.environment.scopes[1:] = []


def _nothing(source: Source, function: Function) -> NotMutated:
    line, _ = source.lines.position(source.tokens[function.first].start)
    return NotMutated(line, function.name, "no operator finds anything to change")


def _left_out(source: Source, function: Function, error: Exception) -> NotMutated:
    line, _ = source.lines.position(source.tokens[function.first].start)
    deep = isinstance(error, RecursionError)
    reason = "nested too deeply" if deep else "the place of an operator cannot be told"
    return NotMutated(line, function.name, reason)


def _distinct(made: Iterable[Edit]) -> Iterator[Edit]:
    """The first of those that change the text in the same way."""
    seen: set[tuple[int, int, str]] = set()
    for edit in made:
        old, new, start = edit.original, edit.replacement, edit.start
        while old and new and old[0] == new[0]:
            old, new, start = old[1:], new[1:], start + 1
        while old and new and old[-1] == new[-1]:
            old, new = old[:-1], new[:-1]
        change = (start, start + len(old), new)
        if change not in seen and (old or new):
            seen.add(change)
            yield edit


def _numbered(found: Iterable[Edit]) -> Iterator[Edit]:
    seen: Counter[str] = Counter()
    for edit in found:
        yield dataclasses.replace(edit, occurrence=seen[edit.key])
        seen[edit.key] += 1
