"""Which offset is the newest of each key: a map of a stated size, whatever the keys are like.

It begins as a plain dictionary, which is five times as fast, and may take a quarter of the memory at 256
bytes an entry (measured: 160, and 190 while it grows). When there are more keys than that, they move to a
table of 16 bytes a slot, which takes the other three quarters:

    64 bits   of a keyed hash of the key, never 0: 0 is a free slot
    24 bits   of a second hash, so that two keys are taken for one with a chance of 2^-88 only
    40 bits   offset, counted from the first one that the map may hold

Slots are probed one after the other, and no more than `load_factor` of them are used. A map that is full
takes no further key, and the cleaning ends where it is.

Keys above 32 bytes go in as a digest of 33 bytes, which no short key can equal.

This is the plain module. Where there was a compiler, `new_offset_map` gives its compiled twin,
`log/_offset_map.pyx`, of the same slots and ten times as fast; one suite runs both.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator
from itertools import repeat
from typing import TYPE_CHECKING, Final
from zlib import crc32

from mainstem.log.compaction.pace import RECORDS_PER_BREATH
from mainstem.log.compaction.record_scan import (
    LONGEST_PLAIN_KEY,
    NOT_THERE,
    Kept,
    digest,
    index_keys,
    newest_delta,
    select_records,
)
from mainstem.log.compaction.selection import NewestOffsets, Selection
from mainstem.model.errors import MalformedRecords

if TYPE_CHECKING:
    from mainstem.log._offset_map import OffsetMap as _Compiled

_DICTIONARY_ENTRY_BYTES: Final = 256
_SLOT_BYTES: Final = 16
_HASH_MASK: Final = 2**64 - 1
_OFFSET_BITS: Final = 40
_OFFSET_MASK: Final = 2**_OFFSET_BITS - 1
_SECOND_HASH_MASK: Final = 2**24 - 1
MIN_SIZE_BYTES: Final = 64 * 1024


CompiledOffsetMap: type[_Compiled] | None = None
try:
    from mainstem.log._offset_map import OffsetMap as _Found
except ImportError:  # installed without a compiler
    pass
else:
    CompiledOffsetMap = _Found


class OffsetTable:
    """The second shape: open addressing in two arrays."""

    __slots__ = ("_first_offset", "_hashes", "_rest", "_slots", "count")

    def __init__(self, slots: int, first_offset: int) -> None:
        self.count = 0
        self._slots = slots
        self._first_offset = first_offset
        self._hashes = array("Q", bytes(8)) * slots
        self._rest = array("Q", bytes(8)) * slots

    def put(self, key: bytes, offset: int) -> None:
        hashed = hash(key) & _HASH_MASK or 1
        second = (crc32(key) & _SECOND_HASH_MASK) << _OFFSET_BITS
        hashes, rest, slots = self._hashes, self._rest, self._slots
        slot = hashed % slots
        while found := hashes[slot]:
            if found == hashed and rest[slot] & ~_OFFSET_MASK == second:
                break
            slot += 1
            if slot == slots:
                slot = 0
        else:
            self.count += 1
            hashes[slot] = hashed
        rest[slot] = second | (offset - self._first_offset)

    def get(self, key: bytes, default: int = NOT_THERE) -> int:
        hashed = hash(key) & _HASH_MASK or 1
        second = (crc32(key) & _SECOND_HASH_MASK) << _OFFSET_BITS
        hashes, rest, slots = self._hashes, self._rest, self._slots
        slot = hashed % slots
        while found := hashes[slot]:
            if found == hashed and rest[slot] & ~_OFFSET_MASK == second:
                return (rest[slot] & _OFFSET_MASK) + self._first_offset
            slot += 1
            if slot == slots:
                slot = 0
        return default


class OffsetMap:
    def __init__(self, size_bytes: int, first_offset: int, *, load_factor: float = 0.9) -> None:
        """`first_offset`: no lower one is ever put."""
        if size_bytes < MIN_SIZE_BYTES:
            raise ValueError(f"an offset map has at least {MIN_SIZE_BYTES} bytes")
        self._first_offset = first_offset
        self.latest_offset = first_offset - 1  # every record up to here was taken note of
        self._small: dict[bytes, int] | None = {}
        self._small_keys = size_bytes // 4 // _DICTIONARY_ENTRY_BYTES
        self._slots = size_bytes * 3 // 4 // _SLOT_BYTES
        self.capacity = max(self._small_keys, int(self._slots * min(load_factor, 0.95)))
        self._table: OffsetTable | None = None

    def __len__(self) -> int:
        if self._small is not None:
            return len(self._small)
        assert self._table is not None
        return self._table.count

    def make_room(self, count: int) -> bool:
        """Whether so many keys more can be put, which may change the map's shape."""
        small = self._small
        if small is not None:
            if len(small) + count <= self._small_keys:
                return True
            table = self._table = OffsetTable(self._slots, self._first_offset)
            for key, offset in small.items():
                table.put(key, offset)
            self._small = None
        return len(self) + count <= self.capacity

    def put(self, key: bytes, offset: int) -> None:
        """The caller asked `make_room`. Offsets of one key come rising."""
        if len(key) > LONGEST_PLAIN_KEY:
            key = digest(key)
        if self._small is not None:
            self._small[key] = offset
        else:
            self._big.put(key, offset)

    def get(self, key: bytes) -> int:
        """The newest offset of the key, -1 when it has none."""
        if len(key) > LONGEST_PLAIN_KEY:
            key = digest(key)
        return self._small.get(key, NOT_THERE) if self._small is not None else self._big.get(key)

    @property
    def is_table(self) -> bool:
        return self._small is None

    @property
    def _big(self) -> OffsetTable:
        assert self._table is not None
        return self._table

    def index_batch(
        self, plain: bytes, record_count: int, base_offset: int, breathe: Callable[[int], None]
    ) -> None:
        put = self._small.__setitem__ if self._small is not None else self._big.put
        position = 0
        try:
            for count in _pieces(record_count):
                position = index_keys(plain, position, count, base_offset, put)
                breathe(count)
        except IndexError as error:
            raise MalformedRecords("the records end too early") from error
        _check_end(plain, position)

    def select_batch(
        self,
        plain: bytes,
        record_count: int,
        base_offset: int,
        drops_tombstones: bool,
        breathe: Callable[[int], None],
    ) -> Selection:
        find = self._small.get if self._small is not None else self._big.get
        kept, position = Kept(), 0
        try:
            for count in _pieces(record_count):
                position = select_records(plain, position, count, base_offset, find, drops_tombstones, kept)
                breathe(count)
        except IndexError as error:
            raise MalformedRecords("the records end too early") from error
        _check_end(plain, position)
        if kept.count == record_count:
            records = plain
        else:
            records = b"".join([plain[start:end] for start, end in kept.spans])
        newest = newest_delta(records) if kept.count else 0
        return Selection(kept.count, records, kept.has_tombstone, newest, kept.keyless)


def _pieces(record_count: int) -> Iterator[int]:
    """So that the thread can give way in between."""
    whole, rest = divmod(record_count, RECORDS_PER_BREATH)
    yield from repeat(RECORDS_PER_BREATH, whole)
    if rest:
        yield rest


def _check_end(plain: bytes, position: int) -> None:
    if position != len(plain):
        raise MalformedRecords(f"{len(plain) - position} bytes follow the last record")


def new_offset_map(size_bytes: int, first_offset: int, *, load_factor: float) -> NewestOffsets:
    """The compiled twin where there is one."""
    made = CompiledOffsetMap or OffsetMap
    return made(size_bytes, first_offset, load_factor=load_factor)
