"""The envelope of Produce by hand against the codec that is derived from Kafka's schema."""

from __future__ import annotations

import struct
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mainstem.core.broker import ProduceEntry
from mainstem.core.partition import ProduceResult
from mainstem.heads.kafka.endpoints import NodeAddress
from mainstem.heads.kafka.leader_hints import LeaderHint
from mainstem.heads.kafka.produce_envelope import (
    FIRST_FLEXIBLE,
    FIRST_WITH_HINTS,
    FIRST_WITH_LOG_START,
    FIRST_WITH_MESSAGES,
    FIRST_WITH_TOPIC_IDS,
    MOST_PARTITIONS,
    ProduceEnvelope,
    Refusal,
    TopicRun,
    pack_response,
    read_classic,
    read_flexible,
)
from mainstem.heads.kafka.topic_names import TopicNames
from mainstem.model.batch import Buffer
from mainstem.wire.errors import InvalidMessage, TruncatedMessage, WireError
from mainstem.wire.kafka.codec import encode
from mainstem.wire.kafka.frames import decode_response
from mainstem.wire.kafka.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)

VERSIONS = range(3, 14)
KEY = 0

ids = {name: name.encode().ljust(16, b".") for name in ("a", "orders", "x" * 16)}
topics_by_id: Any = {topic_id: SimpleNamespace(name=name) for name, topic_id in ids.items()}

partitions = st.lists(st.tuples(st.integers(0, 2**31 - 1), st.none() | st.binary(max_size=300)), max_size=4)
topics = st.lists(st.tuples(st.sampled_from(sorted(ids)), partitions), max_size=4)
transactional_ids = st.none() | st.text(max_size=200)


def make_request(
    transactional_id: str | None,
    acks: int,
    timeout_ms: int,
    named: list[tuple[str, list[tuple[int, bytes | None]]]],
    *,
    by_id: bool,
) -> ProduceRequest:
    return ProduceRequest(
        transactional_id=transactional_id,
        acks=acks,
        timeout_ms=timeout_ms,
        topic_data=[
            TopicProduceData(
                name="" if by_id else name,
                topic_id=ids[name] if by_id else bytes(16),
                partition_data=[PartitionProduceData(index=i, records=records) for i, records in listed],
            )
            for name, listed in named
        ],
    )


def read(data: Buffer, position: int, end: int, version: int) -> ProduceEnvelope:
    if version >= FIRST_FLEXIBLE:
        return read_flexible(data, position, end, version, TopicNames(), topics_by_id)
    return read_classic(data, position, end, version, TopicNames())


@given(
    version=st.sampled_from(VERSIONS),
    transactional_id=transactional_ids,
    acks=st.integers(-(2**15), 2**15 - 1),
    timeout_ms=st.integers(-(2**31), 2**31 - 1),
    named=topics,
    in_own_buffer=st.booleans(),
)
def test_reads_what_the_codec_wrote(
    version: int,
    transactional_id: str | None,
    acks: int,
    timeout_ms: int,
    named: list[tuple[str, list[tuple[int, bytes | None]]]],
    in_own_buffer: bool,
) -> None:
    by_id = version >= FIRST_WITH_TOPIC_IDS
    body = encode(make_request(transactional_id, acks, timeout_ms, named, by_id=by_id), version)
    data = b"head" + body + b"the next frame"
    source = bytearray(data) if in_own_buffer else data
    envelope = read(source, 4, 4 + len(body), version)
    assert envelope.transactional_id == transactional_id
    assert (envelope.acks, envelope.timeout_ms) == (acks, timeout_ms)
    expected = [(name, index, records) for name, listed in named for index, records in listed]
    assert [
        (e.topic, e.partition, None if e.records is None else bytes(e.records)) for e in envelope.entries
    ] == expected
    assert [run.partition_count for run in envelope.topics] == [len(listed) for _, listed in named]


@pytest.mark.parametrize("version", VERSIONS)
def test_batches_are_not_copied(version: int) -> None:
    by_id = version >= FIRST_WITH_TOPIC_IDS
    body = bytearray(encode(make_request(None, 1, 1, [("orders", [(0, b"batch")])], by_id=by_id), version))
    envelope = read(body, 0, len(body), version)
    at = body.index(b"batch")
    body[at : at + 5] = b"BATCH"
    records = envelope.entries[0].records
    assert records is not None
    assert bytes(records) == b"BATCH"


@pytest.mark.parametrize("version", VERSIONS)
def test_a_cut_anywhere_is_an_error_of_the_wire(version: int) -> None:
    by_id = version >= FIRST_WITH_TOPIC_IDS
    named: list[tuple[str, list[tuple[int, bytes | None]]]] = [
        ("orders", [(0, b"batch"), (1, None)]),
        ("a", [(2, b"")]),
    ]
    body = encode(make_request("t", 1, 1, named, by_id=by_id), version)
    for end in range(len(body)):
        # Alone in its buffer, and with another frame behind it that a length could reach into.
        for data in (body[:end], body):
            with pytest.raises((WireError, struct.error, IndexError, UnicodeDecodeError)):
                read(data, 0, end, version)


def test_an_unknown_topic_id_gives_entries_without_a_name() -> None:
    request = ProduceRequest(
        acks=1, topic_data=[TopicProduceData(topic_id=b"?" * 16, partition_data=[PartitionProduceData()])]
    )
    body = encode(request, 13)
    assert read(body, 0, len(body), 13).entries[0].topic == ""


@pytest.mark.parametrize("version", [3, 9])
def test_more_partitions_than_anyone_has_are_refused_before_they_cost_memory(version: int) -> None:
    count = MOST_PARTITIONS + 1
    listed: list[tuple[int, bytes | None]] = [(0, None)] * count
    body = encode(make_request(None, 1, 1, [("a", listed)], by_id=False), version)
    with pytest.raises(InvalidMessage, match="partitions"):
        read(body, 0, len(body), version)


@pytest.mark.parametrize("version", [3, 9])
def test_more_topics_than_anyone_has_are_refused(version: int) -> None:
    named: list[tuple[str, list[tuple[int, bytes | None]]]] = [("a", [])] * (MOST_PARTITIONS + 2)
    body = encode(make_request(None, 1, 1, named, by_id=False), version)
    with pytest.raises(InvalidMessage, match="partitions"):
        read(body, 0, len(body), version)


def test_a_null_topic_name_is_refused() -> None:
    head = struct.pack(">hhii", -1, 1, 1, 1)
    with pytest.raises(TruncatedMessage):
        read(head + struct.pack(">hi", -1, 0), 0, 18, 3)
    with pytest.raises(TruncatedMessage):
        read(b"\0" + struct.pack(">hi", 1, 1) + b"\2\0\1\0\0", 0, 12, 9)


# ---------------------------------------------------------------------------- responses

NODES = (NodeAddress(2, "two.test", 9092, "rack-b"), NodeAddress(3, "three.test", 9093, None))


def envelope_of(version: int, named: list[tuple[str, list[int]]]) -> ProduceEnvelope:
    by_id = version >= FIRST_WITH_TOPIC_IDS
    request = make_request(
        None, 1, 1, [(name, [(index, b"") for index in indexes]) for name, indexes in named], by_id=by_id
    )
    body = encode(request, version)
    return read(body, 0, len(body), version)


def decoded(version: int, frame: bytes) -> ProduceResponse:
    assert int.from_bytes(frame[:4], "big") == len(frame) - 4
    correlation_id, response = decode_response(KEY, version, frame[4:])
    assert correlation_id == 77
    assert isinstance(response, ProduceResponse)
    return response


@pytest.mark.parametrize("version", VERSIONS)
def test_the_codec_reads_the_offsets(version: int) -> None:
    envelope = envelope_of(version, [("orders", [5, 6]), ("a", [7])])
    results = [ProduceResult(2**40, -1, 3), ProduceResult(0, 1_700_000_000_000, 0), ProduceResult(9, -1, 9)]
    response = decoded(version, pack_response(version, 77, envelope, results))
    assert response.throttle_time_ms == 0
    assert response.node_endpoints == []
    if version >= FIRST_WITH_TOPIC_IDS:
        assert [topic.topic_id for topic in response.responses] == [ids["orders"], ids["a"]]
    else:
        assert [topic.name for topic in response.responses] == ["orders", "a"]
    answered = [one for topic in response.responses for one in topic.partition_responses]
    assert [one.index for one in answered] == [5, 6, 7]
    for one, result in zip(answered, results, strict=True):
        assert one.error_code == 0
        assert one.base_offset == result.base_offset
        assert one.log_append_time_ms == result.append_time_ms
        if version >= FIRST_WITH_LOG_START:
            assert one.log_start_offset == result.log_start_offset
        assert one.record_errors == []
        assert one.error_message is None
        assert one.current_leader.leader_id == -1


@pytest.mark.parametrize("version", VERSIONS)
def test_the_codec_reads_refusals(version: int) -> None:
    envelope = envelope_of(version, [("orders", [0, 1])])
    refusal = Refusal(87, "ä record", 12, LeaderHint(3, 4), [(0, "no key"), (2, None)])
    results = [refusal, ProduceResult(8, -1, 0)]
    response = decoded(version, pack_response(version, 77, envelope, results, NODES))
    first, second = response.responses[0].partition_responses
    assert (first.error_code, first.base_offset, first.log_append_time_ms) == (87, -1, -1)
    assert (second.error_code, second.base_offset) == (0, 8)
    if version >= FIRST_WITH_LOG_START:
        assert first.log_start_offset == 12
    if version >= FIRST_WITH_MESSAGES:
        assert first.error_message == "ä record"
        errors = [(e.batch_index, e.batch_index_error_message) for e in first.record_errors]
        assert errors == [(0, "no key"), (2, None)]
    if version >= FIRST_WITH_HINTS:
        assert (first.current_leader.leader_id, first.current_leader.leader_epoch) == (3, 4)
        assert [(n.node_id, n.host, n.port, n.rack) for n in response.node_endpoints] == [*NODES]
    assert second.current_leader.leader_id == -1


@pytest.mark.parametrize("version", VERSIONS)
def test_a_request_without_topics_has_an_answer_without_topics(version: int) -> None:
    assert decoded(version, pack_response(version, 77, envelope_of(version, []), [])).responses == []


@pytest.mark.parametrize("version", VERSIONS)
def test_a_message_longer_than_anyone_reads_is_cut(version: int) -> None:
    frame = pack_response(version, 77, envelope_of(version, [("a", [0])]), [Refusal(1, "ä" * 40_000)])
    message = decoded(version, frame).responses[0].partition_responses[0].error_message
    assert version < FIRST_WITH_MESSAGES or (
        message is not None and set(message) == {"ä"} and len(message) < 2**14
    )


@pytest.mark.parametrize("version", [0, 1, 2])
def test_the_old_versions_are_refused_in_their_own_form(version: int) -> None:
    """The schema has no versions 0 to 2 any more: the bytes themselves."""
    body = struct.pack(">hii", 1, 500, 1) + b"\0\1a" + struct.pack(">iii", 1, 6, 3) + b"old"
    envelope = read_classic(body, 0, len(body), version, TopicNames())
    assert envelope.entries == [ProduceEntry("a", 6, b"old")]
    assert (envelope.acks, envelope.timeout_ms, envelope.transactional_id) == (1, 500, None)
    assert envelope.topics == [TopicRun(b"\0\1a", 1)]
    throttle_time = bytes(4) if version else b""
    append_time = struct.pack(">q", -1) if version == 2 else b""
    expected = (
        struct.pack(">ii", 77, 1)
        + b"\0\1a"
        + struct.pack(">iihq", 1, 6, 35, -1)
        + append_time
        + throttle_time
    )
    frame = pack_response(version, 77, envelope, [Refusal(35, "too old")])
    assert frame == struct.pack(">i", len(expected)) + expected
