"""Transactions where they are written: verification, markers, and what readers see of both."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.support.kafka_node import KafkaNode
from tests.support.logs import batch_of
from tests.support.simulated_clock import settle
from tests.support.transactions import Verifier, committed_values, transactional

from mainstem.core.broker import ProduceEntry
from mainstem.core.errors import (
    ConcurrentTransactions,
    InvalidProducerEpoch,
    InvalidTransactionState,
    NotEnoughReplicas,
    OutOfOrderSequence,
    ProducerFenced,
    RequestTimedOut,
    TransactionAbortable,
    TransactionalIdRequired,
    TransactionCoordinatorFenced,
    UnknownTopicOrPartition,
)
from mainstem.core.fetch_request import FetchEntry
from mainstem.core.partition import READ_COMMITTED, READ_UNCOMMITTED, FetchResult, Partition, ProduceResult
from mainstem.core.transactions.ports import TransactionMarker
from mainstem.core.transactions.produce import ProduceTransaction
from mainstem.model.ids import TopicPartition

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
V1 = ProduceTransaction("app")
V2 = ProduceTransaction("app", adds_partitions=True, knows_abortable=True)


class World:
    def __init__(self, node: KafkaNode, verifier: Verifier) -> None:
        self.node = node
        self.verifier = verifier

    def partition(self, key: TopicPartition = T0) -> Partition:
        return self.node.broker.partition(*key)

    def start(
        self, *batches: bytes, transaction: ProduceTransaction | None = V1, timeout_ms: int = 30_000
    ) -> asyncio.Future[Sequence[ProduceResult]]:
        """Batch by batch for the partitions of the topic, in one request."""
        done: asyncio.Future[Sequence[ProduceResult]] = asyncio.get_running_loop().create_future()
        self.node.broker.produce(
            [ProduceEntry("t", number, batch) for number, batch in enumerate(batches)],
            acks=-1,
            timeout_ms=timeout_ms,
            done=done.set_result,
            transaction=transaction,
        )
        return done

    async def produce(
        self, *batches: bytes, transaction: ProduceTransaction | None = V1
    ) -> list[Exception | None]:
        return [result.error for result in await self.start(*batches, transaction=transaction)]

    async def end(
        self,
        producer_id: int,
        *,
        commit: bool,
        epoch: int = 0,
        coordinator_epoch: int = 0,
        version: int = 1,
        partitions: Collection[TopicPartition] = (T0,),
    ) -> Exception | None:
        """The outcome of the first partition; those of all in `outcomes`."""
        self.outcomes = await self.node.broker.markers.write(
            TransactionMarker(producer_id, epoch, coordinator_epoch, commit, partitions, version)
        )
        return self.outcomes[next(iter(partitions))]

    def fetch(
        self, offset: int = 0, *, isolation: int = READ_COMMITTED, min_bytes: int = 1, max_wait_ms: int = 0
    ) -> asyncio.Future[FetchResult]:
        done: asyncio.Future[FetchResult] = asyncio.get_running_loop().create_future()
        self.node.broker.fetch(
            [FetchEntry("t", 0, offset, 1 << 20)],
            min_bytes=min_bytes,
            max_bytes=1 << 20,
            max_wait_ms=max_wait_ms,
            isolation=isolation,
            done=lambda results: done.set_result(results[0]),
        )
        return done

    async def values(self, offset: int = 0) -> list[bytes | None]:
        """What a client shows to a reader of committed data."""
        result = await self.fetch(offset)
        if result.records is None:
            return []
        aborted = [(each.producer_id, each.first_offset) for each in result.aborted]
        return [value for _, value in committed_values(result.records.read(), aborted, offset)]


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    verifier = Verifier()
    node = await KafkaNode(tmp_path, verifier=verifier).start()
    await node.create_topic("t", 2)
    yield World(node, verifier)
    verifier.may_answer.set()
    await node.stop()


# ---------------------------------------------------------------------------- verification


async def test_the_first_batch_of_a_transaction_is_verified_and_no_other(world: World) -> None:
    assert await world.produce(transactional(1, b"a"), transactional(1, b"b")) == [None, None]
    assert world.verifier.asked == [(1, 0, {T0, T1}, False)]
    assert await world.produce(transactional(1, b"c", sequence=1)) == [None]
    assert len(world.verifier.asked) == 1
    await world.end(1, commit=True, partitions=(T0, T1))
    assert await world.produce(transactional(1, b"d", sequence=2)) == [None]
    assert world.verifier.asked[1:] == [(1, 0, {T0}, False)]


async def test_a_producer_of_version_2_adds_by_writing(world: World) -> None:
    assert await world.produce(transactional(1, b"a"), transaction=V2) == [None]
    assert world.verifier.asked == [(1, 0, {T0}, True)]


async def test_writes_wait_for_the_answer_in_their_order(world: World) -> None:
    world.verifier.may_answer.clear()
    answers = [world.start(transactional(1, b"%d" % n, sequence=n)) for n in range(3)]
    await settle()
    assert world.partition().log_end_offset == 0
    world.verifier.may_answer.set()
    assert [(await answer)[0].base_offset for answer in answers] == [0, 1, 2]
    assert len(world.verifier.asked) == 1


@pytest.mark.parametrize(
    ("refusal", "told", "told_abortable"),
    [
        (InvalidTransactionState("x"), InvalidTransactionState, InvalidTransactionState),
        (TransactionAbortable("x"), InvalidTransactionState, TransactionAbortable),
        (ProducerFenced("x"), InvalidProducerEpoch, InvalidProducerEpoch),
        (ConcurrentTransactions("x"), NotEnoughReplicas, NotEnoughReplicas),
    ],
)
async def test_a_write_out_of_no_transaction_is_refused(
    world: World, refusal: Exception, told: type[Exception], told_abortable: type[Exception]
) -> None:
    world.verifier.refusal = refusal
    for transaction, expected in ((V1, told), (V2, told_abortable)):
        [error] = await world.produce(transactional(1, b"a"), transaction=transaction)
        assert type(error) is expected
    assert world.partition().log_end_offset == 0
    world.verifier.refusal = None
    assert await world.produce(transactional(1, b"a")) == [None]


async def test_an_answer_about_a_transaction_that_ended_meanwhile_is_void(world: World) -> None:
    world.verifier.may_answer.clear()
    late = world.start(transactional(1, b"late"))
    await settle()
    assert await world.end(1, commit=False) is None
    assert isinstance((await late)[0].error, InvalidTransactionState)
    second = world.start(transactional(1, b"of the next"))
    await settle()
    assert len(world.verifier.asked) == 2, "the next transaction has a question of its own"
    world.verifier.may_answer.set()
    assert (await second)[0].error is None


async def test_a_repeat_of_an_ended_transaction_gets_its_answer_again(world: World) -> None:
    batch = transactional(1, b"a")
    assert await world.produce(batch) == [None]
    await world.end(1, commit=True)
    world.verifier.refusal = InvalidTransactionState("it ended")
    [result] = await world.start(batch)
    assert (result.error, result.base_offset) == (None, 0)
    assert world.partition().log_end_offset == 2


async def test_a_waiting_write_runs_out_of_time(world: World) -> None:
    world.verifier.may_answer.clear()
    late = world.start(transactional(1, b"late"), timeout_ms=1_000)
    await settle()
    world.node.clock.advance(2_000)
    assert isinstance((await late)[0].error, RequestTimedOut)


async def test_without_verification_old_clients_are_believed(tmp_path: Path) -> None:
    verifier = Verifier()
    options = {"transaction.partition.verification.enable": "false"}
    node = await KafkaNode(tmp_path, options, verifier).start()
    await node.create_topic("t", 1)
    world = World(node, verifier)
    assert await world.produce(transactional(1, b"a")) == [None]
    assert verifier.asked == []
    assert await world.produce(transactional(2, b"a"), transaction=V2) == [None]
    assert len(verifier.asked) == 1
    await node.stop()


async def test_transactional_batches_need_a_transactional_id(world: World) -> None:
    [error] = await world.produce(transactional(1, b"a"), transaction=None)
    assert isinstance(error, TransactionalIdRequired)
    assert await world.produce(batch_of(b"plain", producer=(1, 0, 0))) == [None], "the reverse is allowed"
    assert world.verifier.asked == []


async def test_an_unknown_producer_of_version_2_begins_at_0(world: World) -> None:
    [error] = await world.produce(transactional(1, b"a", sequence=3), transaction=V2)
    assert isinstance(error, OutOfOrderSequence)
    assert await world.produce(transactional(1, b"a", sequence=3)) == [None]


# ---------------------------------------------------------------------------- markers


async def test_a_marker_is_written_once(world: World) -> None:
    await world.produce(transactional(1, b"a"))
    for _ in range(3):
        assert await world.end(1, commit=True) is None
    assert world.partition().log_end_offset == 2
    assert await world.end(1, commit=False, epoch=1) is None, "a newer epoch keeps the producer out"
    assert world.partition().log_end_offset == 3
    [error] = await world.produce(transactional(1, b"zombie", sequence=1))
    assert isinstance(error, InvalidProducerEpoch)


async def test_markers_of_the_past_are_refused(world: World) -> None:
    await world.produce(transactional(1, b"a", epoch=3))
    assert await world.end(1, commit=True, epoch=3, coordinator_epoch=7) is None
    await world.produce(transactional(1, b"b", epoch=3, sequence=1))
    assert isinstance(
        await world.end(1, commit=True, epoch=3, coordinator_epoch=6), TransactionCoordinatorFenced
    )
    assert isinstance(await world.end(1, commit=True, epoch=2, coordinator_epoch=7), InvalidProducerEpoch)
    assert world.partition().log_end_offset == 3
    assert world.partition().last_stable_offset == 2


async def test_a_marker_of_version_2_is_above_the_producers_epoch(world: World) -> None:
    await world.produce(transactional(1, b"a", epoch=3), transaction=V2)
    assert isinstance(await world.end(1, commit=True, epoch=3, version=2), InvalidProducerEpoch)
    for _ in range(2):
        assert await world.end(1, commit=True, epoch=4, version=2) is None
    assert world.partition().log_end_offset == 2
    assert await world.produce(transactional(1, b"b", epoch=4), transaction=V2) == [None]


async def test_each_partition_has_its_own_outcome(world: World) -> None:
    gone = TopicPartition("t", 9)
    assert await world.end(1, commit=True, partitions=(T0, T1, gone)) is None
    assert world.outcomes[T1] is None
    assert isinstance(world.outcomes[gone], UnknownTopicOrPartition)
    assert [world.partition(key).log_end_offset for key in (T0, T1)] == [1, 1]


async def test_a_marker_stands_behind_what_the_same_turn_brought(world: World) -> None:
    await world.produce(transactional(1, b"a"))
    pending = world.start(transactional(1, b"b", sequence=1))
    assert await world.end(1, commit=True) is None
    assert (await pending)[0].base_offset == 1
    assert await world.values() == [b"a", b"b"]


# ---------------------------------------------------------------------------- readers


async def test_readers_of_committed_data_stop_before_an_open_transaction(world: World) -> None:
    await world.produce(batch_of(b"plain"), transaction=None)
    await world.produce(transactional(1, b"a"))
    await world.produce(batch_of(b"behind"), transaction=None)
    assert await world.values() == [b"plain"]
    result = await world.fetch(isolation=READ_UNCOMMITTED)
    assert (result.high_watermark, result.last_stable_offset, result.aborted) == (3, 1, ())
    assert world.partition().last_stable_offset == 1
    await world.end(1, commit=True)
    assert await world.values() == [b"plain", b"a", b"behind"]
    assert world.partition().last_stable_offset == 4


async def test_readers_are_told_what_was_aborted(world: World) -> None:
    await world.produce(transactional(1, b"a"))
    await world.produce(transactional(2, b"b"))
    await world.end(1, commit=False)
    await world.end(2, commit=True)
    await world.produce(transactional(1, b"c", sequence=1))
    await world.end(1, commit=True)
    assert await world.values() == [b"b", b"c"]
    result = await world.fetch(isolation=READ_UNCOMMITTED)
    assert result.aborted == ()


async def test_a_waiting_reader_is_woken_by_the_end_of_a_transaction(world: World) -> None:
    await world.produce(transactional(1, b"x" * 1_000))
    committed = world.fetch(min_bytes=900, max_wait_ms=60_000)
    any_reader = world.fetch(1, isolation=READ_UNCOMMITTED, min_bytes=120, max_wait_ms=60_000)
    await world.produce(transactional(1, b"y", sequence=1))
    await settle()
    assert not committed.done(), "what is not stable does not count"
    assert not any_reader.done()
    await world.end(1, commit=True)
    assert (await committed).last_stable_offset == 3
    assert (await any_reader).high_watermark == 3


async def test_a_marker_that_is_not_committed_ends_nothing_for_readers(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await world.node.create_topic("slow", 1, {"acks.after": "disk"})
    partition = world.node.broker.partition("slow", 0)
    commits: list[Callable[[Exception | None], None]] = []
    monkeypatch.setattr(partition, "_durability", SimpleNamespace(commit=lambda *run: commits.append(run[2])))
    partition.append_now(transactional(1, b"a"), lambda _: None)
    commits.pop()(None)
    ended = asyncio.ensure_future(world.end(1, commit=True, partitions=(TopicPartition("slow", 0),)))
    await settle()
    assert (partition.log_end_offset, partition.high_watermark, partition.last_stable_offset) == (2, 1, 0)
    assert not ended.done()
    commits.pop()(None)
    assert await ended is None
    assert partition.last_stable_offset == 2


async def test_deleted_records_do_not_hold_readers_back(world: World) -> None:
    await world.produce(transactional(1, b"a"))
    await world.produce(transactional(1, b"b", sequence=1))
    world.partition().delete_records(1)
    assert world.partition().last_stable_offset == 1


# ---------------------------------------------------------------------------- who comes too late


async def test_a_producer_whose_epochs_are_used_up_stays_out(world: World) -> None:
    """Its coordinator ends its last transaction with the greatest epoch and gives it another id."""
    last = 2**15 - 2
    await world.produce(transactional(1, b"a", epoch=last), transaction=V2)
    assert await world.end(1, commit=True, epoch=last + 1, version=2) is None
    for transaction in (V1, V2):
        [error] = await world.produce(
            transactional(1, b"stale", epoch=last, sequence=1), transaction=transaction
        )
        assert isinstance(error, InvalidProducerEpoch)
    assert isinstance(await world.end(1, commit=False, epoch=last, version=2), InvalidProducerEpoch)
    assert await world.produce(transactional(2, b"b"), transaction=V2) == [None]
    assert await world.end(2, commit=True, epoch=1, version=2) is None
    assert await world.values() == [b"a", b"b"]


async def test_figures_of_open_transactions(world: World) -> None:
    partition = world.partition()
    assert (partition.open_transaction_count, partition.oldest_transaction_ms) == (0, None)
    await world.produce(transactional(1, b"a", time_ms=5_000))
    await world.produce(transactional(2, b"a", time_ms=9_000))
    assert (partition.open_transaction_count, partition.oldest_transaction_ms) == (2, 5_000)
    await world.end(1, commit=True)
    assert (partition.open_transaction_count, partition.oldest_transaction_ms) == (1, 9_000)
