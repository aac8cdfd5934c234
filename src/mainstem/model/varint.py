"""Zigzag variable-length integers, as records use them.

Small magnitudes take few bytes: 0, -1, 1, -2 become 0, 1, 2, 3, and seven bits go into each byte, the
lowest first, with the top bit saying that another byte follows.
"""

from __future__ import annotations

from typing import Final

from mainstem.model.batch import Buffer
from mainstem.model.errors import MalformedRecords

MAX_VARINT_BYTES: Final = 5
MAX_VARLONG_BYTES: Final = 10

_ONE_BYTE: Final = tuple(bytes((value,)) for value in range(128))


def encode_varint(value: int) -> bytes:
    """The bytes of a signed integer of up to 64 bits."""
    rest = (value << 1) ^ (value >> 63)
    if rest < 128:
        return _ONE_BYTE[rest]
    out = bytearray()
    while rest > 127:
        out.append((rest & 0x7F) | 0x80)
        rest >>= 7
    out.append(rest)
    return bytes(out)


def decode_varint(buffer: Buffer, position: int, max_bytes: int = MAX_VARINT_BYTES) -> tuple[int, int]:
    """The value at `position` and the position after it."""
    result = 0
    shift = 0
    end = min(len(buffer), position + max_bytes)
    while position < end:
        byte = buffer[position]
        position += 1
        result |= (byte & 0x7F) << shift
        if byte < 128:
            return (result >> 1) ^ -(result & 1), position
        shift += 7
    raise MalformedRecords("a variable-length integer does not end where it should")
