"""The envelope of a produce request and of its response, read and written by hand.

Produce is one of the two APIs whose cost decides what the broker can carry, so it does without the codec.
Of the request everything is read but the batches, which stay as they are: a view per partition. Of a topic's
name, too, the response needs only the bytes that the request had; they are cut out once, length and all,
and put back.

    request    transactional id (3+) . acks . timeout . topics
    topic      name (0-12) or id (13+) . partitions
    partition  index . size . batches
    response   topics . throttle time (1+)
    topic      name or id . partitions
    partition  index . error . base offset . append time (2+) . log start (5+)
               . record errors (8+) . message (8+)

Versions 0 to 2 are read in order to be refused in a form that their client understands. From 9 on lengths
are compact and every level ends with tagged fields; from 10 on those may say who leads a partition.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Final, NamedTuple

from mainstem.core.broker import ProduceEntry
from mainstem.core.image import TopicImage
from mainstem.core.partition import ProduceResult
from mainstem.heads.kafka.endpoints import NodeAddress
from mainstem.heads.kafka.leader_hints import LeaderHint, current_leader_field, node_endpoints_field
from mainstem.heads.kafka.topic_names import TopicNames
from mainstem.model.batch import Buffer
from mainstem.model.ids import TopicId
from mainstem.wire.errors import InvalidMessage, TruncatedMessage
from mainstem.wire.primitives import read_uvarint, skip_tagged_fields, uvarint

FIRST_SERVED: Final = 3
FIRST_FLEXIBLE: Final = 9
FIRST_WITH_TOPIC_IDS: Final = 13
FIRST_WITH_LOG_START: Final = 5
FIRST_WITH_MESSAGES: Final = 8
FIRST_WITH_HINTS: Final = 10

MOST_PARTITIONS: Final = 100_000  # of one request: what a partition costs here is far more than its bytes

_I16 = struct.Struct(">h")
_I32 = struct.Struct(">i")
_NO_TRANSACTION_HEAD = struct.Struct(">hhii")  # -1, acks, timeout, topics
_HEAD = struct.Struct(">hii")  # acks, timeout, topics
_FLEXIBLE_HEAD = struct.Struct(">hi")  # acks, timeout
_INDEX_AND_SIZE = struct.Struct(">ii")
_UUID_BYTES: Final = 16


class TopicRun(NamedTuple):
    """The partitions of one topic, which are neighbours in the request."""

    wire_name: bytes  # as it stood in the request: the name with its length, or the id
    partition_count: int


class ProduceEnvelope(NamedTuple):
    transactional_id: str | None
    acks: int
    timeout_ms: int
    entries: list[ProduceEntry]  # of all topics, in the order of the request
    topics: list[TopicRun]


class Refusal(NamedTuple):
    """What the client is told of a partition whose batches were not taken."""

    code: int
    message: str
    log_start_offset: int = -1
    leader: LeaderHint | None = None
    record_errors: Sequence[tuple[int, str | None]] = ()  # index in the batch, and what is wrong with it


# ---------------------------------------------------------------------------- the request


def read_classic(data: Buffer, position: int, end: int, version: int, names: TopicNames) -> ProduceEnvelope:
    """Versions 0 to 8."""
    transactional_id: str | None = None
    if version < FIRST_SERVED:
        acks, timeout_ms, topic_count = _HEAD.unpack_from(data, position)
        position += _HEAD.size
    else:
        id_bytes, acks, timeout_ms, topic_count = _NO_TRANSACTION_HEAD.unpack_from(data, position)
        position += 2
        if id_bytes >= 0:
            transactional_id = str(data[position : position + id_bytes], "utf-8")
            position += id_bytes
            acks, timeout_ms, topic_count = _HEAD.unpack_from(data, position)
        position += _HEAD.size
    view = memoryview(data)
    entries: list[ProduceEntry] = []
    topics: list[TopicRun] = []
    for _ in range(topic_count):
        (name_bytes,) = _I16.unpack_from(data, position)
        stop = position + 2 + name_bytes
        if name_bytes < 0 or stop > end:
            raise TruncatedMessage("a topic name is longer than the request")
        wire_name = bytes(data[position:stop])
        name = names.of(wire_name, 2)
        (count,) = _I32.unpack_from(data, stop)
        if len(entries) + count > MOST_PARTITIONS or len(topics) > MOST_PARTITIONS:
            raise InvalidMessage(f"more than {MOST_PARTITIONS} partitions in one request")
        position = stop + 4
        for _ in range(count):
            index, size = _INDEX_AND_SIZE.unpack_from(data, position)
            position += 8
            stop = position + size
            if size < 0:
                entries.append(ProduceEntry(name, index, None))
                continue
            if stop > end:
                raise TruncatedMessage("the batches of a partition are longer than the request")
            entries.append(ProduceEntry(name, index, view[position:stop]))
            position = stop
        topics.append(TopicRun(wire_name, count if count > 0 else 0))
    if position > end:
        raise TruncatedMessage("the request ends before its last field")
    return ProduceEnvelope(transactional_id, acks, timeout_ms, entries, topics)


def read_flexible(
    data: Buffer,
    position: int,
    end: int,
    version: int,
    names: TopicNames,
    topics_by_id: Mapping[TopicId, TopicImage],
) -> ProduceEnvelope:
    """Versions 9 and above. A topic id that nobody has gives entries with an empty name."""
    transactional_id: str | None = None
    if data[position] == 0:
        position += 1
    else:
        size, position = read_uvarint(data, position)
        transactional_id = str(data[position : position + size - 1], "utf-8")
        position += size - 1
    acks, timeout_ms = _FLEXIBLE_HEAD.unpack_from(data, position)
    topic_count, position = read_uvarint(data, position + _FLEXIBLE_HEAD.size)
    view = memoryview(data)
    entries: list[ProduceEntry] = []
    topics: list[TopicRun] = []
    for _ in range(topic_count - 1):
        if version >= FIRST_WITH_TOPIC_IDS:
            stop = position + _UUID_BYTES
            wire_name = bytes(data[position:stop])
            topic = topics_by_id.get(TopicId(wire_name))
            name = "" if topic is None else topic.name
        else:
            size, start = read_uvarint(data, position)
            stop = start + size - 1
            if size == 0 or stop > end:
                raise TruncatedMessage("a topic name is null or longer than the request")
            wire_name = bytes(data[position:stop])
            name = names.of(wire_name, start - position)
        count, position = read_uvarint(data, stop)
        if len(entries) + count > MOST_PARTITIONS or len(topics) > MOST_PARTITIONS:
            raise InvalidMessage(f"more than {MOST_PARTITIONS} partitions in one request")
        for _ in range(count - 1):
            (index,) = _I32.unpack_from(data, position)
            size, position = read_uvarint(data, position + 4)
            stop = position + size - 1
            if stop > end:
                raise TruncatedMessage("the batches of a partition are longer than the request")
            if size == 0:
                entries.append(ProduceEntry(name, index, None))
                stop = position
            else:
                entries.append(ProduceEntry(name, index, view[position:stop]))
            position = stop + 1 if data[stop] == 0 else _skip_tags(data, stop, end)
        topics.append(TopicRun(wire_name, count - 1 if count else 0))
        position = position + 1 if data[position] == 0 else _skip_tags(data, position, end)
    _skip_tags(data, position, end)
    return ProduceEnvelope(transactional_id, acks, timeout_ms, entries, topics)


def _skip_tags(data: Buffer, position: int, end: int) -> int:
    count, position = read_uvarint(data, position)
    position = skip_tagged_fields(data, position, end, count)
    if position > end:
        raise TruncatedMessage("the request ends before its last field")
    return position


# ---------------------------------------------------------------------------- the response

_FRAME = struct.Struct(">ii")  # size, correlation id
_BASE = struct.Struct(">ihq")  # index, error, base offset
_BASE_TIME = struct.Struct(">ihqq")  # and append time
_BASE_TIME_START = struct.Struct(">ihqqq")  # and log start
_FIRST_WITH_TIME: Final = 2
_NO_ERRORS_CLASSIC: Final = b"\0\0\0\0\xff\xff"  # no record errors, no message
_NO_ERRORS_FLEXIBLE: Final = b"\1\0\0"  # and no tagged field
_LEADER_TAG: Final = 0
_LONGEST_MESSAGE: Final = 2_000  # characters: for people to read


def pack_response(
    version: int,
    correlation_id: int,
    envelope: ProduceEnvelope,
    results: Sequence[ProduceResult | Refusal],
    nodes: Sequence[NodeAddress] = (),
    *,
    throttle_ms: int = 0,
) -> bytes:
    """The frame; `nodes` are the addresses of the leaders that refusals name."""
    pairs = zip(envelope.entries, results, strict=True)
    parts: list[bytes] = []
    if version >= FIRST_FLEXIBLE:
        parts.append(b"\0" + uvarint(len(envelope.topics) + 1))
        for wire_name, count in envelope.topics:
            parts += (wire_name, uvarint(count + 1))
            _pack_partitions(parts, islice(pairs, count), version, _NO_ERRORS_FLEXIBLE)
            parts.append(b"\0")
        parts += (_I32.pack(throttle_ms), node_endpoints_field(nodes))
    else:
        parts.append(_I32.pack(len(envelope.topics)))
        no_errors = _NO_ERRORS_CLASSIC if version >= FIRST_WITH_MESSAGES else b""
        for wire_name, count in envelope.topics:
            parts += (wire_name, _I32.pack(count))
            _pack_partitions(parts, islice(pairs, count), version, no_errors)
        if version > 0:
            parts.append(_I32.pack(throttle_ms))
    body = b"".join(parts)
    return _FRAME.pack(len(body) + 4, correlation_id) + body


def _pack_partitions(
    parts: list[bytes],
    pairs: Iterator[tuple[ProduceEntry, ProduceResult | Refusal]],
    version: int,
    no_errors: bytes,
) -> None:
    for (_, index, _), result in pairs:
        if type(result) is Refusal:
            parts.append(_refused(version, index, result))
            continue
        if version >= FIRST_WITH_LOG_START:
            parts.append(_BASE_TIME_START.pack(index, 0, result[0], result[1], result[2]))
        else:
            parts.append(_BASE_TIME.pack(index, 0, result[0], result[1]))
        parts.append(no_errors)


def _refused(version: int, index: int, refusal: Refusal) -> bytes:
    start = refusal.log_start_offset
    if version >= FIRST_WITH_LOG_START:
        fixed = _BASE_TIME_START.pack(index, refusal.code, -1, -1, start)
    elif version >= _FIRST_WITH_TIME:
        fixed = _BASE_TIME.pack(index, refusal.code, -1, -1)
    else:
        fixed = _BASE.pack(index, refusal.code, -1)
    if version < FIRST_WITH_MESSAGES:
        return fixed
    if version < FIRST_FLEXIBLE:
        errors = [_I32.pack(at) + _classic_string(text) for at, text in refusal.record_errors]
        return b"".join((fixed, _I32.pack(len(errors)), *errors, _classic_string(refusal.message)))
    errors = [_I32.pack(at) + _compact_string(text) + b"\0" for at, text in refusal.record_errors]
    tags = b"\0"
    if refusal.leader is not None and version >= FIRST_WITH_HINTS:
        tags = current_leader_field(_LEADER_TAG, refusal.leader)
    return b"".join((fixed, uvarint(len(errors) + 1), *errors, _compact_string(refusal.message), tags))


def _classic_string(text: str | None) -> bytes:
    if text is None:
        return b"\xff\xff"
    data = text[:_LONGEST_MESSAGE].encode()
    return _I16.pack(len(data)) + data


def _compact_string(text: str | None) -> bytes:
    if text is None:
        return b"\0"
    data = text[:_LONGEST_MESSAGE].encode()
    return uvarint(len(data) + 1) + data
