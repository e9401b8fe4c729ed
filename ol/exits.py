"""Exit codes: the verdict of every command, as a type. docs/exit-codes.md explains them to users."""

from enum import IntEnum


class Exit(IntEnum):
    PASS = 0
    FAIL = 1
    """The unit fails a test, or a mutant survives, or the audit proves nothing."""
    USAGE = 2
    NOT_READY = 3
    """The unit is not started, or a dependency does not pass."""
    UNBUILDABLE = 4
    """The unit does not compile or breaks its contract."""
    NO_TOOLCHAIN = 69
    FAULT = 70
    """A fault of ol or of the course, never of the student."""
    INTERRUPTED = 130
