"""An ELF file as the few records that the policy looks at. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from elftools.elf.relocation import RelocationSection
from elftools.elf.sections import Section, SymbolTableSection

_WRITE, _ALLOC, _EXECUTE = 1, 2, 4
_IFUNC = 10
_UNIQUE = 10
_IRELATIVE = {"EM_X86_64": 37, "EM_AARCH64": 1032, "EM_386": 42, "EM_RISCV": 58}


_MOST_SECTIONS = 20_000


class _Relocation(NamedTuple):
    table: RelocationSection
    offset: int
    kind: int
    symbol: int
    addend: int


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


def read(elf: ELFFile, size: int) -> Elf:
    """`size` is the file's. Raises errors of elftools, ValueError and their like for a broken file."""
    shared = elf["e_type"] == "ET_DYN"
    if not shared and elf["e_type"] != "ET_REL":
        raise ValueError(f"neither a .o nor a .so but {elf['e_type']}")
    sections = list(_sections(elf, size))
    tables = [s for s in sections if isinstance(s, SymbolTableSection)]
    linking = [t for t in tables if t["sh_type"] == ("SHT_DYNSYM" if shared else "SHT_SYMTAB")]
    globals_ = [s for t in linking for s in _symbols(t, only_global=True)]
    everything = [s for t in tables for s in _symbols(t, only_global=False)]
    arrays = _Arrays(elf, sections, everything)
    dynamic = [s for s in sections if isinstance(s, DynamicSection)]
    return Elf(
        shared=shared,
        exported=tuple(s for s in globals_ if s.section != 0),
        undefined=tuple(s for s in globals_ if s.section == 0 and s.name),
        parts=tuple(_part(s) for s in sections),
        starts=tuple(arrays.targets("SHT_INIT_ARRAY", ".init_array")),
        ends=tuple(arrays.targets("SHT_FINI_ARRAY", ".fini_array")),
        indirect=any(s.indirect for s in everything) or arrays.resolves,
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


def _sections(elf: ELFFile, size: int) -> Iterator[Section]:
    if elf.num_sections() > _MOST_SECTIONS:
        raise ValueError("too many sections")
    for section in elf.iter_sections():
        if section["sh_type"] != "SHT_NOBITS" and section["sh_offset"] + section["sh_size"] > size:
            raise ValueError("a section reaches beyond the file")
        yield section


def _relocations(sections: list[Section]) -> Iterator[_Relocation]:
    for section in sections:
        if isinstance(section, RelocationSection):
            for r in section.iter_relocations():
                addend = r["r_addend"] if r.is_RELA() else 0
                yield _Relocation(section, r["r_offset"], r["r_info_type"], r["r_info_sym"], addend)


class _Arrays:
    """Which function each slot of .init_array or .fini_array points to."""

    def __init__(self, elf: ELFFile, sections: list[Section], symbols: list[Symbol]):
        self._elf, self._sections = elf, sections
        self._functions = [s for s in symbols if s.is_function and s.section > 0]
        self._relocations = list(_relocations(sections))
        self.resolves = any(r.kind == _IRELATIVE.get(elf["e_machine"]) for r in self._relocations)

    def targets(self, kind: str, name: str) -> Iterator[str]:
        word = self._elf.elfclass // 8
        for index, section in enumerate(self._sections):
            if section["sh_type"] == kind or section.name.startswith(name):
                data = section.data()
                for k in range(0, len(data) - word + 1, word):
                    content = _number(data[k : k + word], little=self._elf.little_endian)
                    yield self._target(index, section["sh_addr"] + k, content)

    def _target(self, index: int, slot: int, content: int) -> str:
        relocatable = self._elf["e_type"] == "ET_REL"
        for r in self._relocations:
            if r.offset != slot or (relocatable and r.table["sh_info"] != index):
                continue
            if not r.symbol:
                return self._name(None, r.addend or content)
            symbol = self._sections[r.table["sh_link"]].get_symbol(r.symbol)
            if symbol["st_info"]["type"] != "STT_SECTION":
                return str(symbol.name)
            return self._name(symbol["st_shndx"], r.addend or content)
        return self._name(None, content) if content and not relocatable else ""

    def _name(self, section: int | None, value: int) -> str:
        for s in self._functions:
            if s.value == value and section in (None, s.section):
                return s.name
        return ""


def _number(data: bytes, *, little: bool) -> int:
    return int.from_bytes(data, "little" if little else "big")
