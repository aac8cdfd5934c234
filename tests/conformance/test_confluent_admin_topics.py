"""confluent-kafka's AdminClient: topics, partitions, offsets, records, the cluster."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import (
    ElectionType,
    IsolationLevel,
    KafkaError,
    KafkaException,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import AclOperation, AdminClient, NewPartitions, NewTopic, OffsetSpec
from tests.conformance.conftest import NewName
from tests.support.confluent import produce_all, read_topic
from tests.support.deadline import eventually


def refusal_of(future: Any) -> KafkaError:
    """The error with which a request was refused."""
    with pytest.raises(KafkaException) as refused:
        future.result(20)
    error: KafkaError = refused.value.args[0]
    return error


def test_creates_describes_and_deletes(admin: AdminClient, new_name: NewName) -> None:
    names = [new_name(), new_name()]
    created = admin.create_topics([NewTopic(names[0], 3, 1), NewTopic(names[1], 1, 1)])
    for future in created.values():
        future.result(20)

    described = admin.describe_topics(TopicCollection(names), include_authorized_operations=True)
    first, second = (described[name].result(20) for name in names)
    assert (first.name, len(first.partitions), first.is_internal) == (names[0], 3, False)
    assert len(second.partitions) == 1
    assert [partition.id for partition in first.partitions] == [0, 1, 2]
    for partition in first.partitions:
        assert partition.leader is not None
        assert [node.id for node in partition.replicas] == [partition.leader.id]
        assert [node.id for node in partition.isr] == [partition.leader.id]
    assert first.topic_id != second.topic_id
    assert AclOperation.DELETE in first.authorized_operations
    assert set(names) <= set(admin.list_topics(timeout=10).topics)

    for future in admin.delete_topics(names).values():
        future.result(20)
    eventually(lambda: not set(names) & set(admin.list_topics(timeout=10).topics), "the topics are gone")
    gone = admin.describe_topics(TopicCollection(names))
    assert {refusal_of(gone[name]).code() for name in names} == {KafkaError.UNKNOWN_TOPIC_OR_PART}


def test_a_topic_of_default_size(admin: AdminClient, new_name: NewName) -> None:
    topic = new_name()
    admin.create_topics([NewTopic(topic)])[topic].result(20)
    described = admin.describe_topics(TopicCollection([topic]))[topic].result(20)
    assert len(described.partitions) >= 1


def test_validation_alone_creates_nothing(admin: AdminClient, new_name: NewName) -> None:
    topic = new_name()
    admin.create_topics([NewTopic(topic, 3, 1)], validate_only=True)[topic].result(20)
    gone = admin.describe_topics(TopicCollection([topic]))[topic]
    assert refusal_of(gone).code() == KafkaError.UNKNOWN_TOPIC_OR_PART


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (lambda name: NewTopic(name, 1, 100), KafkaError.INVALID_REPLICATION_FACTOR),
        (lambda name: NewTopic(name, 0, 1), KafkaError.INVALID_PARTITIONS),
        (lambda _: NewTopic("not a legal/name", 1, 1), KafkaError.TOPIC_EXCEPTION),
        (lambda _: NewTopic("..", 1, 1), KafkaError.TOPIC_EXCEPTION),
        (lambda _: NewTopic("n" * 250, 1, 1), KafkaError.TOPIC_EXCEPTION),
        (lambda name: NewTopic(name, 1, 1, config={"no.such.option": "1"}), KafkaError.INVALID_CONFIG),
        (lambda name: NewTopic(name, 1, 1, config={"retention.ms": "soon"}), KafkaError.INVALID_CONFIG),
        (lambda name: NewTopic(name, 1, 1, config={"cleanup.policy": "burn"}), KafkaError.INVALID_CONFIG),
    ],
    ids=["replicas", "no-partitions", "characters", "dots", "length", "option", "number", "policy"],
)
def test_refuses_an_impossible_topic(
    admin: AdminClient, new_name: NewName, make: Callable[[str], NewTopic], code: int
) -> None:
    wanted = make(new_name())
    error = refusal_of(admin.create_topics([wanted])[wanted.topic])
    assert error.code() == code
    assert error.str(), "a refusal says why"


def test_refuses_a_topic_that_exists(admin: AdminClient, new_topic: NewName, new_name: NewName) -> None:
    topic, fresh = new_topic(2), new_name("fresh")
    created = admin.create_topics([NewTopic(topic, 5, 1), NewTopic(fresh, 1, 1)])
    created[fresh].result(20)
    assert refusal_of(created[topic]).code() == KafkaError.TOPIC_ALREADY_EXISTS
    assert len(admin.describe_topics(TopicCollection([topic]))[topic].result(20).partitions) == 2


def test_names_that_metrics_would_confuse_collide(admin: AdminClient, new_name: NewName) -> None:
    dotted = new_name() + ".a"
    admin.create_topics([NewTopic(dotted, 1, 1)])[dotted].result(20)
    scored = dotted.replace(".", "_")
    assert (
        refusal_of(admin.create_topics([NewTopic(scored, 1, 1)])[scored]).code() == KafkaError.TOPIC_EXCEPTION
    )


def test_refuses_to_delete_what_is_not_there(admin: AdminClient, new_name: NewName) -> None:
    topic = new_name()
    assert refusal_of(admin.delete_topics([topic])[topic]).code() == KafkaError.UNKNOWN_TOPIC_OR_PART


def test_adds_partitions(bootstrap: str, admin: AdminClient, new_topic: NewName) -> None:
    topic = new_topic(1)
    produce_all(bootstrap, topic, [b"before"])
    admin.create_partitions([NewPartitions(topic, 3)], validate_only=True)[topic].result(20)
    assert len(admin.describe_topics(TopicCollection([topic]))[topic].result(20).partitions) == 1
    admin.create_partitions([NewPartitions(topic, 3)])[topic].result(20)

    eventually(
        lambda: len(admin.list_topics(topic, timeout=10).topics[topic].partitions) == 3, "3 partitions"
    )
    produce_all(bootstrap, topic, [{"value": b"after", "partition": partition} for partition in range(3)])
    read = read_topic(bootstrap, topic)
    assert [(m.partition(), m.value()) for m in read] == [
        (0, b"before"),
        (0, b"after"),
        (1, b"after"),
        (2, b"after"),
    ]


def test_refuses_fewer_partitions_and_unknown_topics(
    admin: AdminClient, new_topic: NewName, new_name: NewName
) -> None:
    topic, unknown = new_topic(3), new_name("unknown")
    for count in (1, 3):
        refused = admin.create_partitions([NewPartitions(topic, count)])[topic]
        assert refusal_of(refused).code() == KafkaError.INVALID_PARTITIONS
    refused = admin.create_partitions([NewPartitions(unknown, 2)])[unknown]
    assert refusal_of(refused).code() == KafkaError.UNKNOWN_TOPIC_OR_PART


def test_lists_offsets(bootstrap: str, admin: AdminClient, new_topic: NewName) -> None:
    topic = new_topic(2)
    for at in (1_000, 3_000, 2_000):
        produce_all(bootstrap, topic, [{"value": b"v", "timestamp": at, "partition": 0}])

    def offset(spec: OffsetSpec, partition: int = 0) -> tuple[int, int]:
        wanted = TopicPartition(topic, partition)
        found = admin.list_offsets({wanted: spec}, isolation_level=IsolationLevel.READ_UNCOMMITTED)[wanted]
        answer = found.result(20)
        return answer.offset, answer.timestamp

    assert offset(OffsetSpec.earliest()) == (0, -1)
    assert offset(OffsetSpec.latest()) == (3, -1)
    assert offset(OffsetSpec.max_timestamp()) == (1, 3_000)
    assert offset(OffsetSpec.for_timestamp(1_500)) == (1, 3_000)
    assert offset(OffsetSpec.for_timestamp(3_001)) == (-1, -1)
    assert offset(OffsetSpec.latest(), partition=1) == (0, -1)
    assert offset(OffsetSpec.max_timestamp(), partition=1) == (-1, -1)


def test_offsets_of_an_unknown_partition_are_refused(admin: AdminClient, new_topic: NewName) -> None:
    topic = new_topic(1)
    known, unknown = TopicPartition(topic, 0), TopicPartition(topic, 7)
    found = admin.list_offsets({known: OffsetSpec.latest(), unknown: OffsetSpec.latest()}, request_timeout=3)
    assert refusal_of(found[unknown]).code() in {
        KafkaError.UNKNOWN_TOPIC_OR_PART,
        KafkaError._UNKNOWN_PARTITION,
        KafkaError._TIMED_OUT,
    }


def test_deletes_records(bootstrap: str, admin: AdminClient, new_topic: NewName) -> None:
    topic = new_topic(2)
    produce_all(bootstrap, topic, [{"value": str(n), "partition": n % 2} for n in range(20)])
    first, second = TopicPartition(topic, 0, 4), TopicPartition(topic, 1, -1)  # -1: up to the end
    deleted = admin.delete_records([first, second])
    assert deleted[first].result(20).low_watermark == 4
    assert deleted[second].result(20).low_watermark == 10

    assert [(m.partition(), m.offset()) for m in read_topic(bootstrap, topic)] == [
        (0, n) for n in range(4, 10)
    ]
    produce_all(bootstrap, topic, [{"value": b"after", "partition": 1}])
    assert [m.offset() for m in read_topic(bootstrap, topic) if m.partition() == 1] == [10]


def test_refuses_to_delete_records_beyond_the_end(
    bootstrap: str, admin: AdminClient, new_topic: NewName
) -> None:
    topic = new_topic(1)
    produce_all(bootstrap, topic, [b"v"] * 3)
    beyond = TopicPartition(topic, 0, 4)
    assert refusal_of(admin.delete_records([beyond])[beyond]).code() == KafkaError.OFFSET_OUT_OF_RANGE
    assert len(read_topic(bootstrap, topic)) == 3


def test_describes_the_cluster(bootstrap: str, admin: AdminClient) -> None:
    cluster = admin.describe_cluster(include_authorized_operations=True).result(20)
    assert cluster.cluster_id
    assert cluster.cluster_id == admin.list_topics(timeout=10).cluster_id
    assert [f"{node.host}:{node.port}" for node in cluster.nodes] == [bootstrap]
    assert cluster.controller.id == cluster.nodes[0].id
    assert AclOperation.ALTER in cluster.authorized_operations


def test_an_election_finds_nothing_to_do(admin: AdminClient, new_topic: NewName) -> None:
    partition = TopicPartition(new_topic(), 0)
    elected = admin.elect_leaders(ElectionType.PREFERRED, [partition]).result(20)
    assert elected[partition].code() == KafkaError.ELECTION_NOT_NEEDED
