"""The C units of a module with all their mutants: found, made switchable, built once."""

import os
import tempfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from ol import process
from ol.build import COMPILE_SECONDS, Builder, Built, CompileError, disk_errors
from ol.csource import Source, read
from ol.errors import ToolError
from ol.exits import Exit
from ol.generated.model import Mutant, Skipped
from ol.manifest import Language, Module
from ol.operators import Edit, Site, SiteKind, edits
from ol.schemata import Probe, Schemata, blame
from ol.toolchain import Sanitizer, environment

_ROUNDS = 40


@dataclass(frozen=True, kw_only=True)
class Unit:
    """One file. The last edits are the forced failures, one for each function."""

    path: str
    source: Source
    edits: Sequence[Edit]
    forced: Sequence[Edit]
    first: int

    def schemata(self, excluded: Collection[int], *, counts: bool = True) -> Schemata:
        every = [*self.edits, *self.forced]
        return Schemata(self.source, every, frozenset(excluded), self.first, self.first == 1, counts)

    def probe(self, excluded: Collection[int], size: int) -> str:
        every = [*self.edits, *self.forced]
        return Probe(self.source, every, frozenset(excluded), self.first, False, size).text

    @property
    def end(self) -> int:
        return self.first + len(self.edits) + len(self.forced)


@dataclass(frozen=True, kw_only=True)
class Units:
    """All files of a module. `unviable` are the numbers of mutants that the compiler refuses, `outside`
    those that are not asked for."""

    builder: Builder
    module: Module
    units: tuple[Unit, ...]
    unviable: frozenset[int] = frozenset()
    outside: frozenset[int] = frozenset()

    @cached_property
    def mutants(self) -> tuple[Mutant, ...]:
        return tuple(
            Mutant(number=u.first + k, file=u.path, edit=edit)
            for u in self.units
            for k, edit in enumerate(u.edits)
        )

    @cached_property
    def forced(self) -> tuple[Mutant, ...]:
        return tuple(
            Mutant(number=u.first + len(u.edits) + k, file=u.path, edit=edit)
            for u in self.units
            for k, edit in enumerate(u.forced)
        )

    @property
    def left_out(self) -> frozenset[int]:
        return self.unviable | self.outside

    @property
    def size(self) -> int:
        return self.units[-1].end

    @property
    def skipped(self) -> tuple[Skipped, ...]:
        return tuple(
            Skipped(file=u.path, line=s.line, function=s.function, reason=s.reason)
            for u in self.units
            for s in u.source.skipped
        )

    @property
    def texts(self) -> dict[str, str]:
        return {u.path: u.source.text for u in self.units}

    def viable(self) -> "Units":
        """Without what does not compile. Raises ToolError when the unit itself does not."""
        dropped: set[int] = set(self.unviable)
        for unit in self.units:
            dropped |= _refused(self.builder, self.module, unit, self.left_out)
        return replace(self, unviable=frozenset(dropped) - self.outside)

    def build(self, sanitizer: Sanitizer, held: Collection[int] | None = None) -> Built:
        """One object for the mutants in `held`, or for all viable ones. Raises ToolError when it does not
        compile."""
        counts = sanitizer is Sanitizer.ASAN
        out = self.left_out | ({m.number for m in self.mutants} - set(held) if held is not None else set())
        made = {u.path: u.schemata(out, counts=counts).text.encode() for u in self.units}
        try:
            return self.builder.mutants(made, sanitizer)
        except CompileError as error:
            raise ToolError(
                f"the mutants of {self.module.id} do not compile together",
                where=error.diagnostics.strip()[:2000],
                next_step="please report this, with the unit's source",
            ) from None


def find_units(builder: Builder, module: Module) -> Units:
    """Raises ToolError where nothing can be mutated: that is no perfect score."""
    if module.language is not Language.C:
        raise ToolError(
            f"{module.id} is not written in C",
            next_step=f"`ol audit {module.id}` runs its planted mutants",
            code=Exit.USAGE,
        )
    folder = builder.course.include
    headers = [p.read_text("utf-8") for p in sorted(folder.rglob("*.h"))]
    units: list[Unit] = []
    for path, text in builder.reference_sources(module).items():
        first = units[-1].end if units else 1
        units.append(_unit(path, _decoded(path, text), headers, first))
    if not any(u.edits for u in units):
        said = [str(s) for u in units for s in u.source.skipped]
        raise ToolError(
            f"no operator finds anything to change in {module.id}",
            where="\n".join(said[:10]) or ", ".join(module.units),
            next_step="a unit without mutants proves nothing about its tests",
        )
    return Units(builder=builder, module=module, units=tuple(units))


def _decoded(path: str, text: bytes) -> str:
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError:
        raise ToolError(f"the reference is not UTF-8: {path}", next_step="save it as UTF-8") from None


def _unit(path: str, text: str, headers: Sequence[str], first: int) -> Unit:
    source = read(text, name=path.rsplit("/", 1)[-1], headers=headers)
    found = edits(source)
    return Unit(path=path, source=source, edits=found, forced=_forced(source), first=first)


def _forced(source: Source) -> list[Edit]:
    """Failures that cannot be missed: each function's body as a trap."""
    made = []
    for function in source.functions:
        start = source.tokens[source.partner[function.last]].start
        end = source.tokens[function.last].end
        line, column = source.lines.position(start)
        site = Site(kind=SiteKind.STATEMENT, start=start, end=end)
        made.append(
            Edit(
                start=start,
                end=end,
                replacement="{ __builtin_trap(); }",
                operator="forced failure",
                line=line,
                column=column,
                original="",
                function=function.name,
                site=site,
                context="",
                change="1",
            )
        )
    return made


def _refused(builder: Builder, module: Module, unit: Unit, excluded: frozenset[int]) -> set[int]:
    left = unit.schemata(excluded)
    forced = {unit.first + len(unit.edits) + k for k in range(len(unit.forced))}
    for _ in range(_ROUNDS):
        said = complaints(builder, unit.path, left.text)
        if not said:
            return set(left.excluded)
        blamed = blame(said, left.layout) - forced
        if not blamed:
            break
        left = left.without(blamed)
    plain = complaints(builder, unit.path, unit.source.text)
    raise ToolError(
        f"the reference of {module.id} does not compile" if plain else "mutants do not compile together",
        where=(plain or said).strip()[:2000],
        next_step="correct the reference" if plain else "please report this, with the unit's source",
    )


def complaints(builder: Builder, path: str, text: str) -> str:
    """What the compiler says of a unit's text, with all errors; "" when it accepts it."""
    return compiler(builder, {path: text}, ("-fsyntax-only", "-w", *builder.held(path))).said


@dataclass(frozen=True, kw_only=True)
class Compiled:
    said: str
    """Empty when the compiler accepted everything."""
    made: bytes = b""


def compiler(
    builder: Builder, sources: Mapping[str, str], flags: Sequence[str], output: str = ""
) -> Compiled:
    """One run of the compiler in a folder of its own, with all its errors; `output` is read back."""
    every = "-fmax-errors=0" if builder.toolchain.family == "gcc" else "-ferror-limit=0"
    with disk_errors(builder.cache):
        builder.cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="build-", dir=builder.cache) as name:
            folder = Path(name)
            for path, text in sources.items():
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                (folder / path).write_text(text, encoding="utf-8", errors="surrogateescape", newline="")
            argv = [builder.toolchain.path, *builder.flags, every, *flags, *sources]
            env = environment(builder.toolchain.path) | {"TMPDIR": str(folder)}
            done = process.run(argv, cwd=folder, env=env, timeout=COMPILE_SECONDS, cap=1 << 24)
            said = done.err.decode("utf-8", "replace").replace(str(folder) + os.sep, "")
            if done.code != 0:
                return Compiled(said=said or f"the compiler ended with status {done.code}")
            return Compiled(said="", made=(folder / output).read_bytes() if output else b"")
