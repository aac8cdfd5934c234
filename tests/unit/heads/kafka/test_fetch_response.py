"""The frame of a fetch response, packed by hand, read by the codec that is derived from Kafka's schema."""

from __future__ import annotations

import struct
from typing import NamedTuple

import pytest

from mainstem.core.errors import OffsetOutOfRange
from mainstem.core.fetch_request import FetchEntry
from mainstem.core.partition import READ_COMMITTED, READ_UNCOMMITTED, FetchResult
from mainstem.heads.kafka.endpoints import NodeAddress
from mainstem.heads.kafka.fetch_envelope import (
    FIRST_FLEXIBLE,
    FIRST_WITH_HINTS,
    FIRST_WITH_SESSIONS,
    FIRST_WITH_TOPIC_IDS,
)
from mainstem.heads.kafka.fetch_response import Refusal, pack_empty, pack_response
from mainstem.heads.kafka.leader_hints import LeaderHint
from mainstem.heads.session import Part
from mainstem.log.transaction_index import AbortedTransaction
from mainstem.wire.kafka.frames import decode_response
from mainstem.wire.kafka.messages.fetch import FetchResponse

VERSIONS = range(4, 19)
KEY = 1
NODES = (NodeAddress(2, "two.test", 9092, "rack-b"), NodeAddress(3, "three.test", 9093, None))


class Slice(NamedTuple):
    """Records as the log hands them out: not bytes."""

    content: bytes

    @property
    def length(self) -> int:
        return len(self.content)

    def read(self) -> bytes:
        return self.content


def wire_name(name: str, version: int) -> bytes:
    if version >= FIRST_WITH_TOPIC_IDS:
        return name.encode().ljust(16, b".")
    if version >= FIRST_FLEXIBLE:
        return bytes([len(name) + 1]) + name.encode()
    return struct.pack(">h", len(name)) + name.encode()


def told(
    version: int, name: str, partition: int, result: FetchResult
) -> tuple[bytes, FetchEntry, FetchResult]:
    return wire_name(name, version), FetchEntry(name, partition, 0, 1), result


def found(content: bytes | None, offset: int = 7) -> FetchResult:
    records = None if content is None else Slice(content)
    return FetchResult(None, offset, offset - 1, offset - 2, records)  # type: ignore[arg-type]


def decoded(version: int, parts: list[Part]) -> FetchResponse:
    frame = b"".join(part if isinstance(part, bytes) else part.read() for part in parts)  # type: ignore[union-attr]
    assert int.from_bytes(frame[:4], "big") == len(frame) - 4
    correlation_id, response = decode_response(KEY, version, frame[4:])
    assert correlation_id == 77
    assert isinstance(response, FetchResponse)
    return response


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("isolation", [READ_UNCOMMITTED, READ_COMMITTED])
def test_the_codec_reads_records_and_offsets(version: int, isolation: int) -> None:
    answers = [
        told(version, "orders", 0, found(b"r" * 200, 100)),
        told(version, "orders", 4, found(None, 5)),
        told(version, "a", 1, found(b"s", 2**40)),
        told(version, "orders", 2, found(b"", 9)),
    ]
    parts = pack_response(version, 77, 55, answers, isolation)
    response = decoded(version, parts)
    assert response.throttle_time_ms == response.error_code == 0
    assert response.session_id == (55 if version >= FIRST_WITH_SESSIONS else 0)
    # Neighbours of one topic are together; the order of the request is kept all the same.
    assert [len(topic.partitions) for topic in response.responses] == [2, 1, 1]
    if version >= FIRST_WITH_TOPIC_IDS:
        assert [topic.topic_id[:1] for topic in response.responses] == [b"o", b"a", b"o"]
    else:
        assert [topic.topic for topic in response.responses] == ["orders", "a", "orders"]
    partitions = [one for topic in response.responses for one in topic.partitions]
    for one, (_, entry, result) in zip(partitions, answers, strict=True):
        assert (one.partition_index, one.error_code) == (entry.partition, 0)
        assert (one.high_watermark, one.last_stable_offset) == (
            result.high_watermark,
            result.last_stable_offset,
        )
        assert one.log_start_offset == (result.log_start_offset if version >= 5 else -1)
        assert one.preferred_read_replica == -1
        assert one.aborted_transactions == ([] if isolation == READ_COMMITTED else None)
        assert one.records is not None
        assert bytes(one.records) == (result.records.read() if result.records is not None else b"")


@pytest.mark.parametrize("version", VERSIONS)
def test_aborted_transactions_are_named(version: int) -> None:
    aborted = [AbortedTransaction(7, 90, 99, 100), AbortedTransaction(2**40, 2**41, 2**42, 2**43)]
    answers = [
        told(version, "a", 0, found(b"r" * 200)._replace(aborted=aborted)),
        told(version, "a", 1, found(b"s" * 9)),
    ]
    [topic] = decoded(version, pack_response(version, 77, 0, answers, READ_COMMITTED)).responses
    first, second = topic.partitions
    assert first.aborted_transactions is not None
    assert [(each.producer_id, each.first_offset) for each in first.aborted_transactions] == [
        (7, 90),
        (2**40, 2**41),
    ]
    assert (first.preferred_read_replica, bytes(first.records or b"")) == (-1, b"r" * 200)
    assert first.log_start_offset == (answers[0][2].log_start_offset if version >= 5 else -1)
    assert (second.aborted_transactions, bytes(second.records or b"")) == ([], b"s" * 9)


@pytest.mark.parametrize("version", VERSIONS)
def test_records_are_handed_on_and_not_read(version: int) -> None:
    result = found(b"records")
    parts = pack_response(version, 77, 0, [told(version, "a", 0, result)], READ_UNCOMMITTED)
    assert any(part is result.records for part in parts)


@pytest.mark.parametrize("version", VERSIONS)
def test_the_codec_reads_refusals(version: int) -> None:
    nothing = FetchResult(OffsetOutOfRange(1, 2, 3), -1, -1, -1, None)
    answers = [
        told(version, "a", 0, nothing),
        told(version, "a", 1, found(b"r")),
        told(version, "b", 2, nothing),
    ]
    refusals = {0: Refusal(1), 2: Refusal(6, LeaderHint(3, 4))}
    response = decoded(version, pack_response(version, 77, 0, answers, READ_COMMITTED, refusals, NODES))
    first, second, third = [one for topic in response.responses for one in topic.partitions]
    assert [first.error_code, second.error_code, third.error_code] == [1, 0, 6]
    assert [first.high_watermark, first.last_stable_offset, first.log_start_offset] == [-1, -1, -1]
    assert first.records == b""
    assert first.current_leader.leader_id == second.current_leader.leader_id == -1
    if version >= FIRST_WITH_HINTS:
        assert (third.current_leader.leader_id, third.current_leader.leader_epoch) == (3, 4)
        assert [(n.node_id, n.host, n.port, n.rack) for n in response.node_endpoints] == [*NODES]


@pytest.mark.parametrize("version", VERSIONS)
def test_nothing_to_tell_is_a_response_too(version: int) -> None:
    response = decoded(version, pack_response(version, 77, 9, [], READ_UNCOMMITTED))
    assert response.responses == []


@pytest.mark.parametrize("version", range(FIRST_WITH_SESSIONS, 19))
def test_the_codec_reads_the_refusal_of_a_session(version: int) -> None:
    response = decoded(version, [pack_empty(version, 77, error_code=70)])
    assert (response.error_code, response.session_id, response.responses) == (70, 0, [])
