"""aiokafka: producer, consumer, groups and admin on one event loop."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic, RecordsToDelete
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import MessageSizeTooLargeError, ProducerFenced
from tests.conformance.conftest import NewName
from tests.support.confluent import produce_all, read_topic

PATIENCE_S = 30


@contextlib.asynccontextmanager
async def started(client: Any) -> AsyncIterator[Any]:
    await client.start()
    try:
        yield client
    finally:
        await (client.close() if isinstance(client, AIOKafkaAdminClient) else client.stop())


def reader(bootstrap: str, *topics: str, **settings: Any) -> Any:
    defaults = {"enable_auto_commit": False, "auto_offset_reset": "earliest", "fetch_max_wait_ms": 100}
    return started(AIOKafkaConsumer(*topics, bootstrap_servers=bootstrap, **{**defaults, **settings}))


def writer(bootstrap: str, **settings: Any) -> Any:
    return started(AIOKafkaProducer(bootstrap_servers=bootstrap, **settings))


async def become_true(is_so: Callable[[], bool], what: str) -> None:
    deadline = asyncio.get_running_loop().time() + PATIENCE_S
    while not is_so():
        assert asyncio.get_running_loop().time() < deadline, f"still not: {what}"
        await asyncio.sleep(0.02)


async def take(consumer: AIOKafkaConsumer, count: int) -> list[Any]:
    async with asyncio.timeout(PATIENCE_S):
        return [await consumer.getone() for _ in range(count)]


@pytest.mark.parametrize("codec", [None, "gzip", "snappy", "lz4", "zstd"])
async def test_writes_and_reads_back(bootstrap: str, new_topic: NewName, codec: str | None) -> None:
    topic = new_topic(2)
    async with writer(bootstrap, compression_type=codec, linger_ms=5) as producer:
        reports = [
            await producer.send(
                topic,
                value=b"value %d " % n * 20,
                key=b"key %d" % n,
                headers=[("n", b"%d" % n), ("empty", b"")],
                partition=n % 2,
                timestamp_ms=1_700_000_000_000 + n,
            )
            for n in range(400)
        ]
        delivered = await asyncio.gather(*reports)
    assert [(d.partition, d.offset) for d in delivered] == [(n % 2, n // 2) for n in range(400)]

    async with reader(bootstrap, topic) as consumer:
        read = sorted(await take(consumer, 400), key=lambda m: (m.partition, m.offset))
    numbers = [*range(0, 400, 2), *range(1, 400, 2)]
    assert [(m.key, m.value, m.timestamp, m.headers) for m in read] == [
        (
            b"key %d" % n,
            b"value %d " % n * 20,
            1_700_000_000_000 + n,
            (("n", b"%d" % n), ("empty", b"")),
        )
        for n in numbers
    ]


@pytest.mark.parametrize("acks", [0, 1, "all"])
async def test_acks(bootstrap: str, new_topic: NewName, acks: int | str) -> None:
    topic = new_topic()
    async with writer(bootstrap, acks=acks) as producer, reader(bootstrap, topic) as consumer:
        for n in range(20):
            report = await producer.send_and_wait(topic, b"%d" % n)
            if acks != 0:
                assert report.offset == n
        assert [m.value for m in await take(consumer, 20)] == [b"%d" % n for n in range(20)]


async def test_an_idempotent_producer(bootstrap: str, new_topic: NewName) -> None:
    topic = new_topic(3)
    async with writer(bootstrap, enable_idempotence=True) as producer:
        reports = [await producer.send(topic, b"%d" % n, partition=n % 3) for n in range(900)]
        delivered = await asyncio.gather(*reports)
    assert [(d.partition, d.offset) for d in delivered] == [(n % 3, n // 3) for n in range(900)]


async def test_a_batch_of_its_own(bootstrap: str, new_topic: NewName) -> None:
    topic = new_topic()
    async with writer(bootstrap) as producer:
        batch = producer.create_batch()
        for n in range(10):
            assert batch.append(key=None, value=b"%d" % n, timestamp=None) is not None
        report = await (await producer.send_batch(batch, topic, partition=0))
    assert report.offset == 0
    assert [m.value() for m in read_topic(bootstrap, topic)] == [b"%d" % n for n in range(10)]


async def test_too_large_is_refused(bootstrap: str, new_topic: NewName) -> None:
    topic = new_topic(1, {"max.message.bytes": "1000"})
    async with writer(bootstrap) as producer:
        with pytest.raises(MessageSizeTooLargeError):
            await producer.send_and_wait(topic, b"v" * 2_000)
        assert (await producer.send_and_wait(topic, b"v")).offset == 0


async def test_positions(bootstrap: str, new_topic: NewName) -> None:
    topic = new_topic(2)
    first, second = TopicPartition(topic, 0), TopicPartition(topic, 1)
    produce_all(
        bootstrap, topic, [{"value": str(n), "timestamp": 1_000 * (n + 1), "partition": 0} for n in range(10)]
    )
    async with reader(bootstrap) as consumer:
        consumer.assign([first, second])
        assert await consumer.beginning_offsets([first, second]) == {first: 0, second: 0}
        assert await consumer.end_offsets([first, second]) == {first: 10, second: 0}
        at = await consumer.offsets_for_times({first: 4_500, second: 0})
        assert (at[first].offset, at[first].timestamp, at[second]) == (4, 5_000, None)
        consumer.seek(first, 7)
        assert [m.offset for m in await take(consumer, 3)] == [7, 8, 9]
        await consumer.seek_to_beginning(first)
        assert (await take(consumer, 1))[0].offset == 0
        await consumer.seek_to_end(first)
        assert await consumer.position(first) == 10
        assert consumer.highwater(first) == 10


async def test_a_waiting_fetch_is_answered_at_once(bootstrap: str, new_topic: NewName) -> None:
    topic = new_topic()
    loop = asyncio.get_running_loop()
    async with (
        writer(bootstrap) as producer,
        reader(bootstrap, topic, fetch_max_wait_ms=10_000) as consumer,
    ):
        for _ in range(3):
            receive = asyncio.create_task(take(consumer, 1))
            await asyncio.sleep(0.1)  # the fetch is on its way and waits
            began = loop.time()
            await producer.send_and_wait(topic, b"now")
            await receive
            assert loop.time() - began < 2


async def test_a_group_of_two(bootstrap: str, new_topic: NewName, new_group: NewName) -> None:
    topic, group = new_topic(4), new_group()
    produce_all(bootstrap, topic, [{"value": b"v", "partition": n % 4} for n in range(40)])
    settings = {"group_id": group, "heartbeat_interval_ms": 200}
    async with reader(bootstrap, topic, **settings) as first:
        assert len(await take(first, 40)) == 40
        async with reader(bootstrap, topic, **settings) as second:
            await become_true(lambda: len(first.assignment()) == len(second.assignment()) == 2, "two share")
            assert not first.assignment() & second.assignment()
            await second.commit(dict.fromkeys(second.assignment(), 7))
            kept = {partition: await first.committed(partition) for partition in second.assignment()}
            assert set(kept.values()) == {7}
        await become_true(lambda: len(first.assignment()) == 4, "the first has all")
        await first.commit({TopicPartition(topic, partition): (10, "note") for partition in range(4)})

    async with reader(bootstrap, topic, **settings) as successor:
        await become_true(lambda: len(successor.assignment()) == 4, "the successor has all")
        assert {await successor.position(partition) for partition in successor.assignment()} == {10}
        produce_all(bootstrap, topic, [b"new"])
        assert (await take(successor, 1))[0].value == b"new"


async def test_static_members(bootstrap: str, new_topic: NewName, new_group: NewName) -> None:
    topic, group = new_topic(2), new_group()

    def member(instance: str) -> Any:
        return reader(bootstrap, topic, group_id=group, group_instance_id=instance, heartbeat_interval_ms=200)

    async with member("a") as first:
        async with member("b") as second:
            await become_true(lambda: len(first.assignment()) == len(second.assignment()) == 1, "two share")
            had = second.assignment()
        async with member("b") as returned:
            await become_true(lambda: returned.assignment() == had, "it has what it had")


async def test_admin(bootstrap: str, new_name: NewName) -> None:
    topic = new_name()
    async with started(AIOKafkaAdminClient(bootstrap_servers=bootstrap)) as admin:
        await admin.create_topics([NewTopic(topic, 2, 1, topic_configs={"retention.ms": "60000"})])
        assert topic in await admin.list_topics()
        (described,) = await admin.describe_topics([topic])
        assert len(described["partitions"]) == 2
        await admin.create_partitions({topic: NewPartitions(3)})

        resource = ConfigResource(ConfigResourceType.TOPIC, topic)
        (answer,) = await admin.describe_configs([resource])
        values = {entry[0]: entry[1] for entry in answer.resources[0][4]}
        assert values["retention.ms"] == "60000"
        changed = ConfigResource(ConfigResourceType.TOPIC, topic, configs={"retention.ms": "70000"})
        await admin.alter_configs([changed])
        (answer,) = await admin.describe_configs([resource])
        assert {entry[0]: entry[1] for entry in answer.resources[0][4]}["retention.ms"] == "70000"

        produce_all(bootstrap, topic, [{"value": b"v", "partition": 0}] * 5)
        await admin.delete_records({TopicPartition(topic, 0): RecordsToDelete(3)})
        assert [m.offset() for m in read_topic(bootstrap, topic)] == [3, 4]
        await admin.delete_topics([topic])


async def test_admin_of_groups(bootstrap: str, new_topic: NewName, new_group: NewName) -> None:
    topic, group = new_topic(), new_group()
    async with started(AIOKafkaAdminClient(bootstrap_servers=bootstrap)) as admin:
        async with reader(bootstrap, topic, group_id=group) as member:
            await become_true(lambda: bool(member.assignment()), "the member is in")
            await member.commit({TopicPartition(topic, 0): 0})
            (answer,) = await admin.describe_consumer_groups([group])
            error, name, state, kind, protocol, members = answer.groups[0][:6]
            assert (error, name, state, kind, protocol) == (0, group, "Stable", "consumer", "roundrobin")
            assert len(members) == 1
        assert (group, "consumer") in await admin.list_consumer_groups()
        offsets = await admin.list_consumer_group_offsets(group)
        assert offsets[TopicPartition(topic, 0)].offset == 0
        cluster = await admin.describe_cluster()
        assert len(cluster["brokers"]) == 1


async def test_transactions(bootstrap: str, new_topic: NewName, new_group: NewName) -> None:
    topic, group = new_topic(2), new_group()
    async with writer(bootstrap, transactional_id=topic) as producer:
        for number in range(6):
            await producer.begin_transaction()
            for partition in range(2):
                await producer.send_and_wait(topic, b"%d" % number, partition=partition)
            if number % 2:
                await producer.abort_transaction()
            else:
                offsets = {TopicPartition(topic, 0): number}
                await producer.send_offsets_to_transaction(offsets, group)
                await producer.commit_transaction()
        async with writer(bootstrap, transactional_id=topic) as newer:
            with pytest.raises(ProducerFenced):
                async with producer.transaction():
                    await producer.send_and_wait(topic, b"zombie", partition=0)
            async with newer.transaction():
                await newer.send(topic, b"newer", partition=1)
    async with reader(bootstrap, topic, isolation_level="read_committed", group_id=group) as consumer:
        assert await consumer.committed(TopicPartition(topic, 0)) == 4
        await consumer.seek_to_beginning()
        values = sorted([record.value for record in await take(consumer, 7)])
    assert values == [b"0", b"0", b"2", b"2", b"4", b"4", b"newer"]
