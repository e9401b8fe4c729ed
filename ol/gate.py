"""The policies in front of every run: what a C unit's sources may say, and what its objects may need.

What was decided is remembered by the bytes and by the policies' own text, so that an unchanged unit costs
nothing.
"""

import hashlib
from collections.abc import Callable, Collection, Iterable
from functools import cache
from pathlib import Path
from typing import ParamSpec

import msgspec

from ol.build import Built
from ol.course import Course
from ol.lane import Sources
from ol.manifest import Language, Module
from ol.parallel import PARSING
from ol.policy import Refusal, check_python, check_source, placed
from ol.signatures import Mismatch, mismatches
from ol.store import Store
from ol.testbed import UnitObjects
from ol.toolchain import Sanitizer
from ol.verdict import Refused

P = ParamSpec("P")


def refused_sources(course: Course, store: Store, sources: Sources) -> list[Refused]:
    """What the policy on sources refuses of a unit."""
    found: list[Refused] = []
    headers = contract_headers(course)
    for name, text in sources.items():
        if name.endswith(".py"):
            continue
        key = _key("source", [name.encode(), text, *(h.encode() for h in headers)])
        found += _once(store, key, check_source, text, name, headers=headers)
    return found


def refused_python(store: Store, module: Module, sources: Sources) -> list[Refused]:
    """What the policy on Python sources refuses of a unit. One that cannot be read is left to its tests,
    which say what is wrong with it."""
    found: list[Refused] = []
    for name, text in sources.items():
        if not name.endswith(".py"):
            continue
        key = _key("Python", [name.encode(), text, *(m.encode() for m in module.may_import)])
        found += _once(store, key, _checked_python, module, text, name)
    return found


def _checked_python(module: Module, text: bytes, name: str) -> Iterable[Refusal]:
    with PARSING:
        try:
            return check_python(text, name, may_import=module.may_import)
        except (SyntaxError, ValueError):
            return ()


def refused_signatures(course: Course, module: Module, sources: Sources) -> list[Refused]:
    """Where a Python unit's definitions are not those of its .pyi. One that cannot be read is left to
    its tests, which say what is wrong with it."""
    if module.language is not Language.PYTHON:
        return []
    contract = course.python_contract(module).read_text(encoding="utf-8")
    found: list[Refused] = []
    for name, text in sources.items():
        try:
            with PARSING:
                differing = mismatches(contract, text.decode("utf-8", "replace"))
        except (SyntaxError, ValueError):
            continue
        found += [_mismatch(name, one) for one in differing]
    return found


def _mismatch(file: str, one: Mismatch) -> Refused:
    what = f"{one.name} has another signature" if one.found else f"{one.name} is not defined"
    mine = f"\nyours     {one.found}" if one.found else ""
    return Refused(
        rule="the contract's signature",
        what=what,
        where=f"{file}:{one.line}" if one.line else file,
        detail=f"contract  {one.wanted}{mine}",
    )


def refused_objects(
    course: Course, store: Store, module: Module, sources: Sources, unit: UnitObjects
) -> list[Refused]:
    """What the policy on objects refuses of a unit, in the first build that has something to refuse."""
    linked = frozenset(name for m in course.linked(module) for name in m.defines)
    for kind, built in unit.items():
        if kind is Sanitizer.NONE:
            continue
        key = _key(
            "object", [built.key.encode(), msgspec.json.encode(module), " ".join(sorted(linked)).encode()]
        )
        if found := _once(store, key, _checked_object, module, linked, built, sources):
            return found
    return []


def _checked_object(
    module: Module, linked: Collection[str], built: Built, sources: Sources
) -> Iterable[Refusal]:
    from ol.policy.object import check_object  # here, for it takes long to load

    return placed(check_object(built.path.read_bytes(), module, linked), sources)


def contract_headers(course: Course) -> tuple[str, ...]:
    """The headers of the course's contracts, as an #include names them."""
    return tuple(sorted(p.relative_to(course.include).as_posix() for p in course.include.rglob("*.h")))


def _once(
    store: Store, key: str, check: Callable[P, Iterable[Refusal]], *given: P.args, **named: P.kwargs
) -> list[Refused]:
    """What a policy finds, or what it found of the same bytes."""
    blob = store.get(key)
    if blob is not None:
        return msgspec.json.decode(blob, type=list[Refused])
    found = [_refused(r) for r in check(*given, **named)]
    store.put([(key, msgspec.json.encode(found))])
    return found


def _refused(refusal: Refusal) -> Refused:
    place = f"{refusal.file}:{refusal.line}:{refusal.column}" if refusal.line else ""
    return Refused(rule=refusal.rule, what=refusal.found, where=place, instead=refusal.instead)


def _key(what: str, parts: list[bytes]) -> str:
    digest = hashlib.blake2b(_policies(), digest_size=20)
    for part in parts:
        digest.update(len(part).to_bytes(8, "little") + part)
    return f"policy on {what} {digest.hexdigest()}"


@cache
def _policies() -> bytes:
    """Digest of the policies' own text."""
    folder = Path(__file__).parent / "policy"
    paths = sorted(folder.glob("*.py"))
    return hashlib.blake2b(b"\0".join(p.read_bytes() for p in paths), digest_size=20).digest()
