"""What `ol doctor` found, a line each. Pure."""

from collections.abc import Sequence

import msgspec

from ol.doctor import Finding

FORMAT_VERSION = 1


def text(findings: Sequence[Finding]) -> str:
    width = max(len(f.name) for f in findings)
    lines = []
    for one in findings:
        line = f"{'yes' if one.holds else 'NO ' if one.needed else 'no '}  {one.name:<{width}}"
        said = one.said if one.holds else f"{one.said}; {one.install}" if one.said else one.install
        lines.append(f"{line}  {said}".rstrip())
    if all(f.holds for f in findings if f.needed):
        lines.append("next: what is missing costs speed, names in reports or safety; grading works")
    else:
        lines.append("next: install what stands beside NO; nothing can be graded without it")
    return "\n".join(lines)


def document(findings: Sequence[Finding]) -> bytes:
    """JSON as docs/json.md describes it."""
    body = {
        "format_version": FORMAT_VERSION,
        "kind": "doctor",
        "usable": all(f.holds for f in findings if f.needed),
        "findings": msgspec.to_builtins(list(findings)),
    }
    return msgspec.json.format(msgspec.json.encode(body), indent=2)
