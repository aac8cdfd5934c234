"""The index of aborted transactions of a segment (`.txnindex`).

Readers that skip aborted data ask it which producers to leave out. Entries of 34 bytes, big-endian:

    int16  version, 0
    int64  producer id
    int64  first offset of the transaction
    int64  offset of the marker that aborted it
    int64  last stable offset when the marker was written

An entry lies in the segment that holds the marker. Entries rise by the marker's offset. Most segments
have none, and then there is no file.
"""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct
from typing import Final, NamedTuple

from mainstem.log.errors import LogCorrupt
from mainstem.log.open_files import OpenFiles

ENTRY: Final = Struct(">hqqqq")
ENTRY_BYTES: Final = ENTRY.size
VERSION: Final = 0


class AbortedTransaction(NamedTuple):
    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


class TransactionIndex:
    __slots__ = ("_files", "path")

    def __init__(self, files: OpenFiles, path: str) -> None:
        self.path = path
        self._files = files

    def append(self, aborted: AbortedTransaction) -> None:
        file = self._files.get(self.path, create=True)
        size = file.size() // ENTRY_BYTES * ENTRY_BYTES
        if size:
            last = self._unpack(file.read(ENTRY_BYTES, size - ENTRY_BYTES))[0]
            if last.last_offset >= aborted.last_offset:
                raise ValueError(f"{aborted} does not come after {last}")
        file.write((ENTRY.pack(VERSION, *aborted),), size)

    def read_all(self) -> list[AbortedTransaction]:
        try:
            file = self._files.get(self.path)
        except FileNotFoundError:
            return []
        return self._unpack(file.read(file.size() // ENTRY_BYTES * ENTRY_BYTES, 0))

    def overlapping(self, offset: int, limit_offset: int) -> list[AbortedTransaction]:
        """The transactions of this segment with records in `offset` up to before `limit_offset`."""
        return [
            entry
            for entry in self.read_all()
            if entry.last_offset >= offset and entry.first_offset < limit_offset
        ]

    def truncate(self, offset: int) -> None:
        """Keeps the entries whose marker lies below the offset."""
        entries = self.read_all()
        kept = [entry for entry in entries if entry.last_offset < offset]
        if len(kept) < len(entries):
            self.replace(kept)

    def replace(self, entries: Sequence[AbortedTransaction]) -> None:
        file = self._files.get(self.path, create=True)
        file.truncate(0)
        if entries:
            file.write([ENTRY.pack(VERSION, *entry) for entry in entries], 0)

    def _unpack(self, raw: bytes) -> list[AbortedTransaction]:
        entries = []
        for version, *fields in ENTRY.iter_unpack(raw):
            if version > VERSION:
                raise LogCorrupt(f"{self.path}: an entry of version {version}, known is {VERSION}")
            entries.append(AbortedTransaction(*fields))
        return entries

    def sync(self) -> None:
        try:
            file = self._files.get(self.path)
        except FileNotFoundError:
            return
        file.sync()
