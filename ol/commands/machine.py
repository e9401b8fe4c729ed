"""The command about the machine itself: doctor."""

import click

from ol.commands.options import JSON
from ol.exits import Exit


@click.command()
@JSON
def doctor(*, as_json: bool) -> Exit:
    """Say what this machine can do for ol, by trying each thing, and what to install.

    \b
    ol doctor

    Exit status: 0 where units can be graded, 69 where they cannot.
    """
    from ol.doctor import examine
    from ol.report import doctor as render
    from ol.report import screen

    findings = list(examine())
    screen.write(render.document(findings).decode() if as_json else render.text(findings))
    return Exit.PASS if all(f.holds for f in findings if f.needed) else Exit.NO_TOOLCHAIN
