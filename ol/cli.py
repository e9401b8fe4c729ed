"""The command line: parse, call one use case, render, exit. Nothing else exits."""

import signal
import sys
from typing import Any, NoReturn

import click

from ol import __version__
from ol.commands.author import mutant, new
from ol.commands.instructor import audit, lint
from ol.commands.student import check, debug, diff, init, start, tests
from ol.commands.way import milestone, next_step, status
from ol.errors import ToolError
from ol.exits import Exit


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
    ol init tinyllm        a repo for your own units
    ol start L9.4          a stub to begin with
    ol check L9.4          the verdict on your unit
    ol audit L9.4          proof that the tests of L9.4 kill every planted fault

    Completion: eval "$(_OL_COMPLETE=bash_source ol)"; for zsh and fish put their name for bash.
    """


for command in (
    init,
    start,
    tests,
    check,
    debug,
    diff,
    status,
    next_step,
    milestone,
    audit,
    lint,
    new,
    mutant,
):
    ol.add_command(command)


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
    except (KeyboardInterrupt, click.Abort):
        return _interrupted()
    except Exception as error:
        return _failed(error)


def _failed(error: Exception) -> int:
    """Says what went wrong, and whose doing it is."""
    match error:
        case click.exceptions.Exit():
            return error.exit_code
        case click.ClickException():
            error.show()
            return Exit.USAGE
        case ToolError():
            _say(error)
            return error.code
    from ol.process import Interrupted
    from ol.workspace import Unreadable

    if isinstance(error, Interrupted):
        return _interrupted()
    if isinstance(error, Unreadable):
        _say(ToolError(error.what, where=error.unit, next_step=error.next_step))
        return error.code
    _say(_unexpected(error))
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
