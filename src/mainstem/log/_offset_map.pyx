# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True
"""The compiled twin of `compaction/offset_map.py`: one table, and the walks over the records of a batch.

The table begins small and doubles; before the last doubling it takes half of its final size, so that both
together stay below what was stated. A slot has 16 bytes, as in the plain module: 64 bits of one half of a
SipHash-1-3 under a random key, 24 bits of its other half, 40 bits of offset.

The walks let go of the interpreter: the broker's loop goes on beside them.
"""

from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy

import os

from mainstem.log.compaction.selection import Selection
from mainstem.model.errors import MalformedRecords

cdef uint64_t OFFSET_MASK = (1ULL << 40) - 1
cdef uint64_t SECOND_MASK = ~OFFSET_MASK
cdef int MIN_SIZE_BYTES = 64 * 1024
cdef int SLOT_BYTES = 16
cdef int64_t SMALLEST_SLOTS = 4096
cdef int64_t NOT_THERE = -1
cdef int64_t INT64_MIN = <int64_t> (1ULL << 63)

cdef enum Damage:
    SOUND = 0
    ENDS_EARLY = 1
    ENDLESS_NUMBER = 2
    FIELD_LENGTH = 3
    LENGTHS_DISAGREE = 4

cdef dict WORDS = {
    ENDS_EARLY: "the records end too early",
    ENDLESS_NUMBER: "a variable-length integer does not end where it should",
    FIELD_LENGTH: "a field claims more bytes than its record has",
    LENGTHS_DISAGREE: "a record's length and its fields disagree",
}

cdef struct Slot:
    uint64_t hashed  # 0: free
    uint64_t rest

cdef struct Walk:
    const uint8_t *data
    int64_t position
    int64_t end
    int damage

cdef struct Seen:
    int64_t start
    int64_t after  # where it ends
    int64_t timestamp_delta
    int64_t offset_delta
    int64_t key  # position, of the key_bytes that follow
    int64_t key_bytes  # -1: no key
    bint has_value


cdef inline uint64_t rotate(uint64_t value, int by) noexcept nogil:
    return value << by | value >> (64 - by)


cdef inline void stir(uint64_t *v) noexcept nogil:
    v[0] += v[1]
    v[1] = rotate(v[1], 13) ^ v[0]
    v[0] = rotate(v[0], 32)
    v[2] += v[3]
    v[3] = rotate(v[3], 16) ^ v[2]
    v[0] += v[3]
    v[3] = rotate(v[3], 21) ^ v[0]
    v[2] += v[1]
    v[1] = rotate(v[1], 17) ^ v[2]
    v[2] = rotate(v[2], 32)


cdef inline void hash_key(
    const uint8_t *key, int64_t length, uint64_t k0, uint64_t k1, uint64_t *first, uint64_t *second
) noexcept nogil:
    """SipHash with one round a word, three at the end, and a result of 128 bits."""
    cdef uint64_t v[4]
    cdef uint64_t word
    cdef int64_t at = 0
    cdef int64_t left = length
    v[0] = k0 ^ <uint64_t> 0x736F6D6570736575ULL
    v[1] = k1 ^ <uint64_t> 0x646F72616E646F6DULL ^ 0xEE
    v[2] = k0 ^ <uint64_t> 0x6C7967656E657261ULL
    v[3] = k1 ^ <uint64_t> 0x7465646279746573ULL
    while left >= 8:
        memcpy(&word, key + at, 8)
        v[3] ^= word
        stir(v)
        v[0] ^= word
        at += 8
        left -= 8
    word = 0
    memcpy(&word, key + at, left)
    word |= <uint64_t> length << 56
    v[3] ^= word
    stir(v)
    v[0] ^= word
    v[2] ^= 0xEE
    stir(v)
    stir(v)
    stir(v)
    first[0] = v[0] ^ v[1] ^ v[2] ^ v[3]
    v[1] ^= 0xDD
    stir(v)
    stir(v)
    stir(v)
    second[0] = v[0] ^ v[1] ^ v[2] ^ v[3]


cdef inline int64_t number(Walk *walk) noexcept nogil:
    """The zigzag integer at the position, of up to ten bytes."""
    cdef uint64_t result = 0
    cdef int shift = 0
    cdef uint8_t byte
    while shift < 70:
        if walk.position >= walk.end:
            walk.damage = ENDS_EARLY
            return 0
        byte = walk.data[walk.position]
        walk.position += 1
        if shift < 64:
            result |= <uint64_t> (byte & 0x7F) << shift
        if byte < 128:
            return <int64_t> (result >> 1) ^ -<int64_t> (result & 1)
        shift += 7
    walk.damage = ENDLESS_NUMBER
    return 0


cdef inline bint step(Walk *walk, Seen *seen) noexcept nogil:
    """Looks at the next record and goes behind it. False where it is damaged."""
    cdef int64_t length, value_bytes
    seen.start = walk.position
    length = number(walk)
    if walk.damage:
        return False
    if length < 0 or length > walk.end - walk.position:
        walk.damage = FIELD_LENGTH
        return False
    seen.after = walk.position + length
    walk.position += 1  # attributes
    seen.timestamp_delta = number(walk)
    seen.offset_delta = number(walk)
    seen.key_bytes = number(walk)
    if walk.damage:
        return False
    seen.key = walk.position
    if seen.key_bytes > 0:
        if seen.key_bytes > seen.after - walk.position:
            walk.damage = FIELD_LENGTH
            return False
        walk.position += seen.key_bytes
    value_bytes = number(walk)
    if walk.damage:
        return False
    seen.has_value = value_bytes >= 0
    if walk.position > seen.after or (value_bytes > 0 and value_bytes > seen.after - walk.position):
        walk.damage = LENGTHS_DISAGREE
        return False
    walk.position = seen.after
    return True


cdef class OffsetMap:
    """See the plain module."""

    cdef Slot *_slots
    cdef int64_t _slot_count
    cdef int64_t _most_slots
    cdef int64_t _count
    cdef int64_t _first_offset
    cdef double _load_factor
    cdef uint64_t _k0
    cdef uint64_t _k1
    cdef public object latest_offset
    cdef readonly object capacity

    def __cinit__(self, size_bytes, first_offset, *, load_factor=0.9):
        if size_bytes < MIN_SIZE_BYTES:
            raise ValueError(f"an offset map has at least {MIN_SIZE_BYTES} bytes")
        self._load_factor = min(load_factor, 0.95)
        self._most_slots = size_bytes * 2 // 3 // SLOT_BYTES
        self._slot_count = self._most_slots
        while self._slot_count > 2 * SMALLEST_SLOTS:
            self._slot_count = (self._slot_count + 1) // 2
        self._slots = <Slot *> calloc(self._slot_count, sizeof(Slot))
        if self._slots == NULL:
            raise MemoryError
        self._first_offset = first_offset
        self._k0 = int.from_bytes(os.urandom(8), "little")
        self._k1 = int.from_bytes(os.urandom(8), "little")
        self.latest_offset = first_offset - 1
        self.capacity = <int64_t> (self._most_slots * self._load_factor)

    def __dealloc__(self):
        free(self._slots)

    def __len__(self):
        return self._count

    def make_room(self, count):
        cdef int64_t wanted = self._count + <int64_t> count
        if wanted > <int64_t> (self._most_slots * self._load_factor):
            return False
        while wanted > <int64_t> (self._slot_count * self._load_factor):
            self._grow()
        return True

    cdef int _grow(self) except -1:
        cdef int64_t slot_count = min(self._slot_count * 2, self._most_slots)
        cdef Slot *slots = <Slot *> calloc(slot_count, sizeof(Slot))
        cdef int64_t at, to
        if slots == NULL:
            raise MemoryError
        with nogil:
            for at in range(self._slot_count):
                if self._slots[at].hashed:
                    to = <int64_t> (self._slots[at].hashed % <uint64_t> slot_count)
                    while slots[to].hashed:
                        to += 1
                        if to == slot_count:
                            to = 0
                    slots[to] = self._slots[at]
        free(self._slots)
        self._slots = slots
        self._slot_count = slot_count
        return 0

    cdef inline Slot *_find(self, const uint8_t *key, int64_t length, uint64_t *hashed, uint64_t *second) noexcept nogil:
        """The slot of the key, or the free one where it belongs."""
        cdef int64_t at
        hash_key(key, length, self._k0, self._k1, hashed, second)
        if hashed[0] == 0:
            hashed[0] = 1
        second[0] &= SECOND_MASK
        at = <int64_t> (hashed[0] % <uint64_t> self._slot_count)
        while self._slots[at].hashed:
            if self._slots[at].hashed == hashed[0] and self._slots[at].rest & SECOND_MASK == second[0]:
                break
            at += 1
            if at == self._slot_count:
                at = 0
        return &self._slots[at]

    cdef inline void _put(self, const uint8_t *key, int64_t length, int64_t offset) noexcept nogil:
        cdef uint64_t hashed, second
        cdef Slot *slot = self._find(key, length, &hashed, &second)
        if not slot.hashed:
            slot.hashed = hashed
            self._count += 1
        slot.rest = second | <uint64_t> (offset - self._first_offset)

    cdef inline int64_t _get(self, const uint8_t *key, int64_t length) noexcept nogil:
        cdef uint64_t hashed, second
        cdef Slot *slot = self._find(key, length, &hashed, &second)
        if not slot.hashed:
            return NOT_THERE
        return <int64_t> (slot.rest & OFFSET_MASK) + self._first_offset

    def put(self, bytes key not None, offset):
        cdef const uint8_t *data = key
        self._put(data, len(key), offset)

    def get(self, bytes key not None):
        cdef const uint8_t *data = key
        return self._get(data, len(key))

    def index_batch(self, bytes plain not None, record_count, base_offset, breathe):
        cdef Walk walk
        cdef Seen seen
        cdef int64_t base = base_offset
        cdef int64_t count = record_count
        cdef int64_t at
        walk.data = plain
        walk.position = 0
        walk.end = len(plain)
        walk.damage = SOUND
        with nogil:
            for at in range(count):
                if not step(&walk, &seen):
                    break
                if seen.key_bytes >= 0:
                    self._put(walk.data + seen.key, seen.key_bytes, base + seen.offset_delta)
        _check(&walk)
        breathe(_units(count))

    def select_batch(self, bytes plain not None, record_count, base_offset, drops_tombstones, breathe):
        cdef Walk walk
        cdef Seen seen
        cdef int64_t base = base_offset
        cdef int64_t count = record_count
        cdef bint drops = drops_tombstones
        cdef int64_t at
        cdef int64_t kept = 0
        cdef int64_t kept_bytes = 0
        cdef int64_t keyless = 0
        cdef int64_t newest_delta = INT64_MIN
        cdef bint has_tombstone = False
        cdef char *into
        walk.data = plain
        walk.position = 0
        walk.end = len(plain)
        walk.damage = SOUND
        into = <char *> malloc(walk.end + 1)
        if into == NULL:
            raise MemoryError
        try:
            with nogil:
                for at in range(count):
                    if not step(&walk, &seen):
                        break
                    if seen.key_bytes < 0:
                        keyless += 1
                        continue
                    if base + seen.offset_delta < self._get(walk.data + seen.key, seen.key_bytes):
                        continue
                    if not seen.has_value:
                        if drops:
                            continue
                        has_tombstone = True
                    kept += 1
                    newest_delta = max(newest_delta, seen.timestamp_delta)
                    memcpy(into + kept_bytes, walk.data + seen.start, seen.after - seen.start)
                    kept_bytes += seen.after - seen.start
            _check(&walk)
            records = plain if kept == count else into[:kept_bytes]
        finally:
            free(into)
        breathe(_units(count))
        return Selection(kept, records, bool(has_tombstone), newest_delta, keyless)


cdef int64_t _units(int64_t count):
    """What so many records cost, next to what one costs in plain Python."""
    return count // 16


cdef int _check(Walk *walk) except -1:
    if walk.damage:
        raise MalformedRecords(WORDS[walk.damage])
    if walk.position != walk.end:
        raise MalformedRecords(f"{walk.end - walk.position} bytes follow the last record")
    return 0
