"""What makes the bytes of a source unfit to be read as C at all, whatever they say. Pure."""

import re
import unicodedata

from ol.policy.lexer import Source
from ol.policy.refusal import Refusal, Rule

MOST_BYTES = 256 << 10
LONGEST_LINE = 100_000
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_HIDDEN = re.compile(rb"\xe2(?:\x80[\xaa-\xae]|\x81[\xa6-\xa9])")
"""U+202A to U+202E and U+2066 to U+2069 in UTF-8."""
# Letters that are drawn as ASCII ones; compatibility forms such as full width are found by normalising.
_DRAWN_ALIKE = str.maketrans(
    "аеорсухіјѕԁԛԝһАВЕКМНОРСТХІЈЅοινκΑΒΕΖΗΙΚΜΝΟΡΤΥΧ",
    "aeopcyxijsdqwhABEKMHOPCTXIJSoivkABEZHIKMNOPTYX",
)


def looks_like(name: str) -> str:
    """The ASCII name that another name is easily taken for; "" if there is none."""
    plain = unicodedata.normalize("NFKC", name).translate(_DRAWN_ALIKE)
    return plain if plain != name and plain.isascii() else ""


def check_raw(text: bytes, name: str = "") -> tuple[Refusal, ...]:
    """At most one refusal; without any, the text can be divided into tokens as compilers do."""

    def refuse(rule: Rule, at: int, found: str, instead: str) -> tuple[Refusal, ...]:
        line, column = Source(text[: at + 1]).place(at)
        place = Refusal(rule=rule, found=found, instead=instead, line=line, column=column, file=name)
        return (place,)

    if len(text) > MOST_BYTES:
        found = f"the source has {len(text):,} bytes; the most is {MOST_BYTES:,}"
        return refuse(Rule.SIZE, 0, found, "compute tables instead of spelling them out")
    if text.startswith(_UTF16):
        found = "the file is UTF-16"
        return refuse(Rule.BYTES, 0, found, "save it as UTF-8: compilers do not read UTF-16")
    if (at := text.find(b"\0")) >= 0:
        return refuse(
            Rule.BYTES, at, "a NUL byte", "save it as plain UTF-8 text, and write '\\0' for a NUL"
        )
    if found_cr := re.search(rb"\r(?!\n|\Z)", text):
        instead = "end lines with LF or CR LF: compilers do not agree on what a lone CR is"
        return refuse(Rule.BYTES, found_cr.start(), "a carriage return inside a line", instead)
    if hidden := _HIDDEN.search(text):
        instead = "delete it (retype the line): it makes text read in another order than it is compiled"
        return refuse(Rule.BYTES, hidden.start(), "an invisible character that reverses text", instead)
    start = 0
    for line in text.split(b"\n"):
        if len(line) > LONGEST_LINE:
            found = f"a line of {len(line):,} bytes; the most is {LONGEST_LINE:,}"
            return refuse(Rule.SIZE, start, found, "break the line")
        start += len(line) + 1
    return ()
