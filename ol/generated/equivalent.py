"""Mutants that cannot be told from the original, or from one another: their optimised code is the same.

Many mutated functions are compiled at a time, each a copy under another name; what is compared is the
code that the compiler emits for each, with labels renumbered and constants spelled out.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from ol.generated.model import Mutant
from ol.generated.units import Unit, Units, compiler
from ol.operators import apply_edit
from ol.parallel import together
from ol.slots import jobs

LEAST, BATCH = 12, 120
"""Mutants in one run of the compiler: each run reads the headers again."""
_FLAGS = ("-O2", "-g0", "-w", "-S", "-o", "out.s", "-fno-asynchronous-unwind-tables")
_GCC = (
    "-fno-ipa-cp",
    "-fno-ipa-icf",
    "-fno-ipa-sra",
    "-fno-ipa-ra",
    "-fno-partial-inlining",
    "-fno-reorder-blocks-and-partition",
    "-fno-stack-protector",
)
_COPY = "{name}_olcopy{number}"
_COPIED = re.compile(r"\b(\w+)_olcopy\d+")
_LABEL = re.compile(r"\.L[\w.$]+")
_DROPPED = re.compile(
    r"\s*(\.(section|text|data|p2align|align|balign|loc|file|cfi_\w+|type|globl|size|ident|addrsig\w*|set)\b"
    r"|#|//|$)"
)
_TRY = 5


def codes(units: Units, mutants: Sequence[Mutant]) -> dict[int, str]:
    """Of each mutant, by number, a digest of its function's code: "=" where it is that of the original,
    "?" where it cannot be told."""
    calls = []
    for unit in units.units:
        mine = [m for m in mutants if m.file == unit.path]
        calls += [partial(_codes, units, unit, batch) for batch in _batches(mine)]
    found = {number: pair for part in together(calls) for number, pair in part.items()}
    return {m.number: _digest(found.get(m.number)) for m in mutants}


def _batches(mutants: Sequence[Mutant]) -> list[Sequence[Mutant]]:
    """Some of each function in each, for functions differ in how long they take."""
    count = max(min(jobs(), len(mutants) // LEAST), -(-len(mutants) // BATCH), 1)
    by_function = sorted(mutants, key=lambda m: m.edit.function)
    return [by_function[k::count] for k in range(count)] if mutants else []


def _digest(pair: tuple[str, str] | None) -> str:
    if pair is None:
        return "?"
    code, original = pair
    return "=" if code == original else hashlib.blake2b(code.encode(), digest_size=12).hexdigest()


def _codes(units: Units, unit: Unit, mutants: Sequence[Mutant]) -> dict[int, tuple[str, str]]:
    """Of each mutant that can be compiled alone: its code, and that of the original function."""
    extra = _GCC if units.builder.toolchain.family == "gcc" else ()
    left = list(mutants)
    for _ in range(_TRY):
        functions = {m.edit.function for m in left}
        copies = [_copy(unit, unit.source.text, name, 0) for name in sorted(functions)]
        copies += [
            _copy(unit, apply_edit(unit.source.text, m.edit), m.edit.function, m.number) for m in left
        ]
        text = unit.source.text + "".join(copies)
        flags = (*_FLAGS, *extra, *units.builder.held(unit.path))
        done = compiler(units.builder, {unit.path: text}, flags, "out.s")
        if not done.said:
            codes = functions_of(done.made.decode("utf-8", "replace"))
            return {
                m.number: (codes[_name(m.edit.function, m.number)], codes[_name(m.edit.function, 0)])
                for m in left
                if _name(m.edit.function, m.number) in codes and _name(m.edit.function, 0) in codes
            }
        refused = {int(n) for n in re.findall(r"^mutant_(\d+):\d+:\d+: (?:fatal )?error", done.said, re.M)}
        left = [m for m in left if m.number not in refused]
        if not refused or not left:
            break
    return {}


def _name(function: str, number: int) -> str:
    return _COPY.format(name=function, number=number)


def _copy(unit: Unit, text: str, name: str, number: int) -> str:
    """The function as `text` has it, by another name, to stand after the unit."""
    source = unit.source
    function = next(f for f in source.functions if f.name == name)
    start = source.tokens[function.first].start
    end = len(text) - (len(source.text) - source.tokens[function.last].end)
    head = f'\n#line 1 "mutant_{number}"\n#define {name} {_name(name, number)}\n'
    return f"{head}__attribute__((used, noinline)) {text[start:end]}\n#undef {name}\n"


def functions_of(assembly: str) -> dict[str, str]:
    """The code of each copied function, so that equal texts are equal code."""
    bodies: dict[str, list[str]] = {}
    data: dict[str, list[str]] = {}
    inside, label = "", ""
    for line in assembly.splitlines():
        head = re.match(r"([\w.$]+):", line)
        if re.match(r"\s*\.size\s+(\w+)", line):
            inside = ""
            continue
        alias = re.match(r"\s*\.set\s+(\.L\w+),\s*(.*)", line)
        if alias:
            data[alias[1]] = [alias[2]]
        if head and not head[1].startswith(".L"):
            inside = head[1] if _COPIED.fullmatch(head[1]) else ""
            label = ""
            if inside:
                bodies[inside] = []
            continue
        if inside:
            if not _DROPPED.match(line):
                bodies[inside].append(line.split("#")[0].strip())
            continue
        if head:
            label = head[1]
            data[label] = []
        elif label and not _DROPPED.match(line):
            data[label].append(line.split("#")[0].strip())
    return {name: _canonical(lines, data) for name, lines in bodies.items()}


def _canonical(lines: Iterable[str], data: Mapping[str, Sequence[str]]) -> str:
    numbers: dict[str, str] = {}

    def spelled(text: str, depth: int) -> str:
        def one(found: re.Match[str]) -> str:
            name = found.group()
            if name in data and depth < 3:
                return "{" + spelled(";".join(data[name]), depth + 1) + "}"
            return numbers.setdefault(name, f".{len(numbers)}")

        return _LABEL.sub(one, text)

    return "\n".join(_COPIED.sub(r"\1", spelled(line, 0)) for line in lines)
