"""Which offset is the newest of each key: a map of a stated size, whatever the keys are like.

It begins as a plain dictionary, which is five times as fast, and may take a quarter of the memory at 256
bytes an entry (measured: 160, and 190 while it grows). When there are more keys than that, they move to a
table of 16 bytes a slot, which takes the other three quarters:

    64 bits   of a keyed hash of the key, never 0: 0 is a free slot
    24 bits   of a second hash, so that two keys are taken for one with a chance of 2^-88 only
    40 bits   offset, counted from the first one that the map may hold

Slots are probed one after the other. The table is full at nine tenths of `load_factor` below 1 at most; a
map that is full takes no further key, and the cleaning ends where it is.

Keys above 32 bytes go in as a digest of 33 bytes, which no short key can equal.
"""

from __future__ import annotations

from array import array
from hashlib import blake2b
from typing import Final
from zlib import crc32

LONGEST_PLAIN_KEY: Final = 32
_DIGEST_BYTES: Final = LONGEST_PLAIN_KEY + 1
_DICTIONARY_ENTRY_BYTES: Final = 256
_SLOT_BYTES: Final = 16
_HASH_MASK: Final = 2**64 - 1
_OFFSET_BITS: Final = 40
_OFFSET_MASK: Final = 2**_OFFSET_BITS - 1
_SECOND_HASH_MASK: Final = 2**24 - 1
MIN_SIZE_BYTES: Final = 64 * 1024
NOT_THERE: Final = -1


def digest(key: bytes) -> bytes:
    """What stands for a key of more than `LONGEST_PLAIN_KEY` bytes."""
    return blake2b(key, digest_size=_DIGEST_BYTES).digest()


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

    @property
    def dictionary(self) -> dict[bytes, int] | None:
        """The first shape, to be written to directly; `make_room` comes before each use."""
        return self._small

    @property
    def table(self) -> OffsetTable:
        assert self._table is not None
        return self._table

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
            self.table.put(key, offset)

    def get(self, key: bytes) -> int:
        """The newest offset of the key, -1 when it has none."""
        if len(key) > LONGEST_PLAIN_KEY:
            key = digest(key)
        return self._small.get(key, NOT_THERE) if self._small is not None else self.table.get(key)
