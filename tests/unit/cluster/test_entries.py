"""What stands in the store: readable, small, and refused when it is damaged or of the future."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.cluster.node import topic_of

from mainstem.cluster import keys
from mainstem.cluster.entries import (
    MAX_PARTITIONS_PER_TOPIC,
    ClusterEntry,
    ConfigEntry,
    broker_entry,
    decode_broker,
    decode_entry,
    decode_topic,
    decode_user,
    encode_entry,
    encode_options,
    encode_topic,
    encode_user,
)
from mainstem.cluster.errors import EntryUnreadable
from mainstem.core.identity.credentials import ScramCredential
from mainstem.core.image import Endpoint, PartitionImage, TopicImage
from mainstem.model.ids import TopicId

node_ids = st.integers(0, 2**31 - 1)
partitions = st.builds(
    PartitionImage,
    st.lists(node_ids, min_size=1, max_size=3).map(tuple),
    st.lists(node_ids, max_size=3).map(tuple),
    st.integers(-1, 9),
    st.integers(0, 2**31 - 1),
    st.integers(0, 2**31 - 1),
)
topics = st.builds(
    TopicImage,
    st.text(st.characters(codec="utf-8"), min_size=1),
    st.binary(min_size=16, max_size=16).map(TopicId),
    st.lists(st.one_of(partitions, st.just(PartitionImage((1,), (1,), 1, 0))), min_size=1).map(tuple),
    st.dictionaries(st.text(st.characters(codec="utf-8")), st.text(st.characters(codec="utf-8"))),
    st.booleans(),
)


@given(topics)
def test_a_topic_comes_back_as_it_was(topic: TopicImage) -> None:
    key = keys.topic_key(topic.name)
    value = encode_topic(topic)
    assert decode_topic(topic.name, key, value) == topic
    json.loads(value)  # an operator can read it


def test_ten_thousand_partitions_take_few_bytes_and_one_tuple() -> None:
    value = encode_topic(topic_of("a", 10_000))
    assert len(value) < 200
    assert len({id(p) for p in decode_topic("a", "k", value).partitions}) == 1
    spread = TopicImage(
        "a", TopicId(bytes(16)), tuple(PartitionImage((n % 6,), (n % 6,), n % 6, 0) for n in range(10_000))
    )
    assert len(encode_topic(spread)) < 45_000


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'{"v":1}',
        b"\xff\xfe",
        b'{"id":"short","states":[[[1],[1],1,0,0]],"runs":[0,1]}',
        b'{"id":"%","states":[[[1],[1],1,0,0]],"runs":[0,1]}',
        b'{"id":"AAAAAAAAAAAAAAAAAAAAAA","states":[[[1],[1],1,0,0]],"runs":[]}',
        b'{"id":"AAAAAAAAAAAAAAAAAAAAAA","states":[[[1],[1],1,0,0]],"runs":[0]}',
        b'{"id":"AAAAAAAAAAAAAAAAAAAAAA","states":[[[1],[1],1,0,0]],"runs":[1,1]}',
        b'{"id":"AAAAAAAAAAAAAAAAAAAAAA","states":[[[1],[1],1,0,0]],"runs":[-1,1]}',
        b'{"id":"AAAAAAAAAAAAAAAAAAAAAA","states":[[[1],[1],1,0,0]],"runs":[0,-1]}',
        b'{"id":"AAAAAAAAAAAAAAAAAAAAAA","states":[[[1],[1],1,0,0]],"runs":[0,1000000000]}',
        b'{"id":"AAAAAAAAAAAAAAAAAAAAAA","states":[],"runs":[0,1]}',
        b'{"id":"AAAAAAAAAAAAAAAAAAAAAA","states":[[[1],[1],1,0]],"runs":[0,1]}',
        b'{"id":"AAAAAAAAAAAAAAAAAAAAAA","states":[[[1],[1],"1",0,0]],"runs":[0,1]}',
        b'{"v":2,"id":"AAAAAAAAAAAAAAAAAAAAAA","states":[[[1],[1],1,0,0]],"runs":[0,1]}',
    ],
)
def test_a_topic_that_cannot_be_read(value: bytes) -> None:
    with pytest.raises(EntryUnreadable, match="/mainstem/topics/a"):
        decode_topic("a", "/mainstem/topics/a", value)


def test_the_bound_of_partitions() -> None:
    value = b'{"id":"AAAAAAAAAAAAAAAAAAAAAA","states":[[[1],[1],1,0,0]],"runs":[0,%d]}'
    assert len(decode_topic("a", "k", value % MAX_PARTITIONS_PER_TOPIC).partitions) == 100_000
    with pytest.raises(EntryUnreadable):
        decode_topic("a", "k", value % (MAX_PARTITIONS_PER_TOPIC + 1))


def test_a_newer_format_names_the_cure_and_new_fields_do_not_hurt() -> None:
    with pytest.raises(EntryUnreadable, match=r"version 2.*newer"):
        decode_entry(ClusterEntry, "k", b'{"v":2,"cluster_id":"x"}')
    assert decode_entry(ClusterEntry, "k", b'{"v":1,"cluster_id":"x","later":[1]}').cluster_id == "x"


def test_brokers_and_options_come_back() -> None:
    endpoints = (Endpoint("A", "h", 1), Endpoint("B", "h", 2, "SSL"))
    value = encode_entry(broker_entry("h", 1, "rack", "incarnation", endpoints))
    broker = decode_broker(3, keys.broker_key(3), value, epoch=9)
    assert (broker.node_id, broker.host, broker.port, broker.rack, broker.epoch) == (3, "h", 1, "rack", 9)
    assert broker.endpoints == endpoints
    options = {"a": "1", "ü": ""}
    assert decode_entry(ConfigEntry, "k", encode_options(options)).options == options


@given(st.text(st.characters(codec="utf-8")))
def test_names_with_slashes_come_back_from_their_keys(name: str) -> None:
    assert keys.split_config_key(keys.config_key("group", name)) == ("group", name)


def test_users_come_back_and_their_values_are_text() -> None:
    credentials = {"SCRAM-SHA-256": ScramCredential(b"\x00salt", b"\xff" * 32, b"\x01" * 32, 4096)}
    value = encode_user(credentials)
    assert value.decode("ascii")
    assert decode_user("k", value) == credentials
    with pytest.raises(EntryUnreadable):
        decode_user("k", b'{"scram":{"SCRAM-SHA-256":{"salt":"!"}}}')
