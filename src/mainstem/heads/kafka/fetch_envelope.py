"""A fetch request read, and the frame of its response packed around the records, by hand.

Like Produce, Fetch is hot: consumers ask all the time, and a consumer of a thousand partitions may name them
all each time. The records themselves never come into Python: they are slices of files between the parts
of bytes that are packed here.

    request    [replica id (4-14)] . wait . min bytes . max bytes . isolation . session id and epoch (7+)
               . topics . forgotten topics (7+) . rack (11+)
    partition  index . leader epoch (9+) . offset . last fetched epoch (12+) . log start (5+) . max bytes
    response   throttle time . error and session id (7+) . topics
    partition  index . error . high watermark . last stable offset . log start (5+)
               . aborted transactions . preferred replica (11+) . records

From 12 on lengths are compact and levels end with tagged fields, from 13 on topics go by their ids. Who
asks as a replica, and from which rack, makes no difference while every partition has one replica.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from enum import Enum
from typing import Final, NamedTuple

from mainstem.core.fetch_request import FetchEntry
from mainstem.core.image import TopicImage
from mainstem.heads.kafka.topic_names import TopicNames
from mainstem.model.batch import Buffer
from mainstem.model.ids import ZERO_TOPIC_ID, TopicId
from mainstem.wire.errors import InvalidMessage, TruncatedMessage
from mainstem.wire.primitives import read_uvarint, skip_tagged_fields

FIRST_WITH_SESSIONS: Final = 7
FIRST_FLEXIBLE: Final = 12
FIRST_WITH_TOPIC_IDS: Final = 13
FIRST_WITH_HINTS: Final = 16
MOST_PARTITIONS: Final = 100_000  # of one request: what a partition costs here is far more than its bytes
NO_SESSION: Final = 0
FINAL_EPOCH: Final = -1  # no session is wanted, or no more

_FIRST_WITH_LOG_START: Final = 5
_FIRST_WITH_LEADER_EPOCH: Final = 9
_FIRST_WITH_RACK: Final = 11
_FIRST_WITHOUT_REPLICA: Final = 15
_UUID_BYTES: Final = 16

_HEAD_4 = struct.Struct(">iiiib")
_HEAD_7 = struct.Struct(">iiiibii")
_HEAD_15 = struct.Struct(">iiibii")
_PARTITION_4 = struct.Struct(">iqi")
_PARTITION_5 = struct.Struct(">iqqi")
_PARTITION_9 = struct.Struct(">iiqqi")
_PARTITION_12 = struct.Struct(">iiqiqi")
_I16 = struct.Struct(">h")
_I32 = struct.Struct(">i")


class TopicNaming(Enum):
    """How a version names topics, and so what the bytes of a name are."""

    CLASSIC_NAME = "a name behind 16 bits of length"
    COMPACT_NAME = "a name behind a compact length"
    TOPIC_ID = "an id"


def topic_naming(version: int) -> TopicNaming:
    if version >= FIRST_WITH_TOPIC_IDS:
        return TopicNaming.TOPIC_ID
    return TopicNaming.COMPACT_NAME if version >= FIRST_FLEXIBLE else TopicNaming.CLASSIC_NAME


class TopicPartitionName(NamedTuple):
    """A partition as this request's version names it: what a session knows it by."""

    wire_name: bytes  # the topic's name with its length, or the topic's id, as it stood in the request
    partition: int


class FetchEnvelope(NamedTuple):
    max_wait_ms: int
    min_bytes: int
    max_bytes: int
    isolation: int
    session_id: int
    session_epoch: int
    entries: list[FetchEntry]
    wire_names: list[bytes]  # of the entries' topics, one for each entry
    forgotten: list[TopicPartitionName]


# ---------------------------------------------------------------------------- the request


def read_request(
    data: Buffer,
    position: int,
    end: int,
    version: int,
    names: TopicNames,
    topics_by_id: Mapping[TopicId, TopicImage],
) -> FetchEnvelope:
    """A topic id that nobody has gives entries with an empty name."""
    session_id, session_epoch = NO_SESSION, FINAL_EPOCH
    if version >= _FIRST_WITHOUT_REPLICA:
        head = _HEAD_15
        wait, low, high, isolation, session_id, session_epoch = head.unpack_from(data, position)
    elif version >= FIRST_WITH_SESSIONS:
        head = _HEAD_7
        _, wait, low, high, isolation, session_id, session_epoch = head.unpack_from(data, position)
    else:
        head = _HEAD_4
        _, wait, low, high, isolation = head.unpack_from(data, position)
    envelope = FetchEnvelope(wait, low, high, isolation, session_id, session_epoch, [], [], [])
    position += head.size
    if version >= FIRST_WITH_TOPIC_IDS:
        position = _read_topics_by_id(data, position, end, envelope, topics_by_id)
    elif version >= FIRST_FLEXIBLE:
        position = _read_flexible_topics(data, position, end, envelope, names)
    else:
        position = _read_classic_topics(data, position, end, version, envelope, names)
    if version >= FIRST_FLEXIBLE:
        position = _read_flexible_forgotten(data, position, end, version, envelope.forgotten)
        position = _skip_tags(data, _compact_string_span(data, position, end)[0], end)
    else:
        if version >= FIRST_WITH_SESSIONS:
            position = _read_classic_forgotten(data, position, end, envelope.forgotten)
        if version >= _FIRST_WITH_RACK:
            position = _classic_string_end(data, position, end)
    if position > end:
        raise TruncatedMessage("the request ends before its last field")
    return envelope


def _read_topics_by_id(
    data: Buffer,
    position: int,
    end: int,
    envelope: FetchEnvelope,
    topics_by_id: Mapping[TopicId, TopicImage],
) -> int:
    topic_count, position = read_uvarint(data, position)
    _check_count(topic_count)
    for _ in range(topic_count - 1):
        wire_name = bytes(data[position : position + _UUID_BYTES])
        topic_id = TopicId(wire_name)
        topic = topics_by_id.get(topic_id)
        name = "" if topic is None else topic.name
        position = _read_flexible_partitions(
            data, position + _UUID_BYTES, end, envelope, wire_name, name, topic_id
        )
    return position


def _read_flexible_topics(
    data: Buffer, position: int, end: int, envelope: FetchEnvelope, names: TopicNames
) -> int:
    """Version 12 alone: compact, and still by name."""
    topic_count, position = read_uvarint(data, position)
    _check_count(topic_count)
    for _ in range(topic_count - 1):
        stop, name_start = _compact_string_span(data, position, end)
        wire_name = bytes(data[position:stop])
        name = names.of(wire_name, name_start - position)
        position = _read_flexible_partitions(data, stop, end, envelope, wire_name, name, ZERO_TOPIC_ID)
    return position


def _read_flexible_partitions(
    data: Buffer,
    position: int,
    end: int,
    envelope: FetchEnvelope,
    wire_name: bytes,
    name: str,
    topic_id: TopicId,
) -> int:
    entries = envelope.entries
    count, position = read_uvarint(data, position)
    _check_count(len(entries) + count)
    for _ in range(count - 1):
        index, epoch, offset, _, _, max_bytes = _PARTITION_12.unpack_from(data, position)
        entries.append(FetchEntry(name, index, offset, max_bytes, epoch, topic_id))
        position += _PARTITION_12.size
        position = position + 1 if data[position] == 0 else _skip_tags(data, position, end)
    if count > 1:
        envelope.wire_names.extend([wire_name] * (count - 1))
    if position > end:
        raise TruncatedMessage("the request ends before its last partition")
    return _skip_tags(data, position, end)


def _read_classic_topics(
    data: Buffer, position: int, end: int, version: int, envelope: FetchEnvelope, names: TopicNames
) -> int:
    entries = envelope.entries
    (topic_count,) = _I32.unpack_from(data, position)
    _check_count(topic_count)
    position += 4
    for _ in range(topic_count):
        stop = _classic_string_end(data, position, end)
        wire_name = bytes(data[position:stop])
        name = names.of(wire_name, 2)
        (count,) = _I32.unpack_from(data, stop)
        _check_count(len(entries) + count)
        position = stop + 4
        for _ in range(count):
            if version >= _FIRST_WITH_LEADER_EPOCH:
                index, epoch, offset, _, max_bytes = _PARTITION_9.unpack_from(data, position)
                entries.append(FetchEntry(name, index, offset, max_bytes, epoch))
                position += _PARTITION_9.size
            elif version >= _FIRST_WITH_LOG_START:
                index, offset, _, max_bytes = _PARTITION_5.unpack_from(data, position)
                entries.append(FetchEntry(name, index, offset, max_bytes))
                position += _PARTITION_5.size
            else:
                index, offset, max_bytes = _PARTITION_4.unpack_from(data, position)
                entries.append(FetchEntry(name, index, offset, max_bytes))
                position += _PARTITION_4.size
        envelope.wire_names.extend([wire_name] * count)
        if position > end:
            raise TruncatedMessage("the request ends before its last partition")
    return position


def _read_classic_forgotten(
    data: Buffer, position: int, end: int, forgotten: list[TopicPartitionName]
) -> int:
    (topic_count,) = _I32.unpack_from(data, position)
    _check_count(topic_count)
    position += 4
    for _ in range(topic_count):
        stop = _classic_string_end(data, position, end)
        wire_name = bytes(data[position:stop])
        (count,) = _I32.unpack_from(data, stop)
        position = _read_indexes(data, stop + 4, end, wire_name, count, forgotten)
    return position


def _read_flexible_forgotten(
    data: Buffer, position: int, end: int, version: int, forgotten: list[TopicPartitionName]
) -> int:
    topic_count, position = read_uvarint(data, position)
    _check_count(topic_count)
    for _ in range(topic_count - 1):
        if version >= FIRST_WITH_TOPIC_IDS:
            stop = position + _UUID_BYTES
        else:
            stop, _ = _compact_string_span(data, position, end)
        wire_name = bytes(data[position:stop])
        count, position = read_uvarint(data, stop)
        position = _read_indexes(data, position, end, wire_name, count - 1, forgotten)
        position = _skip_tags(data, position, end)
    return position


def _read_indexes(
    data: Buffer, position: int, end: int, wire_name: bytes, count: int, into: list[TopicPartitionName]
) -> int:
    _check_count(len(into) + count)
    for _ in range(count):
        into.append(TopicPartitionName(wire_name, _I32.unpack_from(data, position)[0]))
        position += 4
    if position > end:
        raise TruncatedMessage("the request ends before its last forgotten partition")
    return position


def _check_count(count: int) -> None:
    if count > MOST_PARTITIONS:
        raise InvalidMessage(f"more than {MOST_PARTITIONS} topics or partitions in one request")


def _classic_string_end(data: Buffer, position: int, end: int) -> int:
    (size,) = _I16.unpack_from(data, position)
    stop: int = position + 2 + size
    if size < 0 or stop > end:
        raise TruncatedMessage("a string is null or longer than the request")
    return stop


def _compact_string_span(data: Buffer, position: int, end: int) -> tuple[int, int]:
    """Where the string stops, and where its text starts."""
    size, start = read_uvarint(data, position)
    stop = start + size - 1
    if size == 0 or stop > end:
        raise TruncatedMessage("a string is null or longer than the request")
    return stop, start


def _skip_tags(data: Buffer, position: int, end: int) -> int:
    count, position = read_uvarint(data, position)
    position = skip_tagged_fields(data, position, end, count)
    if position > end:
        raise TruncatedMessage("the request ends before its last field")
    return position
