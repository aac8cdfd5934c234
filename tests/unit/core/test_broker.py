"""The facade: what a produce or a fetch leaves behind, and who is told what."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from pathlib import Path

import pytest
from tests.support.kafka_node import KafkaNode
from tests.support.logs import batch_of
from tests.support.simulated_clock import settle

from mainstem.core.broker import HIGH_WATERMARK, ProduceEntry, RecordDeletion
from mainstem.core.errors import (
    CorruptBatch,
    InvalidRequest,
    InvalidTopicName,
    NotEnoughReplicas,
    OffsetOutOfRange,
    RequestTimedOut,
    UnknownTopicOrPartition,
)
from mainstem.core.fetch_request import FetchEntry
from mainstem.core.partition import FetchResult, ProduceResult
from mainstem.model.batch import Buffer
from mainstem.ports.disk import RealFile

GOOD = batch_of(b"value")


@pytest.fixture
async def node(tmp_path: Path) -> AsyncIterator[KafkaNode]:
    node = await KafkaNode(tmp_path).start()
    yield node
    await node.stop()


@pytest.fixture
def no_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


async def produced(node: KafkaNode, *entries: ProduceEntry, acks: int = -1) -> list[ProduceResult]:
    done: asyncio.Future[Sequence[ProduceResult]] = asyncio.get_running_loop().create_future()
    node.broker.produce(entries, acks=acks, timeout_ms=30_000, done=done.set_result)
    return list(await done)


async def fetched(node: KafkaNode, *entries: FetchEntry, min_bytes: int = 0) -> list[FetchResult]:
    done: asyncio.Future[Sequence[FetchResult]] = asyncio.get_running_loop().create_future()
    node.broker.fetch(
        entries, min_bytes=min_bytes, max_bytes=1 << 20, max_wait_ms=1_000, isolation=0, done=done.set_result
    )
    return list(await done)


def is_let_go(buffer: bytearray) -> bool:
    """Whether nobody looks at the buffer any more: only then its size may change."""
    try:
        buffer.append(0)
    except BufferError:
        return False
    return True


@pytest.mark.parametrize(
    ("topic", "damage"),
    [("t", lambda data: data[:-1] + b"!"), ("t", lambda data: data[:40]), ("nobody", bytes), ("t", bytes)],
)
@pytest.mark.usefixtures("no_collector")
async def test_a_produce_holds_its_bytes_until_it_is_answered_and_no_longer(
    node: KafkaNode, topic: str, damage: Callable[[bytes], bytes]
) -> None:
    """An error that remembers where it was raised would keep them until somebody collects garbage."""
    await node.create_topic("t")
    buffer = bytearray(damage(GOOD))
    results = await produced(node, ProduceEntry(topic, 0, memoryview(buffer)))
    is_good = topic == "t" and damage is bytes
    assert (results[0].error is None) == is_good
    await settle()
    assert is_let_go(buffer)


async def test_each_partition_of_a_produce_has_its_own_outcome(node: KafkaNode) -> None:
    await node.create_topic("t", 2)
    await node.create_topic("strict", 1, {"min.insync.replicas": "2"})
    records: list[tuple[str, int, Buffer | None]] = [
        ("t", 0, GOOD),
        ("t", 1, GOOD[:-1] + b"!"),
        ("t", 2, GOOD),
        ("nobody", 0, GOOD),
        ("strict", 0, GOOD),
        ("t", 1, None),
        ("t", 1, GOOD + GOOD),
    ]
    results = await produced(node, *(ProduceEntry(*each) for each in records))
    assert [type(result.error) for result in results] == [
        type(None),
        CorruptBatch,
        UnknownTopicOrPartition,
        UnknownTopicOrPartition,
        NotEnoughReplicas,
        InvalidRequest,
        type(None),
    ]
    assert (results[0].base_offset, results[6].base_offset) == (0, 0)
    assert node.broker.partition("t", 1).high_watermark == 2
    assert (await produced(node, ProduceEntry("strict", 0, GOOD), acks=1))[0].error is None


async def test_a_produce_of_nothing_is_answered(node: KafkaNode) -> None:
    assert await produced(node) == []


async def test_one_turn_of_the_loop_writes_a_partition_once(
    node: KafkaNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    await node.create_topic("t")
    writes: list[int] = []
    write = RealFile.write

    def counted(file: RealFile, buffers: Sequence[Buffer], position: int) -> int:
        writes.append(len(buffers))
        return write(file, buffers, position)

    monkeypatch.setattr(RealFile, "write", counted)
    results = await asyncio.gather(*(produced(node, ProduceEntry("t", 0, GOOD)) for _ in range(50)))
    assert sorted(each[0].base_offset for each in results) == list(range(50))
    assert writes == [100]


async def test_who_waits_for_a_disk_that_does_not_answer_is_told_so(
    node: KafkaNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    await node.create_topic("t", 1, {"acks.after": "disk"})
    log = node.broker.partition("t", 0).log
    monkeypatch.setattr(node.replicas._durability, "commit", lambda *_: None)
    answers: list[Sequence[ProduceResult]] = []
    node.broker.produce([ProduceEntry("t", 0, GOOD)], acks=-1, timeout_ms=1_000, done=answers.append)
    await settle()
    assert log.log_end_offset == 1
    await node.clock.elapse(900)
    assert not answers
    await node.clock.elapse(700)
    assert [type(result.error) for result in answers[0]] == [RequestTimedOut]
    assert node.broker.partition("t", 0).high_watermark == 0
    await node.clock.elapse(10_000)
    assert len(answers) == 1


@pytest.mark.usefixtures("no_collector")
async def test_a_fetch_tells_each_partition_apart(node: KafkaNode) -> None:
    topic = await node.create_topic("t", 2)
    node.fill("t", 3)
    results = await fetched(
        node,
        FetchEntry("t", 0, 0, 1 << 20),
        FetchEntry("t", 0, 99, 1 << 20),
        FetchEntry("nobody", 0, 0, 1 << 20),
        FetchEntry("t", 1, 0, 1 << 20, topic_id=topic.topic_id),
        min_bytes=1 << 20,  # an error is told at once
    )
    assert results[0].records is not None
    assert [type(result.error) for result in results] == [
        type(None),
        OffsetOutOfRange,
        UnknownTopicOrPartition,
        type(None),
    ]
    assert results[3].high_watermark == 0


async def test_records_are_deleted_up_to_the_high_watermark_and_not_beyond(node: KafkaNode) -> None:
    await node.create_topic("t", 2)
    node.fill("t", 10)
    outcomes = await node.broker.delete_records(
        [
            RecordDeletion("t", 0, 4),
            RecordDeletion("t", 0, 3),
            RecordDeletion("t", 0, 11),
            RecordDeletion("t", 1, HIGH_WATERMARK),
            RecordDeletion("nobody", 0, 1),
            RecordDeletion("__consumer_offsets", 0, 0),
        ]
    )
    assert outcomes[0] == outcomes[1] == 4
    assert isinstance(outcomes[2], OffsetOutOfRange)
    assert outcomes[3] == 0
    assert isinstance(outcomes[4], UnknownTopicOrPartition)
    assert isinstance(outcomes[5], InvalidTopicName)
    assert await node.broker.delete_records([RecordDeletion("t", 0, HIGH_WATERMARK)]) == [10]


async def test_times_are_looked_up_among_what_is_committed(node: KafkaNode) -> None:
    await node.create_topic("t")
    partition = node.broker.partition("t", 0)
    assert await node.broker.offset_for_timestamp(partition, 0) is None
    assert await node.broker.offset_of_max_timestamp(partition) is None
    now_ms = node.clock.now_ms()
    partition.append_now(batch_of(b"a", b"b", b"c", time_ms=now_ms), lambda _: None)
    found = await node.broker.offset_for_timestamp(partition, now_ms + 1)
    assert found is not None
    assert (found.offset, found.timestamp_ms) == (1, now_ms + 1)
    greatest = await node.broker.offset_of_max_timestamp(partition)
    assert greatest is not None
    assert greatest.offset == 2
    partition.high_watermark = 1
    assert await node.broker.offset_for_timestamp(partition, now_ms + 1) is None


async def test_producer_ids_never_repeat_even_across_a_restart(tmp_path: Path) -> None:
    seen: set[int] = set()
    for _ in range(2):
        node = await KafkaNode(tmp_path / "node").start()
        ids = await asyncio.gather(*(node.broker.allocate_producer_id() for _ in range(1_500)))
        assert all(epoch == 0 for _, epoch in ids)
        assert seen.isdisjoint(number for number, _ in ids)
        seen.update(number for number, _ in ids)
        await node.stop()
    assert len(seen) == 3_000
