"""The variable-length integers of Kafka's flexible versions, bounded and checked.

An unsigned varint carries seven bits a byte, lowest first; the top bit says that more follow. A compact
length is such a varint holding the length plus one, so that zero can mean null.
"""

from __future__ import annotations

from mainstem.model.batch import Buffer
from mainstem.wire.errors import InvalidMessage, TruncatedMessage

MAX_UVARINT = 0xFFFFFFFF
MAX_STRING_BYTES = 0x7FFF
MOST_TAGGED_FIELDS = 1_000  # at one place: Kafka has a handful, and reading each costs time

# Lengths under 128 are the rule: they are looked up, not computed.
ONE_BYTE_UVARINTS = tuple(bytes((value,)) for value in range(128))


def read_uvarint(buffer: Buffer, position: int) -> tuple[int, int]:
    """The value and the position after it; at most five bytes."""
    value = 0
    for shift in (0, 7, 14, 21, 28):
        byte = buffer[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if value > MAX_UVARINT:
                break
            return value, position
    raise InvalidMessage("a variable-length integer is longer than 32 bits")


def read_compact_length(buffer: Buffer, position: int) -> tuple[int, int]:
    """The length, -1 for null, and the position after it."""
    value, position = read_uvarint(buffer, position)
    return value - 1, position


def uvarint(value: int) -> bytes:
    if value < 0x80:
        return ONE_BYTE_UVARINTS[value]
    if value > MAX_UVARINT:
        raise InvalidMessage(f"{value} does not fit a 32-bit varint")
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def check_tag_count(count: int) -> None:
    if count > MOST_TAGGED_FIELDS:
        raise InvalidMessage(f"{count} tagged fields at one place")


def skip_tagged_fields(buffer: Buffer, position: int, end: int, count: int) -> int:
    """The position after `count` tagged fields that nobody here knows."""
    check_tag_count(count)
    for _ in range(count):
        _, position = read_uvarint(buffer, position)
        size, position = read_uvarint(buffer, position)
        position += size
        if position > end:
            raise TruncatedMessage("a tagged field ends after the message")
    return position
