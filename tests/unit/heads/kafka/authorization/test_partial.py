"""Requests of which a part is refused: the rest is done, and nothing is told of what may not be seen."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.support.kafka_node import KafkaNode, Peer
from tests.unit.heads.kafka.authorization.cases import BATCH

from mainstem.core.identity.acl import (
    CLUSTER_NAME,
    AccessRule,
    Operation,
    Permission,
    ResourcePattern,
    ResourceType,
)
from mainstem.core.identity.principal import Principal
from mainstem.heads.kafka.authorized_operations import OPERATIONS_NOT_ASKED_FOR
from mainstem.heads.kafka.codes import ErrorCode
from mainstem.model.ids import ZERO_TOPIC_ID
from mainstem.wire.kafka.messages import (
    create_topics,
    delete_topics,
    describe_cluster,
    describe_groups,
    describe_topic_partitions,
    fetch,
    init_producer_id,
    list_groups,
    metadata,
    offset_commit,
    offset_delete,
    offset_fetch,
    produce,
)

ALICE = Principal("User", "alice")
TOPIC, GROUP, CLUSTER = ResourceType.TOPIC, ResourceType.GROUP, ResourceType.CLUSTER
READ, WRITE, DESCRIBE = Operation.READ, Operation.WRITE, Operation.DESCRIBE
DENIED = ErrorCode.TOPIC_AUTHORIZATION_FAILED
UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@pytest.fixture
async def node(tmp_path: Path) -> AsyncIterator[KafkaNode]:
    node = await KafkaNode(tmp_path, {"authorizer.class.name": "standard"}).start()
    for name in ("mine", "theirs"):
        await node.create_topic(name)
        node.fill(name, 2)
    yield node
    await node.stop()


@pytest.fixture
def alice(node: KafkaNode) -> Peer:
    return node.peer(principal=ALICE)


def grant(node: KafkaNode, *granted: tuple[ResourceType, str, Operation]) -> None:
    rules: dict[ResourcePattern, tuple[AccessRule, ...]] = {}
    for resource_type, name, operation in granted:
        pattern = ResourcePattern(resource_type, name)
        rule = AccessRule(str(ALICE), "*", operation, Permission.ALLOW)
        rules[pattern] = (*rules.get(pattern, ()), rule)
    assert node.authorizer is not None
    node.authorizer.use(rules)


# --- hot


def produced(*names: str, acks: int = -1) -> produce.ProduceRequest:
    data = [
        produce.TopicProduceData(
            name=name, partition_data=[produce.PartitionProduceData(index=0, records=BATCH)]
        )
        for name in names
    ]
    return produce.ProduceRequest(acks=acks, timeout_ms=5000, topic_data=data)


async def test_produce_writes_what_it_may(node: KafkaNode, alice: Peer) -> None:
    grant(node, (TOPIC, "mine", WRITE), (TOPIC, "absent", WRITE))
    request = produced("theirs", "mine", "absent", "absent too")
    answer = await alice.ask(request, produce.ProduceResponse, 9)
    codes = {topic.name: topic.partition_responses[0].error_code for topic in answer.responses}
    assert codes == {"theirs": DENIED, "mine": 0, "absent": UNKNOWN, "absent too": DENIED}
    assert node.broker.partition("mine", 0).high_watermark == 3
    assert node.broker.partition("theirs", 0).high_watermark == 2


async def test_a_right_that_is_taken_away_counts_for_a_producer_that_goes_on(
    node: KafkaNode, alice: Peer
) -> None:
    grant(node, (TOPIC, "mine", WRITE))
    for _ in range(3):
        answer = await alice.ask(produced("mine"), produce.ProduceResponse, 9)
        assert answer.responses[0].partition_responses[0].error_code == 0
    grant(node)
    answer = await alice.ask(produced("mine"), produce.ProduceResponse, 9)
    assert answer.responses[0].partition_responses[0].error_code == DENIED
    assert node.broker.partition("mine", 0).high_watermark == 5


async def test_nobody_else_writes_by_the_route_that_somebody_made(node: KafkaNode, alice: Peer) -> None:
    grant(node, (TOPIC, "mine", WRITE))
    await alice.ask(produced("mine"), produce.ProduceResponse, 9)
    bob = node.peer(principal=Principal("User", "bob"))
    for _ in range(2):
        answer = await bob.ask(produced("mine"), produce.ProduceResponse, 9)
        assert answer.responses[0].partition_responses[0].error_code == DENIED
    assert node.broker.partition("mine", 0).high_watermark == 3


async def test_a_refused_producer_that_wants_no_answer_loses_its_connection(
    node: KafkaNode, alice: Peer
) -> None:
    grant(node)
    alice.send(produced("theirs", acks=0), 9).cancel()
    assert alice.channel.is_closed
    assert node.broker.partition("theirs", 0).high_watermark == 2


def fetched(*names: str, epoch: int = -1) -> fetch.FetchRequest:
    topics = [fetch.FetchTopic(topic=name, partitions=[fetch.FetchPartition(partition=0)]) for name in names]
    return fetch.FetchRequest(max_wait_ms=0, max_bytes=1 << 20, session_epoch=epoch, topics=topics)


async def test_fetch_reads_what_it_may(node: KafkaNode, alice: Peer) -> None:
    grant(node, (TOPIC, "mine", READ), (TOPIC, "absent", READ))
    for epoch in (-1, 0):
        request = fetched("theirs", "mine", "absent", "absent too", epoch=epoch)
        answer = await alice.ask(request, fetch.FetchResponse, 12)
        found = {topic.topic: topic.partitions[0] for topic in answer.responses}
        codes = {name: partition.error_code for name, partition in found.items()}
        assert codes == {"theirs": DENIED, "mine": 0, "absent": UNKNOWN, "absent too": DENIED}
        assert found["mine"].records
        assert not found["theirs"].records
        assert found["theirs"].high_watermark == -1


async def test_a_session_is_asked_each_time(node: KafkaNode, alice: Peer) -> None:
    grant(node, (TOPIC, "mine", READ), (TOPIC, "theirs", READ))
    first = await alice.ask(fetched("theirs", "mine", epoch=0), fetch.FetchResponse, 12)
    grant(node, (TOPIC, "mine", READ))
    following = fetch.FetchRequest(max_wait_ms=0, session_id=first.session_id, session_epoch=1, topics=[])
    answer = await alice.ask(following, fetch.FetchResponse, 12)
    codes = {topic.topic: topic.partitions[0].error_code for topic in answer.responses}
    assert codes["theirs"] == DENIED


# --- topics


async def test_a_list_of_all_topics_has_those_that_may_be_seen(node: KafkaNode, alice: Peer) -> None:
    grant(node, (TOPIC, "mine", DESCRIBE))
    for version in (0, 1, 12):
        everything = metadata.MetadataRequest(topics=[] if version == 0 else None)
        answer = await alice.ask(everything, metadata.MetadataResponse, version)
        assert [topic.name for topic in answer.topics] == ["mine"]
    assert node.authorizer is not None
    assert node.authorizer.denied_count == 0
    request = describe_topic_partitions.DescribeTopicPartitionsRequest()
    page = await alice.ask(request, describe_topic_partitions.DescribeTopicPartitionsResponse, 0)
    assert [topic.name for topic in page.topics] == ["mine"]


async def test_metadata_does_not_tell_whether_a_topic_exists(node: KafkaNode, alice: Peer) -> None:
    grant(node)
    for version in (0, 4, 12):
        for name in ("theirs", "absent"):
            asked = metadata.MetadataRequest(topics=[metadata.MetadataRequestTopic(name=name)])
            answer = await alice.ask(asked, metadata.MetadataResponse, version)
            (topic,) = answer.topics
            assert (topic.name, topic.error_code, topic.topic_id) == (name, DENIED, ZERO_TOPIC_ID)
            assert topic.partitions == []
    assert "absent" not in node.broker.image.topics


async def test_an_id_does_not_tell_the_name(node: KafkaNode, alice: Peer) -> None:
    grant(node)
    topic_id = node.broker.image.topics["theirs"].topic_id
    asked = metadata.MetadataRequest(topics=[metadata.MetadataRequestTopic(name=None, topic_id=topic_id)] * 2)
    answer = await alice.ask(asked, metadata.MetadataResponse, 12)
    (topic,) = answer.topics
    assert (topic.name, topic.error_code, topic.topic_id) == (None, DENIED, topic_id)
    doomed = delete_topics.DeleteTopicsRequest(
        topics=[delete_topics.DeleteTopicState(name=None, topic_id=topic_id)], timeout_ms=5000
    )
    deleted = await alice.ask(doomed, delete_topics.DeleteTopicsResponse, 6)
    assert (deleted.responses[0].name, deleted.responses[0].error_code) == (None, DENIED)
    grant(node, (TOPIC, "theirs", DESCRIBE))
    deleted = await alice.ask(doomed, delete_topics.DeleteTopicsResponse, 6)
    assert (deleted.responses[0].name, deleted.responses[0].error_code) == ("theirs", DENIED)
    assert "theirs" in node.broker.image.topics


async def test_a_topic_comes_into_being_by_a_right_on_it_or_on_the_cluster(
    node: KafkaNode, alice: Peer
) -> None:
    asked = metadata.MetadataRequest(topics=[metadata.MetadataRequestTopic(name="new")])
    grant(node, (TOPIC, "new", DESCRIBE))
    answer = await alice.ask(asked, metadata.MetadataResponse, 12)
    assert answer.topics[0].error_code == DENIED
    assert "new" not in node.broker.image.topics
    grant(node, (TOPIC, "new", DESCRIBE), (CLUSTER, CLUSTER_NAME, Operation.CREATE))
    assert (await alice.ask(asked, metadata.MetadataResponse, 12)).topics[0].error_code == 0
    asked.topics = [metadata.MetadataRequestTopic(name="newer")]
    asked.allow_auto_topic_creation = False
    grant(node, (TOPIC, "newer", DESCRIBE))
    assert (await alice.ask(asked, metadata.MetadataResponse, 12)).topics[0].error_code == UNKNOWN


async def test_topics_are_created_as_far_as_allowed(node: KafkaNode, alice: Peer) -> None:
    def wanted(*names: str) -> create_topics.CreateTopicsRequest:
        topics = [
            create_topics.CreatableTopic(name=name, num_partitions=1, replication_factor=1) for name in names
        ]
        return create_topics.CreateTopicsRequest(topics=topics, timeout_ms=5000)

    grant(node, (TOPIC, "a", Operation.CREATE), (TOPIC, "a", Operation.DESCRIBE_CONFIGS))
    answer = await alice.ask(wanted("a", "b"), create_topics.CreateTopicsResponse, 7)
    made = {topic.name: topic for topic in answer.topics}
    assert (made["a"].error_code, made["b"].error_code) == (0, DENIED)
    assert made["a"].configs
    grant(node, (CLUSTER, CLUSTER_NAME, Operation.CREATE))
    answer = await alice.ask(wanted("c"), create_topics.CreateTopicsResponse, 7)
    (unseen,) = answer.topics
    assert (unseen.error_code, unseen.topic_config_error_code) == (0, DENIED)
    assert (unseen.configs, unseen.num_partitions, unseen.replication_factor) == (None, -1, -1)
    assert {"a", "c"} <= set(node.broker.image.topics)
    assert "b" not in node.broker.image.topics


async def test_topics_are_deleted_as_far_as_allowed(node: KafkaNode, alice: Peer) -> None:
    grant(node, (TOPIC, "mine", Operation.DELETE))
    doomed = delete_topics.DeleteTopicsRequest(topic_names=["mine", "theirs", "absent"], timeout_ms=5000)
    answer = await alice.ask(doomed, delete_topics.DeleteTopicsResponse, 5)
    codes = {topic.name: topic.error_code for topic in answer.responses}
    assert codes == {"mine": 0, "theirs": DENIED, "absent": DENIED}
    grant(node, (TOPIC, "absent", DESCRIBE), (TOPIC, "theirs", DESCRIBE))
    answer = await alice.ask(doomed, delete_topics.DeleteTopicsResponse, 5)
    codes = {topic.name: topic.error_code for topic in answer.responses}
    assert codes == {"mine": DENIED, "theirs": DENIED, "absent": UNKNOWN}
    grant(node, (CLUSTER, CLUSTER_NAME, Operation.DELETE))
    answer = await alice.ask(doomed, delete_topics.DeleteTopicsResponse, 5)
    codes = {topic.name: topic.error_code for topic in answer.responses}
    assert codes == {"mine": UNKNOWN, "theirs": 0, "absent": UNKNOWN}


# --- groups


async def test_offsets_are_committed_and_fetched_as_far_as_allowed(node: KafkaNode, alice: Peer) -> None:
    grant(node, (GROUP, "g", READ), (TOPIC, "mine", READ), (TOPIC, "theirs", READ))
    topics = [
        offset_commit.OffsetCommitRequestTopic(
            name=name, partitions=[offset_commit.OffsetCommitRequestPartition(committed_offset=1)]
        )
        for name in ("mine", "theirs")
    ]
    commit = offset_commit.OffsetCommitRequest(group_id="g", topics=topics)

    async def commit_codes() -> dict[str, int]:
        answer = await alice.ask(commit, offset_commit.OffsetCommitResponse, 9)
        return {topic.name: topic.partitions[0].error_code for topic in answer.topics}

    assert await commit_codes() == {"mine": 0, "theirs": 0}
    grant(node, (GROUP, "g", READ), (TOPIC, "mine", READ))
    assert await commit_codes() == {"mine": 0, "theirs": DENIED}
    named = [offset_fetch.OffsetFetchRequestTopics(name=name, partition_indexes=[0]) for name in ("theirs",)]
    # The same group twice: a list of all beside a list of names must not show what one may not see.
    groups = [
        offset_fetch.OffsetFetchRequestGroup(group_id="g", topics=None),
        offset_fetch.OffsetFetchRequestGroup(group_id="g", topics=named),
        offset_fetch.OffsetFetchRequestGroup(group_id="other", topics=None),
    ]
    request = offset_fetch.OffsetFetchRequest(groups=groups)
    answer = await alice.ask(request, offset_fetch.OffsetFetchResponse, 8)
    for group in answer.groups:
        if group.group_id == "other":
            assert (group.error_code, group.topics) == (ErrorCode.GROUP_AUTHORIZATION_FAILED, [])
        for topic in group.topics:
            partition = topic.partitions[0]
            shown = (partition.committed_offset, partition.error_code)
            assert shown == ((1, 0) if topic.name == "mine" else (-1, DENIED))
    for version in (2, 7):
        everything = offset_fetch.OffsetFetchRequest(group_id="g", topics=None)
        old = await alice.ask(everything, offset_fetch.OffsetFetchResponse, version)
        assert [topic.name for topic in old.topics] == ["mine"]


async def test_offsets_are_deleted_as_far_as_allowed(node: KafkaNode, alice: Peer) -> None:
    grant(node, (GROUP, "g", Operation.ALL), (TOPIC, "mine", READ), (TOPIC, "theirs", READ))
    topics = [
        offset_commit.OffsetCommitRequestTopic(
            name=name, partitions=[offset_commit.OffsetCommitRequestPartition(committed_offset=1)]
        )
        for name in ("mine", "theirs")
    ]
    commit = offset_commit.OffsetCommitRequest(group_id="g", topics=topics)
    await alice.ask(commit, offset_commit.OffsetCommitResponse, 9)
    grant(node, (GROUP, "g", Operation.ALL), (TOPIC, "mine", READ))
    doomed = [
        offset_delete.OffsetDeleteRequestTopic(
            name=name, partitions=[offset_delete.OffsetDeleteRequestPartition()]
        )
        for name in ("mine", "theirs", "absent")
    ]
    request = offset_delete.OffsetDeleteRequest(group_id="g", topics=doomed)
    answer = await alice.ask(request, offset_delete.OffsetDeleteResponse, 0)
    assert answer.error_code == 0
    codes = {topic.name: topic.partitions[0].error_code for topic in answer.topics}
    assert codes == {"mine": 0, "theirs": DENIED, "absent": DENIED}
    left = await node.broker.groups.fetch_offsets("g")
    assert [offset.topic for offset in left] == ["theirs"]


async def test_groups_are_listed_as_far_as_they_may_be_seen(node: KafkaNode, alice: Peer) -> None:
    grant(node, (GROUP, "g", READ), (GROUP, "h", READ), (TOPIC, "mine", READ))
    for group_id in ("g", "h"):
        topic = offset_commit.OffsetCommitRequestTopic(
            name="mine", partitions=[offset_commit.OffsetCommitRequestPartition(committed_offset=1)]
        )
        request = offset_commit.OffsetCommitRequest(group_id=group_id, topics=[topic])
        await alice.ask(request, offset_commit.OffsetCommitResponse, 9)

    async def listed() -> set[str]:
        answer = await alice.ask(list_groups.ListGroupsRequest(), list_groups.ListGroupsResponse, 4)
        return {group.group_id for group in answer.groups}

    assert await listed() == {"g", "h"}
    grant(node, (GROUP, "h", Operation.DELETE))
    assert await listed() == {"h"}
    grant(node, (CLUSTER, CLUSTER_NAME, DESCRIBE))
    assert await listed() == {"g", "h"}


# --- operations


async def test_the_operations_that_one_may_carry_out_are_told(node: KafkaNode, alice: Peer) -> None:
    grant(
        node,
        (TOPIC, "mine", WRITE),
        (GROUP, "g", READ),
        (CLUSTER, CLUSTER_NAME, Operation.ALTER),
    )
    asked = metadata.MetadataRequest(
        topics=[metadata.MetadataRequestTopic(name="mine")],
        include_topic_authorized_operations=True,
        include_cluster_authorized_operations=True,
    )
    answer = await alice.ask(asked, metadata.MetadataResponse, 8)
    assert answer.topics[0].topic_authorized_operations == 1 << WRITE | 1 << DESCRIBE
    assert answer.cluster_authorized_operations == 1 << Operation.ALTER | 1 << DESCRIBE
    groups = describe_groups.DescribeGroupsRequest(groups=["g", "h"], include_authorized_operations=True)
    described = await alice.ask(groups, describe_groups.DescribeGroupsResponse, 5)
    operations = {group.group_id: group.authorized_operations for group in described.groups}
    assert operations == {"g": 1 << READ | 1 << DESCRIBE, "h": OPERATIONS_NOT_ASKED_FOR}
    cluster = describe_cluster.DescribeClusterRequest(include_cluster_authorized_operations=True)
    grant(node)
    told = await alice.ask(cluster, describe_cluster.DescribeClusterResponse, 1)
    assert told.cluster_authorized_operations == 0


async def test_an_idempotent_producer_needs_some_topic_to_write_to(node: KafkaNode, alice: Peer) -> None:
    async def code() -> int:
        request = init_producer_id.InitProducerIdRequest(transactional_id=None)
        return (await alice.ask(request, init_producer_id.InitProducerIdResponse, 4)).error_code

    grant(node, (TOPIC, "mine", READ))
    assert await code() == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    grant(node, (TOPIC, "mine", WRITE))
    assert await code() == 0
    grant(node, (CLUSTER, CLUSTER_NAME, Operation.IDEMPOTENT_WRITE))
    assert await code() == 0
