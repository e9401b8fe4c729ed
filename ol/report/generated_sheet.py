"""An audit with generated mutants as a sheet."""

from ol.generated.model import GeneratedReport, MutantResult, State, Why
from ol.report.generated import because
from ol.report.sheet import Row, Sheet, Standing

_STANDING = {
    State.KILLED: Standing.KILLED,
    State.SURVIVED: Standing.SURVIVED,
    State.ACCEPTED: Standing.ACCEPTED,
}
_STATUS = {
    State.KILLED: "Killed",
    State.SURVIVED: "Survived",
    State.ACCEPTED: "Ignored",
    State.EQUIVALENT: "Ignored",
    State.DUPLICATE: "Ignored",
    State.UNVIABLE: "CompileError",
}


def of_generated(report: GeneratedReport) -> Sheet:
    notes = [f"no test calls {name}" for name in report.never_called]
    notes += [f"{s.file}:{s.line}: not mutated: {s.reason}" for s in report.skipped]
    notes += [f"accepted.toml: {line}" for line in report.stale]
    return Sheet(
        module=report.module,
        title=report.title,
        kind="generated",
        verdict=f"score {report.score:.1f} %",
        compiler=report.compiler,
        seed=report.seed,
        matrix=report.matrix,
        sources=report.sources,
        rows=tuple(_row(m) for m in report.mutants),
        tests=report.tests,
        states=tuple(State),
        planted=report.planted,
        notes=tuple(notes),
    )


def _row(result: MutantResult) -> Row:
    mutant, edit = result.mutant, result.mutant.edit
    return Row(
        id=str(mutant.number),
        name=mutant.id,
        key=mutant.key,
        file=mutant.file,
        start=edit.start,
        end=edit.end,
        line=edit.line,
        column=edit.column,
        operator=edit.operator,
        action=edit.action,
        replacement=edit.replacement,
        state=result.state,
        standing=_STANDING.get(result.state, Standing.OTHER),
        status=_status(result),
        told=told(result),
        kills=result.kills,
        ran=len(result.ran),
        reached_in=result.reached_in,
    )


def _status(result: MutantResult) -> str:
    if result.state is State.SURVIVED and result.why is Why.NEVER_REACHED:
        return "NoCoverage"
    if result.kills and result.kills[0].way == "time-out":
        return "Timeout"
    return _STATUS[result.state]


def told(result: MutantResult) -> str:
    """What became of a mutant, in a sentence."""
    match result.state:
        case State.KILLED:
            return "killed by " + ", ".join(f"{k.test} ({k.way}: {k.check})" for k in result.kills)
        case State.ACCEPTED:
            return result.reason
        case State.DUPLICATE:
            return f"the same optimised code as {result.same_as}"
        case State.EQUIVALENT:
            return "the same optimised code as the original"
        case State.UNVIABLE:
            return "the compiler refuses it"
        case _:
            return because(result)
