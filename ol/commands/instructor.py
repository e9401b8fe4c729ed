"""Commands of instructors and authors."""

import click

from ol.commands.options import COMPILER, JOBS, JSON, MODULE, SEED, set_jobs
from ol.exits import Exit


@click.command()
@MODULE
@click.argument("mutants", nargs=-1)
@click.option("--matrix", is_flag=True, help="Every test on every mutant, not only the named one.")
@click.option("--show", is_flag=True, help="Print the mutants' differences and run nothing.")
@COMPILER
@JOBS
@SEED
@JSON
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
) -> Exit:
    """Prove that the tests kill the planted faults of MODULE.

    \b
    ol audit L9.4              all mutants, each by the test that its entry names
    ol audit L9.4 s03 s14      these two
    ol audit L9.4 s03 --show   what the fault is
    ol audit L9.4 --matrix     every test on every mutant

    Exit status: 0 all killed as planned, 1 not so, 69 no toolchain, 70 a fault of the course.
    """
    from ol import audit as use_case
    from ol.build import Builder
    from ol.report import screen
    from ol.settings import load
    from ol.store import Store
    from ol.toolchain import find

    settings = load()
    chosen = settings.course.module(module)
    entries = use_case.chosen(chosen, mutants)
    if show:
        for entry in entries:
            screen.write(use_case.shown(settings.course, chosen, entry))
        return Exit.PASS
    set_jobs(jobs)
    builder = Builder(settings.course, find(compiler), settings.cache)
    store = Store(settings.results)
    with screen.progress() as tell:
        report = use_case.audit(builder, store, chosen, entries, seed=seed, matrix=matrix, progress=tell)
    from ol.report import audit as render

    if as_json:
        screen.write(render.document(report).decode())
        return Exit.PASS if report.holds else Exit.FAIL
    if report.mutants:
        screen.render(render.table(report))
        screen.write("")
    screen.write(render.summary(report))
    return Exit.PASS if report.holds else Exit.FAIL
