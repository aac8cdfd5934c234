"""kafka-python 3's admin client, which speaks more of the protocol's admin requests than librdkafka."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from kafka import KafkaAdminClient, KafkaConsumer, OffsetAndMetadata, OffsetSpec, TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType
from kafka.errors import (
    GroupIdNotFoundError,
    GroupSubscribedToTopicError,
    InvalidPartitionsError,
    TopicAlreadyExistsError,
    UnknownTopicOrPartitionError,
)
from tests.conformance.conftest import NewName
from tests.support.confluent import produce_all, read_topic
from tests.support.deadline import eventually


@pytest.fixture(scope="module")
def client(bootstrap: str) -> Iterator[KafkaAdminClient]:
    admin = KafkaAdminClient(bootstrap_servers=bootstrap)
    yield admin
    admin.close()


def test_topics(client: KafkaAdminClient, new_name: NewName) -> None:
    topic = new_name()
    client.create_topics({topic: {"num_partitions": 2, "replication_factor": 1}}, wait_for_metadata=True)
    with pytest.raises(TopicAlreadyExistsError):
        client.create_topics({topic: {"num_partitions": 2, "replication_factor": 1}})
    assert topic in client.list_topics()

    (described,) = client.describe_topics([topic])
    assert [p["partition_index"] for p in sorted(described["partitions"], key=str)] == [0, 1]
    client.create_partitions({topic: 4})
    with pytest.raises(InvalidPartitionsError):
        client.create_partitions({topic: 4})
    client.delete_topics([topic])
    with pytest.raises(UnknownTopicOrPartitionError):
        client.delete_topics([topic])


def test_describes_partitions_page_by_page(client: KafkaAdminClient, new_topic: NewName) -> None:
    topic = new_topic(5)
    partitions: list[int] = []
    pages, cursor = 0, None
    while pages == 0 or cursor is not None:
        page = client.describe_topic_partitions([topic], response_partition_limit=2, cursor=cursor)
        partitions += [p["partition_index"] for each in page["topics"] for p in each["partitions"]]
        pages, cursor = pages + 1, page["next_cursor"]
    assert (partitions, pages) == ([0, 1, 2, 3, 4], 3)


def test_describes_the_cluster(client: KafkaAdminClient, bootstrap: str) -> None:
    cluster = client.describe_cluster()
    (broker,) = cluster["brokers"]
    assert f"{broker['host']}:{broker['port']}" == bootstrap
    assert cluster["controller_id"] == broker["broker_id"]
    assert not broker["is_fenced"]


def test_configurations(client: KafkaAdminClient, new_topic: NewName) -> None:
    topic = new_topic(1, {"segment.ms": "70000"})

    def changed() -> dict[str, str]:
        described = client.describe_configs([ConfigResource(ConfigResourceType.TOPIC, topic)])
        return {
            name: entry["value"]
            for name, entry in described["topic"][topic].items()
            if entry["config_source"] == "DYNAMIC_TOPIC_CONFIG"
        }

    assert changed() == {"segment.ms": "70000"}
    client.alter_configs(
        [ConfigResource(ConfigResourceType.TOPIC, topic, configs={"retention.bytes": "5000"})]
    )
    assert changed() == {"segment.ms": "70000", "retention.bytes": "5000"}
    client.reset_configs([ConfigResource(ConfigResourceType.TOPIC, topic, configs={"segment.ms": None})])
    assert changed() == {"retention.bytes": "5000"}


def test_directories_of_the_log(bootstrap: str, client: KafkaAdminClient, new_topic: NewName) -> None:
    topic = new_topic(2)
    produce_all(bootstrap, topic, [{"value": b"v" * 1_000, "partition": 0}])
    (broker,) = client.describe_log_dirs()
    (directory,) = broker["log_dirs"]
    assert directory["error_code"] == 0
    assert directory["total_bytes"] > directory["usable_bytes"] > 0
    (mine,) = [each for each in directory["topics"] if each["name"] == topic]
    sizes = {p["partition_index"]: p["partition_size"] for p in mine["partitions"]}
    assert sizes[0] > 1_000
    assert sizes[1] == 0
    assert not any(p["offset_lag"] or p["is_future_key"] for p in mine["partitions"])


def test_nothing_is_being_reassigned(client: KafkaAdminClient, new_topic: NewName) -> None:
    new_topic(2)
    assert client.list_partition_reassignments() == {}


def test_offsets_of_partitions(bootstrap: str, client: KafkaAdminClient, new_topic: NewName) -> None:
    topic = new_topic()
    partition = TopicPartition(topic, 0)
    for at in (1_000, 3_000, 2_000):
        produce_all(bootstrap, topic, [{"value": b"v", "timestamp": at}])

    def offset(spec: OffsetSpec | int) -> int:
        return client.list_partition_offsets({partition: spec})[partition].offset

    assert [offset(s) for s in (OffsetSpec.EARLIEST, OffsetSpec.LATEST, OffsetSpec.MAX_TIMESTAMP)] == [
        0,
        3,
        1,
    ]
    deleted = client.delete_records({partition: 2})
    assert deleted[partition]["low_watermark"] == 2
    assert offset(OffsetSpec.EARLIEST) == 2
    assert [message.offset() for message in read_topic(bootstrap, topic)] == [2]


def test_groups_and_their_offsets(
    bootstrap: str, client: KafkaAdminClient, new_topic: NewName, new_group: NewName
) -> None:
    topic, group = new_topic(2), new_group()
    first, second = TopicPartition(topic, 0), TopicPartition(topic, 1)
    produce_all(bootstrap, topic, [{"value": b"v", "partition": n % 2} for n in range(10)])

    def offsets() -> dict[TopicPartition, int]:
        return {p: found.offset for p, found in client.list_group_offsets([group])[group].items()}

    altered = client.alter_group_offsets(
        group, {first: OffsetAndMetadata(3, "note", -1), second: OffsetAndMetadata(4, "", -1)}
    )
    assert {error.errno for error in altered.values()} == {0}
    assert offsets() == {first: 3, second: 4}
    client.reset_group_offsets(group, {first: OffsetSpec.LATEST})
    assert offsets() == {first: 5, second: 4}
    client.delete_group_offsets(group, [second])
    assert offsets() == {first: 5}

    described = client.describe_groups([group])[group]
    assert (described["group_state"], described["members"]) == ("Empty", [])
    (listed,) = [each for each in client.list_groups() if each["group_id"] == group]
    assert (listed["group_state"], listed["group_type"]) == ("Empty", "classic")
    assert client.delete_groups([group]) == {group: "OK"}
    assert client.delete_groups([group]) == {group: GroupIdNotFoundError.__name__}


def test_offsets_of_a_subscribed_topic_cannot_be_deleted(
    bootstrap: str, client: KafkaAdminClient, new_topic: NewName, new_group: NewName
) -> None:
    topic, group = new_topic(), new_group()
    consumer = KafkaConsumer(topic, bootstrap_servers=bootstrap, group_id=group)
    try:
        consumer.partitions_for_topic(topic)  # it may lead the group before it knows the topic
        eventually(lambda: consumer.poll(timeout_ms=50) or consumer.assignment(), "the member is in")
        consumer.commit({TopicPartition(topic, 0): OffsetAndMetadata(0, "", -1)})
        refused = client.delete_group_offsets(group, [TopicPartition(topic, 0)])
        assert refused[TopicPartition(topic, 0)] is GroupSubscribedToTopicError
        assert client.describe_groups([group])[group]["group_state"] == "Stable"
    finally:
        consumer.close()


def test_tells_which_requests_it_speaks(client: KafkaAdminClient) -> None:
    versions = {key.value: span for key, span in client.api_versions().items()}
    assert versions[0][1] >= 10  # Produce
    assert versions[1][0] <= 4 <= 12 <= versions[1][1]  # Fetch
    assert versions[3][1] >= 12  # Metadata
    assert versions[18] == (0, 4)  # ApiVersions
