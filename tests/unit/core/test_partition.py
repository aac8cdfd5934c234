"""A partition: what is staged, written, committed and read, and what its end means to those who wait."""

from __future__ import annotations

import errno

import pytest
from tests.support.logs import batch_of, staged, values_in
from tests.support.storage_node import Slot, StorageNode

from mainstem.core.errors import (
    FencedLeaderEpoch,
    NotLeaderOrFollower,
    OffsetOutOfRange,
    PolicyViolation,
    RecordsDamaged,
    StorageFailed,
    UnknownLeaderEpoch,
)
from mainstem.core.partition import READ_UNCOMMITTED, FetchResult, Partition
from mainstem.log.errors import LogCorrupt


class Reader:
    def __init__(self, partition: Partition) -> None:
        self.added = 0
        self.is_gone = False
        partition.add_reader(self)

    def on_committed(self, added_bytes: int, added_stable_bytes: int) -> None:
        assert added_stable_bytes == added_bytes  # nothing is transactional here
        self.added += added_bytes

    def on_gone(self) -> None:
        self.is_gone = True


async def made(**config: str) -> tuple[StorageNode, Partition]:
    node = await StorageNode().start()
    await node.create("t", **config)
    return node, node.partition("t")


def read(
    partition: Partition, offset: int, max_bytes: int = 1 << 20, *, at_least_one: bool = True
) -> FetchResult:
    return partition.read(offset, max_bytes, isolation=READ_UNCOMMITTED, at_least_one=at_least_one)


async def test_what_is_staged_in_a_turn_is_written_together_and_answered_in_order() -> None:
    _, partition = await made()
    slots = [Slot() for _ in range(3)]
    firsts = [partition.stage(staged([batch_of(b"x", b"y")]), slot, 0) for slot in slots]
    assert firsts == [True, False, False]
    assert partition.log_end_offset == 0
    partition.write_staged()
    assert [slot.results[0].base_offset for slot in slots] == [0, 2, 4]
    assert partition.high_watermark == partition.log_end_offset == 6
    assert (partition.messages_in, partition.bytes_in) == (6, partition.log.size_bytes)
    partition.write_staged()
    assert partition.log_end_offset == 6


async def test_with_acks_after_disk_nothing_is_answered_or_read_before_the_disk_has_it() -> None:
    node, partition = await made(acks_after="disk")
    node.durability.is_held = True
    reader = Reader(partition)
    slots = [node.produce("t", b"%d" % number) for number in range(3)]
    assert not any(slot.results for slot in slots)
    assert (partition.high_watermark, partition.log_end_offset, reader.added) == (0, 3, 0)
    assert read(partition, 0).records is None
    node.durability.release()
    assert [slot.results[0].base_offset for slot in slots] == [0, 1, 2]
    assert partition.high_watermark == 3
    assert reader.added == partition.log.size_bytes
    assert read(partition, 0).records is not None


async def test_with_flush_messages_1_every_append_waits_for_the_disk_and_outlives_a_power_loss() -> None:
    """As in Kafka, where the append flushes before it is answered."""
    node, partition = await made(flush_messages="1")
    node.durability.is_held = True
    slots = [node.produce("t", b"%d" % number) for number in range(3)]
    assert not any(slot.results for slot in slots)
    assert partition.high_watermark == 0
    node.durability.release()
    assert [slot.results[0].base_offset for slot in slots] == [0, 1, 2]
    for number in range(3, 20):
        assert node.produce("t", b"%d" % number).error is None
    node.disk.lose_power()
    await node.start()
    assert values_in(node.partition("t").log) == {number: b"%d" % number for number in range(20)}


async def test_the_append_that_reaches_flush_messages_waits_for_the_disk() -> None:
    node, partition = await made(flush_messages="3")
    node.durability.is_held = True
    first = [node.produce("t", b"%d" % number) for number in range(2)]
    assert [slot.results[0].base_offset for slot in first] == [0, 1]
    third = node.produce("t", b"2")
    assert not third.results
    node.durability.release()
    assert third.results[0].base_offset == 2
    assert partition.log.recovery_point == 3
    node.durability.is_held = True
    assert node.produce("t", b"3").error is None  # counted anew
    node.disk.lose_power()
    await node.start()
    found = values_in(node.partition("t").log)
    assert {offset: found[offset] for offset in range(3)} == {0: b"0", 1: b"1", 2: b"2"}


async def test_a_repeated_batch_is_answered_with_its_first_offset_once_that_is_committed() -> None:
    node, partition = await made(acks_after="disk")
    node.durability.is_held = True
    batch = batch_of(b"once", producer=(9, 0, 0))
    slots = [Slot(), Slot()]
    for slot in slots:
        partition.stage(staged([batch]), slot, 0)
        partition.write_staged()
    assert partition.log_end_offset == 1
    assert not slots[1].results  # the first is not on disk yet, so the second must not be told that it is
    node.durability.release()
    assert [slot.results[0].base_offset for slot in slots] == [0, 0]


async def test_readers_see_what_is_committed_and_no_offset_beyond_the_end() -> None:
    node, partition = await made()
    for number in range(4):
        node.produce("t", b"%d" % number)
    partition.delete_records(1)
    for offset in (0, 5, -1):
        with pytest.raises(OffsetOutOfRange):
            read(partition, offset)
    assert read(partition, 4).records is None
    one = read(partition, 1, 1)
    assert one.records is not None
    assert one.records.length > 1  # a whole batch, however small the limit
    assert read(partition, 1, 1, at_least_one=False).records is None
    assert (one.high_watermark, one.last_stable_offset, one.log_start_offset) == (4, 4, 1)
    assert partition.bytes_out == one.records.length


async def test_records_are_deleted_up_to_the_high_watermark_only() -> None:
    node, partition = await made(acks_after="disk")
    node.produce("t", b"committed")
    node.durability.is_held = True
    node.produce("t", b"not yet")
    with pytest.raises(OffsetOutOfRange):
        partition.delete_records(2)
    assert partition.delete_records(1) == 1
    assert partition.delete_records(0) == 1
    _, compacted = await made(cleanup_policy="compact")
    with pytest.raises(PolicyViolation):
        compacted.delete_records(0)


async def test_a_full_disk_refuses_and_forgets_nothing() -> None:
    node, partition = await made()
    node.produce("t", b"before")
    node.disk.capacity_bytes = 0
    slot = node.produce("t", b"too much")
    assert isinstance(slot.error, StorageFailed)
    assert (partition.log_end_offset, partition.is_open) == (1, True)
    assert read(partition, 0).records is not None
    node.disk.capacity_bytes = None
    assert node.produce("t", b"after").results[0].base_offset == 1


async def test_an_io_error_takes_the_directory_offline_and_tells_everybody() -> None:
    node = await StorageNode().start()
    await node.create("t", partitions=2, acks_after="disk")
    partition, other = node.partition("t"), node.partition("t", 1)
    node.durability.is_held = True
    waiting, reader, other_reader = node.produce("t", b"waits"), Reader(partition), Reader(other)
    node.disk.fault = lambda operation, _: OSError(errno.EIO, "as asked") if operation == "write" else None
    slot = node.produce("t", b"fails")
    assert isinstance(slot.error, StorageFailed)
    assert isinstance(waiting.error, StorageFailed)
    assert reader.is_gone
    assert other_reader.is_gone
    assert not partition.is_open
    assert not other.is_open
    assert list(node.directories.offline) == ["/data"]
    with pytest.raises(StorageFailed):
        node.partition("t", 1)


async def test_too_many_open_files_are_no_failing_disk() -> None:
    node, partition = await made()
    node.produce("t", b"before")
    for segment in partition.log.segments:
        segment.close_files()
    node.disk.fault = lambda operation, _: OSError(errno.EMFILE, "as asked") if operation == "open" else None
    assert isinstance(node.produce("t", b"x").error, StorageFailed)
    with pytest.raises(StorageFailed):
        read(partition, 0)
    node.disk.fault = None
    assert partition.is_open
    assert node.produce("t", b"after").results[0].base_offset == 1


async def test_what_nobody_foresaw_is_told_to_the_producers_and_hangs_nobody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    node, partition = await made()

    def surprise(*_: object) -> None:
        raise RuntimeError("as asked")

    with monkeypatch.context() as patch:
        patch.setattr(partition.log, "append", surprise)
        assert isinstance(node.produce("t", b"x").error, RuntimeError)
    assert node.produce("t", b"y").results[0].base_offset == 0


async def test_damage_is_told_to_who_reads_it_and_takes_nothing_offline(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    node, partition = await made()
    node.produce("t", b"x")

    def damaged(*_: object, **__: object) -> None:
        raise LogCorrupt("as asked")

    monkeypatch.setattr(partition.log, "locate", damaged)
    with pytest.raises(RecordsDamaged):
        read(partition, 0)
    assert partition.is_open
    assert node.produce("t", b"y").error is None


async def test_closing_answers_everybody_who_waits() -> None:
    node, partition = await made(acks_after="disk")
    node.durability.is_held = True
    waiting, reader, unwritten = node.produce("t", b"x"), Reader(partition), Slot()
    partition.stage(staged([batch_of(b"y")]), unwritten, 0)
    partition.close(NotLeaderOrFollower("moved"))
    assert isinstance(waiting.error, NotLeaderOrFollower)
    assert isinstance(unwritten.error, NotLeaderOrFollower)
    assert reader.is_gone
    node.durability.release()
    assert len(waiting.results) == 1


async def test_a_batch_of_the_brokers_own_follows_what_is_staged() -> None:
    node, partition = await made()
    slot = Slot()
    partition.stage(staged([batch_of(b"staged")]), slot, 0)
    committed: list[Exception | None] = []
    assert partition.append_now(batch_of(b"own", b"two"), committed.append) == 2
    assert slot.results[0].base_offset == 0
    assert committed == [None]
    node.disk.capacity_bytes = 0
    with pytest.raises(StorageFailed):
        partition.append_now(batch_of(b"own"), committed.append)
    assert committed == [None]


async def test_leader_epochs_of_clients_are_compared_with_ours() -> None:
    _, partition = await made()
    partition.leader_epoch = 5
    partition.check_leader_epoch(-1)
    partition.check_leader_epoch(5)
    with pytest.raises(FencedLeaderEpoch):
        partition.check_leader_epoch(4)
    with pytest.raises(UnknownLeaderEpoch):
        partition.check_leader_epoch(6)
