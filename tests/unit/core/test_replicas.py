"""What a node has open follows what the metadata say, and never makes anew what may only be out of reach."""

from __future__ import annotations

import errno

import pytest
from tests.support.logs import values_in
from tests.support.storage_node import StorageNode

from mainstem.core.errors import NotLeaderOrFollower, StorageFailed, UnknownTopicOrPartition
from mainstem.core.image import MetadataDelta, PartitionImage, TopicImage
from mainstem.core.partition import Partition


class Listener:
    topic = "t"

    def __init__(self) -> None:
        self.led: list[Partition] = []

    def on_leader(self, partition: Partition) -> None:
        self.led.append(partition)

    def on_resigned(self, partition: Partition) -> None:
        self.led.remove(partition)


async def test_topics_come_and_go_with_the_metadata() -> None:
    node = await StorageNode().start()
    listener = Listener()
    node.replicas.listen(listener)
    await node.create("t", partitions=2)
    await node.create("other")
    assert set(node.replicas.partitions) == {("t", 0), ("t", 1), ("other", 0)}
    assert [partition.topic_partition.partition for partition in listener.led] == [0, 1]
    partition = node.partition("t")
    await node.delete("t")
    assert not partition.is_open
    assert listener.led == []
    assert {log.topic_partition.partition for log in node.durability.forgotten} == {0, 1}  # type: ignore[attr-defined]
    with pytest.raises(UnknownTopicOrPartition):
        node.partition("t")
    with pytest.raises(UnknownTopicOrPartition):
        node.partition("other", 7)


async def test_partitions_that_are_added_are_made() -> None:
    node = await StorageNode().start()
    await node.create("t")
    node.produce("t", b"kept")
    known = node.topics["t"]
    grown = TopicImage("t", known.topic_id, known.partitions * 3)
    node.topics["t"] = grown
    await node.replicas.apply(node.image, MetadataDelta(changed=(grown,)))
    assert node.produce("t", b"x", partition=2).error is None
    assert values_in(node.partition("t").log) == {0: b"kept"}


async def test_options_are_taken_over_while_it_runs() -> None:
    node = await StorageNode().start()
    await node.create("t")
    known = node.topics["t"]
    changed = TopicImage("t", known.topic_id, known.partitions, {"retention.ms": "5"})
    node.topics["t"] = changed
    await node.replicas.apply(node.image, MetadataDelta(changed=(changed,)))
    assert node.partition("t").config.retention_ms == 5


async def test_a_topic_of_the_same_name_does_not_get_the_old_records() -> None:
    node = await StorageNode().start()
    await node.create("t")
    node.produce("t", b"old")
    old = node.topics["t"]
    new = TopicImage("t", b"another topic id".ljust(16)[:16], old.partitions)  # type: ignore[arg-type]
    node.topics["t"] = new
    await node.replicas.apply(node.image, MetadataDelta(created=(new,), removed=(old,)))
    assert node.partition("t").log_end_offset == 0


async def test_a_leader_elsewhere_is_where_clients_are_sent() -> None:
    node = await StorageNode().start()
    await node.create("t")
    partition = node.partition("t")
    known = node.topics["t"]
    moved = TopicImage("t", known.topic_id, (PartitionImage((1, 2), (1, 2), 2, 1),))
    node.topics["t"] = moved
    await node.replicas.apply(node.image, MetadataDelta(changed=(moved,)))
    assert not partition.is_open
    with pytest.raises(NotLeaderOrFollower):
        node.partition("t")


async def test_a_start_without_a_directory_does_not_make_its_partitions_anew() -> None:
    node = await StorageNode(paths=["/one", "/two"]).start()
    await node.create("t", partitions=4)
    for index in range(4):
        node.produce("t", b"%d" % index, partition=index)
    bad = {index for index in range(4) if node.partition("t", index).log.directory.startswith("/two")}
    node.stop()
    node.disk.fault = lambda _, path: OSError(errno.EIO, "as asked") if path.startswith("/two") else None
    await node.start()
    for index in range(4):
        if index in bad:
            with pytest.raises(StorageFailed):
                node.partition("t", index)
        else:
            assert values_in(node.partition("t", index).log) == {0: b"%d" % index}
    await node.create("later", partitions=2)  # new ones go where there is a disk
    assert node.partition("later", 1).log.directory.startswith("/one")
    node.stop()
    node.disk.fault = None
    await node.start()
    assert [values_in(node.partition("t", index).log) for index in range(4)] == [
        {0: b"%d" % index} for index in range(4)
    ]


async def test_no_room_for_a_new_partition_leaves_it_offline_and_the_rest_alone() -> None:
    node = await StorageNode().start()
    await node.create("t")
    node.disk.fault = lambda operation, path: (
        OSError(errno.ENOSPC, "no room") if operation == "create" and "/late-0/" in path else None
    )
    await node.create("late")
    with pytest.raises(StorageFailed):
        node.partition("late")
    assert node.produce("t", b"x").error is None


async def test_a_new_directory_that_fails_is_left_out_of_the_rest() -> None:
    node = await StorageNode(paths=["/one", "/two"]).start()
    node.disk.fault = lambda _, path: OSError(errno.EIO, "as asked") if path.startswith("/one/") else None
    await node.create("t", partitions=3)
    assert {node.partition("t", index).log.directory.split("/")[1] for index in range(3)} == {"two"}
    assert list(node.directories.offline) == ["/one"]


async def test_what_was_acknowledged_is_there_after_a_crash() -> None:
    node = await StorageNode().start()
    await node.create("t", acks_after="disk")
    for number in range(20):
        assert node.produce("t", b"%d" % number).error is None
    node.disk.lose_power()
    await node.start()
    assert values_in(node.partition("t").log) == {number: b"%d" % number for number in range(20)}
    assert node.partition("t").high_watermark == 20
