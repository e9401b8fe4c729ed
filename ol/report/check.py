"""A verdict in words: what failed, why it matters, where, and what to run next. Pure."""

import re
from dataclasses import replace
from typing import Any

import msgspec

from ol.lane import Sources
from ol.manifest import Module, Way
from ol.report.failures import excerpt, failure_lines, few_lines, printable, short
from ol.report.sanitizer import cut
from ol.verdict import Failure, Grade, Outcome, Refused, TestResult, Verdict

FORMAT_VERSION = 1
_SEVERITY = (Way.CRASH, Way.SANITIZER, Way.CHECK)


def text(verdict: Verdict, module: Module, sources: Sources, width: int | None = None) -> str:
    """The report of `ol check`; the failures after the first take a line each, of `width` characters."""
    if verdict.grade is Grade.REFUSED:
        return "\n".join(_refusal(verdict, sources))
    lines: list[str] = []
    if verdict.failed:
        lines += _first_failure(verdict, module, sources)
        lines += _others(verdict, width)
    return "\n".join([*lines, *_last(verdict, module)])


def _refusal(verdict: Verdict, sources: Sources) -> list[str]:
    lines = [f"{verdict.module}: not run, for the unit does not build or breaks its contract"]
    for one in verdict.refused:
        lines += ["", *_refused(one, sources)]
    return [*lines, "", f"next: correct it and run `ol check {verdict.module}` again"]


def _refused(one: Refused, sources: Sources) -> list[str]:
    lines = [f"{one.where}: {printable(one.what)}" if one.where else printable(one.what)]
    shown = one.detail or "\n".join(excerpt(one.where, sources))
    lines += [f"    {line}" for line in few_lines(shown)]
    lines.append(f"  rule      {one.rule}")
    if one.instead:
        lines.append(f"  instead   {one.instead}")
    return lines


def telling(result: TestResult) -> Failure:
    """The failure of a test that says most: what ended it before what came out wrong."""
    order = {way: k for k, way in enumerate(_SEVERITY)}
    return min(result.failures, key=lambda f: order.get(f.way, 0))


def _first_failure(verdict: Verdict, module: Module, sources: Sources) -> list[str]:
    result = verdict.failed[0]
    entry = module.test(result.test)
    failure = telling(result)
    lines = [f"FAILED {result.test}", f"  checks    {entry.checks}", f"  why       {entry.why}", ""]
    where, detail = _detail(failure, sources)
    lines += [f"  {line}" for line in failure_lines(replace(failure, where=where))]
    lines += [f"    {line}" for line in excerpt(where, sources)]
    lines += [f"    {line}" for line in detail]
    rest = len(result.failures) - 1
    if rest:
        lines.append(f"  ({rest} more {'check' if rest == 1 else 'checks'} of this test failed)")
    return [*lines, ""]


def _detail(failure: Failure, sources: Sources) -> tuple[str, list[str]]:
    """Where it went wrong, and what else there is to read of it."""
    if "Sanitizer" in failure.detail or ": runtime error:" in failure.detail:
        place, lines = cut(failure.detail, sources)
        return failure.where or place, lines
    return failure.where, few_lines(failure.detail)


def _others(verdict: Verdict, width: int | None) -> list[str]:
    lines = []
    for result in verdict.failed[1:]:
        failure = telling(result)
        where = f" at {failure.where}" if failure.where else ""
        got = re.sub(r" \(0x[0-9a-f]+\)", "", short(failure.got))[:70]
        lines.append(f"also failed: {result.test} ({failure.way}{where}: got {got})")
        if width and len(lines[-1]) > width:
            lines[-1] = f"also failed: {result.test}"
    idle = sum(r.outcome is Outcome.NOT_RUN for r in verdict.results)
    if idle:
        lines.append(f"not run after the time-out: {idle} {'test' if idle == 1 else 'tests'}")
    return [*lines, ""] if lines else []


def _last(verdict: Verdict, module: Module) -> list[str]:
    n, failed = len(verdict.results), len(verdict.failed)
    over = "the reference's dependencies" if verdict.reference_dependencies else "your own dependencies"
    run = f"seed {verdict.seed}, {verdict.compiler.split(' (')[0]}"
    if verdict.sandbox == "none":
        run += ", without a sandbox"
    if not module.depends:
        over = "no dependencies"
    if verdict.partial:
        head = f"{module.id}: {n - failed} of {n} chosen tests pass ({run}); partial, no verdict"
        if failed:
            return [head, f"next: {_debug(verdict, module)}"]
        step = f"ol check {module.id}" + (" --ref-deps" if verdict.reference_dependencies else "")
        return [head, f"next: `{step}` runs all {len(module.tests)} tests and gives the verdict"]
    if not failed:
        head = f"{module.id}: PASS, {n} of {n} tests over {over} ({run})"
        if verdict.grading:
            return [head, _replay(verdict, module)]
        return [head, f"next: `ol diff {module.id}` shows your code against the reference"]
    if verdict.grading:
        head = f"{module.id}: FAIL, {failed} of {n} tests fail over {over} ({run})"
        return [head, _replay(verdict, module)]
    first = verdict.failed[0].test
    again = f"ol check {module.id} -k {first}{_same_run(verdict)}"
    return [
        f"{module.id}: FAIL, {failed} of {n} tests fail over {over} ({run})",
        f"next: `{again}` runs it alone; {_debug(verdict, module)}",
    ]


def _replay(verdict: Verdict, module: Module) -> str:
    """How to repeat a grade, for an appeal."""
    where = f" in {verdict.sandbox}" if verdict.sandbox != "none" else ""
    return f"graded{where}; `ol check {module.id} --grade --seed {verdict.seed}` repeats it"


def _same_run(verdict: Verdict) -> str:
    seed = f" --seed {verdict.seed}" if verdict.seed else ""
    return seed + (" --ref-deps" if verdict.reference_dependencies else "")


def _debug(verdict: Verdict, module: Module) -> str:
    """How to look closer at the first failure."""
    first = verdict.failed[0].test
    language, _, name = first.partition(":")
    if language == "py":
        return f"`ol tests {module.id} -v` shows what the test does"
    return f"`ol debug {module.id} {name}{_same_run(verdict)}` opens it in a debugger"


def document(verdict: Verdict) -> bytes:
    """JSON as docs/json.md describes it."""
    body: dict[str, Any] = {"format_version": FORMAT_VERSION, "kind": "check"}
    body |= msgspec.to_builtins(verdict)
    body["verdict"] = None if verdict.partial else str(verdict.grade)
    return msgspec.json.format(msgspec.json.encode(body), indent=2)
