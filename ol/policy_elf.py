"""An ELF file as the few records that the policy looks at. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass

from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from elftools.elf.relocation import RelocationSection
from elftools.elf.sections import Section, SymbolTableSection

_WRITE, _ALLOC, _EXECUTE = 1, 2, 4
_IFUNC = 10
_UNIQUE = 10
_IRELATIVE = {"EM_X86_64": 37, "EM_AARCH64": 1032, "EM_386": 42, "EM_RISCV": 58}


@dataclass(frozen=True, kw_only=True, slots=True)
class Symbol:
    name: str
    value: int
    size: int
    section: int
    """Index of its section, or a negative number for common and absolute ones."""
    weak: bool
    is_function: bool
    indirect: bool
    unique: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """A section that takes part in the program."""

    name: str
    size: int
    address: int
    writable: bool
    executable: bool
    allocated: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Elf:
    shared: bool
    exported: tuple[Symbol, ...]
    undefined: tuple[Symbol, ...]
    parts: tuple[Part, ...]
    starts: tuple[str, ...]
    """Names of the functions in .init_array, "" where there is no name."""
    ends: tuple[str, ...]
    indirect: bool
    """Some function is chosen by a resolver at load time."""
    segments: tuple[tuple[str, int], ...]
    tags: tuple[tuple[str, str, int], ...]
    """The dynamic section: tag, library (of DT_NEEDED), value."""


def read(elf: ELFFile) -> Elf:
    """Raises the errors of elftools, ValueError and their like for a file that is none."""
    shared = elf["e_type"] == "ET_DYN"
    if not shared and elf["e_type"] != "ET_REL":
        raise ValueError(f"neither a .o nor a .so but {elf['e_type']}")
    sections = list(elf.iter_sections())
    tables = [s for s in sections if isinstance(s, SymbolTableSection)]
    linking = [t for t in tables if t["sh_type"] == ("SHT_DYNSYM" if shared else "SHT_SYMTAB")]
    globals_ = [s for t in linking for s in _symbols(t, only_global=True)]
    everything = [s for t in tables for s in _symbols(t, only_global=False)]
    dynamic = [s for s in sections if isinstance(s, DynamicSection)]
    return Elf(
        shared=shared,
        exported=tuple(s for s in globals_ if s.section != 0),
        undefined=tuple(s for s in globals_ if s.section == 0 and s.name),
        parts=tuple(_part(s) for s in sections),
        starts=tuple(_array(elf, sections, everything, "SHT_INIT_ARRAY", ".init_array")),
        ends=tuple(_array(elf, sections, everything, "SHT_FINI_ARRAY", ".fini_array")),
        indirect=any(s.indirect for s in everything) or _resolves(elf, sections),
        segments=tuple((str(p["p_type"]), int(p["p_flags"])) for p in elf.iter_segments()),
        tags=tuple(
            (str(t.entry.d_tag), str(getattr(t, "needed", "")), int(t.entry.d_val))
            for d in dynamic
            for t in d.iter_tags()
        ),
    )


def _part(section: Section) -> Part:
    flags = section["sh_flags"]
    return Part(
        name=section.name,
        size=section["sh_size"],
        address=section["sh_addr"],
        writable=bool(flags & _WRITE),
        executable=bool(flags & _EXECUTE),
        allocated=bool(flags & _ALLOC),
    )


def _symbols(table: SymbolTableSection, *, only_global: bool) -> Iterator[Symbol]:
    for symbol in table.iter_symbols():
        bind, kind, section = symbol["st_info"]["bind"], symbol["st_info"]["type"], symbol["st_shndx"]
        if only_global and bind == "STB_LOCAL":
            continue
        index = {"SHN_UNDEF": 0, "SHN_ABS": -1, "SHN_COMMON": -2}.get(section, section)
        yield Symbol(
            name=symbol.name,
            value=symbol["st_value"],
            size=symbol["st_size"],
            section=index if isinstance(index, int) else -3,
            weak=bind == "STB_WEAK",
            is_function=kind == "STT_FUNC",
            indirect=kind in ("STT_LOOS", "STT_GNU_IFUNC", _IFUNC),
            unique=bind in ("STB_LOOS", "STB_GNU_UNIQUE", _UNIQUE),
        )


def _relocations(sections: list[Section]) -> Iterator[tuple[RelocationSection, int, int, int, int]]:
    for section in sections:
        if isinstance(section, RelocationSection):
            for r in section.iter_relocations():
                addend = r["r_addend"] if r.is_RELA() else 0
                yield section, r["r_offset"], r["r_info_type"], r["r_info_sym"], addend


def _resolves(elf: ELFFile, sections: list[Section]) -> bool:
    kind = _IRELATIVE.get(elf["e_machine"])
    return any(r[2] == kind for r in _relocations(sections))


def _array(
    elf: ELFFile, sections: list[Section], symbols: list[Symbol], kind: str, name: str
) -> Iterator[str]:
    """The function that each slot of the arrays of one kind points to."""
    word = elf.elfclass // 8
    order = "little" if elf.little_endian else "big"
    for index, section in enumerate(sections):
        if section["sh_type"] != kind and not section.name.startswith(name):
            continue
        data = section.data() if section["sh_type"] != "SHT_NOBITS" else b""
        for k in range(section["sh_size"] // word):
            content = int.from_bytes(data[k * word : (k + 1) * word], order)  # type: ignore[arg-type]
            slot = section["sh_addr"] + k * word
            yield _target(elf, sections, symbols, index, slot, content)


def _target(
    elf: ELFFile, sections: list[Section], symbols: list[Symbol], index: int, slot: int, content: int
) -> str:
    relocatable = elf["e_type"] == "ET_REL"
    for table, offset, _, number, addend in _relocations(sections):
        if offset != slot or (relocatable and table["sh_info"] != index):
            continue
        if not number:
            return _named(symbols, None, addend or content)
        symbol = sections[table["sh_link"]].get_symbol(number)  # type: ignore[attr-defined]
        if symbol["st_info"]["type"] != "STT_SECTION":
            return str(symbol.name)
        return _named(symbols, symbol["st_shndx"], addend or content)
    return _named(symbols, None, content) if content and not relocatable else ""


def _named(symbols: list[Symbol], section: int | None, value: int) -> str:
    for s in symbols:
        if s.is_function and s.value == value and s.section > 0 and section in (None, s.section):
            return s.name
    return ""
