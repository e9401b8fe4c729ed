"""Commands of authors: a new module, a new mutant, patches brought up to date."""

import click

from ol.commands.options import MODULE
from ol.exits import Exit


@click.command()
@MODULE
@click.option("--unit", required=True, help="Its file in the tree, as c/src/kernels/name.c.")
@click.option("--contract", required=True, help="Its header or .pyi, as tinyllm/name.h.")
@click.option("--function", required=True, help="The first function that it defines.")
def new(module: str, *, unit: str, contract: str, function: str) -> Exit:
    """Lay out a new MODULE, to be filled in.

    \b
    ol new L9.5 --unit c/src/kernels/top.c --contract tinyllm/top.h --function tl_top_f32
    """
    from ol.layout import new_module
    from ol.report import screen
    from ol.settings import load

    course = load().course
    for path in new_module(course, module, unit, contract, function):
        screen.write(f"wrote {path.relative_to(course.root)}")
    screen.write(f"next: fill them in, then `ol mutant new {module}` and `ol lint {module}`")
    return Exit.PASS


@click.group()
def mutant() -> None:
    """Make mutants, and keep their patches up to date."""


@mutant.command(name="new")
@MODULE
@click.option("--unit", help="Which of the module's units; the first by default.")
def new_mutant(module: str, *, unit: str | None) -> Exit:
    """Edit a copy of the reference in $EDITOR; the difference becomes the next patch.

    \b
    ol mutant new L9.4
    """
    import os
    import shlex
    from pathlib import Path

    from ol import author
    from ol.process import interact
    from ol.report import screen
    from ol.settings import load

    editor = shlex.split(os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi")

    def edit(path: Path) -> None:
        interact([*editor, str(path)])

    course = load().course
    chosen = course.module(module)
    path, entry = author.new_mutant(course, chosen, unit, edit)
    screen.write(f"wrote {path.relative_to(course.root)}")
    screen.write(f"next: add this to course/modules/{module}.toml and say what it is:\n\n{entry}")
    screen.write(f"then `ol audit {module} {path.stem}` shows whether its test kills it")
    return Exit.PASS


@mutant.command()
@click.argument("modules", nargs=-1)
def refresh(modules: tuple[str, ...]) -> Exit:
    """Re-anchor patches after the reference moved, or say which no longer make sense.

    \b
    ol mutant refresh L9.4
    ol mutant refresh         every module
    """
    from ol import author
    from ol.report import screen
    from ol.settings import load

    course = load().course
    chosen = [course.module(m) for m in modules] or list(course.modules.values())
    lost = False
    for module in chosen:
        for one in author.refresh(course, module):
            lost = lost or one.lost
            screen.write(f"{module.id} {one.mutant}: {one.state}")
    if lost:
        screen.write("next: make the lost ones again with `ol mutant new`, or take them out")
    return Exit.FAIL if lost else Exit.PASS
