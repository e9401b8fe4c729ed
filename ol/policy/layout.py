"""Code that would run when a unit is loaded, and parts that an ordinary object file does not have. Pure."""

import re
from collections import Counter
from collections.abc import Iterator

from ol.policy import symbols as names
from ol.policy.elf import Elf
from ol.policy.refusal import Refusal, Rule

_EXECUTE, _WRITE = 1, 2
_RUN_AT_LOAD = re.compile(r"\.(preinit_array|ctors|dtors|init|fini)(\.\d+)?")
_LARGEST_STUB = 64
"""Bytes of .init and .fini as the C library's start files make them, with room for other machines."""
_NO_LOAD_TIME = "do the work in the function that needs it: no code of a unit runs outside the tests' calls"


def check_load_time(elf: Elf, units: int) -> Iterator[Refusal]:
    """`units` is how many sources were linked: each brings one entry of its sanitizer."""
    sanitized = any(names.SANITIZER_INIT.fullmatch(s.name) for s in elf.undefined)
    for targets, known, array in (
        (elf.starts, names.STARTS, ".init_array"),
        (elf.ends, names.ENDS, ".fini_array"),
    ):
        for target, times in Counter(targets).items():
            of_sanitizer = names.SANITIZER_ENTRY.fullmatch(target)
            if not known.fullmatch(target) and not (sanitized and of_sanitizer):
                found = f"{target or 'unnamed code'} stands in {array}"
                yield Refusal(rule=Rule.LOAD_TIME, found=found, instead=_NO_LOAD_TIME, symbol=target)
            elif times > (units if of_sanitizer else 1):
                found = f"{target} stands {times} times in {array}"
                yield Refusal(rule=Rule.LOAD_TIME, found=found, instead=_NO_LOAD_TIME, symbol=target)
    if elf.indirect:
        yield Refusal(
            rule=Rule.LOAD_TIME,
            found="a function that is chosen by a resolver at load time (IFUNC)",
            instead='choose inside the function: if (__builtin_cpu_supports("avx2")) …',
        )
    for part in elf.parts:
        is_stub = elf.shared and part.name in (".init", ".fini") and part.size <= _LARGEST_STUB
        if _RUN_AT_LOAD.fullmatch(part.name) and part.size and not is_stub:
            found = f"the section {part.name}"
            yield Refusal(rule=Rule.LOAD_TIME, found=found, instead=_NO_LOAD_TIME)


def check_layout(elf: Elf) -> Iterator[Refusal]:
    for found in (*_sections(elf), *_segments(elf), *_dynamic(elf)):
        instead = (
            "leave out whatever places code or data, or names a library: plain functions need none of it"
        )
        if "executable stack" in found:
            instead = "move the nested function out, and hand it what it needs through its arguments"
        yield Refusal(rule=Rule.LAYOUT, found=found, instead=instead)


def _sections(elf: Elf) -> Iterator[str]:
    for part in elf.parts:
        if part.executable and part.writable:
            yield f"the section {part.name!r} is writable and executable"
        if part.name == ".note.GNU-stack" and part.executable:
            yield "an executable stack (a nested function whose address is taken)"
        elif part.executable and not _may_hold_code(elf, part.name):
            yield f"code in the section {part.name!r}"
        elif part.allocated and not part.executable and not _may_hold_data(part.name):
            yield f"data in the section {part.name!r}"
        if part.name in (".deplibs", ".linker-options") or part.name.startswith(
            (".gnu.lto_", ".gnu.warning")
        ):
            yield f"orders to the linker in {part.name!r}"
        if part.name == ".gnu.version_d":
            yield "a versioned name"
    if any(s.unique for s in (*elf.exported, *elf.undefined)):
        yield "a name of its own binding (unique)"
    if any("@" in s.name for s in (*elf.exported, *elf.undefined)):
        yield "a versioned name"


def _may_hold_code(elf: Elf, name: str) -> bool:
    return bool(names.CODE_SECTIONS.fullmatch(name)) or (
        elf.shared and bool(names.LINKER_CODE.fullmatch(name))
    )


def _may_hold_data(name: str) -> bool:
    return bool(names.DATA_SECTIONS.fullmatch(name) or _RUN_AT_LOAD.fullmatch(name))


def _segments(elf: Elf) -> Iterator[str]:
    for kind, flags in elf.segments:
        if kind == "PT_GNU_STACK" and flags & _EXECUTE:
            yield "an executable stack (a nested function whose address is taken)"
        elif kind == "PT_LOAD" and flags & _EXECUTE and flags & _WRITE:
            yield "memory that is writable and executable"
        elif kind == "PT_INTERP":
            yield "a program where a library was expected"


def _dynamic(elf: Elf) -> Iterator[str]:
    addresses = {p.name: p.address for p in elf.parts}
    for tag, library, value in elf.tags:
        if tag == "DT_NEEDED" and not names.LIBRARIES.fullmatch(library):
            yield f"the library {library}"
        elif tag in ("DT_RPATH", "DT_RUNPATH"):
            yield "a search path for libraries"
        elif tag in ("DT_INIT", "DT_FINI") and value != addresses.get("." + tag[3:].lower()):
            yield f"{tag} points elsewhere than to its section"
        elif tag not in names.DYNAMIC_TAGS:
            yield f"the dynamic entry {tag}"
