"""The sparse time index of a segment (`.timeindex`).

Entries of 12 bytes, big-endian: 8 bytes of the greatest timestamp so far in this segment, 4 bytes the
last offset of the batch that brought it, relative to the base offset. Both rise from entry to entry.
A segment that rolls or closes gets a last entry, so its greatest timestamp is known from its file.

Looked up rarely, so only the last entry is kept in memory and the rest is read from the file where it
lies. Like the offset index it is gathered before it is written, and made anew when it is lost.
"""

from __future__ import annotations

from struct import Struct
from typing import Final, NamedTuple

from mainstem.log.open_files import OpenFiles

ENTRY: Final = Struct(">qI")
ENTRY_BYTES: Final = ENTRY.size
_WRITE_AT: Final = 128


class TimeEntry(NamedTuple):
    timestamp_ms: int
    relative_offset: int


class TimeIndex:
    __slots__ = ("_files", "_last", "_pending", "_written", "path")

    def __init__(self, files: OpenFiles, path: str, *, is_new: bool = False) -> None:
        self.path = path
        self._files = files
        self._written = 0 if is_new else -1  # entries in the file; -1: not looked at yet
        self._last: TimeEntry | None = None
        self._pending = b""  # entries that follow the written ones; replaced, never changed in place

    def use(self, files: OpenFiles) -> None:
        """Takes its file from another table."""
        self._files = files

    def _load(self) -> None:
        if self._written >= 0:
            return
        try:
            file = self._files.get(self.path)
        except FileNotFoundError:
            self._written = 0
            return
        written = file.size() // ENTRY_BYTES
        if written:
            self._last = TimeEntry(*ENTRY.unpack(file.read(ENTRY_BYTES, (written - 1) * ENTRY_BYTES)))
        self._written = written

    @property
    def entry_count(self) -> int:
        self._load()
        return self._written + len(self._pending) // ENTRY_BYTES

    @property
    def last(self) -> TimeEntry | None:
        self._load()
        return self._last

    def append(self, timestamp_ms: int, relative_offset: int) -> None:
        """Adds an entry when the timestamp is greater than the last one's."""
        self._load()
        last = self._last
        if timestamp_ms < 0 or (
            last is not None
            and (timestamp_ms <= last.timestamp_ms or relative_offset <= last.relative_offset)
        ):
            return
        self._pending += ENTRY.pack(timestamp_ms, relative_offset)
        self._last = TimeEntry(timestamp_ms, relative_offset)
        if len(self._pending) >= _WRITE_AT * ENTRY_BYTES:
            self.write_pending()

    def write_pending(self) -> bool:
        if self._written < 0 or (not self._pending and self._written):
            return True
        try:
            file = self._files.get(self.path, create=True)
            file.write((self._pending,), self._written * ENTRY_BYTES)
        except OSError:
            return False
        # In this order a reader in another thread may see an entry twice, never miss one.
        self._written += len(self._pending) // ENTRY_BYTES
        self._pending = b""
        return True

    def lookup(self, timestamp_ms: int) -> int:
        """The relative offset of the greatest entry below the timestamp, 0 when there is none.

        Every record at or after the timestamp lies behind that offset's batch or in it.
        """
        self._load()
        found = -1
        for timestamp, offset in ENTRY.iter_unpack(self._pending):
            if timestamp >= timestamp_ms:
                break
            found = offset
        if found >= 0 or not self._written:
            return max(found, 0)
        file = self._files.get(self.path)
        start, end = 0, self._written  # entries before `start` lie below, those from `end` on do not
        while start < end:
            middle = (start + end) // 2
            timestamp, offset = ENTRY.unpack(file.read(ENTRY_BYTES, middle * ENTRY_BYTES))
            if timestamp < timestamp_ms:
                found = offset
                start = middle + 1
            else:
                end = middle
        return max(found, 0)

    def truncate(self, relative_offset: int) -> None:
        """Keeps the entries below the offset."""
        self.replace([entry for entry in self.read_all() if entry.relative_offset < relative_offset])

    def replace(self, entries: list[TimeEntry]) -> None:
        raw = b"".join([ENTRY.pack(*entry) for entry in entries])
        file = self._files.get(self.path, create=True)
        file.truncate(0)
        if raw:
            file.write((raw,), 0)
        self._pending = b""
        self._last = entries[-1] if entries else None
        self._written = len(entries)

    def read_all(self) -> list[TimeEntry]:
        self._load()
        pending = self._pending
        try:
            raw = self._files.get(self.path).read(self._written * ENTRY_BYTES, 0)
        except FileNotFoundError:
            raw = b""
        return [TimeEntry(*entry) for entry in ENTRY.iter_unpack(raw + pending)]

    def sync(self) -> None:
        try:
            file = self._files.get(self.path)
        except FileNotFoundError:
            return
        file.sync()
