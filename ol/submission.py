"""The gate before any test: may this unit be built and run at all? Every no says where, why, and what
to write instead."""

import re

from ol import contract
from ol.course import Course
from ol.lane import Sources
from ol.manifest import Language, Module
from ol.start import headers
from ol.verdict import Refused

_FIRST_ERROR = re.compile(r"^(?P<place>[^\s:]+:\d+:\d+): (?:fatal )?error: (?P<what>.*)$", re.MULTILINE)


def diagnosed(course: Course, module: Module, sources: Sources, diagnostics: str) -> Refused:
    """The compiler's first error; for a prototype that differs from the contract's, both of them."""
    first = _FIRST_ERROR.search(diagnostics)
    if not first:
        return Refused(rule="it compiles and links", what="the compiler refused it", detail=diagnostics)
    what, place = first["what"], first["place"]
    end = diagnostics.find("\n", first.end())
    rest = diagnostics[first.start() : end if end > 0 else None]
    following = diagnostics[first.start() :].splitlines()[1:3]
    detail = "\n".join(line for line in following if re.match(r"\s*(\d+)?\s*\|", line))
    if "conflicting types for" in what and module.language is Language.C:
        both = _both_prototypes(course, module, sources, rest)
        if both:
            return Refused(
                rule="the contract's prototype", what=what.partition(";")[0], where=place, detail=both
            )
    return Refused(rule="it compiles", what=what, where=place, detail=detail)


def _both_prototypes(course: Course, module: Module, sources: Sources, message: str) -> str:
    known = contract.prototypes(headers(course), module.contract[0])
    for name in module.defines:
        if name in message and name in known:
            texts = [contract.written(t.decode("utf-8", "replace"), name) for t in sources.values()]
            mine = next((t for t in texts if t), "")
            return f"contract  {known[name].text}\nyours     {mine}"
    return ""


def missing(course: Course, module: Module, name: str) -> str:
    """The prototype of a function of the contract, to show beside its absence."""
    known = contract.prototypes(headers(course), module.contract[0])
    return f"contract  {known[name].text}" if name in known else ""
