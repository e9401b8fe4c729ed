"""What is remembered between runs: blobs by the digest of all that decided them, in one SQLite file.

A key changes with any input, so nothing is ever invalidated; the file may be deleted at any time.
"""

import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ol.errors import ToolError

_SCHEMA = "CREATE TABLE IF NOT EXISTS blob (key TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID"
_PATIENCE = 30.0
"""Seconds to wait for another run that writes."""


class Store:
    """Safe to use from several threads, and from several processes at once."""

    def __init__(self, path: Path):
        self._path = path
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None

    def get(self, key: str) -> bytes | None:
        with self._use() as db:
            row = db.execute("SELECT value FROM blob WHERE key = ?", (key,)).fetchone()
        return None if row is None else bytes(row[0])

    def put(self, items: Iterable[tuple[str, bytes]]) -> None:
        with self._use() as db, db:
            db.executemany("INSERT OR REPLACE INTO blob VALUES (?, ?)", items)

    @contextmanager
    def _use(self) -> Iterator[sqlite3.Connection]:
        try:
            with self._lock:
                if self._connection is None:
                    self._connection = self._open()
                yield self._connection
        except (sqlite3.Error, OSError) as error:
            raise ToolError(
                f"the store of results cannot be used: {error}",
                where=str(self._path),
                next_step="free some space, delete the file, or name another folder: OL_CACHE=DIR",
            ) from None

    def _open(self) -> sqlite3.Connection:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        db = sqlite3.connect(self._path, timeout=_PATIENCE, check_same_thread=False)
        _write_ahead(db)
        db.execute("PRAGMA synchronous = NORMAL")
        db.execute(_SCHEMA)
        return db


def _write_ahead(db: sqlite3.Connection) -> None:
    """SQLite waits for no other connection to make this switch: it says at once that it is locked."""
    end = time.monotonic() + _PATIENCE
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > end:
                raise
            time.sleep(0.02)


class Forgetful(Store):
    """Remembers nothing: for a verdict that must be earned again."""

    def __init__(self) -> None:
        super().__init__(Path("/dev/null"))

    def get(self, key: str) -> bytes | None:
        return None

    def put(self, items: Iterable[tuple[str, bytes]]) -> None:
        """Nothing is kept."""
