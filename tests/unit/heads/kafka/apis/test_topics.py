"""CreateTopics, DeleteTopics, CreatePartitions and DeleteRecords."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.support.kafka_node import KafkaNode, Peer

from mainstem.core.image import ClusterImage, MetadataDelta
from mainstem.heads.kafka.codes import ErrorCode
from mainstem.model.ids import ZERO_TOPIC_ID
from mainstem.wire.kafka.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
)
from mainstem.wire.kafka.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from mainstem.wire.kafka.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)
from mainstem.wire.kafka.messages.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)

TIMEOUT_MS = 10_000
PATIENCE_S = 60.0


def new_topic(name: str, **more: object) -> CreatableTopic:
    return CreatableTopic(**{"name": name, "num_partitions": 1, "replication_factor": 1, **more})


async def created(
    peer: Peer, *topics: CreatableTopic, version: int = 7, **more: object
) -> dict[str, CreatableTopicResult]:
    request = CreateTopicsRequest(topics=list(topics), **{"timeout_ms": TIMEOUT_MS, **more})
    answer = await peer.ask(request, CreateTopicsResponse, version)
    assert len({topic.name for topic in answer.topics}) == len(answer.topics)
    return {topic.name: topic for topic in answer.topics}


@pytest.mark.parametrize("version", range(2, 8))
async def test_a_topic_is_created(node: KafkaNode, peer: Peer, version: int) -> None:
    options = [CreatableTopicConfig(name="retention.ms", value="60000")]
    result = (await created(peer, new_topic("t", num_partitions=3, configs=options), version=version))["t"]
    assert (result.error_code, result.error_message) == (0, None)
    image = node.broker.image.topics["t"]
    assert len(image.partitions) == 3
    assert image.config == {"retention.ms": "60000"}
    assert result.topic_id == (image.topic_id if version >= 7 else ZERO_TOPIC_ID)
    if version >= 5:
        assert (result.num_partitions, result.replication_factor) == (3, 1)
        shown = {entry.name: (entry.value, entry.config_source) for entry in result.configs or ()}
        assert shown["retention.ms"] == ("60000", 1)
        assert shown["cleanup.policy"] == ("delete", 5)
    node.broker.partition("t", 2)  # can be written to


async def test_the_brokers_defaults_and_an_assignment(node: KafkaNode, peer: Peer) -> None:
    assignment = [
        CreatableReplicaAssignment(partition_index=0, broker_ids=[1]),
        CreatableReplicaAssignment(partition_index=1, broker_ids=[1]),
    ]
    results = await created(
        peer,
        new_topic("default", num_partitions=-1, replication_factor=-1),
        new_topic("assigned", num_partitions=-1, replication_factor=-1, assignments=assignment),
    )
    assert [result.error_code for result in results.values()] == [0, 0]
    assert results["default"].num_partitions == node.config().num_partitions
    assert results["assigned"].num_partitions == 2


AUTOMATIC = {"num_partitions": -1, "replication_factor": -1}
TO_NODE_1 = CreatableReplicaAssignment(partition_index=0, broker_ids=[1])
TO_NODE_9 = CreatableReplicaAssignment(partition_index=0, broker_ids=[9])


def option(name: str, value: str | None) -> list[CreatableTopicConfig]:
    return [CreatableTopicConfig(name=name, value=value)]


@pytest.mark.parametrize(
    ("topic", "code"),
    [
        (new_topic("there"), ErrorCode.TOPIC_ALREADY_EXISTS),
        (new_topic("no/name"), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (new_topic("t", num_partitions=0), ErrorCode.INVALID_PARTITIONS),
        (new_topic("t", replication_factor=2), ErrorCode.INVALID_REPLICATION_FACTOR),
        (new_topic("t", assignments=[TO_NODE_9], **AUTOMATIC), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (new_topic("t", assignments=[TO_NODE_1] * 2, **AUTOMATIC), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (new_topic("t", assignments=[TO_NODE_1]), ErrorCode.INVALID_REQUEST),
        (new_topic("t", configs=option("no.option", "1")), ErrorCode.INVALID_CONFIG),
        (new_topic("t", configs=option("retention.ms", "soon")), ErrorCode.INVALID_CONFIG),
        (new_topic("t", configs=option("retention.ms", None)), ErrorCode.INVALID_CONFIG),
    ],
)
async def test_a_topic_that_cannot_be_created(
    node: KafkaNode, peer: Peer, topic: CreatableTopic, code: ErrorCode
) -> None:
    await node.create_topic("there")
    results = await created(peer, topic, new_topic("other"))
    refused = results[topic.name]
    assert refused.error_code == code
    assert refused.error_message
    assert (refused.num_partitions, refused.replication_factor, refused.topic_id) == (-1, -1, ZERO_TOPIC_ID)
    assert results["other"].error_code == 0


async def test_a_topic_named_twice_is_not_created(node: KafkaNode, peer: Peer) -> None:
    results = await created(peer, new_topic("t"), new_topic("t"), new_topic("other"))
    assert results["t"].error_code == ErrorCode.INVALID_REQUEST
    assert results["other"].error_code == 0
    assert "t" not in node.broker.image.topics


async def test_validating_creates_nothing(node: KafkaNode, peer: Peer) -> None:
    results = await created(peer, new_topic("t"), new_topic("u", num_partitions=0), validate_only=True)
    assert (results["t"].error_code, results["t"].num_partitions) == (0, 1)
    assert results["t"].topic_id == ZERO_TOPIC_ID
    assert results["u"].error_code == ErrorCode.INVALID_PARTITIONS
    assert "t" not in node.broker.image.topics


async def test_a_client_that_does_not_wait_is_told_so_and_gets_its_topic(node: KafkaNode, peer: Peer) -> None:
    results = await created(peer, new_topic("t"), timeout_ms=0)
    assert results["t"].error_code == ErrorCode.REQUEST_TIMED_OUT
    while "t" not in node.broker.image.topics:  # noqa: ASYNC110 - nobody tells
        await asyncio.sleep(0.001)


async def test_a_client_that_goes_away_gets_its_topics(node: KafkaNode, peer: Peer) -> None:
    """It goes between two of the transactions that its request takes."""
    topics = [new_topic(f"t{number}") for number in range(250)]
    all_there = asyncio.Event()
    left_behind: list[bool] = []

    def on_image(image: ClusterImage, delta: MetadataDelta) -> None:  # noqa: ARG001
        if "t249" in image.topics:
            all_there.set()
        if "t0" in image.topics and not left_behind:
            left_behind.append("t249" not in image.topics)
            peer.disconnect()

    node.follower.subscribe(on_image)
    peer.send(CreateTopicsRequest(topics=topics, timeout_ms=TIMEOUT_MS), 7).cancel()
    await asyncio.wait_for(all_there.wait(), PATIENCE_S)
    assert left_behind == [True]
    while len(node.head.begun_changes):  # noqa: ASYNC110 - nobody tells
        await asyncio.sleep(0.001)


# --- deleting


async def deleted(
    peer: Peer, *, names: tuple[str, ...] = (), states: tuple[DeleteTopicState, ...] = (), version: int = 6
) -> list[DeletableTopicResult]:
    request = DeleteTopicsRequest(topics=list(states), topic_names=list(names), timeout_ms=TIMEOUT_MS)
    return (await peer.ask(request, DeleteTopicsResponse, version)).responses


@pytest.mark.parametrize("version", range(1, 6))
async def test_topics_are_deleted_by_name(node: KafkaNode, peer: Peer, version: int) -> None:
    await node.create_topic("t")
    results = await deleted(peer, names=("t", "none", "twice", "twice"), version=version)
    assert [(result.name, result.error_code) for result in results] == [
        ("t", 0),
        ("none", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("twice", ErrorCode.INVALID_REQUEST),
    ]
    assert bool(results[1].error_message) == (version >= 5)
    assert "t" not in node.broker.image.topics


async def test_topics_are_deleted_by_name_or_id(node: KafkaNode, peer: Peer) -> None:
    by_name = await node.create_topic("by-name")
    by_id = await node.create_topic("by-id")
    both = await node.create_topic("both")
    unknown = b"0123456789abcdef"
    results = await deleted(
        peer,
        states=(
            DeleteTopicState(name="by-name"),
            DeleteTopicState(topic_id=by_id.topic_id),
            DeleteTopicState(topic_id=unknown),
            DeleteTopicState(name="both", topic_id=both.topic_id),
            DeleteTopicState(),
        ),
    )
    assert [(result.name, result.topic_id, result.error_code) for result in results] == [
        ("by-name", by_name.topic_id, 0),
        ("by-id", by_id.topic_id, 0),
        (None, unknown, ErrorCode.UNKNOWN_TOPIC_ID),
        ("both", both.topic_id, ErrorCode.INVALID_REQUEST),
        (None, ZERO_TOPIC_ID, ErrorCode.INVALID_REQUEST),
    ]
    assert set(node.broker.image.topics) == {"both", "__consumer_offsets"}


async def test_a_topic_named_by_name_and_by_id_is_not_deleted(node: KafkaNode, peer: Peer) -> None:
    topic = await node.create_topic("t")
    states = (DeleteTopicState(name="t"), DeleteTopicState(topic_id=topic.topic_id))
    results = await deleted(peer, states=states)
    assert [result.error_code for result in results] == [ErrorCode.INVALID_REQUEST] * 2
    assert "t" in node.broker.image.topics


@pytest.mark.parametrize(
    ("version", "code"), [(2, ErrorCode.INVALID_REQUEST), (3, ErrorCode.TOPIC_DELETION_DISABLED)]
)
async def test_where_topics_must_not_be_deleted(tmp_path: Path, version: int, code: ErrorCode) -> None:
    node = await KafkaNode(tmp_path, {"delete.topic.enable": "false"}).start()
    await node.create_topic("t")
    (result,) = await deleted(node.peer(), names=("t",), version=version)
    assert result.error_code == code
    await node.stop()


# --- growing


async def grown(
    peer: Peer, *topics: CreatePartitionsTopic, version: int = 3, **more: object
) -> dict[str, int]:
    request = CreatePartitionsRequest(topics=list(topics), **{"timeout_ms": TIMEOUT_MS, **more})
    answer = await peer.ask(request, CreatePartitionsResponse, version)
    assert all(bool(result.error_message) == bool(result.error_code) for result in answer.results)
    return {result.name: result.error_code for result in answer.results}


@pytest.mark.parametrize("version", range(4))
async def test_topics_grow(node: KafkaNode, peer: Peer, version: int) -> None:
    await node.create_topic("t")
    await node.create_topic("u")
    assert await grown(
        peer,
        CreatePartitionsTopic(name="t", count=3, assignments=None),
        CreatePartitionsTopic(name="u", count=2, assignments=[CreatePartitionsAssignment(broker_ids=[1])]),
        CreatePartitionsTopic(name="none", count=2, assignments=None),
        version=version,
    ) == {"t": 0, "u": 0, "none": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    assert len(node.broker.image.topics["t"].partitions) == 3
    node.broker.partition("t", 2)  # can be written to


async def test_topics_that_cannot_grow(node: KafkaNode, peer: Peer) -> None:
    for name in ("same", "fewer", "short", "twice", "valid"):
        await node.create_topic(name, 2)
    short = [CreatePartitionsAssignment(broker_ids=[1])]
    assert await grown(
        peer,
        CreatePartitionsTopic(name="same", count=2, assignments=None),
        CreatePartitionsTopic(name="fewer", count=1, assignments=None),
        CreatePartitionsTopic(name="short", count=4, assignments=short),
        CreatePartitionsTopic(name="twice", count=4, assignments=None),
        CreatePartitionsTopic(name="twice", count=4, assignments=None),
    ) == {
        "same": ErrorCode.INVALID_PARTITIONS,
        "fewer": ErrorCode.INVALID_PARTITIONS,
        "short": ErrorCode.INVALID_REPLICA_ASSIGNMENT,
        "twice": ErrorCode.INVALID_REQUEST,
    }
    more = CreatePartitionsTopic(name="valid", count=4, assignments=None)
    assert await grown(peer, more, validate_only=True) == {"valid": 0}
    assert len(node.broker.image.topics["valid"].partitions) == 2


# --- deleting records


async def records_deleted(
    peer: Peer, *wanted: tuple[str, int, int], version: int = 2
) -> list[tuple[str, int, int, int]]:
    request = DeleteRecordsRequest(
        timeout_ms=TIMEOUT_MS,
        topics=[
            DeleteRecordsTopic(
                name=name, partitions=[DeleteRecordsPartition(partition_index=index, offset=offset)]
            )
            for name, index, offset in wanted
        ],
    )
    answer = await peer.ask(request, DeleteRecordsResponse, version)
    return [
        (topic.name, partition.partition_index, partition.low_watermark, partition.error_code)
        for topic in answer.topics
        for partition in topic.partitions
    ]


@pytest.mark.parametrize("version", range(3))
async def test_records_are_deleted(node: KafkaNode, peer: Peer, version: int) -> None:
    await node.create_topic("t", 2)
    node.fill("t", 10)
    node.fill("t", 10, 1)
    answers = await records_deleted(peer, ("t", 0, 4), ("t", 1, -1), version=version)
    assert answers == [("t", 0, 4, 0), ("t", 1, 10, 0)]
    assert node.broker.partition("t", 0).log_start_offset == 4
    assert await records_deleted(peer, ("t", 0, 2), version=version) == [("t", 0, 4, 0)]


async def test_records_that_cannot_be_deleted(node: KafkaNode, peer: Peer) -> None:
    await node.create_topic("t")
    await node.create_topic("compacted", config={"cleanup.policy": "compact"})
    await node.create_topic("both", config={"cleanup.policy": "compact,delete"})
    out_of_range, unknown = ErrorCode.OFFSET_OUT_OF_RANGE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    for wanted, code in (
        (("t", 0, 1), out_of_range),
        (("t", 0, -2), out_of_range),
        (("t", 1, 0), unknown),
        (("none", 0, 0), unknown),
        (("compacted", 0, 0), ErrorCode.POLICY_VIOLATION),
        (("__consumer_offsets", 0, 0), ErrorCode.INVALID_TOPIC_EXCEPTION),
    ):
        assert await records_deleted(peer, wanted) == [(*wanted[:2], -1, code)]
    assert await records_deleted(peer, ("both", 0, 0)) == [("both", 0, 0, 0)]
