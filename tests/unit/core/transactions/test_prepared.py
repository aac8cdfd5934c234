"""Prepared transactions outlive their producers, and one decision ends all that a writer prepared."""

from __future__ import annotations

import pytest
from tests.support.simulated_clock import settle
from tests.support.transaction_world import TIMEOUT_MS, A, B, TransactionWorld, outcomes

from mainstem.core.errors import (
    ConcurrentTransactions,
    InvalidProducerIdMapping,
    InvalidRequest,
    InvalidTransactionState,
    ProducerFenced,
    StorageFailed,
)
from mainstem.core.transactions.prepared import MAX_DECISION_BYTES, AlreadyDecided, Decision
from mainstem.core.transactions.records import DecisionRecord, decode_record, encode_record
from mainstem.core.transactions.states import TransactionState
from mainstem.core.transactions.transaction import FIRST_PROTOCOL
from mainstem.core.transactions.writers import routing_part, writer_of
from mainstem.model.ids import TopicPartition

ONE, TWO, THREE = "{w}1", "{w}2", "{w}3"


def place(index: int) -> TopicPartition:
    return TopicPartition("a", index)


async def test_a_decision_commits_what_it_lists_and_aborts_the_others(world: TransactionWorld) -> None:
    for index, transactional_id in enumerate((ONE, TWO, THREE)):
        await world.prepared(transactional_id, 7, place(index))
    stranger = await world.prepared("{v}1", 7, B)
    decision = await world.coordinator.decide("w", 7, [ONE, THREE])
    assert decision == Decision(7, world.clock.now_ms(), frozenset([ONE, THREE]))
    await settle()
    assert [world.partitions.ends(place(index)) for index in range(3)] == [[True], [False], [True]]
    assert world.partitions.ends(B) == []
    assert world.state(stranger.transactional_id) is TransactionState.ONGOING
    assert world.coordinator.describe_writer("w").prepared == {}
    assert set(world.coordinator.describe_writer("v").prepared) == {"{v}1"}


async def test_a_repeated_or_older_number_changes_nothing_and_tells_what_was(world: TransactionWorld) -> None:
    await world.prepared(ONE, 7, A)
    decided = await world.coordinator.decide("w", 7, [ONE])
    await world.prepared(TWO, 8, B)
    appends = world.log.appends
    for number, listed in [(7, [ONE]), (7, []), (7, [TWO]), (3, [TWO]), (0, ["{w}unknown"])]:
        assert await world.coordinator.decide("w", number, listed) == decided
    await settle()
    assert world.log.appends == appends
    assert world.state(TWO) is TransactionState.ONGOING
    assert world.partitions.ends(B) == []


async def test_what_was_prepared_under_a_lower_number_is_aborted_and_under_a_higher_one_waits(
    world: TransactionWorld,
) -> None:
    await world.prepared(ONE, 1, place(0))
    await world.prepared(TWO, 2, place(1))
    await world.prepared(THREE, 3, place(2))
    await world.coordinator.decide("w", 2, [TWO])
    await settle()
    assert [world.partitions.ends(place(index)) for index in range(3)] == [[False], [True], []]
    assert world.coordinator.describe_writer("w").prepared.keys() == {THREE}


async def test_a_list_that_is_wrong_decides_nothing(world: TransactionWorld) -> None:
    await world.prepared(ONE, 7, A)
    await world.prepared(TWO, 6, B)
    unprepared = await world.producer(THREE)
    await unprepared.write(A)
    for listed in ([ONE, TWO], [ONE, THREE], [ONE, "{w}unknown"]):
        with pytest.raises(InvalidTransactionState, match="nothing is decided"):
            await world.coordinator.decide("w", 7, listed)
    with pytest.raises(InvalidRequest):
        await world.coordinator.decide("w", 7, [ONE, "{v}1"])
    with pytest.raises(InvalidRequest):
        await world.coordinator.decide("w", -1, [])
    for writer in ("", "a}b", "x" * 6_000):
        with pytest.raises(InvalidRequest):
            await world.coordinator.decide(writer, 1, [])
    with pytest.raises(InvalidRequest, match="bytes"):
        await world.coordinator.decide("w", 7, ["{w}" + "x" * MAX_DECISION_BYTES])
    await settle()
    assert world.partitions.markers == {}
    await world.coordinator.decide("w", 7, [ONE])
    await settle()
    assert world.partitions.ends(A) == [True]


async def test_nothing_is_prepared_under_a_number_that_is_decided(world: TransactionWorld) -> None:
    late = await world.producer(ONE)
    await late.write(A)
    await world.coordinator.decide("w", 7, [])
    for number in (7, 6):
        with pytest.raises(AlreadyDecided):
            await late.prepare(number)
    await late.abort()
    await settle()
    assert world.partitions.ends(A) == [False]


async def test_what_can_be_prepared(world: TransactionWorld) -> None:
    producer = await world.producer(ONE)
    with pytest.raises(InvalidTransactionState):  # nothing is open
        await producer.prepare(1)
    await producer.write(A)
    with pytest.raises(InvalidRequest):
        await producer.prepare(-1)
    await producer.prepare(1)
    await producer.prepare(1)  # the answer was lost
    with pytest.raises(InvalidTransactionState):
        await producer.prepare(2)
    zombie = producer.me._replace(epoch=producer.me.epoch + 1)
    with pytest.raises(ProducerFenced):
        await world.coordinator.prepare(ONE, zombie, 1)
    with pytest.raises(InvalidProducerIdMapping):
        await world.coordinator.prepare(TWO, producer.me, 1)
    plain = await world.producer("plain")
    await plain.write(A)
    with pytest.raises(InvalidRequest):
        await plain.prepare(1)


@pytest.mark.parametrize("protocol", [FIRST_PROTOCOL, 2])
async def test_a_prepared_transaction_is_out_of_its_producers_hands(
    world: TransactionWorld, protocol: int
) -> None:
    producer = await world.producer(ONE, protocol=protocol)
    await producer.write(A)
    await producer.prepare(1)
    for attempt in (producer.commit(), producer.abort(), producer.write(A), producer.write(B)):
        with pytest.raises(InvalidTransactionState):
            await attempt
    assert isinstance(await producer.verify(A), InvalidTransactionState)
    with pytest.raises(ConcurrentTransactions):
        await world.coordinator.init_producer_id(ONE, TIMEOUT_MS)
    await world.clock.elapse(10 * TIMEOUT_MS)  # nor does its time-out end it
    assert world.state(ONE) is TransactionState.ONGOING
    await world.restart()
    await world.coordinator.decide("w", 1, [ONE])
    await settle()
    (marker,) = world.partitions.markers[A]
    assert (marker.is_commit, marker.producer_epoch) == (True, 1)  # keeps the producer out
    with pytest.raises(ProducerFenced):
        await producer.write(A)
    before = producer.me.producer_id
    assert await producer.init() == (before, 2)
    await producer.write(A)
    await producer.prepare(2)


async def test_a_decision_waits_for_the_markers_of_the_one_before(world: TransactionWorld) -> None:
    world.partitions.refusals[A] = StorageFailed("not now")
    await world.prepared(ONE, 1, A)
    await world.coordinator.decide("w", 1, [ONE])
    await world.prepared(TWO, 2, B)
    waiting = world.start_task(world.coordinator.decide("w", 2, [TWO]))
    await world.clock.elapse(world.config.end_wait_ms)
    assert await outcomes([waiting]) == [ConcurrentTransactions]
    waiting = world.start_task(world.coordinator.decide("w", 2, [TWO]))
    await settle()
    world.partitions.refusals.clear()
    await world.clock.elapse(world.config.end_wait_ms - 1)
    decision = await waiting
    assert decision.number == 2
    await settle()
    assert world.partitions.ends(A) == world.partitions.ends(B) == [True]


async def test_what_nobody_decides_on_is_aborted_in_the_end(
    world: TransactionWorld, caplog: pytest.LogCaptureFixture
) -> None:
    await world.prepared(ONE, 1, A)
    await world.clock.elapse(world.config.prepared_timeout_ms - 1)
    assert world.coordinator.prepared_count == 1
    await world.clock.elapse(world.config.overdue_check_interval_ms + 1)
    assert world.partitions.ends(A) == [False]
    assert world.coordinator.counters.abandoned == 1
    assert world.coordinator.prepared_count == 0
    assert "not decided" in caplog.text
    with pytest.raises(InvalidTransactionState):
        await world.coordinator.decide("w", 1, [ONE])


async def test_ids_of_a_decision_are_soon_forgotten_and_the_decision_late(world: TransactionWorld) -> None:
    await world.prepared(ONE, 1, A)
    await world.producer("plain")
    decided = await world.coordinator.decide("w", 1, [ONE])
    config = world.config
    await world.clock.elapse(config.decided_id_expiration_ms + config.expiry_check_interval_ms)
    assert world.state(ONE) is None
    assert world.state("plain") is TransactionState.EMPTY
    await world.restart()
    assert await world.coordinator.decide("w", 1, []) == decided
    world.clock.stall(config.decision_retention_ms)
    await world.clock.elapse(config.expiry_check_interval_ms)
    assert world.coordinator.describe_writer("w").decision is None
    await world.restart()
    assert world.coordinator.list_writers() == []


@pytest.mark.parametrize("kept", [0, 1])
async def test_a_crash_around_the_preparation(world: TransactionWorld, kept: int) -> None:
    producer = await world.producer(ONE)
    await producer.write(A)
    world.log.commits_at_once = False
    waiting = world.start_task(producer.prepare(1))
    assert await outcomes([waiting]) == ["waits"]
    await world.restart(kept=kept)
    world.log.commits_at_once = True
    stored = world.stored(ONE)
    assert stored is not None
    assert stored.is_prepared is bool(kept)
    await producer.prepare(1)  # it had no answer and asks again
    await world.coordinator.decide("w", 1, [ONE])
    await settle()
    assert world.partitions.ends(A) == [True]


@pytest.mark.parametrize("kept", [0, 1])
async def test_a_crash_around_the_decision(world: TransactionWorld, kept: int) -> None:
    await world.prepared(ONE, 1, place(0))
    await world.prepared(TWO, 1, place(1))
    world.log.commits_at_once = False
    waiting = world.start_task(world.coordinator.decide("w", 1, [ONE]))
    assert await outcomes([waiting]) == ["waits"]
    assert world.partitions.attempts == 0
    await world.restart(kept=kept)
    world.log.commits_at_once = True
    world.log.commit()
    await settle()
    assert world.partitions.ends(place(0)) == ([True] if kept else [])
    assert (world.coordinator.describe_writer("w").decision is None) is not kept
    decision = await world.coordinator.decide("w", 1, [ONE])
    assert decision.committed == {ONE}
    await settle()
    assert [world.partitions.ends(place(index)) for index in range(2)] == [[True], [False]]


@pytest.mark.parametrize("committed", range(3))
@pytest.mark.parametrize("kept", [0, 1])
async def test_a_crash_while_its_transactions_are_completed(
    world: TransactionWorld, committed: int, kept: int
) -> None:
    """Some have their markers and their last record, others do not."""
    for index, transactional_id in enumerate((ONE, TWO, THREE)):
        await world.prepared(transactional_id, 1, place(index))
    world.log.commits_at_once = False
    waiting = world.start_task(world.coordinator.decide("w", 1, [ONE, TWO]))
    await settle()
    world.log.commit(1)
    await settle()
    assert waiting.done()
    world.log.commit(committed)
    await world.restart(kept=kept)
    world.log.commits_at_once = True
    world.log.commit()
    await settle()
    assert [world.partitions.ends(place(index)) for index in range(3)] == [[True], [True], [False]]
    assert all(world.state(each) in _COMPLETE for each in (ONE, TWO, THREE))


_COMPLETE = {TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT}


async def test_compaction_drops_a_decision_only_for_the_next(world: TransactionWorld) -> None:
    """What remains when each key keeps its last record says the same."""
    await world.prepared(ONE, 1, place(0))
    await world.prepared(TWO, 1, place(1))
    await world.coordinator.decide("w", 1, [ONE])
    await settle()
    await world.prepared(ONE, 2, place(0))
    await world.prepared(THREE, 2, place(2))
    before = (world.shard.transactions, world.shard.decisions)
    last: dict[bytes, object] = {}
    for record in world.log.records():
        assert record.key is not None
        key = bytes(record.key)
        last.pop(key, None)
        last[key] = decode_record(key, record.value)
    world.shard.clear(StorageFailed("for the test"))
    for kept in last.values():
        assert kept is not None
        world.shard.replay(kept)  # type: ignore[arg-type]
    assert (world.shard.transactions, world.shard.decisions) == before


def test_writers_of_ids() -> None:
    assert [writer_of(each) for each in ("{w}1", "{w}", "w", "{}1", "{w", "a{w}", "{a{b}c")] == [
        "w",
        "w",
        None,
        None,
        None,
        None,
        "a{b",
    ]
    assert routing_part("{w}1") == routing_part("{w}2") == "{w}"
    assert routing_part("{w") == "{w"


async def test_all_ids_of_a_writer_are_in_one_place(world: TransactionWorld) -> None:
    world.coordinator.set_partition_count(50)
    places = {world.coordinator.partition_for(f"{{w}}{number}") for number in range(100)}
    assert places == {world.coordinator.partition_for("{w}")}
    world.coordinator.set_partition_count(1)


def test_decisions_are_what_they_were() -> None:
    for record in (
        DecisionRecord("w", Decision(3, 5, frozenset([ONE, TWO]))),
        DecisionRecord("w", Decision(0, 0, frozenset())),
        DecisionRecord("w", None),
    ):
        assert decode_record(*encode_record(record)) == record
