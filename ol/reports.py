"""Sanitizer reports as failures. Pure: the text of a log, cut into its findings.

The formats are those of gcc's and clang's runtimes: a finding begins at "==PID==ERROR:",
"WARNING: ThreadSanitizer:" or a line with ": runtime error:".
"""

import re
from collections.abc import Iterator

from ol.manifest import Way
from ol.verdict import Failure

_BEGIN = re.compile(
    r"^(?:==\d+==\s*ERROR: (?P<tool>\w+Sanitizer): (?P<what>.*)"
    r"|WARNING: (?P<thread>ThreadSanitizer): (?P<race>.*)"
    r"|(?P<place>\S+?:\d+:\d+|<unknown>): runtime error: (?P<undefined>.*))$",
    re.MULTILINE,
)
_CRASHES = ("SEGV", "stack-overflow", "BUS", "FPE", "ILL", "ABRT")
_MOST = 8


def sanitizer_failures(log: str) -> Iterator[Failure]:
    """The findings in a log, the first few of them; anything unknown in it is a finding too."""
    heads = list(_BEGIN.finditer(log))
    if not heads and log.strip():
        yield Failure(way=Way.SANITIZER, check="a sanitizer reports", got="see below", detail=log)
    for k, head in enumerate(heads[:_MOST]):
        end = heads[k + 1].start() if k + 1 < len(heads) else len(log)
        yield _finding(head, log[head.start() : end].strip())


def _finding(head: re.Match[str], text: str) -> Failure:
    what = head["what"] or head["race"] or head["undefined"] or ""
    tool = head["tool"] or head["thread"] or "UndefinedBehaviorSanitizer"
    crashed = head["tool"] == "AddressSanitizer" and what.startswith(_CRASHES)
    return Failure(
        way=Way.CRASH if crashed else Way.SANITIZER,
        check="the unit crashes" if crashed else f"{tool} reports",
        got=_crash(what, text) if crashed else _plain(what),
        where=head["place"] or "",
        detail=text,
    )


def _plain(what: str) -> str:
    return re.sub(r" on (unknown )?address.*| \(pid=\d+\)", "", what).strip()


def _crash(what: str, text: str) -> str:
    """The kind of the crash, and whether it was a NULL pointer."""
    access = re.search(r"caused by a (READ|WRITE) memory access", text)
    done = f": a {access[1].lower()} through a bad pointer" if access else ""
    if done and "points to the zero page" in text:
        done = done.replace("a bad", "a NULL")
    return _plain(what) + done
