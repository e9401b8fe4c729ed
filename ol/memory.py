"""Verdicts remembered by the content they were given for: unit, dependencies, tests, kit, compiler and ol.

What is remembered says how far a student is. It unlocks nothing: `ol milestone` and grading run again.
"""

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import msgspec

from ol import __version__
from ol.build import Builder
from ol.lane import Sources
from ol.manifest import Module
from ol.store import Store
from ol.suite import files_digest
from ol.verdict import Verdict


def content_key(
    builder: Builder, module: Module, submission: Sources, dependencies: Mapping[str, Sources], seed: int
) -> str:
    """Digest of all that decides a full verdict."""
    digest = hashlib.blake2b(digest_size=20)
    course = builder.course
    folders = (course.tests(module), course.fixtures(module), course.include, course.testkit)
    kind = str(builder.sandbox.kind)
    for part in (module.id, str(seed), builder.toolchain.identity, kind, __version__, _own_sources()):
        digest.update(part.encode() + b"\0")
    digest.update(msgspec.json.encode(module))
    for sources in (submission, *(dependencies[name] for name in sorted(dependencies))):
        for name, text in sources.items():
            digest.update(name.encode() + b"\0" + len(text).to_bytes(8, "little") + text)
    for folder in folders:
        digest.update(_folder(folder).encode())
    return digest.hexdigest()


@cache
def _folder(folder: Path) -> str:
    """Digest of a folder's files. The course does not change while ol runs."""
    return files_digest(p for p in sorted(folder.rglob("*")) if p.is_file() and p.suffix != ".pyc")


@cache
def _own_sources() -> str:
    """Of ol itself: another ol may come to another verdict."""
    return files_digest(sorted(Path(__file__).parent.rglob("*.py")))


@dataclass(frozen=True)
class Memory:
    """Verdicts by content, and for each module of a workspace the latest one."""

    store: Store
    workspace: Path

    def recall(self, key: str) -> Verdict | None:
        blob = self.store.get(f"verdict {key}")
        return None if blob is None else msgspec.json.decode(blob, type=Verdict)

    def latest(self, module: Module) -> Verdict | None:
        """The last full verdict on a module here, whatever has changed since."""
        blob = self.store.get(self._place(module))
        return None if blob is None else self.recall(blob.decode())

    def remember(self, key: str, module: Module, verdict: Verdict) -> None:
        """Keeps a full verdict. A partial one is nothing to remember."""
        if not verdict.partial:
            items = [(f"verdict {key}", msgspec.json.encode(verdict)), (self._place(module), key.encode())]
            self.store.put(items)

    def _place(self, module: Module) -> str:
        place = hashlib.blake2b(os.fsencode(self.workspace), digest_size=16).hexdigest()
        return f"latest {place} {module.id}"
