"""The header of a record batch, version 2: the unit in which everything moves.

A batch is stored and sent as it came. Only its first 61 bytes are ever looked at on the hot path:

    offset  bytes  field
         0      8  base offset                 patched by the broker on append
         8      4  length of what follows      (the batch's size is this + 12)
        12      4  partition leader epoch      patched by the broker on append
        16      1  magic, always 2
        17      4  CRC-32C of everything from byte 21 on
        21      2  attributes: bits 0-2 codec, 3 timestamp type, 4 transactional, 5 control,
                   6 delete horizon
        23      4  last offset delta
        27      8  base timestamp
        35      8  maximum timestamp
        43      8  producer id, -1 for none
        51      2  producer epoch
        53      4  base sequence
        57      4  number of records
        61         records, compressed as the codec bits say

Base offset, length and leader epoch lie outside the checksum, so an append patches them without
touching the payload: `writev(prefix, batch[16:])`.
"""

from __future__ import annotations

from struct import Struct
from typing import Final, NamedTuple

Buffer = bytes | bytearray | memoryview

HEADER_BYTES: Final = 61
LENGTH_PREFIX_BYTES: Final = 12  # base offset and length: what the length field does not count
CRC_START: Final = 21  # the checksum covers the batch from here to its end
PREFIX: Final = Struct(">qii")  # base offset, length, partition leader epoch
PREFIX_BYTES: Final = PREFIX.size
MAGIC: Final = 2

CODEC_MASK: Final = 0x07
LOG_APPEND_TIME_BIT: Final = 0x08
TRANSACTIONAL_BIT: Final = 0x10
CONTROL_BIT: Final = 0x20
DELETE_HORIZON_BIT: Final = 0x40

NO_PRODUCER_ID: Final = -1
NO_PRODUCER_EPOCH: Final = -1
NO_SEQUENCE: Final = -1
NO_TIMESTAMP: Final = -1
NO_LEADER_EPOCH: Final = -1

_HEADER = Struct(">qiibIhiqqqhii")


class BatchHeader(NamedTuple):
    base_offset: int
    length: int
    leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @property
    def size_bytes(self) -> int:
        return self.length + LENGTH_PREFIX_BYTES

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        return self.base_offset + self.last_offset_delta + 1

    @property
    def codec(self) -> int:
        return self.attributes & CODEC_MASK

    @property
    def is_log_append_time(self) -> bool:
        return bool(self.attributes & LOG_APPEND_TIME_BIT)

    @property
    def is_transactional(self) -> bool:
        return bool(self.attributes & TRANSACTIONAL_BIT)

    @property
    def is_control(self) -> bool:
        return bool(self.attributes & CONTROL_BIT)


def parse_header(buffer: Buffer, position: int = 0) -> BatchHeader:
    """The header at `position`; the caller made sure that 61 bytes are there."""
    return BatchHeader._make(_HEADER.unpack_from(buffer, position))


def pack_header(header: BatchHeader) -> bytes:
    return _HEADER.pack(*header)
