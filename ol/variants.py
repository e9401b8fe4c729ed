"""Many mutants of one C unit in one object: function-level schemata. Pure text.

Curated mutants are arbitrary differences, most of them inside one function. Where a mutant changes only
the bodies of functions, each changed body becomes a function of its own, and the original's name a
dispatcher on `ol_mutant`, which the supervisor's child sets before a test. So one compilation serves all
of them, and what does not fit (a changed prototype, type or macro) is built on its own.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_TOKEN = re.compile(
    r"""//(?:[^\n\\]|\\.|\\\n)*          # comments
      | /\*.*?\*/
      | "(?:[^"\\\n]|\\.)*" | '(?:[^'\\\n]|\\.)*'
      | ^[ \t]*\#(?:[^\n\\]|\\.|\\\n)*   # a directive, with its continued lines
      | [{}();=]
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
_NAME = re.compile(r"(\w+)\s*\($")


@dataclass(frozen=True, kw_only=True)
class Function:
    """A function definition as text: `head` up to its opening brace, `body` with both braces."""

    name: str
    head: str
    body: str
    line: int
    """Of the opening brace."""


def split(source: str) -> tuple[list[str], list[Function]]:
    """The text between function definitions, and the definitions: parts[0] functions[0] parts[1] …"""
    parts: list[str] = []
    functions: list[Function] = []
    depth, parens, start, head_from, open_at, last = 0, 0, 0, 0, 0, ""
    is_function = False
    for token in _TOKEN.finditer(source):
        mark = token.group()
        if len(mark) > 1:
            if depth == 0 and mark.lstrip().startswith(("#", "/")) and not last:
                head_from = token.end()
            continue
        if mark == "{":
            if depth == 0:
                is_function, open_at = last == ")", token.start()
            depth += 1
        elif mark == "}":
            depth -= 1
            if depth == 0 and is_function:
                head = source[head_from:open_at]
                found = Function(
                    name=_name(head),
                    head=head,
                    body=source[open_at : token.end()],
                    line=source.count("\n", 0, open_at) + 1,
                )
                parts.append(source[start:head_from])
                functions.append(found)
                start = head_from = token.end()
                last, is_function = "", False
                continue
        if depth == 0:
            parens += {"(": 1, ")": -1}.get(mark, 0)
            last = mark
            if mark == ";" and parens == 0:
                head_from, last = token.end(), ""
    return [*parts, source[start:]], functions


def closing_brace(source: str, opening: int) -> int:
    """The offset after the brace that closes the one at `opening`; the end of the text if none does."""
    depth = 0
    for token in _TOKEN.finditer(source, opening):
        depth += {"{": 1, "}": -1}.get(token.group(), 0)
        if depth == 0 and token.group() == "}":
            return token.end()
    return len(source)


def _name(head: str) -> str:
    """The identifier before the parameter list, which is the head's first parenthesis."""
    found = _NAME.search(head[: head.index("(") + 1])
    return found.group(1) if found else ""


def changed(original: str, mutated: str) -> dict[str, Function] | None:
    """The functions whose bodies a mutant changes, or None when it changes anything else."""
    parts, functions = split(original)
    new_parts, new_functions = split(mutated)
    same = parts == new_parts and [f.head for f in functions] == [f.head for f in new_functions]
    if not same:
        return None
    pairs = zip(functions, new_functions, strict=True)
    bodies = {new.name: new for old, new in pairs if old.body != new.body}
    return bodies if bodies and all(_arguments(f.head) is not None for f in bodies.values()) else None


def _arguments(head: str) -> list[str] | None:
    """The names of the parameters, or None where they cannot be told from the text."""
    inside = head[head.index("(") + 1 : head.rindex(")")].strip()
    if inside in ("void", ""):
        return []
    if "..." in inside or "(" in inside or "/*" in inside or "//" in inside:
        return None
    names = [re.search(r"(\w+)\s*(?:\[[^\]]*\]\s*)*$", one) for one in inside.split(",")]
    return [n.group(1) for n in names if n] if all(names) else None


def combine(
    original: str, mutants: Mapping[int, Mapping[str, Function]], path: str, *, defines: bool
) -> str:
    """One source in which `ol_mutant` chooses among the original (0) and `mutants`, by number.

    Every value of `mutants` comes from `changed`. Lines of bodies stay those of their own files. In a
    unit of several files exactly one of them `defines` the selector.
    """
    parts, functions = split(original)
    touched = {name for bodies in mutants.values() for name in bodies}
    text = ["extern volatile int ol_mutant;"]
    text.append(" volatile int ol_mutant;\n#line 1\n" if defines else "\n#line 1\n")
    tail: list[str] = []
    for part, function in zip(parts, functions, strict=False):
        text.append(part)
        if function.name not in touched:
            text.append(function.head + function.body)
            continue
        lead = function.head[: len(function.head) - len(function.head.lstrip())]
        text.append(lead + _flat(function.head) + "; ")
        text.append(_renamed(function, 0) + function.body)
        choices = {n: bodies[function.name] for n, bodies in mutants.items() if function.name in bodies}
        for number, body in choices.items():
            tail.append(f'#line {body.line} "{path}"\n{_flat(_renamed(body, number))} {body.body}')
        tail.append(_dispatcher(function, list(choices)))
    return "".join([*text, parts[-1], "\n", "\n".join(tail), "\n"])


def _flat(head: str) -> str:
    return " ".join(re.sub(r"/\*.*?\*/|//[^\n]*", " ", head, flags=re.DOTALL).split())


def _renamed(function: Function, number: int) -> str:
    """The head of a variant. It is static, whatever the original is: only the contract's names show."""
    head = re.sub(rf"\b{function.name}(\s*\()", rf"{function.name}_ol{number}\1", function.head, count=1)
    bare = head.lstrip()
    return bare if re.match(r"(?:\w+\s+)*static\b", bare) else "static " + bare


def _dispatcher(function: Function, numbers: list[int]) -> str:
    head = _flat(function.head)
    arguments = ", ".join(_arguments(function.head) or [])
    returns = "" if re.match(r"(?:static\s+|inline\s+|const\s+)*void\s+\w", head) else "return "
    cases = [f"case {n}: {returns}{function.name}_ol{n}({arguments}); break;" for n in numbers]
    other = f"default: {returns}{function.name}_ol0({arguments});"
    return f"{head} {{ switch (ol_mutant) {{ {' '.join([*cases, other])} }} }}"


def combined_sources(
    reference: Mapping[str, bytes], mutants: Sequence[Mapping[str, bytes]]
) -> tuple[dict[str, bytes], list[int]]:
    """One set of sources for those of `mutants` that only change bodies.

    Returns the sources and, for each mutant, its number in them; 0 for one that does not fit. Mutant
    sources are whole units, as the reference is.
    """
    numbers = [0] * len(mutants)
    bodies: dict[str, dict[int, Mapping[str, Function]]] = {path: {} for path in reference}
    for k, sources in enumerate(mutants):
        differing = [path for path in reference if sources[path] != reference[path]]
        texts = [[t.decode("utf-8") for t in (reference[p], sources[p])] for p in differing]
        found = [changed(*pair) for pair in texts]
        if found and all(found):
            numbers[k] = k + 1
            for path, functions in zip(differing, found, strict=True):
                bodies[path][k + 1] = functions or {}
    first = next((path for path, chosen in bodies.items() if chosen), None)
    made = {
        path: combine(text.decode("utf-8"), bodies[path], path, defines=path == first).encode("utf-8")
        if bodies[path]
        else text
        for path, text in reference.items()
    }
    return made, numbers
