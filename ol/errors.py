"""Errors that are not a graded result. One boundary, in ol.cli, renders them."""

from collections.abc import Iterable

from ol.exits import Exit


class ToolError(Exception):
    """Something that is not the student's doing: what, where, and the next command."""

    def __init__(self, what: str, *, where: str = "", next_step: str = "", code: Exit = Exit.FAULT):
        super().__init__(what)
        self.what = what
        self.where = where
        self.next_step = next_step
        self.code = code


def unknown(kind: str, name: str, known: Iterable[str], *, next_step: str) -> ToolError:
    """The error for a name that is not among `known`, with near matches."""
    import difflib  # it costs a fifteenth of the start of `ol`

    names = list(known)
    near = difflib.get_close_matches(name.lower(), [n.lower() for n in names], n=3, cutoff=0.5)
    meant = [n for n in names if n.lower() in near]
    what = f"there is no {kind} {name!r}"
    if meant:
        what += "; did you mean " + " or ".join(meant) + "?"
    return ToolError(what, next_step=next_step, code=Exit.USAGE)
