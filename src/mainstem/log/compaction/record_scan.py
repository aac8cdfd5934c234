"""The inner loops of compaction: over the records of one batch, decompressed, without making records.

A record is walked by its length fields only: what is looked at is the key, whether there is a value, and
where the record begins and ends, because what is kept is copied as it stands. Each loop goes over a piece
of a batch, so that its thread can give way to the broker's loop in between; the caller goes on from the
position that it returns. Both loops write the walk out: they exist to make no call for each record.

`IndexError` means that the records end too early; `MalformedRecords` that their fields lie.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b
from typing import Final

from mainstem.model.errors import MalformedRecords
from mainstem.model.varint import MAX_VARLONG_BYTES, decode_varint, encode_varint

MAX_TOLD: Final = 1_000
_NO_BYTES: Final = 1  # the varint of -1
_ATTRIBUTES_BYTES: Final = 1
LONGEST_PLAIN_KEY: Final = 32
_DIGEST_BYTES: Final = LONGEST_PLAIN_KEY + 1
NOT_THERE: Final = -1


def digest(key: bytes) -> bytes:
    """What stands for a key of more than `LONGEST_PLAIN_KEY` bytes; no short key can equal it."""
    return blake2b(key, digest_size=_DIGEST_BYTES).digest()


class Kept:
    """What of a batch is kept: spans of its records, those that touch made one."""

    __slots__ = ("count", "has_tombstone", "keyless", "spans")

    def __init__(self) -> None:
        self.spans: list[tuple[int, int]] = []
        self.count = 0
        self.has_tombstone = False
        self.keyless = 0  # records without a key, which cannot be compacted and are dropped


def index_keys(
    plain: bytes, position: int, count: int, base_offset: int, put: Callable[[bytes, int], None]
) -> int:
    """Puts the keys of `count` records, each with its offset."""
    for _ in range(count):
        byte = plain[position]
        if byte < 128:
            end = position + 1 + (byte >> 1)
            position += 2
        else:
            length, position = decode_varint(plain, position)
            end = position + length
            position += _ATTRIBUTES_BYTES
        while plain[position] > 127:  # timestamp
            position += 1
        position += 1
        byte = plain[position]
        position += 1
        if byte < 128:
            delta = byte >> 1
        else:
            delta, position = decode_varint(plain, position - 1)
        byte = plain[position]
        position += 1
        if byte != _NO_BYTES:
            if byte < 128:
                length = byte >> 1
            else:
                length, position = decode_varint(plain, position - 1)
            after = position + length
            if length < 0 or after > end:
                raise MalformedRecords(f"a key claims {length} bytes")
            key = plain[position:after]
            put(key if length <= LONGEST_PLAIN_KEY else digest(key), base_offset + delta)
        if end < position or end > len(plain):
            raise MalformedRecords("a record's length and its fields disagree")
        position = end
    return position


def select_records(
    plain: bytes,
    position: int,
    count: int,
    base_offset: int,
    find: Callable[[bytes, int], int],
    drops_tombstones: bool,
    selection: Kept,
) -> int:
    """Decides on `count` records by the offset that `find` gives for their keys."""
    spans = selection.spans
    kept = 0
    span_start, span_end = spans.pop() if spans else (position, position)
    for _ in range(count):
        start = position
        byte = plain[position]
        if byte < 128:
            end = position + 1 + (byte >> 1)
            position += 2
        else:
            length, position = decode_varint(plain, position)
            end = position + length
            position += _ATTRIBUTES_BYTES
        while plain[position] > 127:  # timestamp
            position += 1
        position += 1
        byte = plain[position]
        position += 1
        if byte < 128:
            delta = byte >> 1
        else:
            delta, position = decode_varint(plain, position - 1)
        byte = plain[position]
        position += 1
        if byte == _NO_BYTES:
            selection.keyless += 1
        else:
            if byte < 128:
                length = byte >> 1
            else:
                length, position = decode_varint(plain, position - 1)
            after = position + length
            if length < 0 or after > end:
                raise MalformedRecords(f"a key claims {length} bytes")
            key = plain[position:after]
            known = find(key if length <= LONGEST_PLAIN_KEY else digest(key), NOT_THERE)
            if base_offset + delta >= known:
                is_tombstone = plain[after] == _NO_BYTES
                if is_tombstone:
                    selection.has_tombstone |= not drops_tombstones
                if not (is_tombstone and drops_tombstones):
                    kept += 1
                    if start != span_end:
                        if span_end > span_start:
                            spans.append((span_start, span_end))
                        span_start = start
                    span_end = end
        if end < position or end > len(plain):
            raise MalformedRecords("a record's length and its fields disagree")
        position = end
    if span_end > span_start:
        spans.append((span_start, span_end))
    selection.count += kept
    return position


def keyless_records(plain: bytes, count: int) -> list[int]:
    """The numbers of the records without a key, up to `MAX_TOLD` of them. Raises where they are malformed."""
    found: list[int] = []
    position = 0
    try:
        for number in range(count):
            length, position = decode_varint(plain, position)
            end = position + length
            _, position = decode_varint(plain, position + _ATTRIBUTES_BYTES, MAX_VARLONG_BYTES)
            _, position = decode_varint(plain, position)
            key_bytes, position = decode_varint(plain, position)
            if key_bytes < 0 and len(found) < MAX_TOLD:
                found.append(number)
            if end < position + key_bytes or end > len(plain):
                raise MalformedRecords("a record's length and its fields disagree")
            position = end
    except IndexError as error:
        raise MalformedRecords("the records end too early") from error
    if position != len(plain):
        raise MalformedRecords(f"{len(plain) - position} bytes follow the last record")
    return found


def newest_delta(records: bytes) -> int:
    """The greatest timestamp delta of some records, at least one."""
    position, newest = 0, -(2**63)
    while position < len(records):
        length, position = decode_varint(records, position)
        delta, _ = decode_varint(records, position + _ATTRIBUTES_BYTES, MAX_VARLONG_BYTES)
        newest = max(newest, delta)
        position += length
    return newest


def shift_timestamps(records: bytes, by_ms: int) -> bytes:
    """The same records, with timestamps counted from a base that lies `by_ms` earlier."""
    parts: list[bytes] = []
    position = 0
    while position < len(records):
        length, position = decode_varint(records, position)
        end = position + length
        attributes = records[position : position + _ATTRIBUTES_BYTES]
        delta, rest = decode_varint(records, position + _ATTRIBUTES_BYTES, MAX_VARLONG_BYTES)
        shifted = encode_varint(delta + by_ms)
        parts += (
            encode_varint(_ATTRIBUTES_BYTES + len(shifted) + end - rest),
            attributes,
            shifted,
            records[rest:end],
        )
        position = end
    return b"".join(parts)
