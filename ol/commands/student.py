"""Commands of a student's walk: init, start, tests, check, debug, diff."""

import click

from ol.commands.options import (
    ANY_MODULE,
    COMPILER,
    JOBS,
    JSON,
    MODULE,
    REF_DEPS,
    SANDBOX,
    SEED,
    WORKSPACE,
    set_jobs,
)
from ol.commands.way import check_many, one_bench
from ol.exits import Exit


@click.command()
@click.argument("folder")
def init(folder: str) -> Exit:
    """Lay out a repo for your own units in FOLDER.

    \b
    ol init tinyllm && cd tinyllm && ol start L9.4

    What is in the folder already stays as it is.
    """
    import shlex
    from pathlib import Path

    from ol import start as use_case
    from ol.report import screen
    from ol.settings import load

    started = use_case.init(load().course, Path(folder).expanduser())
    for path in started.written:
        screen.write(f"wrote {path}")
    for path in started.kept:
        screen.write(f"kept  {path}")
    screen.write(
        f"next: cd {shlex.quote(folder)}; `ol tests` lists the modules; `ol start ID` writes a stub"
    )
    return Exit.PASS


@click.command()
@MODULE
@click.option("--force", is_flag=True, help="Write the stub anew; the old file becomes a backup.")
@WORKSPACE
def start(module: str, *, force: bool, workspace: str | None) -> Exit:
    """Write the stub of MODULE into your workspace.

    \b
    ol start L9.4          writes c/src/kernels/paged_attn.c
    ol start L9.4 --force  writes it anew and keeps the old one as a backup
    """
    from ol import start as use_case
    from ol.report import screen
    from ol.settings import load

    settings = load(workspace=workspace)
    chosen = settings.course.module(module)
    started = use_case.start(settings.course, settings.workspace(), chosen, force=force)
    for path in started.backups:
        screen.write(f"kept the old one as {path}")
    for path in started.written:
        screen.write(f"wrote {path}")
    for path in started.kept:
        screen.write(f"left {path} as it is: it exists (--force writes it anew and keeps a backup)")
    screen.write(f"next: ol tests {chosen.id}, write the unit, then ol check {chosen.id}")
    return Exit.PASS


@click.command()
@ANY_MODULE
@click.option("-v", "--verbose", is_flag=True, help="With the source of each test.")
def tests(module: str | None, *, verbose: bool) -> Exit:
    """List the modules, or what the tests of MODULE check and why.

    \b
    ol tests           the modules
    ol tests L9.4      the catalogue of one
    ol tests L9.4 -v   with the source of each test
    """
    from ol.catalogue import test_source
    from ol.report import catalogue, screen
    from ol.settings import load

    course = load().course
    if module is None:
        screen.render(catalogue.modules(course.modules.values()))
        screen.write("next: `ol tests ID` shows what a module tests; `ol start ID` writes its stub")
        return Exit.PASS
    chosen = course.module(module)
    sources = {t.id: test_source(course, chosen, t) for t in chosen.tests} if verbose else {}
    screen.render(catalogue.tests(chosen, sources))
    return Exit.PASS


@click.command()
@ANY_MODULE
@click.option("--all", "everything", is_flag=True, help="Every module that you have started.")
@REF_DEPS
@click.option("-k", "name", metavar="NAME", help="Only tests called so. Results, but no verdict.")
@click.option("--grade", is_flag=True, help="As a class is graded: fresh seed, sandbox, --ref-deps.")
@click.option("--seed", type=click.IntRange(0, 2**64 - 1), help="Of all inputs; 0, and fresh with --grade.")
@SANDBOX
@COMPILER
@JOBS
@JSON
@WORKSPACE
def check(
    module: str | None,
    *,
    everything: bool,
    ref_deps: bool,
    name: str | None,
    grade: bool,
    seed: int | None,
    sandbox: str | None,
    compiler: str | None,
    jobs: int | None,
    as_json: bool,
    workspace: str | None,
) -> Exit:
    """Build and test your unit of MODULE. The exit status is the verdict.

    \b
    ol check L9.4                   over your own dependencies, which must pass
    ol check L9.4 --ref-deps        over the reference's
    ol check L9.4 -k hand_example   one test; results, but no verdict
    ol check --all                  every module that you have started
    ol check L9.4 --grade           as a class is graded; nothing is remembered

    Exit status: 0 pass, 1 a test fails, 3 not started or a dependency does not pass,
    4 does not build or breaks its contract, 69 no toolchain.
    """
    import secrets

    from ol import check as use_case
    from ol.report import check as render
    from ol.report import screen

    set_jobs(jobs)
    if seed is None:
        seed = secrets.randbits(63) if grade else 0
    ref_deps = ref_deps or grade
    if (everything or module is None) and (name is not None or as_json):
        raise click.UsageError("-k and --json go with one module, as in `ol check L9.4 --json`")
    if everything or module is None:
        return check_many(
            compiler,
            workspace,
            ref_deps=ref_deps,
            seed=seed,
            everything=everything,
            sandbox=sandbox,
            grading=grade,
        )
    bench, chosen = one_bench(module, compiler, workspace, sandbox=sandbox, grading=grade)
    with screen.progress() as tell:
        verdict = use_case.check(bench, chosen, ref_deps=ref_deps, name=name, seed=seed, progress=tell)
    if as_json:
        screen.write(render.document(verdict).decode())
    else:
        sources = bench.workspace.submission(chosen)
        screen.write(render.text(verdict, chosen, sources, screen.width()))
    return use_case.exit_code(verdict)


@click.command()
@MODULE
@click.argument("test")
@REF_DEPS
@SEED
@COMPILER
@WORKSPACE
def debug(
    module: str,
    test: str,
    *,
    ref_deps: bool,
    seed: int,
    compiler: str | None,
    workspace: str | None,
) -> Exit:
    """Open TEST of MODULE with your unit in a debugger.

    \b
    ol debug L9.4 hand_example --ref-deps

    One program, not optimised, stopped at the start of the test; printf and breakpoints work. Without
    a terminal or a debugger the command to run is printed instead.
    """
    import shlex
    import sys

    from ol import debug as use_case
    from ol.process import become
    from ol.report import screen

    bench, chosen = one_bench(module, compiler, workspace)
    session = use_case.prepare(bench, chosen, test, ref_deps=ref_deps, seed=seed)
    if session.command and sys.stdin.isatty() and sys.stdout.isatty():
        become(session.command, session.folder)
    screen.write(shlex.join(session.command or session.plain))
    if not session.command:
        screen.write_error("ol: neither gdb nor lldb is here; the line above runs the test without one")
    return Exit.PASS


@click.command()
@MODULE
@REF_DEPS
@SEED
@COMPILER
@JOBS
@WORKSPACE
def diff(
    module: str,
    *,
    ref_deps: bool,
    seed: int,
    compiler: str | None,
    jobs: int | None,
    workspace: str | None,
) -> Exit:
    """Show your unit of MODULE against the reference, once it passes.

    \b
    ol diff L9.4              function by function on a terminal
    ol diff L9.4 | less       one unified diff in a pipe

    A pass over the reference's dependencies counts too.
    """
    import sys

    from ol import check as use_case
    from ol.report import check as render
    from ol.report import diff as render_diff
    from ol.report import screen

    set_jobs(jobs)
    bench, chosen = one_bench(module, compiler, workspace)
    with screen.progress() as tell:
        verdict = use_case.earned(bench, chosen, ref_deps=ref_deps, seed=seed, progress=tell)
    student = bench.workspace.submission(chosen)
    if use_case.exit_code(verdict) is not Exit.PASS:
        screen.write_error(render.text(verdict, chosen, student))
        screen.write_error(f"ol: the reference of {chosen.id} is shown once your unit passes")
        return Exit.FAIL
    reference = bench.builder.reference_sources(chosen)
    plain = render_diff.unified(student, reference)
    if not plain:
        screen.write_error(f"{chosen.id}: no difference from the reference")
    elif sys.stdout.isatty():
        screen.render(render_diff.by_function(student, reference, chosen.language))
    else:
        screen.write(plain.rstrip("\n"))
    return Exit.PASS
