"""What a unit may be made of: the front of the policies on sources. That on objects is ol.policy.object,
which takes long to load. Pure.

The policy is a filter in front of sandbox, limits and judge, not a boundary. Three things only it stops:
switching a sanitizer off, behaving otherwise under one, and talking to its runtime.
"""

from collections.abc import Mapping
from dataclasses import replace

from ol.policy.python import check_python
from ol.policy.refusal import Refusal, Rule
from ol.policy.source import check_source, first_use

__all__ = ["Refusal", "Rule", "check_python", "check_source", "placed"]


def placed(refusals: tuple[Refusal, ...], sources: Mapping[str, bytes]) -> tuple[Refusal, ...]:
    """The refusals of an object with file, line and column where a source names their symbol."""
    return tuple(_placed(r, sources) for r in refusals)


def _placed(refusal: Refusal, sources: Mapping[str, bytes]) -> Refusal:
    if not refusal.symbol or refusal.line:
        return refusal
    for file, text in sources.items():
        line, column = first_use(text, refusal.symbol)
        if line:
            return replace(refusal, file=file, line=line, column=column)
    return refusal
