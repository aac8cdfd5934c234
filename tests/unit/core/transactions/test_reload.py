"""A crash at each step: what was promised is kept, what was decided is finished."""

from __future__ import annotations

import pytest
from tests.support.simulated_clock import settle
from tests.support.transaction_world import PROTOCOLS, TXN, A, B, TransactionWorld, outcomes

from mainstem.core.errors import InvalidProducerIdMapping, StorageFailed
from mainstem.core.transactions.records import TransactionRecord, decode_record, encode_record
from mainstem.core.transactions.states import TransactionState


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("is_commit", [True, False])
@pytest.mark.parametrize("kept", [0, 1])
async def test_a_crash_around_the_decision(
    world: TransactionWorld, protocol: int, is_commit: bool, kept: int
) -> None:
    producer = await world.producer(protocol=protocol)
    before = producer.me
    await producer.write(A, B)
    world.log.commits_at_once = False
    waiting = world.start_task(producer.end(is_commit=is_commit))
    assert await outcomes([waiting]) == ["waits"]
    assert world.partitions.attempts == 0  # no marker before the decision is certain
    await world.restart(kept=kept)
    world.log.commits_at_once = True
    world.log.commit()
    await settle()
    assert world.partitions.ends(A) == ([is_commit] if kept else [])
    producer.me = before
    if not kept:
        assert world.state() is TransactionState.ONGOING
    await producer.end(is_commit=is_commit)  # the client asks again, as it had no answer
    await settle()
    assert world.partitions.ends(A) == world.partitions.ends(B) == [is_commit]


@pytest.mark.parametrize("kept", [0, 1])
async def test_a_crash_around_the_last_record(world: TransactionWorld, kept: int) -> None:
    producer = await world.producer()
    await producer.write(A)
    world.log.commits_at_once = False
    waiting = world.start_task(producer.commit())
    await settle()
    world.log.commit()
    await settle()
    assert await outcomes([waiting]) == [None]
    assert world.log.uncommitted == 1  # that it is complete
    await world.restart(kept=kept)
    world.log.commit()
    await settle()
    assert world.state() is TransactionState.COMPLETE_COMMIT
    assert world.partitions.ends(A) == [True]
    assert len(world.partitions.markers[A]) == 2 - kept


async def test_a_crash_between_two_markers(world: TransactionWorld) -> None:
    producer = await world.producer()
    world.partitions.refusals[B] = StorageFailed("not now")
    await producer.write(A, B)
    await producer.commit()
    await world.restart()
    assert world.partitions.ends(B) == []
    world.partitions.refusals.clear()
    await world.clock.elapse(5_000)
    assert world.partitions.ends(A) == world.partitions.ends(B) == [True]
    assert {marker.coordinator_epoch for marker in world.partitions.markers[B]} == {2}


async def test_an_open_transaction_survives(world: TransactionWorld) -> None:
    producer = await world.producer()
    await producer.write(A)
    await world.restart()
    await producer.write(B)
    await producer.commit()
    await settle()
    assert world.partitions.ends(A) == world.partitions.ends(B) == [True]


async def test_a_partition_is_not_added_before_the_log_says_so(world: TransactionWorld) -> None:
    producer = await world.producer()
    world.log.commits_at_once = False
    waiting = world.start_task(producer.write(A))
    assert await outcomes([waiting]) == ["waits"]
    await world.restart()
    assert world.state() is TransactionState.EMPTY


async def test_a_refused_append_changes_nothing(world: TransactionWorld) -> None:
    producer = await world.producer()
    await producer.write(A)
    world.log.refusal = StorageFailed("disk full")
    before = world.stored()
    attempts = [world.start_task(attempt) for attempt in (producer.write(B), producer.commit())]
    await outcomes(attempts)
    assert all(task.exception() is not None for task in attempts)
    assert world.stored() == before
    world.log.refusal = None
    await producer.commit()
    await settle()
    assert world.partitions.ends(A) == [True]


async def test_the_last_record_is_written_when_the_log_takes_it_again(world: TransactionWorld) -> None:
    world.partitions.refusals[A] = StorageFailed("not now")
    producer = await world.producer()
    await producer.write(A)
    await producer.commit()
    world.partitions.refusals.clear()
    world.log.refusal = StorageFailed("disk full")
    await world.clock.elapse(5_000)
    assert world.state() is TransactionState.PREPARE_COMMIT
    world.log.refusal = None
    await world.clock.elapse(5_000)
    assert world.state() is TransactionState.COMPLETE_COMMIT
    assert len(world.partitions.markers[A]) == 1


async def test_a_failed_commit_loads_anew_and_ends_what_the_log_has(world: TransactionWorld) -> None:
    producer = await world.producer()
    await producer.write(A)
    world.log.commits_at_once = False
    waiting = world.start_task(producer.commit())
    await settle()
    world.log.fail(StorageFailed("gone"))
    assert (await outcomes([waiting]))[0] is not None
    world.log.commits_at_once = True
    await world.clock.elapse(2_000)
    for _ in range(200):  # a load reads in a thread
        await world.coordinator.loaded()
        await world.clock.elapse(50)
        if world.state() is TransactionState.COMPLETE_COMMIT:
            break
    assert world.partitions.ends(A) == [True]


async def test_records_are_what_they_were(world: TransactionWorld) -> None:
    producer = await world.producer()
    await producer.write(A, B, A._replace(partition=3))
    stored = world.stored()
    assert stored is not None
    for record in (TransactionRecord(TXN, stored), TransactionRecord(TXN, None)):
        assert decode_record(*encode_record(record)) == record
    key, value = encode_record(TransactionRecord(TXN, stored))
    assert value is not None
    for strange in [(b"", value), (b"\x00\x09x", value), (key, b""), (key, b"\x00\x07xx"), (key[:3], value)]:
        assert decode_record(*strange) is None


async def test_what_a_closed_coordinator_is_asked(world: TransactionWorld) -> None:
    producer = await world.producer()
    world.coordinator.close()
    with pytest.raises(Exception, match="elsewhere"):
        await producer.write(A)
    await world.start(world.log.after_crash())
    producer.transactional_id = "other"
    with pytest.raises(InvalidProducerIdMapping):
        await producer.write(A)
