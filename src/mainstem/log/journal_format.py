"""The bytes of the journal.

A piece is a file of fixed size that is used over and over. It holds *rounds*, one after another from
its first byte, each starting at a multiple of 4,096 so that a sector that holds acknowledged bytes
is never written again while they matter, and a recycled page is written whole (the kernel need not
read it first):

    round    bytes   field (big endian)
                 4   "MSJ1"
                 4   CRC-32C of everything that follows, padding excluded
                 8   generation: a number that this use of this piece has and no other use ever had
                 8   sequence: one more than the round before, whatever piece that was in
                 8   low sequence: rounds below this one were no longer needed when this was written
                 4   number of entries
                 4   bytes of the entry table
                 8   bytes of the payload
                     entry table
                     payload: the entries' batches in the order of the table
                     zeros up to the next multiple of 4,096

    entry        1   kind: 0 append, 1 truncate
                16   topic id
                 4   partition
                 8   append: base offset of the first batch; truncate: the new end of the log
                 8   append: offset after the last batch; truncate: the same
                 4   bytes in the payload

Reading a piece stops at the first round that is not whole, or has another generation than the
piece's first round, or does not follow its sequence: what stands there is a write that was never
acknowledged or the rest of an earlier use.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from struct import Struct
from typing import Final, NamedTuple

from mainstem.model.batch import Buffer
from mainstem.model.crc import crc32c
from mainstem.model.ids import TopicId
from mainstem.ports.disk import File

ALIGNMENT: Final = 4096
APPEND: Final = 0
TRUNCATE: Final = 1

_MAGIC: Final = b"MSJ1"
_START = Struct(">4sI")
_HEADER = Struct(">QQQIIQ")
_ENTRY = Struct(">B16siqqI")
_HEADER_BYTES: Final = _START.size + _HEADER.size
_ZEROS: Final = bytes(ALIGNMENT)
# Below this, one copy costs less than the kernel's work on many small buffers.
_JOIN_BELOW_BYTES: Final = 256 * 1024
_JOIN_BELOW_AVERAGE_BYTES: Final = 4096


class JournalEntry(NamedTuple):
    kind: int
    topic_id: TopicId
    partition: int
    base_offset: int
    next_offset: int
    size_bytes: int
    buffers: Sequence[Buffer]


class Round(NamedTuple):
    generation: int
    sequence: int
    low_sequence: int
    entries: list[JournalEntry]
    end_position: int


def padded(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT


def round_bytes(entry_count: int, payload_bytes: int) -> int:
    """The room that a round takes in a piece."""
    return padded(_HEADER_BYTES + entry_count * _ENTRY.size + payload_bytes)


def build_round(
    generation: int, sequence: int, low_sequence: int, entries: Sequence[JournalEntry]
) -> list[Buffer]:
    """The buffers of one round, padding included."""
    pack = _ENTRY.pack
    table: list[Buffer] = [
        pack(kind, topic_id, partition, base_offset, next_offset, size_bytes)
        for kind, topic_id, partition, base_offset, next_offset, size_bytes, _ in entries
    ]
    payload: list[Buffer] = []
    for entry in entries:
        payload += entry.buffers
    payload_bytes = sum(map(len, payload))
    header = _HEADER.pack(
        generation, sequence, low_sequence, len(entries), len(table) * _ENTRY.size, payload_bytes
    )
    if payload_bytes < _JOIN_BELOW_BYTES or payload_bytes < len(payload) * _JOIN_BELOW_AVERAGE_BYTES:
        parts: list[Buffer] = [b"".join([header, *table, *payload])]
    else:
        parts = [b"".join([header, *table]), *payload]
    checksum = 0
    for part in parts:
        checksum = crc32c(part, checksum)
    size = _HEADER_BYTES + len(table) * _ENTRY.size + payload_bytes
    return [_START.pack(_MAGIC, checksum), *parts, _ZEROS[: padded(size) - size]]


def read_rounds(file: File) -> Iterator[Round]:
    """The valid rounds of a piece, in order."""
    capacity = file.size()
    position = 0
    before: Round | None = None
    while position + ALIGNMENT <= capacity:
        found = _read_round(file, position, capacity)
        if found is None:
            return
        if before is not None and (
            found.generation != before.generation or found.sequence != before.sequence + 1
        ):
            return
        yield found
        before = found._replace(entries=[])
        position = found.end_position


def _read_round(file: File, position: int, capacity: int) -> Round | None:
    first = file.read(ALIGNMENT, position)
    if len(first) < _HEADER_BYTES:
        return None
    magic, checksum = _START.unpack_from(first)
    if magic != _MAGIC:
        return None
    generation, sequence, low_sequence, count, table_bytes, payload_bytes = _HEADER.unpack_from(
        first, _START.size
    )
    size = _HEADER_BYTES + table_bytes + payload_bytes
    if table_bytes != count * _ENTRY.size or position + size > capacity:
        return None
    content = memoryview(first if size <= ALIGNMENT else file.read(size, position))[:size]
    if len(content) != size or crc32c(content[_START.size :]) != checksum:
        return None
    entries: list[JournalEntry] = []
    at = _HEADER_BYTES + table_bytes
    for fields in _ENTRY.iter_unpack(content[_HEADER_BYTES:at]):
        kind, topic_id, partition, base_offset, next_offset, entry_bytes = fields
        payload = content[at : at + entry_bytes]
        at += entry_bytes
        entries.append(
            JournalEntry(kind, TopicId(topic_id), partition, base_offset, next_offset, entry_bytes, [payload])
        )
    return Round(generation, sequence, low_sequence, entries, padded(position + size))
