"""The records inside a batch, and how to build a batch.

Off the hot path: a batch is decoded only where its records matter (coordinators, timestamp lookups,
topics that demand another codec, the command line). A record, after decompression:

    length            varint, of what follows
    attributes        1 byte, unused
    timestamp delta   varlong, from the batch's base timestamp
    offset delta      varint, from the batch's base offset
    key               varint length (-1: none), bytes
    value             varint length (-1: none), bytes
    headers           varint count, then key length, key, value length (-1: none), value

Nothing a length or count says is believed before the bytes are seen to be there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from mainstem.model import compression
from mainstem.model.batch import (
    CONTROL_BIT,
    CRC_START,
    HEADER_BYTES,
    LENGTH_PREFIX_BYTES,
    LOG_APPEND_TIME_BIT,
    MAGIC,
    NO_LEADER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    TRANSACTIONAL_BIT,
    BatchHeader,
    Buffer,
    pack_header,
    parse_header,
)
from mainstem.model.crc import crc32c
from mainstem.model.errors import MalformedRecords
from mainstem.model.varint import MAX_VARLONG_BYTES, decode_varint, encode_varint

MAX_DECODED_BYTES: Final = 128 * 1024 * 1024
MIN_RECORD_BYTES: Final = 7  # every field of an empty record takes one byte

Headers = tuple[tuple[bytes, bytes | None], ...]


class Record(NamedTuple):
    offset_delta: int
    timestamp_delta: int
    key: bytes | None
    value: bytes | None
    headers: Headers = ()


class NewRecord(NamedTuple):
    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str | bytes, bytes | None]] = ()
    timestamp_ms: int = NO_TIMESTAMP


def decode_records(
    batch: Buffer, *, header: BatchHeader | None = None, max_bytes: int = MAX_DECODED_BYTES
) -> list[Record]:
    """All records of one whole batch. `max_bytes` bounds what decompression may yield."""
    return list(read_records(batch, header=header, max_bytes=max_bytes))


def read_records(
    batch: Buffer, *, header: BatchHeader | None = None, max_bytes: int = MAX_DECODED_BYTES
) -> Iterator[Record]:
    """The same one by one, for who needs no two of them at a time: a batch may hold millions."""
    if header is None:
        if len(batch) < HEADER_BYTES:
            raise MalformedRecords("a batch has at least 61 bytes")
        header = parse_header(batch)
    payload = memoryview(batch)[HEADER_BYTES : header.size_bytes]
    plain = compression.decompress(header.codec, payload, max_bytes)
    count = header.record_count
    if count < 0 or count * MIN_RECORD_BYTES > len(plain):
        raise MalformedRecords(f"{count} records do not fit into {len(plain)} bytes")
    position = 0
    try:
        for _ in range(count):
            record, position = _decode_record(plain, position)
            yield record
    except IndexError as error:
        raise MalformedRecords("the records end too early") from error
    if position != len(plain):
        raise MalformedRecords(f"{len(plain) - position} bytes follow the last record")


def can_hold(header: BatchHeader) -> bool:
    """Whether a batch of this size can hold as many records as it claims, whatever they are."""
    payload_bytes = header.size_bytes - HEADER_BYTES
    return header.record_count * MIN_RECORD_BYTES <= payload_bytes * compression.MAX_EXPANSION[header.codec]


def _decode_record(plain: bytes, position: int) -> tuple[Record, int]:
    length, position = decode_varint(plain, position)
    end = position + length
    if length < MIN_RECORD_BYTES - 1 or end > len(plain):
        raise MalformedRecords(f"a record claims {length} bytes")
    position += 1  # attributes
    timestamp_delta, position = decode_varint(plain, position, MAX_VARLONG_BYTES)
    offset_delta, position = decode_varint(plain, position)
    key, position = _decode_bytes(plain, position, end)
    value, position = _decode_bytes(plain, position, end)
    headers: Headers = ()
    count, position = decode_varint(plain, position)
    if count:
        headers, position = _decode_headers(plain, position, end, count)
    if position != end:
        raise MalformedRecords("a record's length and its fields disagree")
    return Record(offset_delta, timestamp_delta, key, value, headers), position


def _decode_bytes(plain: bytes, position: int, end: int) -> tuple[bytes | None, int]:
    length, position = decode_varint(plain, position)
    if length < 0:
        return None, position
    if length > end - position:
        raise MalformedRecords(f"a field claims {length} bytes of {end - position}")
    return plain[position : position + length], position + length


def _decode_headers(plain: bytes, position: int, end: int, count: int) -> tuple[Headers, int]:
    if not 0 <= count <= (end - position) // 2:
        raise MalformedRecords(f"a record claims {count} headers")
    headers: list[tuple[bytes, bytes | None]] = []
    for _ in range(count):
        key, position = _decode_bytes(plain, position, end)
        if key is None:
            raise MalformedRecords("a header without a key")
        value, position = _decode_bytes(plain, position, end)
        headers.append((key, value))
    return tuple(headers), position


def encode_record(
    offset_delta: int,
    timestamp_delta: int,
    key: bytes | None,
    value: bytes | None,
    headers: Sequence[tuple[str | bytes, bytes | None]] = (),
) -> bytes:
    parts = [b"\x00", encode_varint(timestamp_delta), encode_varint(offset_delta)]
    parts += (b"\x01",) if key is None else (encode_varint(len(key)), key)
    parts += (b"\x01",) if value is None else (encode_varint(len(value)), value)
    parts.append(encode_varint(len(headers)))
    for name, content in headers:
        raw = name.encode() if isinstance(name, str) else name
        parts += (encode_varint(len(raw)), raw)
        parts += (b"\x01",) if content is None else (encode_varint(len(content)), content)
    body = b"".join(parts)
    return encode_varint(len(body)) + body


def build_batch(
    records: Sequence[NewRecord],
    *,
    base_offset: int = 0,
    codec: int = compression.NONE,
    level: int | None = None,
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = NO_PRODUCER_EPOCH,
    base_sequence: int = NO_SEQUENCE,
    is_transactional: bool = False,
    is_control: bool = False,
    log_append_time_ms: int | None = None,
    leader_epoch: int = NO_LEADER_EPOCH,
) -> bytes:
    """One batch of `records` with consecutive offsets. Set `log_append_time_ms` to stamp all with it."""
    if not records:
        raise ValueError("a batch holds at least one record")
    base_timestamp = records[0].timestamp_ms
    payload = b"".join(
        [
            encode_record(
                delta, record.timestamp_ms - base_timestamp, record.key, record.value, record.headers
            )
            for delta, record in enumerate(records)
        ]
    )
    attributes = codec
    if is_transactional:
        attributes |= TRANSACTIONAL_BIT
    if is_control:
        attributes |= CONTROL_BIT
    max_timestamp = max(record.timestamp_ms for record in records)
    if log_append_time_ms is not None:
        attributes |= LOG_APPEND_TIME_BIT
        max_timestamp = log_append_time_ms
    header = BatchHeader(
        base_offset=base_offset,
        length=0,
        leader_epoch=leader_epoch,
        magic=MAGIC,
        crc=0,
        attributes=attributes,
        last_offset_delta=len(records) - 1,
        base_timestamp=base_timestamp,
        max_timestamp=max_timestamp,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        record_count=len(records),
    )
    return seal_batch(header, compression.compress(codec, payload, level))


def seal_batch(header: BatchHeader, payload: Buffer) -> bytes:
    """A batch of this header and payload, with length and checksum filled in."""
    length = HEADER_BYTES - LENGTH_PREFIX_BYTES + len(payload)
    batch = bytearray(pack_header(header._replace(length=length, crc=0)))
    batch += payload
    batch[17:21] = crc32c(memoryview(batch)[CRC_START:]).to_bytes(4, "big")
    return bytes(batch)
