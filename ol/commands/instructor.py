"""Commands of instructors and authors."""

from typing import TYPE_CHECKING, Any

import click

from ol.commands.generated import (
    REPORTS,
    generated_options,
    misused,
    run_generated,
    writable,
    write_reports,
)
from ol.commands.options import COMPILER, JOBS, JSON, MODULE, SEED, set_jobs
from ol.exits import Exit

if TYPE_CHECKING:
    from ol.build import Builder
    from ol.fate import AuditReport
    from ol.manifest import Module


@click.command()
@MODULE
@click.argument("mutants", nargs=-1)
@click.option("--matrix", is_flag=True, help="Every test on every mutant, not only the named one.")
@click.option("--show", is_flag=True, help="Print the mutants' differences and run nothing.")
@COMPILER
@JOBS
@SEED
@JSON
@generated_options
def audit(
    module: str,
    mutants: tuple[str, ...],
    *,
    matrix: bool,
    show: bool,
    compiler: str | None,
    jobs: int | None,
    seed: int,
    as_json: bool,
    **options: Any,
) -> Exit:
    """Prove that the tests kill the planted faults of MODULE.

    \b
    ol audit L9.4              all mutants, each by the test that its entry names
    ol audit L9.4 s03 s14      these two
    ol audit L9.4 s03 --show   what the fault is
    ol audit L9.4 --matrix     every test on every mutant
    ol audit L9.4 --html F     a page for a browser; also --report, --sarif
    ol audit L9.4 --generated  every small fault that the operators allow

    Exit status: 0 all killed as planned, 1 not so, 69 no toolchain, 70 a fault of the course.
    """
    from ol import audit as use_case
    from ol import planted
    from ol.build import Builder
    from ol.report import screen
    from ol.settings import load
    from ol.store import Store
    from ol.toolchain import find

    settings = load()
    chosen = settings.course.module(module)
    set_jobs(jobs)
    store = Store(settings.results)
    writable(options)
    if options["generated"]:
        if mutants or show:
            raise click.UsageError("planted mutants and --show do not go with --generated")
        builder = Builder(settings.course, find(compiler), settings.cache)
        return run_generated(
            builder, store, chosen, seed=seed, matrix=matrix, as_json=as_json, options=options
        )
    misused(options)
    entries = planted.chosen(chosen, mutants)
    if show:
        for entry in entries:
            screen.write(planted.shown(settings.course, chosen, entry))
        return Exit.PASS
    builder = Builder(settings.course, find(compiler), settings.cache)
    also = chosen.tests if matrix else ()
    with screen.progress() as tell:
        report = use_case.audit(builder, store, chosen, entries, seed=seed, also=also, progress=tell)
    return _told(report, builder, chosen, as_json=as_json, options=options)


def _told(
    report: "AuditReport",
    builder: "Builder",
    module: "Module",
    *,
    as_json: bool,
    options: dict[str, Any],
) -> Exit:
    """Prints and writes what came of an audit of planted mutants."""
    from ol.planted import planted
    from ol.report import audit as render
    from ol.report import screen

    if any(options[name] for name in REPORTS):
        from ol.report.planted_sheet import of_planted

        reference = builder.reference_sources(module)
        mutants = [m.entry for m in report.mutants]
        mutated = {e.id: planted(builder.course, module, e, reference).sources for e in mutants}
        write_reports(of_planted(report, reference, mutated), options)
    if as_json:
        screen.write(render.document(report).decode())
        return Exit.PASS if report.holds else Exit.FAIL
    if report.mutants:
        screen.render(render.table(report))
        screen.write("")
    screen.write(render.summary(report))
    return Exit.PASS if report.holds else Exit.FAIL


@click.command()
@click.argument("modules", nargs=-1)
@click.option("--compiler", type=click.Choice(["gcc", "clang", "both"]), default="both", show_default=True)
@JOBS
def lint(modules: tuple[str, ...], *, compiler: str, jobs: int | None) -> Exit:
    """Prove that the whole course holds together.

    \b
    ol lint                  all modules, with gcc and clang
    ol lint L9.4 rt.03       these two
    ol lint --compiler gcc   with one compiler

    Exit status: 0 when nothing is found.
    """
    from ol import lint as use_case
    from ol.build import Builder
    from ol.report import lint as render
    from ol.report import screen
    from ol.settings import load
    from ol.store import Store
    from ol.toolchain import FAMILIES, find

    set_jobs(jobs)
    settings = load()
    chosen = [settings.course.module(m) for m in modules] or list(settings.course.modules.values())
    families = FAMILIES if compiler == "both" else (compiler,)
    builders = [Builder(settings.course, find(f), settings.cache) for f in families]
    with screen.progress() as tell:
        found = use_case.lint(builders, Store(settings.results), chosen, tell)
    screen.write(render.text(found, len(chosen), families))
    return Exit.FAIL if found else Exit.PASS
