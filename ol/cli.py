"""The command line: run a command, render what went wrong, exit. Nothing else exits.

The commands are imported when signals are already seen to, for that takes the longest part of the start.
"""

import signal
import sys
from typing import Any, NoReturn

from ol.errors import ToolError
from ol.exits import Exit


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
        from ol.commands.group import ol

        result: Any = ol.main(args=arguments, prog_name="ol", standalone_mode=False)
        return int(result) if isinstance(result, int) else 0
    except KeyboardInterrupt:
        return _interrupted()
    except Exception as error:
        return _failed(error)


def _failed(error: Exception) -> int:
    """Says what went wrong, and whose doing it is."""
    import click

    match error:
        case click.Abort():
            return _interrupted()
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
    """Children are in sessions of their own, so the terminal's Ctrl-C does not reach them. One signal is
    enough: what ends this process must not be interrupted itself."""
    _on_signals(signal.SIG_IGN)
    if end_all := getattr(sys.modules.get("ol.process"), "end_all", None):  # it may be half imported
        end_all()
    raise KeyboardInterrupt


def _on_signals(handler: Any) -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, handler)


def _unraisable(fault: Any) -> None:
    """Ctrl-C may come within code that lets no exception out, such as an import's lock; it is no fault."""
    if not isinstance(fault.exc_value, KeyboardInterrupt):
        sys.__unraisablehook__(fault)


def main() -> NoReturn:
    sys.unraisablehook = _unraisable
    _on_signals(_on_signal)
    code = run()
    _on_signals(signal.SIG_IGN)  # all is said; a late signal must not change the exit status
    sys.exit(code)
