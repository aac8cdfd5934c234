"""confluent-kafka's AdminClient: groups and their offsets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import (
    Consumer,
    ConsumerGroupState,
    ConsumerGroupTopicPartitions,
    KafkaError,
    KafkaException,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient
from tests.conformance.conftest import NewName
from tests.support.confluent import QUICK_MEMBER, poll_members, produce_all


class Member(Consumer):
    """A consumer that knows its group and its topic."""

    def __init__(self, config: dict[str, Any], topic: str) -> None:
        super().__init__(config)
        self.group: str = config["group.id"]
        self.topic = topic
        self.subscribe([topic])


@pytest.fixture
def member(bootstrap: str, new_group: NewName, new_topic: NewName) -> Iterator[Member]:
    """The one member of a group, with both partitions of a topic, which hold ten messages each."""
    topic = new_topic(2)
    produce_all(bootstrap, topic, [{"value": b"v", "partition": n % 2} for n in range(20)])
    settings = {
        "bootstrap.servers": bootstrap,
        "group.id": new_group(),
        "client.id": "a client",
        "enable.auto.commit": False,
        **QUICK_MEMBER,
    }
    consumer = Member(settings, topic)
    poll_members([consumer], lambda: len(consumer.assignment()) == 2, "the member has both partitions")
    yield consumer
    consumer.close()


def test_lists_groups(admin: AdminClient, member: Member) -> None:
    listed = admin.list_consumer_groups().result(20)
    assert not listed.errors
    (mine,) = [group for group in listed.valid if group.group_id == member.group]
    assert (mine.state, mine.is_simple_consumer_group) == (ConsumerGroupState.STABLE, False)

    empty = admin.list_consumer_groups(states={ConsumerGroupState.EMPTY}).result(20)
    assert member.group not in {group.group_id for group in empty.valid}
    member.close()
    empty = admin.list_consumer_groups(states={ConsumerGroupState.EMPTY}).result(20)
    assert member.group in {group.group_id for group in empty.valid}


def test_describes_a_group(admin: AdminClient, member: Member) -> None:
    described = admin.describe_consumer_groups([member.group], include_authorized_operations=True)
    group = described[member.group].result(20)
    assert group.state == ConsumerGroupState.STABLE
    assert group.partition_assignor == "range"
    assert group.coordinator.port > 0
    (described_member,) = group.members
    assert described_member.client_id == "a client"
    assert described_member.host.lstrip("/") == "127.0.0.1"
    assigned = described_member.assignment.topic_partitions
    assert [(p.topic, p.partition) for p in assigned] == [(member.topic, 0), (member.topic, 1)]


def test_describes_a_group_that_is_not_there(admin: AdminClient, new_group: NewName) -> None:
    name = new_group()
    future = admin.describe_consumer_groups([name])[name]
    assert future.result(20).state == ConsumerGroupState.DEAD


def test_lists_and_alters_offsets(bootstrap: str, admin: AdminClient, member: Member) -> None:
    member.commit(offsets=[TopicPartition(member.topic, 0, 3, metadata="note")], asynchronous=False)

    def offsets(*wanted: TopicPartition) -> dict[tuple[str, int], int]:
        request = ConsumerGroupTopicPartitions(member.group, list(wanted) or None)
        found = admin.list_consumer_group_offsets([request])[member.group].result(20)
        return {(p.topic, p.partition): p.offset for p in found.topic_partitions}

    assert offsets() == {(member.topic, 0): 3}
    assert offsets(TopicPartition(member.topic, 0), TopicPartition(member.topic, 1)) == {
        (member.topic, 0): 3,
        (member.topic, 1): -1001,
    }

    moved = ConsumerGroupTopicPartitions(member.group, [TopicPartition(member.topic, 1, 9)])
    refused = admin.alter_consumer_group_offsets([moved])[member.group].result(20)
    assert refused.topic_partitions[0].error.code() == KafkaError.UNKNOWN_MEMBER_ID  # it has members
    member.close()
    admin.alter_consumer_group_offsets([moved])[member.group].result(20)
    assert offsets() == {(member.topic, 0): 3, (member.topic, 1): 9}

    # A member of the group goes on from there.
    settings = {"bootstrap.servers": bootstrap, "group.id": member.group, **QUICK_MEMBER}
    successor = Member(settings, member.topic)
    read: list[tuple[int, int]] = []
    poll_members(
        [successor],
        lambda: len(read) == 8,
        "eight are left",
        lambda m: read.append((m.partition(), m.offset())),
    )
    successor.close()
    assert sorted(read) == [*((0, offset) for offset in range(3, 10)), (1, 9)]


def test_deletes_groups(admin: AdminClient, member: Member, new_group: NewName) -> None:
    def delete(group: str) -> None:
        admin.delete_consumer_groups([group])[group].result(20)

    member.commit(offsets=[TopicPartition(member.topic, 0, 3)], asynchronous=False)
    with pytest.raises(KafkaException) as refused:
        delete(member.group)
    assert refused.value.args[0].code() == KafkaError.NON_EMPTY_GROUP
    with pytest.raises(KafkaException) as refused:
        delete(new_group())
    assert refused.value.args[0].code() == KafkaError.GROUP_ID_NOT_FOUND

    member.close()
    delete(member.group)
    listed = admin.list_consumer_groups().result(20)
    assert member.group not in {group.group_id for group in listed.valid}


def test_a_commit_without_a_group_of_members(
    bootstrap: str, admin: AdminClient, new_topic: NewName, new_group: NewName
) -> None:
    """A consumer that assigns itself commits too; its group is a simple one."""
    topic, group = new_topic(), new_group()
    produce_all(bootstrap, topic, [b"v"] * 3)
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group, "enable.auto.commit": False})
    consumer.assign([TopicPartition(topic, 0, 0)])
    consumer.commit(offsets=[TopicPartition(topic, 0, 2)], asynchronous=False)
    assert consumer.committed([TopicPartition(topic, 0)], timeout=10)[0].offset == 2
    consumer.close()
    (listed,) = [g for g in admin.list_consumer_groups().result(20).valid if g.group_id == group]
    assert (listed.state, listed.is_simple_consumer_group) == (ConsumerGroupState.EMPTY, True)


def test_a_note_that_is_too_long_is_refused(member: Member) -> None:
    long_note = TopicPartition(member.topic, 0, 3, metadata="n" * 5_000)
    with pytest.raises(KafkaException) as refused:
        member.commit(offsets=[long_note], asynchronous=False)
    assert refused.value.args[0].code() == KafkaError.OFFSET_METADATA_TOO_LARGE
