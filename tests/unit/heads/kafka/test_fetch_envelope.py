"""A fetch request read by hand against the codec that is derived from Kafka's schema."""

from __future__ import annotations

import struct
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mainstem.heads.kafka.fetch_envelope import (
    FINAL_EPOCH,
    FIRST_FLEXIBLE,
    FIRST_WITH_SESSIONS,
    FIRST_WITH_TOPIC_IDS,
    MOST_PARTITIONS,
    NO_SESSION,
    FetchEnvelope,
    TopicNaming,
    TopicPartitionName,
    read_request,
    topic_naming,
)
from mainstem.heads.kafka.topic_names import TopicNames
from mainstem.model.batch import Buffer
from mainstem.model.ids import ZERO_TOPIC_ID
from mainstem.wire.errors import InvalidMessage, WireError
from mainstem.wire.kafka.codec import encode
from mainstem.wire.kafka.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchTopic,
    ForgottenTopic,
    ReplicaState,
)

VERSIONS = range(4, 19)

ids = {name: name.encode().ljust(16, b".") for name in ("a", "orders", "x" * 16)}
topics_by_id: Any = {topic_id: SimpleNamespace(name=name) for name, topic_id in ids.items()}

int32 = st.integers(-(2**31), 2**31 - 1)
partitions = st.builds(
    FetchPartition,
    partition=st.integers(0, 2**31 - 1),
    current_leader_epoch=int32,
    fetch_offset=st.integers(-(2**63), 2**63 - 1),
    log_start_offset=st.integers(-1, 9),
    partition_max_bytes=int32,
)
names = st.sampled_from(sorted(ids))
topics = st.lists(st.tuples(names, st.lists(partitions, max_size=4)), max_size=4)
forgotten = st.lists(st.tuples(names, st.lists(int32, max_size=3)), max_size=3)


def wire_name(name: str, version: int) -> bytes:
    if version >= FIRST_WITH_TOPIC_IDS:
        return ids[name]
    size = len(name) + 1 if version >= FIRST_FLEXIBLE else len(name)
    return (bytes([size]) if version >= FIRST_FLEXIBLE else struct.pack(">h", size)) + name.encode()


def read(data: Buffer, position: int, end: int, version: int) -> FetchEnvelope:
    return read_request(data, position, end, version, TopicNames(), topics_by_id)


def make_request(
    version: int, named: list[tuple[str, list[FetchPartition]]], dropped: list[tuple[str, list[int]]]
) -> FetchRequest:
    by_id = version >= FIRST_WITH_TOPIC_IDS
    request = FetchRequest(
        max_wait_ms=500,
        min_bytes=1,
        max_bytes=1 << 20,
        isolation_level=1,
        topics=[
            FetchTopic(
                topic="" if by_id else name,
                topic_id=ids[name] if by_id else bytes(16),
                partitions=[
                    FetchPartition(
                        partition=p.partition,
                        current_leader_epoch=p.current_leader_epoch if version >= 9 else -1,
                        fetch_offset=p.fetch_offset,
                        log_start_offset=p.log_start_offset if version >= 5 else -1,
                        partition_max_bytes=p.partition_max_bytes,
                    )
                    for p in listed
                ],
            )
            for name, listed in named
        ],
    )
    if version >= FIRST_WITH_SESSIONS:
        request.session_id, request.session_epoch = 12, 34
        request.forgotten_topics_data = [
            ForgottenTopic(
                topic="" if by_id else name, topic_id=ids[name] if by_id else bytes(16), partitions=indexes
            )
            for name, indexes in dropped
        ]
    if version >= 11:
        request.rack_id = "rack-a"
    if version >= FIRST_FLEXIBLE:
        request.cluster_id = "cluster"
    if version >= 15:
        request.replica_state = ReplicaState(replica_id=-1, replica_epoch=3)
    return request


@given(version=st.sampled_from(VERSIONS), named=topics, dropped=forgotten, in_own_buffer=st.booleans())
def test_reads_what_the_codec_wrote(
    version: int,
    named: list[tuple[str, list[FetchPartition]]],
    dropped: list[tuple[str, list[int]]],
    in_own_buffer: bool,
) -> None:
    body = encode(make_request(version, named, dropped), version)
    data = b"head" + body + b"the next frame"
    envelope = read(bytearray(data) if in_own_buffer else data, 4, 4 + len(body), version)
    assert envelope[:4] == (500, 1, 1 << 20, 1)
    has_session = version >= FIRST_WITH_SESSIONS
    assert envelope[4:6] == ((12, 34) if has_session else (NO_SESSION, FINAL_EPOCH))
    by_id = version >= FIRST_WITH_TOPIC_IDS
    assert [tuple(entry) for entry in envelope.entries] == [
        (
            name,
            p.partition,
            p.fetch_offset,
            p.partition_max_bytes,
            p.current_leader_epoch if version >= 9 else -1,
            ids[name] if by_id else ZERO_TOPIC_ID,
        )
        for name, listed in named
        for p in listed
    ]
    assert envelope.wire_names == [wire_name(name, version) for name, listed in named for _ in listed]
    assert envelope.forgotten == [
        TopicPartitionName(wire_name(name, version), index)
        for name, indexes in dropped
        for index in indexes
        if has_session
    ]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_cut_anywhere_is_an_error_of_the_wire(version: int) -> None:
    request = make_request(version, [("a", [FetchPartition()]), ("orders", [FetchPartition()])], [("a", [1])])
    body = encode(request, version)
    for end in range(len(body)):
        for data in (body[:end], body):
            with pytest.raises((WireError, struct.error, IndexError, UnicodeDecodeError)):
                read(data, 0, end, version)


@pytest.mark.parametrize("version", [17, 18])
def test_the_tagged_fields_of_replicas_are_passed_over(version: int) -> None:
    watermark = 2**63 - 1 if version == 17 else 5
    partition = FetchPartition(partition=3, replica_directory_id=b"d" * 16, high_watermark=watermark)
    request = FetchRequest(topics=[FetchTopic(topic_id=ids["a"], partitions=[partition, partition])])
    body = encode(request, version)
    assert [entry.partition for entry in read(body, 0, len(body), version).entries] == [3, 3]


def test_an_unknown_topic_id_gives_entries_without_a_name() -> None:
    body = encode(FetchRequest(topics=[FetchTopic(topic_id=b"?" * 16, partitions=[FetchPartition()])]), 13)
    entry = read(body, 0, len(body), 13).entries[0]
    assert (entry.topic, entry.topic_id) == ("", b"?" * 16)


@pytest.mark.parametrize("version", [4, 12, 13])
def test_more_partitions_than_anyone_has_are_refused_before_they_cost_memory(version: int) -> None:
    listed = [FetchPartition()] * (MOST_PARTITIONS + 1)
    request = FetchRequest(topics=[FetchTopic(topic="a", topic_id=ids["a"], partitions=listed)])
    if version < FIRST_WITH_TOPIC_IDS:
        request.topics[0].topic_id = bytes(16)
    else:
        request.topics[0].topic = ""
    body = encode(request, version)
    with pytest.raises(InvalidMessage, match="partitions"):
        read(body, 0, len(body), version)


@pytest.mark.parametrize("version", [7, 12])
def test_more_forgotten_partitions_than_anyone_has_are_refused(version: int) -> None:
    dropped = ForgottenTopic(topic="a", partitions=[1] * (MOST_PARTITIONS + 1))
    body = encode(FetchRequest(forgotten_topics_data=[dropped]), version)
    with pytest.raises(InvalidMessage, match="partitions"):
        read(body, 0, len(body), version)


def test_names_are_of_three_kinds() -> None:
    assert {topic_naming(version) for version in range(4, 12)} == {TopicNaming.CLASSIC_NAME}
    assert topic_naming(12) is TopicNaming.COMPACT_NAME
    assert {topic_naming(version) for version in range(13, 19)} == {TopicNaming.TOPIC_ID}
