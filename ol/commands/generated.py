"""`ol audit MODULE --generated`: its options, and what it prints and writes."""

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ol.errors import ToolError
from ol.exits import Exit

if TYPE_CHECKING:
    from pathlib import Path

    from ol.build import Builder
    from ol.manifest import Module
    from ol.report.sheet import Sheet
    from ol.store import Store

F = TypeVar("F", bound=Callable[..., Any])
_FILE = click.Path(dir_okay=False, writable=True)
REPORTS = ("html", "report", "sarif")
_OPTIONS = (
    click.option("--generated", is_flag=True, help="Every small fault that the operators allow."),
    click.option("--since", metavar="REV", default="", help="Generated: only lines changed since REV."),
    click.option("--operator", "operators", multiple=True, help="Generated: only this operator's."),
    click.option("--line", "lines", multiple=True, help="Generated: only N, N-M or FILE:N."),
    click.option("--shard", metavar="K/N", default="", help="Generated: the K-th of N shares."),
    click.option(
        "--fail-under", type=click.FloatRange(0, 100), help="Generated: pass from this score, in percent."
    ),
    click.option("--html", type=_FILE, help="A page for a browser, in one file."),
    click.option("--report", type=_FILE, help="JSON of mutation-testing-report-schema."),
    click.option("--sarif", type=_FILE, help="The survivors, for tools of code review."),
    click.option("--to-accept", is_flag=True, help="Generated: the survivors as accepted.toml has them."),
)


def generated_options(command: F) -> F:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def misused(options: dict[str, Any]) -> None:
    """Raises a usage error for options that only generated mutants know."""
    for name, value in options.items():
        if name not in ("generated", *REPORTS) and value not in (None, "", (), False):
            shown = {"operators": "operator", "lines": "line"}.get(name, name).replace("_", "-")
            raise click.UsageError(f"--{shown} goes with --generated")


def run_generated(
    builder: "Builder",
    store: "Store",
    module: "Module",
    *,
    seed: int,
    matrix: bool,
    as_json: bool,
    options: dict[str, Any],
) -> Exit:
    from ol.generated.audit import audit_generated
    from ol.generated.scope import Scope
    from ol.report import generated as render
    from ol.report import screen
    from ol.report.generated_sheet import of_generated

    scope = Scope(**{name: options[name] for name in ("operators", "lines", "since", "shard")})
    with screen.progress() as tell:
        report = audit_generated(
            builder,
            store,
            module,
            scope=scope,
            seed=seed,
            matrix=matrix,
            fail_under=options["fail_under"],
            progress=tell,
        )
    write_reports(of_generated(report), options)
    if as_json:
        screen.write(render.document(report).decode())
    else:
        screen.write(render.keys(report) if options["to_accept"] else render.text(report))
    return Exit.PASS if report.holds else Exit.FAIL


def writable(options: dict[str, Any]) -> None:
    """Raises an error before minutes are spent on a report that has nowhere to go."""
    from pathlib import Path  # here, for it costs a tenth of the start of `ol`

    for name in REPORTS:
        if options[name] and not Path(options[name]).absolute().parent.is_dir():
            raise _unwritten(options[name], "no such folder")


def write_reports(sheet: "Sheet", options: dict[str, Any]) -> None:
    """The files that were asked for."""
    from pathlib import Path

    from ol.report.mutation_schema import mutation_testing_report, sarif
    from ol.report.page import page

    for name, render in (("html", page), ("report", mutation_testing_report), ("sarif", sarif)):
        if options[name] is not None:
            made = render(sheet)
            _write(Path(options[name]), made if isinstance(made, bytes) else made.encode("utf-8"))


def _write(path: "Path", data: bytes) -> None:
    """All of it or nothing: a file that was there stays until the new one is whole."""
    is_special = path.exists() and not path.is_file()
    part = path if is_special else path.with_name(f"{path.name}.part")
    try:
        part.write_bytes(data)
        if not is_special:
            part.replace(path)
    except OSError as error:
        if not is_special:
            with suppress(OSError):
                part.unlink()
        raise _unwritten(str(path), error.strerror) from None


def _unwritten(path: str, why: str | None) -> ToolError:
    return ToolError(
        f"cannot write the report: {why}",
        where=path,
        next_step="name a file in a folder that has room and that you may write to",
        code=Exit.USAGE,
    )
