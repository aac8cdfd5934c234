"""The index of aborted transactions of a segment (`.txnindex`).

Readers that skip aborted data ask it which producers to leave out. Entries of 34 bytes, big-endian:

    int16  version, 0
    int64  producer id
    int64  first offset of the transaction
    int64  offset of the marker that aborted it
    int64  last stable offset when the marker was written

An entry lies in the segment that holds the marker. Entries rise by the marker's offset. Most segments
have none, and then there is no file. It is written before its marker, so that no marker is without its
entry; it is on stable storage before a flush says that the marker is, and recovery makes anew what lies
above.
"""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct
from typing import Final, NamedTuple

from mainstem.log.errors import LogCorrupt
from mainstem.log.open_files import OpenFiles
from mainstem.ports.disk import File

ENTRY: Final = Struct(">hqqqq")
ENTRY_BYTES: Final = ENTRY.size
VERSION: Final = 0
_ENTRIES_AT_A_TIME: Final = 120  # a page


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

    def _file(self) -> File | None:
        try:
            return self._files.get(self.path)
        except FileNotFoundError:
            return None

    def entry_count(self) -> int:
        file = self._file()
        return 0 if file is None else file.size() // ENTRY_BYTES

    def append(self, aborted: Sequence[AbortedTransaction]) -> None:
        """They rise, and lie above what is there."""
        file = self._files.get(self.path, create=True)
        count = file.size() // ENTRY_BYTES
        if count and self._entry(file, count - 1).last_offset >= aborted[0].last_offset:
            raise ValueError(f"{aborted[0]} does not come after what {self.path} has")
        file.write([ENTRY.pack(VERSION, *entry) for entry in aborted], count * ENTRY_BYTES)

    def read_all(self) -> list[AbortedTransaction]:
        file = self._file()
        if file is None:
            return []
        return self._unpack(file.read(file.size() // ENTRY_BYTES * ENTRY_BYTES, 0))

    def read_sound(self, base_offset: int, limit_offset: int) -> list[AbortedTransaction]:
        """For recovery: the entries below the limit, up to the first that cannot be true."""
        file = self._file()
        if file is None:
            return []
        sound: list[AbortedTransaction] = []
        lowest = base_offset
        for version, *fields in ENTRY.iter_unpack(file.read(file.size() // ENTRY_BYTES * ENTRY_BYTES, 0)):
            entry = AbortedTransaction(*fields)
            is_sound = lowest <= entry.last_offset < limit_offset and entry.first_offset <= entry.last_offset
            if version != VERSION or not is_sound:
                break
            sound.append(entry)
            lowest = entry.last_offset + 1
        return sound

    def overlapping(self, offset: int, limit_offset: int) -> tuple[list[AbortedTransaction], bool]:
        """Those with records in `offset` up to before `limit_offset`, and whether no later index has more.

        None has once an entry's last stable offset reaches the limit: transactions that end later began
        above it.
        """
        file = self._file()
        found: list[AbortedTransaction] = []
        if file is None:
            return found, False
        count = file.size() // ENTRY_BYTES
        number = self._first_ending_at(file, offset, count)
        while number < count:
            read = min(_ENTRIES_AT_A_TIME, count - number)
            for entry in self._unpack(file.read(read * ENTRY_BYTES, number * ENTRY_BYTES)):
                if entry.first_offset < limit_offset:
                    found.append(entry)
                if entry.last_stable_offset >= limit_offset:
                    return found, True
            number += read
        return found, False

    def _first_ending_at(self, file: File, offset: int, count: int) -> int:
        """The number of the first entry whose marker lies at or above the offset."""
        low, high = 0, count
        while low < high:
            middle = (low + high) // 2
            if self._entry(file, middle).last_offset < offset:
                low = middle + 1
            else:
                high = middle
        return low

    def _entry(self, file: File, number: int) -> AbortedTransaction:
        return self._unpack(file.read(ENTRY_BYTES, number * ENTRY_BYTES))[0]

    def truncate(self, offset: int) -> None:
        """Keeps the entries whose marker lies below the offset."""
        file = self._file()
        if file is not None:
            count = file.size() // ENTRY_BYTES
            file.truncate(self._first_ending_at(file, offset, count) * ENTRY_BYTES)

    def replace(self, entries: Sequence[AbortedTransaction]) -> None:
        file = self._files.get(self.path, create=True) if entries else self._file()
        if file is None:
            return
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
        file = self._file()
        if file is not None:
            file.sync()
