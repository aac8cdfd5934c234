"""Routes: a request that was read once is known by its first bytes, and means the same."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mainstem.core.broker import ProduceEntry
from mainstem.core.image import TopicImage
from mainstem.core.partition import ProduceResult
from mainstem.heads.kafka import produce_routes
from mainstem.heads.kafka.produce import MAX_VERSION
from mainstem.heads.kafka.produce_envelope import (
    FIRST_FLEXIBLE,
    FIRST_WITH_TOPIC_IDS,
    ProduceEnvelope,
    pack_response,
    read_classic,
    read_flexible,
)
from mainstem.heads.kafka.produce_routes import FIRST_ROUTED, ProduceRoutes
from mainstem.heads.kafka.topic_names import TopicNames
from mainstem.model.ids import TopicId
from mainstem.wire.kafka.codec import encode
from mainstem.wire.kafka.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

VERSIONS = range(FIRST_ROUTED, MAX_VERSION + 1)
ID = TopicId(b"orders' topic id")
TOPICS = {ID: TopicImage("orders", ID, ())}


def body_of(
    version: int,
    records: bytes = b"batch",
    *,
    index: int = 3,
    acks: int = 1,
    timeout_ms: int = 9,
    name: str = "orders",
) -> bytes:
    by_id = version >= FIRST_WITH_TOPIC_IDS
    topic = TopicProduceData(
        name="" if by_id else name,
        topic_id=ID if by_id else bytes(16),
        partition_data=[PartitionProduceData(index=index, records=records)],
    )
    return encode(ProduceRequest(acks=acks, timeout_ms=timeout_ms, topic_data=[topic]), version)


def read(body: bytes, version: int) -> ProduceEnvelope:
    if version >= FIRST_FLEXIBLE:
        return read_flexible(body, 0, len(body), version, TopicNames(), TOPICS)
    return read_classic(body, 0, len(body), version, TopicNames())


def learn(routes: ProduceRoutes, body: bytes, version: int) -> int:
    return routes.learn(body, 0, len(body), version, read(body, version))


@given(
    version=st.sampled_from(VERSIONS),
    index=st.integers(0, 2**31 - 1),
    acks=st.sampled_from([-1, 0, 1]),
    timeout_ms=st.integers(-(2**31), 2**31 - 1),
    name=st.text("abc.-_", min_size=1, max_size=249),
    records=st.binary(min_size=1, max_size=20_000),
    result=st.builds(
        ProduceResult, st.integers(0, 2**63 - 1), st.integers(-1, 2**63 - 1), st.integers(0, 2**63 - 1)
    ),
    in_own_buffer=st.booleans(),
)
def test_a_route_says_what_the_envelope_says(
    version: int,
    index: int,
    acks: int,
    timeout_ms: int,
    name: str,
    records: bytes,
    result: ProduceResult,
    in_own_buffer: bool,
) -> None:
    routes = ProduceRoutes(MAX_VERSION)
    first = body_of(version, b"the first", index=index, acks=acks, timeout_ms=timeout_ms, name=name)
    key_bytes = learn(routes, first, version)
    assert key_bytes
    body = body_of(version, records, index=index, acks=acks, timeout_ms=timeout_ms, name=name)
    data = b"head" + body + b"next"
    matched = routes.match(bytearray(data) if in_own_buffer else data, 4, 4 + len(body), version, key_bytes)
    assert matched is not None
    route, batches = matched
    envelope = read(body, version)
    assert bytes(batches) == records
    assert (route.acks, route.timeout_ms) == (acks, timeout_ms)
    assert route.entry == envelope.entries[0]._replace(records=None)
    assert route.pack_answer(77, result) == pack_response(version, 77, envelope, [result])
    assert pack_response(version, 7, route.envelope(), [result]) == pack_response(
        version, 7, envelope, [result]
    )


@pytest.mark.parametrize("version", VERSIONS)
def test_a_route_serves_only_what_is_the_same(version: int) -> None:
    routes = ProduceRoutes(MAX_VERSION)
    key_bytes = learn(routes, body_of(version), version)
    others = [
        body_of(version, index=4),
        body_of(version, acks=-1),
        body_of(version, timeout_ms=10),
        *([body_of(version, name="orderz")] if version < FIRST_WITH_TOPIC_IDS else []),
    ]
    for body in others:
        assert routes.match(body, 0, len(body), version, key_bytes) is None
    same = body_of(version)
    assert routes.match(same, 0, len(same), version, 0) is None
    assert routes.match(same, 0, len(same), version - 1 if version > 5 else version + 1, key_bytes) is None


@pytest.mark.parametrize("version", VERSIONS)
def test_a_request_that_begins_like_a_route_and_ends_otherwise_is_read_in_full(version: int) -> None:
    routes = ProduceRoutes(MAX_VERSION)
    body = body_of(version)
    key_bytes = learn(routes, body, version)
    for cut in range(key_bytes, len(body)):
        try:
            matched = routes.match(body, 0, cut, version, key_bytes)
        except IndexError:
            continue
        assert matched is None
    longer = body + b"\0"
    assert routes.match(longer, 0, len(longer), version, key_bytes) is None
    if version >= FIRST_FLEXIBLE:
        tagged = body[:-1] + b"\1\7\0"  # a tagged field that nobody knows
        assert routes.match(tagged, 0, len(tagged), version, key_bytes) is None


def test_lengths_written_longer_than_need_be_make_no_route() -> None:
    """A key would end in the wrong place."""
    body = body_of(9)
    assert body[7] == 2  # one topic
    odd = body[:7] + b"\x82\0" + body[8:]
    assert read(odd, 9).entries == [ProduceEntry("orders", 3, b"batch")]
    routes = ProduceRoutes(MAX_VERSION)
    assert learn(routes, odd, 9) == 0
    assert not any(routes._routes)


def test_routes_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(produce_routes, "MOST_ROUTES", 10)
    routes = ProduceRoutes(MAX_VERSION)
    for index in range(35):
        learn(routes, body_of(7, index=index), 7)
        assert sum(map(len, routes._routes)) <= 10
