"""Metadata: nodes, topics, leaders, and topics that come into being because they were asked for."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.support.kafka_node import KafkaNode, Peer

from mainstem.heads.kafka.authorized_operations import (
    CLUSTER_OPERATIONS,
    OPERATIONS_NOT_ASKED_FOR,
    TOPIC_OPERATIONS,
)
from mainstem.heads.kafka.codes import ErrorCode
from mainstem.wire.kafka.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseTopic,
)

VERSIONS = range(14)
OFFSETS = "__consumer_offsets"


def named(*names: str, create: bool = False) -> MetadataRequest:
    return MetadataRequest(
        topics=[MetadataRequestTopic(name=name) for name in names], allow_auto_topic_creation=create
    )


def by_name(response: MetadataResponse) -> dict[str | None, MetadataResponseTopic]:
    return {topic.name: topic for topic in response.topics}


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_topic_and_where_it_lives(node: KafkaNode, peer: Peer, version: int) -> None:
    topic = await node.create_topic("orders", 3)
    request = named("orders", create=version < 4)
    response = await peer.ask(request, MetadataResponse, version)
    [broker] = response.brokers
    assert (broker.node_id, broker.host, broker.port) == (1, "broker.test", 19092)
    if version >= 1:
        assert broker.rack == "rack-a"
        assert response.controller_id == 1
    if version >= 2:
        assert response.cluster_id == node.broker.image.cluster_id
    [answer] = response.topics
    assert (answer.error_code, answer.name, answer.is_internal) == (0, "orders", False)
    if version >= 10:
        assert answer.topic_id == topic.topic_id
    if version >= 8:
        assert answer.topic_authorized_operations == OPERATIONS_NOT_ASKED_FOR
    assert [
        (p.error_code, p.partition_index, p.leader_id, p.replica_nodes, p.isr_nodes, p.offline_replicas)
        for p in answer.partitions
    ] == [(0, index, 1, [1], [1], []) for index in range(3)]
    if version >= 7:
        assert [p.leader_epoch for p in answer.partitions] == [p.leader_epoch for p in topic.partitions]


@pytest.mark.parametrize("version", VERSIONS)
async def test_all_topics(node: KafkaNode, peer: Peer, version: int) -> None:
    await node.create_topic("orders", 2)
    request = MetadataRequest(topics=None if version else [])
    response = await peer.ask(request, MetadataResponse, version)
    topics = by_name(response)
    assert set(topics) == {"orders", OFFSETS}
    assert version == 0 or (topics[OFFSETS].is_internal and not topics["orders"].is_internal)


@pytest.mark.parametrize("version", [1, 9, 13])
async def test_no_topics(peer: Peer, version: int) -> None:
    response = await peer.ask(MetadataRequest(topics=[]), MetadataResponse, version)
    assert response.topics == []
    assert response.brokers != []


@pytest.mark.parametrize("version", [12, 13])
async def test_topics_by_their_ids(node: KafkaNode, peer: Peer, version: int) -> None:
    topic = await node.create_topic("orders")
    request = MetadataRequest(
        topics=[
            MetadataRequestTopic(topic_id=topic.topic_id, name=None),
            MetadataRequestTopic(topic_id=b"?" * 16, name=None),
        ]
    )
    response = await peer.ask(request, MetadataResponse, version)
    found = {one.topic_id: one for one in response.topics}
    assert found[topic.topic_id].name == "orders"
    unknown = found[b"?" * 16]
    assert (unknown.error_code, unknown.name, unknown.partitions) == (ErrorCode.UNKNOWN_TOPIC_ID, None, [])


@pytest.mark.parametrize("version", [10, 11])
async def test_ids_are_not_served_before_version_12(node: KafkaNode, peer: Peer, version: int) -> None:
    topic = await node.create_topic("orders")
    request = MetadataRequest(topics=[MetadataRequestTopic(topic_id=topic.topic_id, name=None)])
    response = await peer.ask(request, MetadataResponse, version)
    assert [one.error_code for one in response.topics] == [ErrorCode.INVALID_REQUEST]


async def test_what_may_be_done_is_told_when_asked_for(node: KafkaNode, peer: Peer) -> None:
    await node.create_topic("orders")
    request = named("orders")
    request.include_topic_authorized_operations = request.include_cluster_authorized_operations = True
    response = await peer.ask(request, MetadataResponse, 10)
    assert response.topics[0].topic_authorized_operations == TOPIC_OPERATIONS
    assert response.cluster_authorized_operations == CLUSTER_OPERATIONS


async def test_a_node_that_is_gone_leads_nothing(node: KafkaNode, peer: Peer) -> None:
    await node.create_topic("orders")
    await node.membership.leave()
    while node.broker.image.brokers:
        await node.follower.refresh() if hasattr(node.follower, "refresh") else None
        import asyncio

        await asyncio.sleep(0.001)
    response = await peer.ask(named("orders"), MetadataResponse, 9)
    [partition] = response.topics[0].partitions
    assert (partition.error_code, partition.leader_id) == (ErrorCode.LEADER_NOT_AVAILABLE, -1)
    assert partition.offline_replicas == [1]


# ---------------------------------------------------------------------------- auto-creation


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_topic_comes_into_being_when_it_is_asked_for(peer: Peer, version: int) -> None:
    response = await peer.ask(named(f"new-{version}", create=True), MetadataResponse, version)
    [topic] = response.topics
    assert (topic.error_code, len(topic.partitions)) == (0, 1)
    assert topic.partitions[0].leader_id == 1


async def test_not_where_the_client_does_not_want_it(node: KafkaNode, peer: Peer) -> None:
    response = await peer.ask(named("orders", create=False), MetadataResponse, 9)
    assert response.topics[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert "orders" not in node.broker.image.topics


@pytest.fixture
async def strict_node(tmp_path: Path) -> AsyncIterator[KafkaNode]:
    folder = tmp_path / "strict"
    folder.mkdir()
    node = await KafkaNode(folder, {"auto.create.topics.enable": "false"}).start()
    yield node
    await node.stop()


async def test_not_where_the_broker_does_not_want_it(strict_node: KafkaNode) -> None:
    response = await strict_node.peer().ask(named("orders", create=True), MetadataResponse, 9)
    assert response.topics[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert "orders" not in strict_node.broker.image.topics


async def test_a_name_that_cannot_be_is_refused_and_others_are_made(peer: Peer) -> None:
    response = await peer.ask(named("a b", "", "fine", create=True), MetadataResponse, 9)
    codes = {topic.name: topic.error_code for topic in response.topics}
    invalid = ErrorCode.INVALID_TOPIC_EXCEPTION
    assert codes == {"a b": invalid, "": invalid, "fine": 0}


async def test_a_topic_asked_for_twice_is_told_once(node: KafkaNode, peer: Peer) -> None:
    await node.create_topic("orders")
    response = await peer.ask(named("orders", "orders"), MetadataResponse, 9)
    assert [topic.name for topic in response.topics] == ["orders"]


async def test_two_clients_in_the_same_moment_get_the_same_topic(node: KafkaNode) -> None:
    asked = [node.peer().send(named("orders", create=True), 12) for _ in range(4)]
    responses = [await answer for answer in asked]
    ids = {response.topics[0].topic_id for response in responses if isinstance(response, MetadataResponse)}
    assert ids == {node.broker.image.topics["orders"].topic_id}
