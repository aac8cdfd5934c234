"""Whether the indexes of a segment tell the truth about its batches.

Each check walks along with the one pass over the `.log` file: `see` gets every batch in turn, `finish`
is called behind the last whole one. The first thing that is wrong is kept as `damage`, and then the
check looks at nothing more of its file.

- An offset entry must lead to the start of a batch, and none of the batches before it may reach its
  offset: then a search that starts there misses nothing. Both columns rise.
- A time entry must name the batch that brought the greatest timestamp so far. Timestamps rise.
- A transaction entry must name a marker of its producer. Markers rise.

Kafka reserves the indexes of the active segment with zeros; entries end where zeros begin.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct
from typing import Any, Final, Protocol

from mainstem.cli.log_damage import Damage, damage_of
from mainstem.cli.log_files import FileKind
from mainstem.log import offset_index, time_index, transaction_index
from mainstem.model.batch import BatchHeader
from mainstem.ports.disk import File

_CHUNK_ENTRIES: Final = 8192


def read_entries(file: File, layout: Struct) -> Iterator[tuple[int, ...]]:
    """The whole entries of an index file, up to the zeros that reserve room."""
    position, end = 0, file.size() // layout.size * layout.size
    zeros = bytes(layout.size)
    while position < end:
        raw = file.read(min(_CHUNK_ENTRIES * layout.size, end - position), position)
        raw = raw[: len(raw) // layout.size * layout.size]
        for fields in layout.iter_unpack(raw):
            if not any(fields):
                return
            yield fields
        if raw[-layout.size :] == zeros or not raw:
            return
        position += len(raw)


class IndexCheck(Protocol):
    """One index file against the batches of its segment."""

    damage: Damage | None

    def see(self, position: int, header: BatchHeader) -> None: ...

    def finish(self, end_position: int, *, is_log_whole: bool) -> None: ...


class _EntryCheck:
    """Walks the entries of one index file beside the batches."""

    kind: FileKind
    layout: Struct

    def __init__(self, path: str, file: File, base_offset: int) -> None:
        self.damage: Damage | None = None
        self.entry_count = 0
        self._path = path
        self._base_offset = base_offset
        self._entries = read_entries(file, self.layout)
        self._before: tuple[int, ...] | None = None
        self._next: tuple[int, ...] | None = None
        extra = file.size() % self.layout.size
        self._extra_bytes = extra
        self._advance()

    def _advance(self) -> None:
        self._before, self._next = self._next, next(self._entries, None)
        if self._next is not None:
            self.entry_count += 1
            if self._before is not None and not self._rises(self._before, self._next):
                self._report("does not rise above the one before it")

    def _rises(self, before: Any, entry: Any) -> bool:
        raise NotImplementedError

    def _describe(self, entry: Any) -> str:
        raise NotImplementedError

    def _report(self, problem: str, offset: int | None = None) -> None:
        number = self.entry_count - 1
        entry = self._describe(self._next)
        self._stop(f"entry {number} ({entry}) {problem}", number * self.layout.size, offset)

    def _stop(self, problem: str, position: int, offset: int | None = None) -> None:
        if self.damage is None:
            self.damage = damage_of(self._path, self.kind, problem, position=position, offset=offset)
        self._next = None
        self._entries = iter(())

    def finish(self, end_position: int, *, is_log_whole: bool) -> None:
        if self._next is not None and is_log_whole:
            self._report(f"lies behind the end of the log, which has {end_position} bytes")
        if self._extra_bytes and self.damage is None:
            position = self.entry_count * self.layout.size
            self._stop(f"its last entry has {self._extra_bytes} of {self.layout.size} bytes", position)


class OffsetIndexCheck(_EntryCheck):
    kind = FileKind.OFFSET_INDEX
    layout = offset_index.ENTRY

    def __init__(self, path: str, file: File, base_offset: int) -> None:
        self._last_offset = base_offset - 1  # of the batch before
        super().__init__(path, file, base_offset)

    def _rises(self, before: tuple[int, int], entry: tuple[int, int]) -> bool:
        return entry[0] > before[0] and entry[1] > before[1]

    def _describe(self, entry: tuple[int, int]) -> str:
        return f"offset {self._base_offset + entry[0]} at position {entry[1]}"

    def see(self, position: int, header: BatchHeader) -> None:
        while self._next is not None and self._next[1] <= position:
            offset = self._base_offset + self._next[0]
            if self._next[1] < position:
                self._report("leads into the middle of a batch", offset)
            elif offset <= self._last_offset:
                self._report(f"comes too late: the batch before it ends at {self._last_offset}", offset)
            elif offset < header.base_offset:
                self._report(f"leads to a batch that begins at offset {header.base_offset}", offset)
            else:
                self._advance()
        self._last_offset = header.last_offset


class TimeIndexCheck(_EntryCheck):
    kind = FileKind.TIME_INDEX
    layout = time_index.ENTRY

    def __init__(self, path: str, file: File, base_offset: int, *, is_closed: bool) -> None:
        self._max_timestamp = -1
        self._is_closed = is_closed  # the segment was rolled: its last entry has its greatest timestamp
        super().__init__(path, file, base_offset)

    def _rises(self, before: tuple[int, int], entry: tuple[int, int]) -> bool:
        return entry[0] > before[0] and entry[1] >= before[1]

    def _describe(self, entry: tuple[int, int]) -> str:
        return f"timestamp {entry[0]} at offset {self._base_offset + entry[1]}"

    def see(self, position: int, header: BatchHeader) -> None:  # noqa: ARG002
        self._max_timestamp = max(self._max_timestamp, header.max_timestamp)
        while self._next is not None and self._base_offset + self._next[1] <= header.last_offset:
            timestamp, offset = self._next[0], self._base_offset + self._next[1]
            if offset < header.base_offset:
                self._report("names an offset that is in no batch", offset)
            elif timestamp != header.max_timestamp:
                self._report(f"names a batch whose greatest timestamp is {header.max_timestamp}", offset)
            elif timestamp < self._max_timestamp:
                self._report(f"comes behind a batch with timestamp {self._max_timestamp}", offset)
            else:
                self._advance()

    def finish(self, end_position: int, *, is_log_whole: bool) -> None:
        super().finish(end_position, is_log_whole=is_log_whole)
        newest = self._before[0] if self._before is not None else -1
        if self.damage is None and self._is_closed and is_log_whole and newest < self._max_timestamp:
            self._stop(
                f"it ends at timestamp {newest}, the segment has {self._max_timestamp}",
                self.entry_count * self.layout.size,
            )


class TransactionIndexCheck(_EntryCheck):
    kind = FileKind.TRANSACTION_INDEX
    layout = transaction_index.ENTRY

    def _rises(self, before: tuple[int, ...], entry: tuple[int, ...]) -> bool:
        return entry[3] > before[3]

    def _describe(self, entry: tuple[int, ...]) -> str:
        return f"producer {entry[1]}, offsets {entry[2]} to {entry[3]}"

    def see(self, position: int, header: BatchHeader) -> None:  # noqa: ARG002
        while self._next is not None and self._next[3] <= header.last_offset:
            version, producer_id, first_offset, last_offset, _ = self._next
            if version != transaction_index.VERSION:
                self._report(f"has version {version}, known is {transaction_index.VERSION}")
            elif first_offset > last_offset:
                self._report("ends before it begins", last_offset)
            elif not header.is_control or header.producer_id != producer_id:
                self._report("does not end at a marker of that producer", last_offset)
            else:
                self._advance()
