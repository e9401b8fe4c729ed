"""The command line: parse, call one use case, render, exit. Nothing else exits."""

import signal
import sys
from typing import Any, NoReturn

import click

from ol import __version__
from ol.errors import ToolError
from ol.exits import Exit

MODULE = click.argument("module")
COMPILER = click.option("--compiler", type=click.Choice(["gcc", "clang"]), help="Default: gcc if there.")
JOBS = click.option("--jobs", type=click.IntRange(1, 256), help="Processes at a time. Default: cores.")
SEED = click.option(
    "--seed", type=click.IntRange(0, 2**64 - 1), default=0, help="Of all inputs; default 0."
)
JSON = click.option("--json", "as_json", is_flag=True, help="The result as JSON on stdout.")


class Group(click.Group):
    """Commands in the order of a student's walk, with near matches for a mistyped name."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in self.commands and not args[0].startswith("-"):
            from ol.errors import unknown

            raise unknown("command", args[0], self.commands, next_step="`ol --help` lists the commands")
        return super().resolve_command(ctx, args)


@click.group(cls=Group, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="ol")
def ol() -> None:
    """Grades units written in C and Python, and proves by mutation that the tests deserve trust.

    \b
    ol audit L9.4          prove that the tests of L9.4 kill every planted fault
    """


@ol.command()
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
    chosen_module = settings.course.module(module)
    entries = use_case.chosen(chosen_module, mutants)
    if show:
        for entry in entries:
            screen.write(use_case.shown(settings.course, chosen_module, entry))
        return Exit.PASS
    _set_jobs(jobs)
    builder = Builder(settings.course, find(compiler), settings.cache)
    with screen.progress() as tell:
        report = use_case.audit(
            builder,
            Store(settings.cache / "results.sqlite"),
            chosen_module,
            entries,
            seed=seed,
            matrix=matrix,
            progress=tell,
        )
    from ol.report import audit as render

    if as_json:
        screen.write(render.document(report).decode())
    else:
        if report.mutants:
            screen.render(render.table(report))
            screen.write("")
        screen.write(render.summary(report))
    return Exit.PASS if report.holds else Exit.FAIL


def _set_jobs(jobs: int | None) -> None:
    if jobs:
        from ol.process import set_jobs

        set_jobs(jobs)


def _say(error: ToolError) -> None:
    from ol.report import screen

    screen.write_error(f"ol: {error.what}")
    if error.where:
        screen.write_error("\n".join(f"    {line}" for line in error.where.splitlines()))
    if error.next_step:
        screen.write_error(f"next: {error.next_step}")


def run(arguments: list[str] | None = None) -> int:
    """Runs one command and returns its exit code. No exception leaves it."""
    try:
        result: Any = ol.main(args=arguments, prog_name="ol", standalone_mode=False)
        return int(result) if isinstance(result, int) else 0
    except ToolError as error:
        _say(error)
        return error.code
    except click.exceptions.Exit as leaving:
        return leaving.exit_code
    except click.ClickException as error:
        error.show()
        return Exit.USAGE
    except (KeyboardInterrupt, click.Abort):
        return _interrupted()
    except Exception as fault:
        if type(fault).__name__ == "Interrupted":
            return _interrupted()
        _say(_unexpected(fault))
        return Exit.FAULT


def _interrupted() -> Exit:
    from ol.report import screen

    screen.write_error("ol: interrupted; what was finished is kept")
    return Exit.INTERRUPTED


def _unexpected(fault: Exception) -> ToolError:
    import traceback

    last = traceback.extract_tb(fault.__traceback__)[-1]
    return ToolError(
        f"a fault of ol itself: {type(fault).__name__}: {fault}",
        where=f"{last.filename}:{last.lineno} in {last.name}",
        next_step="run the command again; if it repeats, please report these lines",
    )


def _on_signal(number: int, frame: object) -> NoReturn:
    """Children are in sessions of their own, so the terminal's Ctrl-C does not reach them."""
    if "ol.process" in sys.modules:
        sys.modules["ol.process"].end_all()
    raise KeyboardInterrupt


def main() -> NoReturn:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _on_signal)
    sys.exit(run())
