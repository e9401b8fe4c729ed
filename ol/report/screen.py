"""The one printer: data to stdout, messages and progress to stderr, colour on a terminal only."""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from ol.errors import ToolError

if TYPE_CHECKING:
    from rich.console import Console

PIPE_WIDTH = 140
_PLAIN = str.maketrans(
    {"±": "+/-", "…": "...", "✓": "+", "✗": "x", "·": "-", "→": "->", "≤": "<=", "≥": ">=", "×": "x"}
    | {"–": "-", "—": "-", "“": '"', "”": '"', "‘": "'", "’": "'", "└": "`", "├": "|", "─": "-", "│": "|"}
)


def write(text: str) -> None:
    """Plain text to stdout. What the locale has no letters for is spelled in ASCII, or escaped."""
    _emit(sys.stdout, text)


def write_error(text: str) -> None:
    _emit(sys.stderr, text)


def _emit(stream: Any, text: str) -> None:
    encoding = stream.encoding or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        text = text.translate(_PLAIN).encode(encoding, "backslashreplace").decode(encoding)
    with suppress(BrokenPipeError), _output():
        stream.write(text + "\n")
        stream.flush()


@contextmanager
def _output() -> Iterator[None]:
    """A disk that is full under a redirected stream is no fault of ol."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise ToolError(
            f"cannot write the output: {error.strerror}",
            next_step="free some space, or send the output elsewhere",
        ) from None


def console() -> "Console":
    """For tables on stdout: the terminal's width, or a wide page in a pipe."""
    from rich.console import Console

    width = None if sys.stdout.isatty() else PIPE_WIDTH
    return Console(file=sys.stdout, width=width, highlight=False, emoji=False)


def width() -> int | None:
    """Of the terminal that stdout is; None in a pipe."""
    if not sys.stdout.isatty():
        return None
    return os.get_terminal_size(sys.stdout.fileno()).columns or None


def is_narrow() -> bool:
    """Whether a table of five columns would be squeezed."""
    return console().width < 72


def render(renderable: Any) -> None:
    """Prints a table or a styled text to stdout."""
    screen = console()
    with _output(), screen.capture() as captured:
        screen.print(renderable)
    text = "\n".join(line.rstrip() for line in captured.get().splitlines())
    write(text)


@contextmanager
def progress() -> Iterator[Any]:
    """A line on stderr that tells how far a long command is; silent without a terminal."""
    shown = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    start = time.monotonic()

    def tell(what: str, done: int, total: int) -> None:
        if shown and time.monotonic() - start > 0.3:
            width = os.get_terminal_size(sys.stderr.fileno()).columns
            sys.stderr.write(f"\r\x1b[K{f'[{done}/{total}] {what}'[: width - 1]}")
            sys.stderr.flush()

    try:
        yield tell
    finally:
        if shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
