"""The sparse offset index of a segment (`.index`).

One entry for about every `index.interval.bytes` of log: 4 bytes offset relative to the segment's base
offset, 4 bytes position in the `.log` file, both big-endian, both rising. An entry names the *last*
offset of a batch and the position where that batch starts, so the greatest entry at or below an
offset leads to a batch from which a short scan forward finds it.

In memory there is only the warm section, the last 1,024 entries (8,192 bytes) or a little more, as
two arrays that `bisect` searches in C. Readers near the tail, which is nearly all of them, never
leave it. A lookup in the cold section narrows down by reading single entries, then reads one block.

Appends are gathered and written 128 at a time. What is not written yet is always part of the warm
section. An index may be lost at any time: recovery makes it anew from the log.

One owner appends; other threads may look up meanwhile. A lookup therefore takes the warm section as
one object that is only ever appended to (positions first, so that a visible offset has its position)
and is replaced whole when it is trimmed.
"""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_left, bisect_right
from struct import Struct
from typing import Final

from mainstem.log.open_files import OpenFiles

ENTRY: Final = Struct(">II")
ENTRY_BYTES: Final = ENTRY.size
WARM_ENTRIES: Final = 1024
MAX_RELATIVE_OFFSET: Final = 2**31 - 1
_TRIM_AT: Final = 2 * WARM_ENTRIES
_WRITE_AT: Final = 128
_UINT32: Final = "I"


def _to_columns(raw: bytes) -> tuple[array[int], array[int]]:
    words = array(_UINT32, raw)
    if sys.byteorder == "little":
        words.byteswap()
    return words[0::2], words[1::2]


def _to_bytes(offsets: array[int], positions: array[int]) -> bytes:
    words = array(_UINT32, bytes(2 * 4 * len(offsets)))
    words[0::2] = offsets
    words[1::2] = positions
    if sys.byteorder == "little":
        words.byteswap()
    return words.tobytes()


class _Warm:
    """The entries from number `first` on."""

    __slots__ = ("first", "offsets", "positions")

    def __init__(self, first: int, offsets: array[int], positions: array[int]) -> None:
        self.first = first
        self.offsets = offsets
        self.positions = positions


class OffsetIndex:
    __slots__ = ("_files", "_warm", "_written", "path")

    def __init__(self, files: OpenFiles, path: str, *, is_new: bool = False) -> None:
        self.path = path
        self._files = files
        # Entries that are in the file; the warm section reaches at least from there to the end.
        self._written = 0
        self._warm: _Warm | None = _Warm(0, array(_UINT32), array(_UINT32)) if is_new else None

    def use(self, files: OpenFiles) -> None:
        """Takes its file from another table."""
        self._files = files

    def _load(self) -> _Warm:
        warm = self._warm
        if warm is None:
            try:
                file = self._files.get(self.path)
            except FileNotFoundError:
                written, first, raw = 0, 0, b""
            else:
                written = file.size() // ENTRY_BYTES
                first = max(0, written - WARM_ENTRIES)
                raw = file.read((written - first) * ENTRY_BYTES, first * ENTRY_BYTES)
            self._written = written
            self._warm = warm = _Warm(first, *_to_columns(raw))
        return warm

    @property
    def entry_count(self) -> int:
        warm = self._load()
        return warm.first + len(warm.offsets)

    def last_entry(self) -> tuple[int, int] | None:
        """Relative offset and position of the last entry."""
        warm = self._load()
        if not warm.offsets:
            return None
        return warm.offsets[-1], warm.positions[-1]

    def append(self, relative_offset: int, position: int) -> None:
        """Adds an entry; one that does not rise is left out, the index stays as good without it."""
        warm = self._load()
        offsets = warm.offsets
        if offsets and (relative_offset <= offsets[-1] or position <= warm.positions[-1]):
            return
        warm.positions.append(position)
        offsets.append(relative_offset)
        if warm.first + len(offsets) - self._written >= _WRITE_AT:
            self.write_pending()
            if len(offsets) >= _TRIM_AT:
                self._trim(warm)

    def _trim(self, warm: _Warm) -> None:
        excess = min(len(warm.offsets) - WARM_ENTRIES, self._written - warm.first)
        if excess > 0:
            self._warm = _Warm(warm.first + excess, warm.offsets[excess:], warm.positions[excess:])

    def write_pending(self) -> bool:
        """Brings the file up to date. False when the disk refused: nothing is lost, try again later."""
        warm = self._warm
        if warm is None:
            return True
        start = self._written - warm.first
        count = len(warm.offsets) - start
        if count == 0 and self._written:
            return True
        raw = _to_bytes(warm.offsets[start:], warm.positions[start:])
        try:
            self._files.get(self.path, create=True).write((raw,), self._written * ENTRY_BYTES)
        except OSError:
            return False
        self._written += count
        return True

    def release_memory(self) -> None:
        """Drops the warm section; the next lookup reads it again."""
        if self.write_pending():
            self._warm = None

    def lookup(self, relative_offset: int) -> int:
        """The position of the greatest entry at or below the offset, 0 when there is none."""
        warm = self._load()
        offsets = warm.offsets
        if offsets and relative_offset >= offsets[0]:
            return warm.positions[bisect_right(offsets, relative_offset) - 1]
        if warm.first == 0:
            return 0
        return self._lookup_cold(relative_offset, warm.first)

    def _lookup_cold(self, relative_offset: int, end: int) -> int:
        file = self._files.get(self.path)
        start = 0
        while end - start > WARM_ENTRIES:
            middle = (start + end) // 2
            (offset, _) = ENTRY.unpack(file.read(ENTRY_BYTES, middle * ENTRY_BYTES))
            if offset <= relative_offset:
                start = middle
            else:
                end = middle
        offsets, positions = _to_columns(file.read((end - start) * ENTRY_BYTES, start * ENTRY_BYTES))
        found = bisect_right(offsets, relative_offset)
        return positions[found - 1] if found else 0

    def offset_at_or_after(self, position: int) -> int | None:
        """The relative offset of the first entry at or after the position; None when there is none."""
        warm = self._load()
        if warm.first and (not warm.positions or position < warm.positions[0]):
            return self._offset_at_or_after_cold(position, warm.first)
        number = bisect_left(warm.positions, position)
        return warm.offsets[number] if number < len(warm.offsets) else None

    def _offset_at_or_after_cold(self, position: int, end: int) -> int:
        """Where the warm section begins at a higher position."""
        file = self._files.get(self.path)
        start, found = 0, 0
        while start < end:
            middle = (start + end) // 2
            offset, at = ENTRY.unpack(file.read(ENTRY_BYTES, middle * ENTRY_BYTES))
            if at >= position:
                end, found = middle, offset
            else:
                start = middle + 1
        return found or self._load().offsets[0]

    def truncate(self, relative_offset: int, position: int) -> None:
        """Keeps the entries below both the offset and the position. For truncation and recovery."""
        entries = self.read_all()
        keep = 0
        for offset, at in entries:
            if offset >= relative_offset or at >= position:
                break
            keep += 1
        self.replace(entries[:keep])

    def replace(self, entries: list[tuple[int, int]]) -> None:
        """Makes these the entries, in memory and in the file."""
        first = max(0, len(entries) - WARM_ENTRIES)
        raw = b"".join([ENTRY.pack(*entry) for entry in entries])
        file = self._files.get(self.path, create=True)
        file.truncate(0)
        if raw:
            file.write((raw,), 0)
        self._written = len(entries)
        self._warm = _Warm(first, *_to_columns(raw[first * ENTRY_BYTES :]))

    def read_all(self) -> list[tuple[int, int]]:
        warm = self._load()
        try:
            raw = self._files.get(self.path).read(warm.first * ENTRY_BYTES, 0)
        except FileNotFoundError:
            raw = b""
        return [*ENTRY.iter_unpack(raw), *zip(warm.offsets, warm.positions, strict=True)]

    def sync(self) -> None:
        try:
            file = self._files.get(self.path)
        except FileNotFoundError:
            return
        file.sync()
