"""The gate before any test: may this unit be built and run at all? Every no says where, why, and what
to write instead."""

import re
from collections.abc import Sequence
from dataclasses import replace

from ol import contract
from ol.course import Course
from ol.lane import Sources
from ol.manifest import Language, Module
from ol.policy.refusal import Rule
from ol.sandbox import COMPILING
from ol.start import headers
from ol.verdict import Refused

_FIRST_ERROR = re.compile(r"^(?P<place>[^\s:]+:\d+:\d+): (?:fatal )?error: (?P<what>.*)$", re.MULTILINE)

_EXHAUSTED = re.compile(
    r"CPU time limit exceeded|still running after|File size limit exceeded|File too large"
    r"|out of memory|memory exhausted|[Cc]annot allocate memory|bad_alloc|Killed|command: (?:CPU|File)"
)


def diagnosed(course: Course, module: Module, sources: Sources, diagnostics: str) -> Refused:
    """The compiler's first error; for a prototype that differs from the contract's, both of them."""
    if _EXHAUSTED.search(diagnostics):
        return _exhausted(diagnostics)
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


def with_prototypes(
    course: Course, module: Module, sources: Sources, refused: Sequence[Refused]
) -> list[Refused]:
    """The same, where a function of the contract is missing with its prototype, and beside it what the
    unit has in its place: the function as `static`, or the only one that nobody asked for."""
    if module.language is not Language.C:
        return list(refused)
    others = [_symbol(r) for r in refused if r.rule == Rule.EXTRA]
    found = []
    for one in refused:
        name = _symbol(one)
        if one.rule == Rule.MISSING and name in module.defines:
            one = replace(one, detail=_beside(course, module, sources, name, [name, *others[:1]]))
        found.append(one)
    return found


def _symbol(refused: Refused) -> str:
    return refused.what.partition(" ")[0]


def _exhausted(diagnostics: str) -> Refused:
    limits = COMPILING
    return Refused(
        rule="it compiles within limits",
        what=f"the compiler took more than it may: {limits.cpu_seconds} s of processor time,"
        f" {limits.address_mb // 1024} GB of memory or {limits.file_mb} MB of output",
        instead="keep macros and arrays small: compute tables, and take memory as the contract says",
        detail="\n".join(diagnostics.splitlines()[-4:]),
    )


def _both_prototypes(course: Course, module: Module, sources: Sources, message: str) -> str:
    names = (n for n in module.defines if n in message)
    return next((both for n in names if (both := _beside(course, module, sources, n, [n]))), "")


def _beside(course: Course, module: Module, sources: Sources, name: str, mine: Sequence[str]) -> str:
    """The contract's prototype of `name` over the first function in `mine` that the unit writes."""
    entries = (contract.prototypes(headers(course), header) for header in module.contract)
    known = next((found[name] for found in entries if name in found), None)
    if known is None:
        return ""
    texts = (contract.written(t.decode("utf-8", "replace"), n) for n in mine for t in sources.values())
    yours = next((text for text in texts if text), "")
    return f"contract  {known.text}" + (f"\nyours     {yours}" if yours else "")
