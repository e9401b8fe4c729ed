"""Commands over the whole course: status, next, milestone, and a check of everything."""

from typing import TYPE_CHECKING

import click

from ol.commands.options import COMPILER, JOBS, WORKSPACE, set_jobs
from ol.exits import Exit

if TYPE_CHECKING:
    from ol.check import Bench
    from ol.manifest import Module
    from ol.settings import Settings


def open_bench(
    compiler: str | None,
    workspace: str | None,
    *,
    fresh: bool = False,
    sandbox: str | None = None,
    grading: bool = False,
) -> "Bench":
    """The workspace with a compiler, a sandbox and the store; its compile_commands.json brought up to
    date."""
    from ol.settings import load

    settings = load(workspace=workspace)
    return _bench(settings, compiler, fresh=fresh, sandbox=sandbox, grading=grading)


def one_bench(
    module: str,
    compiler: str | None,
    workspace: str | None,
    *,
    sandbox: str | None = None,
    grading: bool = False,
) -> "tuple[Bench, Module]":
    """The bench and the module asked for; an unknown module is said first."""
    from ol.settings import load

    settings = load(workspace=workspace)  # once, for reading all manifests takes a while
    chosen = settings.course.module(module)
    return _bench(settings, compiler, fresh=False, sandbox=sandbox, grading=grading), chosen


def _bench(
    settings: "Settings", compiler: str | None, *, fresh: bool, sandbox: str | None, grading: bool
) -> "Bench":
    from dataclasses import replace
    from pathlib import Path

    from ol.build import Builder
    from ol.check import Bench
    from ol.sandbox import Wish
    from ol.sandbox import find as find_sandbox
    from ol.start import refresh_quietly
    from ol.store import Store
    from ol.toolchain import find

    place = settings.workspace()
    found = find_sandbox(Wish(sandbox or (Wish.REQUIRED if grading else Wish.AUTO)))
    found = replace(found, hidden=(settings.course.root, place.root, settings.cache))
    builder = Builder(settings.course, find(compiler), settings.cache, found)
    refresh_quietly(settings.course, place)
    store = Store(Path(":memory:") if grading else settings.results)
    return Bench(workspace=place, builder=builder, store=store, fresh=fresh, grading=grading)


def check_many(
    compiler: str | None,
    workspace: str | None,
    *,
    ref_deps: bool,
    seed: int,
    everything: bool,
    sandbox: str | None = None,
    grading: bool = False,
) -> Exit:
    """Checks every module that is started."""
    from ol import standing as use_case
    from ol.report import screen
    from ol.report import standing as render

    if not everything:
        raise click.UsageError("name a module, as in `ol check L9.4`, or check --all")
    bench = open_bench(compiler, workspace, sandbox=sandbox, grading=grading)
    started = [m for m in bench.builder.course.modules.values() if bench.workspace.started(m)]
    with screen.progress() as tell:
        results = use_case.check_all(bench, started, ref_deps=ref_deps, seed=seed, progress=tell)
    screen.render(render.checked(results))
    return use_case.worst(results) if results else Exit.NOT_READY


@click.command()
@COMPILER
@WORKSPACE
def status(*, compiler: str | None, workspace: str | None) -> Exit:
    """Show where you stand: what passes, what has changed, what is next.

    \b
    ol status

    Nothing is run: it shows what `ol check` found at the present content.
    """
    from ol.report import screen
    from ol.report import standing as render
    from ol.standing import standings

    found = standings(open_bench(compiler, workspace))
    screen.render(render.status(found, narrow=screen.is_narrow()))
    return Exit.PASS


@click.command(name="next")
@COMPILER
@WORKSPACE
def next_step(*, compiler: str | None, workspace: str | None) -> Exit:
    """Say which module to take next.

    \b
    ol next
    """
    from ol.report import screen
    from ol.report import standing as render
    from ol.standing import standings

    screen.write(render.advice(standings(open_bench(compiler, workspace))).removeprefix("next: "))
    return Exit.PASS


@click.command()
@click.argument("name")
@COMPILER
@JOBS
@WORKSPACE
def milestone(name: str, *, compiler: str | None, jobs: int | None, workspace: str | None) -> Exit:
    """Check every module of a milestone afresh.

    \b
    ol milestone MS-L9

    Exit status: 0 when all pass over your own dependencies.
    """
    from ol import standing as use_case
    from ol.report import screen
    from ol.report import standing as render

    set_jobs(jobs)
    bench = open_bench(compiler, workspace, fresh=True)
    modules = use_case.milestone(bench, name)
    with screen.progress() as tell:
        results = use_case.check_all(bench, modules, ref_deps=False, seed=0, progress=tell)
    screen.render(render.checked(results))
    code = use_case.worst(results)
    screen.write(f"{name}: " + ("reached" if code is Exit.PASS else "not reached yet"))
    return code
