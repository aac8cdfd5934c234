"""The file of the embedded metadata store: one SQLite database, used from one thread.

Three tables. `entries` is the present state; `history` holds each change of the last revisions, for
watches; `counters` holds the revision and the oldest revision that history still has whole. Every
transaction of the store changes all three inside one transaction of SQLite, so that they agree
after a crash at any point. Write-ahead logging with `synchronous=FULL` makes a commit durable with
one flush of one file, and the file is locked for this process alone: a lease of an earlier process
has nobody left who could keep it alive, and ends when the file is opened.

History is bounded by revisions and by bytes. Old revisions are dropped by the same transaction that
goes over a bound, a quarter of the room at a time, so that most writes pay nothing for it.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from mainstem.cluster.errors import (
    MetadataDamaged,
    MetadataInUse,
    MetadataTooNew,
    MetadataWriteFailed,
    RevisionCompacted,
)
from mainstem.cluster.store import (
    Compare,
    Delete,
    Entry,
    Event,
    Get,
    Operation,
    Put,
    Range,
    TransactionResult,
    WatchBatch,
    key_bytes,
)
from mainstem.model.errors import DiskError

APPLICATION_ID = 0x4D535431  # "MST1": tells a foreign database from ours
SCHEMA_VERSION = 1
MAX_EVENTS_PER_READ = 1_000

_SCHEMA = """
CREATE TABLE entries (
  key BLOB PRIMARY KEY, value BLOB NOT NULL,
  create_revision INTEGER NOT NULL, mod_revision INTEGER NOT NULL, lease_id INTEGER NOT NULL
) STRICT;
CREATE INDEX entries_by_lease ON entries (lease_id) WHERE lease_id != 0;
CREATE TABLE history (
  revision INTEGER NOT NULL, position INTEGER NOT NULL, key BLOB NOT NULL, value BLOB,
  PRIMARY KEY (revision, position)
) STRICT;
CREATE TABLE counters (name TEXT PRIMARY KEY, number INTEGER NOT NULL) STRICT;
INSERT INTO counters VALUES ('revision', 1), ('oldest_revision', 1);
"""
_ENTRY_COLUMNS = "key, value, create_revision, mod_revision, lease_id"


class SqliteFile:
    def __init__(self, path: str, *, history_revisions: int = 1_000, history_bytes: int = 64 << 20) -> None:
        self.path = path
        self.revision = 0
        self.oldest_revision = 0  # history has every change from this revision on
        self._history_revisions = max(4, history_revisions)
        self._history_bytes_limit = history_bytes
        self._history_bytes = 0
        self._database: sqlite3.Connection | None = None  # None: closed, maybe to be opened again
        self._open()

    # --- opening

    def _open(self) -> None:
        is_new = not os.path.exists(self.path)
        try:
            database = sqlite3.connect(
                self.path, timeout=0.0, isolation_level=None, check_same_thread=False, cached_statements=64
            )
        except sqlite3.Error as error:
            raise MetadataWriteFailed(f"cannot open {self.path}: {error}") from error
        try:
            self._prepare(database)
        except sqlite3.Error as error:
            with suppress(sqlite3.Error):
                database.close()
            raise self._translated(error) from error
        except BaseException:
            database.close()
            raise
        if is_new:
            _sync_directory(os.path.dirname(os.path.abspath(self.path)))
        self._database = database
        try:
            self._load_counters()
        except BaseException:
            self.close()
            raise

    def _prepare(self, database: sqlite3.Connection) -> None:
        database.execute("PRAGMA locking_mode = EXCLUSIVE")
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = FULL")
        database.execute("BEGIN IMMEDIATE")
        tables = database.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
        application = database.execute("PRAGMA application_id").fetchone()[0]
        version = database.execute("PRAGMA user_version").fetchone()[0]
        if tables == 0:
            for statement in _SCHEMA.split(";"):
                database.execute(statement)
            database.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            database.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        elif application != APPLICATION_ID:
            raise MetadataDamaged(self.path, "it is a database of something else")
        elif version > SCHEMA_VERSION:
            raise MetadataTooNew(self.path, version, SCHEMA_VERSION)
        else:
            complaint = database.execute("PRAGMA quick_check(1)").fetchone()[0]
            if complaint != "ok":
                raise MetadataDamaged(self.path, complaint)
        database.execute("COMMIT")

    def _load_counters(self) -> None:
        counters = dict(self._rows("SELECT name, number FROM counters"))
        if not {"revision", "oldest_revision"} <= counters.keys():
            raise MetadataDamaged(self.path, "its counters are missing")
        self.revision = counters["revision"]
        self.oldest_revision = counters["oldest_revision"]
        (self._history_bytes,) = self._rows("SELECT coalesce(sum(length(value)), 0) FROM history")[0]

    def _translated(self, error: sqlite3.Error) -> Exception:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return MetadataInUse(self.path)
        if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            return MetadataDamaged(self.path, str(error))
        return MetadataWriteFailed(f"the metadata file {self.path}: {error}")

    # --- one group of transactions, one flush

    def begin(self) -> None:
        if self._database is None:
            self._open()
        self._execute("BEGIN IMMEDIATE")

    def commit(self) -> None:
        self._execute("COMMIT")

    def rollback(self) -> None:
        """Back to the last commit. If not even that works, the file is closed; `begin` opens it anew."""
        if self._database is None:
            return
        try:
            if self._database.in_transaction:
                self._execute("ROLLBACK")
            self._load_counters()
        except DiskError:
            self.close()

    def close(self) -> None:
        database, self._database = self._database, None
        if database is not None:
            with suppress(sqlite3.Error):
                database.close()

    # --- reading

    def get(self, key: str) -> Entry | None:
        rows = self._rows(f"SELECT {_ENTRY_COLUMNS} FROM entries WHERE key = ?", key_bytes(key))
        return _entry(rows[0]) if rows else None

    def range(self, prefix: str) -> Range:
        condition, bounds = _prefix_condition(prefix)
        rows = self._rows(f"SELECT {_ENTRY_COLUMNS} FROM entries WHERE {condition} ORDER BY key", *bounds)
        return Range(tuple(map(_entry, rows)), self.revision)

    def events(self, prefix: str, from_revision: int) -> WatchBatch:
        """The changes of some whole revisions from `from_revision` on; maybe none of this prefix."""
        if from_revision < self.oldest_revision:
            raise RevisionCompacted(from_revision, self.oldest_revision)
        condition, bounds = _prefix_condition(prefix)
        last = self._rows(
            f"SELECT revision FROM history WHERE revision >= ? AND {condition} "
            f"ORDER BY revision, position LIMIT 1 OFFSET {MAX_EVENTS_PER_READ - 1}",
            from_revision,
            *bounds,
        )
        to_revision = last[0][0] if last else self.revision
        rows = self._rows(
            "SELECT key, value, revision FROM history "
            f"WHERE revision BETWEEN ? AND ? AND {condition} ORDER BY revision, position",
            from_revision,
            to_revision,
            *bounds,
        )
        return WatchBatch(tuple(Event(key.decode(), value, at) for key, value, at in rows), to_revision)

    # --- writing, between `begin` and `commit`

    def transact(
        self, compares: Sequence[Compare], then: Sequence[Operation], otherwise: Sequence[Operation]
    ) -> TransactionResult:
        succeeded = all(self._holds(compare) for compare in compares)
        found: list[Entry | None] = []
        changes: list[Put | Delete] = []
        for operation in then if succeeded else otherwise:
            if isinstance(operation, Get):
                found.append(self.get(operation.key))
            else:
                changes.append(operation)
        self._apply(changes)
        return TransactionResult(succeeded, self.revision, tuple(found))

    def end_leases(self, lease_ids: Sequence[int] | None) -> None:
        """Deletes the keys of these leases, or of all leases, in one revision."""
        if lease_ids is None:
            rows = self._rows("SELECT key FROM entries WHERE lease_id != 0 ORDER BY key")
        else:
            rows = [
                row
                for lease_id in lease_ids
                for row in self._rows("SELECT key FROM entries WHERE lease_id = ? ORDER BY key", lease_id)
            ]
        self._apply([Delete(key.decode()) for (key,) in rows])

    def _holds(self, compare: Compare) -> bool:
        entry = self.get(compare.key)
        if compare.exists is not None and compare.exists != (entry is not None):
            return False
        if compare.mod_revision is not None and compare.mod_revision != (entry.mod_revision if entry else 0):
            return False
        return compare.value is None or (entry is not None and entry.value == compare.value)

    def _apply(self, changes: Sequence[Put | Delete]) -> None:
        revision = self.revision + 1
        position = 0
        for change in changes:
            key = key_bytes(change.key)
            if isinstance(change, Put):
                value: bytes | None = change.value
                self._execute(
                    "INSERT INTO entries VALUES (?1, ?2, ?3, ?3, ?4) ON CONFLICT (key) DO UPDATE "
                    "SET value = ?2, mod_revision = ?3, lease_id = ?4",
                    key,
                    value,
                    revision,
                    change.lease_id,
                )
            else:
                value = None
                if self._execute("DELETE FROM entries WHERE key = ?", key).rowcount == 0:
                    continue
            self._execute("INSERT INTO history VALUES (?, ?, ?, ?)", revision, position, key, value)
            self._history_bytes += len(value or b"")
            position += 1
        if position:
            self.revision = revision
            self._execute("UPDATE counters SET number = ? WHERE name = 'revision'", revision)
            self._compact_when_due()

    def _compact_when_due(self) -> None:
        kept = self.revision - self.oldest_revision + 1
        if kept <= self._history_revisions and self._history_bytes <= self._history_bytes_limit:
            return
        if self._history_bytes > self._history_bytes_limit:
            oldest = self.revision - kept // 2  # few and large: halve them, at worst until one is left
        else:
            oldest = self.revision - self._history_revisions * 3 // 4
        self.compact(max(oldest, self.oldest_revision + 1))

    def compact(self, oldest_revision: int) -> None:
        """Forgets the changes before `oldest_revision`; the present state stays as it is."""
        oldest_revision = min(oldest_revision, self.revision)
        self._execute("DELETE FROM history WHERE revision < ?", oldest_revision)
        self._execute("UPDATE counters SET number = ? WHERE name = 'oldest_revision'", oldest_revision)
        self.oldest_revision = oldest_revision
        (self._history_bytes,) = self._rows("SELECT coalesce(sum(length(value)), 0) FROM history")[0]

    def _execute(self, statement: str, *values: Any) -> sqlite3.Cursor:
        if self._database is None:
            raise MetadataWriteFailed(f"the metadata file {self.path} is closed")
        try:
            return self._database.execute(statement, values)
        except sqlite3.Error as error:
            raise self._translated(error) from error

    def _rows(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        cursor = self._execute(statement, *values)
        try:
            return cursor.fetchall()
        except sqlite3.Error as error:
            raise self._translated(error) from error


def _entry(row: tuple[Any, ...]) -> Entry:
    key, value, create_revision, mod_revision, lease_id = row
    return Entry(key.decode(), value, create_revision, mod_revision, lease_id)


def _prefix_condition(prefix: str) -> tuple[str, tuple[bytes, ...]]:
    low = key_bytes(prefix)
    if not low:
        return "1", ()
    # UTF-8 never holds the byte 0xff, so the last byte can always be raised by one.
    return "key >= ? AND key < ?", (low, low[:-1] + bytes((low[-1] + 1,)))


def _sync_directory(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
