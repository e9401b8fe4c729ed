"""Options that several commands share."""

import click


def _modules(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """For the shell's completion, which shows nothing where there is no course."""
    from ol.errors import ToolError
    from ol.settings import load

    try:
        return [m for m in load().course.modules if m.lower().startswith(incomplete.lower())]
    except ToolError:
        return []


MODULE = click.argument("module", shell_complete=_modules)
ANY_MODULE = click.argument("module", required=False, shell_complete=_modules)
COMPILER = click.option("--compiler", type=click.Choice(["gcc", "clang"]), help="Default: gcc if there.")
JOBS = click.option("--jobs", type=click.IntRange(1, 256), help="Processes at a time. Default: cores.")
SEED = click.option("--seed", type=click.IntRange(0, 2**64 - 1), default=0, help="Of all inputs; 0.")
SANDBOX = click.option(
    "--sandbox",
    type=click.Choice(["auto", "required", "off"]),
    help="Default: auto, and required with --grade. `ol doctor` says what this machine has.",
)
JSON = click.option("--json", "as_json", is_flag=True, help="The result as JSON on stdout.")
REF_DEPS = click.option("--ref-deps", is_flag=True, help="The reference for every dependency.")
WORKSPACE = click.option(
    "--workspace", metavar="DIR", help="Default: OL_WORKSPACE, else the one around this folder."
)
EXAMPLES = {"max_content_width": 100}


def set_jobs(jobs: int | None) -> None:
    """How this program starts processes: so many at a time, and none is left behind."""
    from ol import process, slots

    process.adopt()
    if jobs:
        slots.set_jobs(jobs)
