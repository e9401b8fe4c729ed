"""What an object file of a unit may define, need and run, read from its bytes. Pure.

It takes a relocatable object (.o) or a shared object (.so); what compilers and sanitizers add is known by
name and place.
"""

from collections.abc import Collection, Iterator
from io import BytesIO

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

from ol.manifest import Module
from ol.policy import advice
from ol.policy import symbols as names
from ol.policy.elf import Elf, Symbol, read
from ol.policy.layout import check_layout, check_load_time
from ol.policy.refusal import Refusal, Rule


def check_object(data: bytes, module: Module, linked_defines: Collection[str]) -> tuple[Refusal, ...]:
    """The refusals of one object; `linked_defines` are the functions of the modules in `links`.

    Where `may_call` names functions of the course it is the whole list of them; otherwise every function of
    `linked_defines` may be called.
    """
    try:
        elf = read(ELFFile(BytesIO(data)), len(data))
    except (ELFError, ValueError, LookupError, AttributeError, TypeError, ArithmeticError) as error:
        found = f"the object cannot be read: {str(error)[:120]}"
        return (Refusal(rule=Rule.LAYOUT, found=found, instead="build the unit with gcc or clang"),)
    found_all = [
        *_defined(elf, module),
        *_needed(elf, may_call(module, linked_defines) | set(module.defines), linked_defines),
        *check_load_time(elf, len(module.units)),
        *check_layout(elf),
    ]
    return tuple(dict.fromkeys(found_all))


def may_call(module: Module, linked_defines: Collection[str]) -> frozenset[str]:
    """What a unit may call beside compiler, maths and memory helpers."""
    listed = frozenset(module.may_call)
    of_course = frozenset() if listed & set(linked_defines) else frozenset(linked_defines)
    return listed | of_course


def _defined(elf: Elf, module: Module) -> Iterator[Refusal]:
    own = [s for s in elf.exported if not _emitted(s, elf)]
    seen = {s.name for s in own}
    whole = elf.shared or len(module.units) == 1
    for name in module.defines:
        if whole and name not in seen:
            yield Refusal(
                rule=Rule.MISSING,
                symbol=name,
                found=f"{name} is not defined",
                instead=f"define {name} with the prototype in {module.contract[0]}, without `static`",
            )
    for symbol in own:
        if symbol.name not in module.defines:
            yield Refusal(
                rule=Rule.EXTRA,
                symbol=symbol.name,
                found=f"{symbol.name} is defined as a global name",
                instead=advice.extra(symbol.name),
            )
        elif symbol.weak:
            yield Refusal(
                rule=Rule.EXTRA,
                symbol=symbol.name,
                found=f"{symbol.name} is a weak definition",
                instead="leave `weak` out",
            )
        elif not symbol.is_function:
            yield Refusal(
                rule=Rule.EXTRA,
                symbol=symbol.name,
                found=f"{symbol.name} is not a function",
                instead="define it as the function that the contract declares",
            )
    yield from _aliases(own)


def _aliases(own: list[Symbol]) -> Iterator[Refusal]:
    first: dict[tuple[int, int], str] = {}
    for symbol in own:
        other = first.setdefault((symbol.section, symbol.value), symbol.name)
        if other != symbol.name:
            yield Refusal(
                rule=Rule.EXTRA,
                symbol=symbol.name,
                found=f"{symbol.name} is another name of {other}",
                instead="write a static function, and let both functions call it",
            )


def _emitted(symbol: Symbol, elf: Elf) -> bool:
    if names.SANITIZER_DEFINES.fullmatch(symbol.name):
        return not symbol.is_function
    return elf.shared and symbol.name in names.LINKER_DEFINES and symbol.size == 0


def _needed(elf: Elf, allowed: frozenset[str], course: Collection[str]) -> Iterator[Refusal]:
    for symbol in elf.undefined:
        name = symbol.name
        if name in allowed or name in names.BYTES or name in names.MATHS:
            continue
        if name in names.RUNTIME or (symbol.weak and name in names.WEAK_RUNTIME):
            continue
        if names.COMPILER.fullmatch(name) or names.SANITIZER.fullmatch(name):
            continue
        yield Refusal(
            rule=Rule.CALL,
            symbol=name,
            found=f"the unit uses {name}",
            instead=advice.call(name, allowed, course),
        )
