"""What producers are told, in both protocols, and what the partitions get."""

from __future__ import annotations

import pytest
from tests.support.simulated_clock import settle
from tests.support.transaction_world import PROTOCOLS, TIMEOUT_MS, TXN, A, B, TransactionWorld, outcomes

from mainstem.core.errors import (
    ConcurrentTransactions,
    InvalidProducerIdMapping,
    InvalidRequest,
    InvalidTransactionState,
    InvalidTransactionTimeout,
    ProducerFenced,
    StorageFailed,
    TransactionAbortable,
    TransactionalIdNotFound,
    UnknownTopicOrPartition,
)
from mainstem.core.transactions.listing import TransactionFilter
from mainstem.core.transactions.states import TransactionState
from mainstem.core.transactions.transaction import FIRST_PROTOCOL, LAST_EPOCH, SECOND_PROTOCOL
from mainstem.core.transactions.transitions import ProducerIdentity

DAY_MS = 24 * 60 * 60 * 1000


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("is_commit", [True, False])
async def test_the_end_reaches_every_partition(
    world: TransactionWorld, protocol: int, is_commit: bool
) -> None:
    producer = await world.producer(protocol=protocol)
    assert producer.me == (1000, 0)
    await producer.write(A)
    await producer.write(A, B)
    await producer.end(is_commit=is_commit)
    await settle()
    (marker,) = world.partitions.markers[A]
    assert marker.is_commit is is_commit
    assert set(marker.partitions) == {A, B}
    assert marker.coordinator_epoch == world.epoch
    wanted = TransactionState.COMPLETE_COMMIT if is_commit else TransactionState.COMPLETE_ABORT
    assert world.state() is wanted
    stored = world.stored()
    assert stored is not None
    assert not stored.partitions
    if protocol == SECOND_PROTOCOL:
        assert producer.me == (1000, 1)
        assert (marker.producer_epoch, marker.transaction_version) == (1, 2)
    else:
        assert producer.me == (1000, 0)
        assert (marker.producer_epoch, marker.transaction_version) == (0, 1)
    await producer.write(A)  # and the next one begins
    assert world.state() is TransactionState.ONGOING


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_a_repeated_end_is_told_the_same_and_another_is_refused(
    world: TransactionWorld, protocol: int
) -> None:
    producer = await world.producer(protocol=protocol)
    before = producer.me
    await producer.write(A)
    await producer.commit()
    after = producer.me
    await settle()
    producer.me = before
    await producer.commit()
    assert producer.me == after
    producer.me = before
    with pytest.raises(InvalidTransactionState):
        await producer.abort()
    assert world.partitions.ends(A) == [True]


async def test_an_end_is_repeated_while_markers_are_written(world: TransactionWorld) -> None:
    world.partitions.refusals[A] = StorageFailed("not now")
    producer = await world.producer()
    before = producer.me
    await producer.write(A)
    await producer.commit()
    after, producer.me = producer.me, before
    with pytest.raises(ConcurrentTransactions):
        await producer.commit()
    with pytest.raises(InvalidTransactionState):
        await producer.abort()
    producer.me = after
    waiting = world.start_task(producer.write(B))
    assert await outcomes([waiting]) == ["waits"]
    world.partitions.refusals.clear()
    await world.clock.elapse(80)
    assert await outcomes([waiting]) == [None]
    assert world.partitions.ends(A) == [True]


async def test_who_waits_too_long_for_the_former_end_is_sent_away(world: TransactionWorld) -> None:
    world.partitions.refusals[A] = StorageFailed("not now")
    producer = await world.producer()
    await producer.write(A)
    await producer.abort()
    waiting = [world.start_task(producer.write(B)), world.start_task(producer.init())]
    await world.clock.elapse(world.config.end_wait_ms)
    assert await outcomes(waiting) == [ConcurrentTransactions] * 2
    world.partitions.refusals.clear()
    await world.clock.elapse(5_000)
    assert world.state() is TransactionState.COMPLETE_ABORT


async def test_states_in_which_nothing_can_end(world: TransactionWorld) -> None:
    first = await world.producer("first", protocol=FIRST_PROTOCOL)
    for is_commit in (True, False):
        with pytest.raises(InvalidTransactionState):
            await first.end(is_commit=is_commit)
    second = await world.producer("second")
    with pytest.raises(InvalidTransactionState):
        await second.commit()
    await second.abort()  # its producer cannot know whether a partition was added
    assert second.me.epoch == 1
    await settle()
    await second.abort()
    assert second.me.epoch == 2
    with pytest.raises(InvalidTransactionState):
        await second.commit()


async def test_strangers_are_refused(world: TransactionWorld) -> None:
    producer = await world.producer()
    me = producer.me
    await producer.write(A)
    for wrong, error in [
        (me._replace(producer_id=7), InvalidProducerIdMapping),
        (me._replace(epoch=me.epoch + 1), ProducerFenced),
    ]:
        producer.me = wrong
        with pytest.raises(error):
            await producer.write(B)
        producer.me = wrong
        with pytest.raises(error):
            await producer.commit()
        producer.me = wrong
        assert isinstance(await producer.verify(A), error)
    producer.transactional_id = "nobody's"
    with pytest.raises(InvalidProducerIdMapping):
        await producer.write(A)
    with pytest.raises(InvalidProducerIdMapping):
        await producer.commit()
    with pytest.raises(TransactionalIdNotFound):
        world.coordinator.describe("nobody's")
    with pytest.raises(InvalidRequest):
        await world.coordinator.init_producer_id("", TIMEOUT_MS)
    for timeout_ms in (0, -1, world.config.max_timeout_ms + 1):
        with pytest.raises(InvalidTransactionTimeout):
            await world.coordinator.init_producer_id(TXN, timeout_ms)


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_a_second_producer_ends_what_the_first_left_and_fences_it(
    world: TransactionWorld, protocol: int
) -> None:
    zombie = await world.producer(protocol=protocol)
    await zombie.write(A)
    newer = await world.producer(protocol=protocol)
    assert newer.me == (1000, 2)  # one for the abort, one for the new producer
    (marker,) = world.partitions.markers[A]
    assert (marker.is_commit, marker.producer_epoch) == (False, 1)
    for attempt in (zombie.write(B), zombie.commit()):
        with pytest.raises(ProducerFenced):
            await attempt
    with pytest.raises(ProducerFenced):
        await zombie.init(expected=True)
    await newer.write(B)
    await newer.commit()
    await settle()
    assert world.partitions.ends(B) == [True]


async def test_a_producer_goes_on_after_an_error_and_may_ask_twice(world: TransactionWorld) -> None:
    producer = await world.producer()
    before = producer.me
    after = await producer.init(expected=True)
    assert after == (1000, 1)
    producer.me = before  # the answer was lost
    assert await producer.init(expected=True) == after
    await world.restart()
    producer.me = before
    assert await producer.init(expected=True) == after
    await world.producer()
    with pytest.raises(ProducerFenced):
        await producer.init(expected=True)


async def test_epochs_run_out_and_a_new_producer_id_takes_over(world: TransactionWorld) -> None:
    producer = await world.producer()
    await _spend_epochs(world, LAST_EPOCH)
    old = producer.me = ProducerIdentity(1000, LAST_EPOCH)
    world.partitions.refusals[A] = StorageFailed("not now")
    await producer.write(A)
    await producer.commit()
    assert producer.me == (1001, 0)
    waiting = world.start_task(producer.verify(B, add=True))
    assert await outcomes([waiting]) == ["waits"]  # it is known, though its markers are not written
    await world.restart()
    world.partitions.refusals.clear()
    await world.clock.elapse(5_000)
    (marker,) = world.partitions.markers[A]
    assert (marker.producer_id, marker.producer_epoch) == (1000, LAST_EPOCH + 1)
    producer.me = old
    await producer.commit()  # the answer was lost
    assert producer.me == (1001, 0)
    assert await producer.verify(B, add=True) is None
    producer.me = old
    with pytest.raises(InvalidProducerIdMapping):
        await producer.write(A)


async def test_epochs_run_out_between_transactions(world: TransactionWorld) -> None:
    producer = await world.producer(protocol=FIRST_PROTOCOL)
    await _spend_epochs(world, LAST_EPOCH)
    old = producer.me = ProducerIdentity(1000, LAST_EPOCH)
    assert await producer.init(expected=True) == (1001, 0)
    await producer.init()
    await _spend_epochs(world, LAST_EPOCH)
    await producer.init()
    producer.me = old
    with pytest.raises(ProducerFenced):  # its id is not the one before any more
        await producer.init(expected=True)


async def test_the_last_epoch_can_be_fenced(world: TransactionWorld) -> None:
    producer = await world.producer()
    await _spend_epochs(world, LAST_EPOCH)
    producer.me = ProducerIdentity(1000, LAST_EPOCH)
    await producer.write(A)
    newer = await world.producer()
    assert newer.me == (1001, 0)
    (marker,) = world.partitions.markers[A]
    assert (marker.producer_id, marker.producer_epoch, marker.is_commit) == (1000, LAST_EPOCH + 1, False)
    with pytest.raises(InvalidProducerIdMapping):
        await producer.commit()


async def _spend_epochs(world: TransactionWorld, epoch: int) -> None:
    """As if so many transactions had been."""
    stored = world.stored()
    assert stored is not None
    world.shard._put(TXN, stored._replace(producer_epoch=epoch))


async def test_partitions_ask_whether_they_are_in_it(world: TransactionWorld) -> None:
    producer = await world.producer(protocol=FIRST_PROTOCOL)
    assert isinstance(await producer.verify(A), TransactionAbortable)
    await producer.write(A)
    assert await producer.verify(A) is None
    assert isinstance(await producer.verify(B), TransactionAbortable)
    assert await producer.verify(B, add=True) is None
    assert await producer.verify(B) is None
    world.partitions.refusals[A] = StorageFailed("not now")
    await producer.commit()
    assert isinstance(await producer.verify(A), ConcurrentTransactions)
    world.partitions.refusals.clear()
    await world.clock.elapse(5_000)
    assert isinstance(await producer.verify(A), TransactionAbortable)


async def test_a_marker_is_written_until_it_is_certain_that_it_is(world: TransactionWorld) -> None:
    producer = await world.producer()
    world.partitions.lost_answers = 1
    world.partitions.refusals[B] = UnknownTopicOrPartition("not here yet")
    await producer.write(A, B)
    await producer.commit()
    await world.clock.elapse(10_000)
    assert world.state() is TransactionState.PREPARE_COMMIT
    assert world.partitions.ends(A) == [True]
    written = len(world.partitions.markers[A])
    del world.topics["b"]  # and nobody needs its marker any more
    await world.clock.elapse(5_000)
    assert world.state() is TransactionState.COMPLETE_COMMIT
    assert len(world.partitions.markers[A]) == written


async def test_time_aborts_what_is_open_too_long(world: TransactionWorld) -> None:
    producer = await world.producer()
    await producer.write(A)
    await world.clock.elapse(TIMEOUT_MS - 1)
    assert world.state() is TransactionState.ONGOING
    await world.clock.elapse(world.config.overdue_check_interval_ms + 1)
    assert world.state() is TransactionState.COMPLETE_ABORT
    assert world.partitions.ends(A) == [False]
    assert world.coordinator.counters.overdue == 1
    with pytest.raises(ProducerFenced):
        await producer.write(A)
    with pytest.raises(InvalidTransactionState):
        await producer.commit()
    await producer.abort()  # it learns its new epoch by that, and goes on
    assert producer.me.epoch == 1
    await world.clock.elapse(10 * TIMEOUT_MS)
    assert world.coordinator.counters.overdue == 1


async def test_time_fences_a_producer_of_the_first_protocol(world: TransactionWorld) -> None:
    producer = await world.producer(protocol=FIRST_PROTOCOL)
    await producer.write(A)
    await world.clock.elapse(TIMEOUT_MS + world.config.overdue_check_interval_ms)
    assert world.partitions.ends(A) == [False]
    for attempt in (producer.write(A), producer.commit(), producer.abort()):
        with pytest.raises(ProducerFenced):
            await attempt


async def test_ids_that_nobody_uses_are_forgotten(world: TransactionWorld) -> None:
    producer = await world.producer()
    await producer.write(A)
    await producer.commit()
    await world.clock.elapse(7 * DAY_MS - 1)
    assert world.state() is TransactionState.COMPLETE_COMMIT
    await world.clock.elapse(world.config.expiry_check_interval_ms + 1)
    assert world.state() is None
    with pytest.raises(InvalidProducerIdMapping):
        await producer.write(A)
    await world.restart()
    assert world.state() is None
    assert world.coordinator.state_counts()[TransactionState.COMPLETE_COMMIT] == 0


async def test_tools_see_what_there_is(world: TransactionWorld) -> None:
    await world.producer("one")
    two = await world.producer("two")
    await two.write(A)
    await world.clock.elapse(5_000)

    def named(wanted: TransactionFilter) -> set[str]:
        return {found.transactional_id for found in world.coordinator.list_transactions(wanted)}

    assert named(TransactionFilter()) == {"one", "two"}
    assert named(TransactionFilter(states=[TransactionState.ONGOING])) == {"two"}
    assert named(TransactionFilter(producer_ids=[two.me.producer_id])) == {"two"}
    assert named(TransactionFilter(states=[TransactionState.ONGOING], longer_than_ms=4_000)) == {"two"}
    assert named(TransactionFilter(states=[TransactionState.ONGOING], longer_than_ms=6_000)) == set()
    assert named(TransactionFilter(id_pattern="t.*")) == {"two"}
    assert named(TransactionFilter(id_pattern="w")) == set()
    assert world.coordinator.describe("two").partitions == {A}
    counts = world.coordinator.state_counts()
    assert (counts[TransactionState.EMPTY], counts[TransactionState.ONGOING]) == (1, 1)
