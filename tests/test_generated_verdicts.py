"""The verdicts of the mass run are those of compiling each mutant alone, and its parts do what they say."""

from pathlib import Path

import pytest
from mutation import OWN, ROOT, mutated, needs_compiler, small

from ol.build import Builder
from ol.course import Course, find_course
from ol.generated.audit import audit_generated
from ol.generated.equivalent import functions_of
from ol.generated.mass import BATCH_SECONDS, Baseline, Job, shards
from ol.generated.model import Mutant, MutantResult, State
from ol.generated.scope import Scope, changed_lines
from ol.operators import apply_edit
from ol.report.mutation_schema import location
from ol.store import Store
from ol.testbed import Testbed, builds_of, prepare
from ol.toolchain import find
from ol.verdict import Outcome

TINY = ROOT / "tests" / "courses" / "tiny"


def tiny_course() -> Course:
    return Course(root=TINY, testkit=ROOT / "course" / "testkit")


def audited(builder: Builder, store: Store, module: str, **scope: tuple[str, ...]) -> list[MutantResult]:
    def quiet(what: str, done: int, total: int) -> None:
        pass

    entry = builder.course.module(module)
    found = audit_generated(builder, store, entry, scope=Scope(**scope), progress=quiet)
    return list(found.mutants)


def bed_of(builder: Builder, store: Store, module: str) -> Testbed:
    entry = builder.course.module(module)
    needed = {m.id: builder.reference_sources(m) for m in builder.course.closure(entry.depends)}
    return prepare(builder, store, entry, needed, entry.tests)


def fails_alone(bed: Testbed, result: MutantResult) -> bool:
    """Whether any test notices the mutant when it is all that was compiled."""
    reference = bed.builder.reference_sources(bed.module)
    mutant = result.mutant
    text = apply_edit(reference[mutant.file].decode(), mutant.edit)
    unit = bed.build({**reference, mutant.file: text.encode()}, builds_of(bed.module.tests))
    results = bed.careful().run(unit, bed.module.tests)
    return any(r.outcome is Outcome.FAILED for r in results)


def disagreements(bed: Testbed, results: list[MutantResult]) -> list[str]:
    """Mutants whose fate is another when they are compiled alone. Those that hang are left out: each would
    cost a test's whole limit."""
    told = []
    for result in results:
        if result.state is State.UNVIABLE or any(k.way == "time-out" for k in result.kills):
            continue
        if (result.state is State.KILLED) != fails_alone(bed, result):
            told.append(f"{result.state}: {result.mutant.id}")
    return told


@needs_compiler
def test_every_verdict_of_a_module_is_that_of_compiling_the_mutant_alone(
    compiler: str, tmp_path: Path
) -> None:
    builder, store = Builder(tiny_course(), find(compiler), tmp_path), Store(tmp_path / "results.sqlite")
    results = audited(builder, store, "T1")
    assert len(results) > 30
    assert disagreements(bed_of(builder, store, "T1"), results) == []


@needs_compiler
@pytest.mark.parametrize(("module", "lines"), [("L9.2", ("17-24", "57")), ("M09.6", ("45-49",))])
def test_sampled_verdicts_of_the_course_are_those_of_compiling_alone(
    module: str, lines: tuple[str, ...], any_compiler: str, tmp_path: Path
) -> None:
    course = find_course(ROOT / "ol")
    builder, store = Builder(course, find(any_compiler), tmp_path), Store(tmp_path / "results.sqlite")
    results = audited(builder, store, module, lines=lines)
    alive = [r for r in results if r.state is not State.KILLED]
    dead = [r for r in results if r.state is State.KILLED]
    bed = bed_of(builder, store, module)
    assert disagreements(bed, alive[::3] + dead[:: max(1, len(dead) // 6)]) == []


def test_equal_code_is_equal_whatever_labels_and_constants_are_called() -> None:
    assembly = """
f_olcopy0:
	cmpl	$1, %edi
	jg	.L4
	movss	.LC0(%rip), %xmm0
.L4:
	call	f_olcopy0
	ret
	.size	f_olcopy0, .-f_olcopy0
f_olcopy7:
	cmpl	$1, %edi
	jg	.L9
	movss	.LC3(%rip), %xmm0
.L9:
	call	f_olcopy7
	ret
	.size	f_olcopy7, .-f_olcopy7
f_olcopy8:
	cmpl	$1, %edi
	jg	.L11
	movss	.LC4(%rip), %xmm0
.L11:
	call	f_olcopy8
	ret
	.size	f_olcopy8, .-f_olcopy8
	.section	.rodata.cst4
.LC0:
	.long	1065353216
.LC3:
	.long	1065353216
.LC4:
	.long	1073741824
"""
    codes = functions_of(assembly)
    assert codes["f_olcopy0"] == codes["f_olcopy7"] != codes["f_olcopy8"]


def test_changed_lines_are_those_of_the_new_side() -> None:
    diff = (
        "--- a/reference/c/src/sum.c\n+++ b/reference/c/src/sum.c\n"
        "@@ -3 +3,2 @@\n-a\n+b\n+c\n@@ -9,2 +10,0 @@\n-d\n-e\n"
    )
    assert changed_lines(diff, ["c/src/sum.c"]) == {"c/src/sum.c": {3, 4}}


def test_a_place_ends_after_its_last_character() -> None:
    text = "int a;\nint bc;\n"
    assert location(text, 11, 13) == {"start": {"line": 2, "column": 5}, "end": {"line": 2, "column": 7}}


@pytest.mark.parametrize("name", ["strings", "bits", "machine"])
def test_source_of_other_people_is_mutated_in_every_function(name: str) -> None:
    source, found = mutated(OWN / f"{name}.c")
    assert {f.name for f in source.functions} == {e.function for e in found}


def test_a_unit_of_five_thousand_lines_is_mutated_in_seconds() -> None:
    body = "".join(
        f"int f{k}(int a) {{\n    if (a < {k})\n        a++;\n    return a;\n}}\n" for k in range(1000)
    )
    source, found = small(body)
    assert len(source.functions) == 1000
    assert len({e.function for e in found}) == 1000


def test_the_runs_of_a_mutant_stay_with_one_supervisor_and_every_run_is_dealt() -> None:
    _, found = small("int f(int a, int b) { return a + b < 3 ? a * b : a - b; }")
    mutants = [Mutant(number=n, file="small.c", edit=e) for n, e in enumerate(found, start=1)]
    tests = find_course(ROOT / "ol").module("L9.2").tests[:3]
    jobs = [Job(mutant=m, test=t) for m in mutants for t in tests]
    dealt = shards(jobs, lambda test: BATCH_SECONDS / 10)
    assert len(dealt) >= len(jobs) // 10 > 2
    assert sorted((j.mutant.number, j.test.id) for part in dealt for j in part) == sorted(
        (j.mutant.number, j.test.id) for j in jobs
    )
    for mutant in mutants:
        (part,) = [part for part in dealt if any(j.mutant is mutant for j in part)]
        at = [k for k, j in enumerate(part) if j.mutant is mutant]
        assert at == list(range(at[0], at[0] + len(tests)))


def test_a_mutant_never_has_more_time_than_its_test() -> None:
    test = find_course(ROOT / "ol").module("L9.2").tests[0]
    quick, slow = Baseline(stream=b"", seconds=0.1), Baseline(stream=b"", seconds=0.9 * test.seconds)
    assert 4 * quick.seconds < quick.limit(test) < test.seconds
    assert slow.limit(test) == test.seconds
