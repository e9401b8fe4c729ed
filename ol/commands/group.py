"""All commands under one name."""

import click

from ol import __version__
from ol.commands.author import mutant, new
from ol.commands.instructor import audit, lint
from ol.commands.machine import doctor
from ol.commands.student import check, debug, diff, init, start, tests
from ol.commands.way import milestone, next_step, status
from ol.errors import unknown


class Group(click.Group):
    """Commands in the order of a student's walk, with near matches for a mistyped name."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in self.commands and not args[0].startswith("-"):
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
    doctor,
):
    ol.add_command(command)
