"""What does not hold in a course, and one line that says whether all does. Pure."""

from collections.abc import Sequence

from ol.lint import Finding
from ol.report.failures import printable


def text(found: Sequence[Finding], modules: int, compilers: Sequence[str]) -> str:
    """One finding a line, by module."""
    lines = [f"{f.where}: {printable(f.what)}" if f.where else printable(f.what) for f in found]
    run = f"{modules} modules with {' and '.join(compilers)}"
    if found:
        return "\n".join([*lines, "", f"{len(found)} findings in {run}"])
    return f"{run}: every stub fails, every reference passes, every mutant is killed as planned"
