"""What is remembered of generated mutants between runs: by the content of the mutated unit, its tests
and all that they were run with, whatever other mutants shared the object."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import msgspec

from ol.generated.model import Known, Ledger, Mutant
from ol.operators import apply_edit
from ol.store import Store


@dataclass(frozen=True, kw_only=True)
class Memory:
    """`context` is the digest of everything beside the mutant."""

    store: Store
    context: str
    module: str
    texts: Mapping[str, str]
    _keys: dict[Mutant, str] = field(default_factory=dict)

    def key(self, mutant: Mutant) -> str:
        if mutant not in self._keys:
            self._keys[mutant] = self._key(mutant)
        return self._keys[mutant]

    def _key(self, mutant: Mutant) -> str:
        digest = hashlib.blake2b(digest_size=20)
        for path, text in self.texts.items():
            shown = apply_edit(text, mutant.edit) if path == mutant.file else text
            digest.update(path.encode() + b"\0" + shown.encode("utf-8", "surrogateescape") + b"\0")
        digest.update(self.context.encode())
        return "generated " + digest.hexdigest()

    def recall(self, mutant: Mutant) -> Known:
        blob = self.store.get(self.key(mutant))
        return msgspec.json.decode(blob, type=Known) if blob else Known()

    def keep(self, changed: Ledger) -> None:
        self.store.put([(self.key(m), msgspec.json.encode(known)) for m, known in changed.items()])

    def never_called(self) -> tuple[str, ...] | None:
        blob = self.store.get(f"never called {self.context}")
        return None if blob is None else msgspec.json.decode(blob, type=tuple[str, ...])

    def keep_never_called(self, names: tuple[str, ...]) -> None:
        self.store.put([(f"never called {self.context}", msgspec.json.encode(names))])

    @property
    def _hint_key(self) -> str:
        return f"killers of {self.module}"

    def hints(self) -> dict[str, str]:
        """Tests that killed a mutant once, by the mutant's lasting key: they are tried first."""
        blob = self.store.get(self._hint_key)
        return msgspec.json.decode(blob, type=dict[str, str]) if blob else {}

    def hint(self, killers: Iterable[tuple[str, str]]) -> None:
        found = self.hints() | dict(killers)
        self.store.put([(self._hint_key, msgspec.json.encode(found))])
