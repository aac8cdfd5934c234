"""Random histories of producers, writers and crashes: every transaction ends once, and everywhere the same.

The log loses what is not committed, now and then, and keeps a part of it. What a client was told stays true:

- a transaction that was committed, by its producer or by its writer's decision, is committed everywhere,
- one that was aborted is aborted everywhere,
- one on which nothing was told may have either end, but only one, and the same in all partitions,
- a decision that was told is told again, whatever is asked for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.simulated_clock import settle
from tests.support.transaction_world import TestedProducer, TransactionWorld

from mainstem.core.errors import StorageFailed
from mainstem.core.transactions.config import TransactionConfig
from mainstem.core.transactions.prepared import Decision
from mainstem.core.transactions.states import AT_REST
from mainstem.core.transactions.transaction import SECOND_PROTOCOL
from mainstem.model.errors import MainstemError
from mainstem.model.ids import TopicPartition

IDS = ("{w}1", "{w}2", "{w}3", "plain")
PLACES = tuple(TopicPartition("a", index) for index in range(3))
_CONFIG = TransactionConfig(prepared_timeout_ms=300_000)

Transaction = tuple[int, int]  # producer id, epoch


class History:
    def __init__(self, world: TransactionWorld) -> None:
        self.world = world
        self.producers = {each: TestedProducer(world, each, SECOND_PROTOCOL) for each in IDS}
        self.written: dict[Transaction, set[TopicPartition]] = {}
        self.told: dict[Transaction, bool] = {}  # how it ended
        self.prepared: dict[str, tuple[Transaction, int]] = {}
        self.decisions: dict[int, Decision] = {}
        self.unanswered: set[int] = set()  # numbers

    async def ask(self, asked: Awaitable[Any]) -> Any:
        """Its answer, or None: refused, or without an answer by now."""
        task = self.world.start_task(asked)
        await self.world.clock.elapse(self.world.config.end_wait_ms)
        if not task.done():
            return None
        error = task.exception()
        if error is not None:
            assert isinstance(error, MainstemError), error
            return None
        return task.result() or True

    async def init(self, name: str) -> None:
        await self.ask(self.producers[name].init(timeout_ms=60_000))

    async def write(self, name: str, place: TopicPartition) -> None:
        producer = self.producers[name]
        me = (producer.me.producer_id, producer.me.epoch)
        if await self.ask(producer.write(place)):
            self.written.setdefault(me, set()).add(place)

    async def end(self, name: str, is_commit: bool) -> None:
        producer = self.producers[name]
        me = (producer.me.producer_id, producer.me.epoch)
        if await self.ask(producer.end(is_commit=is_commit)):
            assert self.told.setdefault(me, is_commit) is is_commit

    @property
    def next_number(self) -> int:
        return max(self.decisions, default=-1) + 1

    async def work(self, name: str, place: TopicPartition, ahead: int) -> None:
        """What a task does: begins, writes, prepares."""
        await self.init(name)
        await self.write(name, place)
        await self.prepare(name, self.next_number + ahead)

    async def conclude(self, ahead: int, left_out: frozenset[str]) -> None:
        """What their driver does."""
        number = self.next_number + ahead
        listed = {name for name, (_, prepared) in self.prepared.items() if prepared == number}
        await self.decide(number, frozenset(listed - left_out))

    async def prepare(self, name: str, number: int) -> None:
        producer = self.producers[name]
        me = (producer.me.producer_id, producer.me.epoch)
        if await self.ask(producer.prepare(number)):
            self.prepared[name] = (me, number)

    async def decide(self, number: int, listed: frozenset[str]) -> None:
        decision: Decision | None = await self.ask(self.world.coordinator.decide("w", number, listed))
        if decision is None:
            self.unanswered.add(number)  # it may have been taken all the same
            return
        assert decision.number >= number
        assert self.decisions.setdefault(decision.number, decision) == decision
        for name, (transaction, prepared) in list(self.prepared.items()):
            if any(prepared <= each < decision.number for each in self.unanswered):
                del self.prepared[name]  # which of them ended it was never told
            elif prepared <= decision.number:
                is_commit = prepared == decision.number and name in decision.committed
                assert self.told.setdefault(transaction, is_commit) is is_commit
                del self.prepared[name]

    def check(self) -> None:
        for transaction, places in self.written.items():
            producer_id, epoch = transaction
            ends: set[bool | None] = set()
            for place in places:
                markers = {
                    marker.is_commit
                    for marker in self.world.partitions.markers.get(place, ())
                    if (marker.producer_id, marker.producer_epoch) == (producer_id, epoch + 1)
                }
                assert len(markers) <= 1, (transaction, place)
                ends.add(markers.pop() if markers else None)
            assert len(ends) == 1, (transaction, "is torn")
            if transaction in self.told:
                assert ends == {self.told[transaction]}, transaction


_name = st.sampled_from(IDS)
_writers_name = st.sampled_from(IDS[:3])
_number = st.integers(0, 4)
_ahead = st.sampled_from([0, 0, 0, 1])
_commands = st.one_of(
    st.tuples(st.just("init"), _name),
    st.tuples(st.just("write"), _name, st.sampled_from(PLACES)),
    st.tuples(st.just("write"), _name, st.sampled_from(PLACES)),
    st.tuples(st.just("end"), _name, st.booleans()),
    st.tuples(st.just("prepare"), _writers_name, _number),
    st.tuples(st.just("work"), _writers_name, st.sampled_from(PLACES), _ahead),
    st.tuples(st.just("work"), _writers_name, st.sampled_from(PLACES), _ahead),
    st.tuples(st.just("conclude"), _ahead, st.frozensets(_writers_name, max_size=1)),
    st.tuples(st.just("decide"), _number, st.frozensets(_writers_name)),
    st.tuples(st.just("elapse"), st.sampled_from([1_000, 70_000, 400_000])),
    st.tuples(st.just("hold"), st.booleans()),
    st.tuples(st.just("commit"), st.integers(1, 3)),
    st.tuples(st.just("refuse"), st.sampled_from(PLACES)),
    st.tuples(
        st.just("accept"),
    ),
    st.tuples(st.just("lose"), st.integers(1, 3)),
    st.tuples(st.just("crash"), st.integers(0, 3)),
)


async def _run(commands: list[tuple[Any, ...]]) -> None:
    world = await TransactionWorld(_CONFIG).start()
    history = History(world)
    for name in IDS:
        await history.init(name)
    for what, *arguments in commands:
        if what in ("init", "write", "end", "prepare", "decide", "work", "conclude"):
            await getattr(history, what)(*arguments)
        else:
            await _happen(world, what, *arguments)
    world.log.commits_at_once = True
    world.partitions.refusals.clear()
    world.log.commit()
    await world.clock.elapse(10_000)
    history.check()
    number = history.next_number + 5
    await history.decide(number, frozenset())  # and what is left
    await world.clock.elapse(70_000)
    await world.restart()
    await world.clock.elapse(10_000)
    history.check()
    assert all(stored.state in AT_REST for stored in world.shard.transactions.values())
    assert history.decisions[number] == await world.coordinator.decide("w", 0, IDS[:3])
    await world.close()


async def _happen(world: TransactionWorld, what: str, *arguments: Any) -> None:
    match what, arguments:
        case "elapse", (delay_ms,):
            await world.clock.elapse(delay_ms)
        case "hold", (is_held,):
            world.log.commits_at_once = not is_held
            if not is_held:
                world.log.commit()
        case "commit", (count,):
            world.log.commit(count)
        case "refuse", (place,):
            world.partitions.refusals[place] = StorageFailed("not now")
        case "accept", ():
            world.partitions.refusals.clear()
        case "lose", (count,):
            world.partitions.lost_answers = count
        case "crash", (kept,):
            await world.restart(kept=kept)
    await settle()


@settings(max_examples=200, deadline=None)
@given(st.lists(_commands, min_size=5, max_size=60))
def test_every_transaction_ends_once_and_everywhere_the_same(commands: list[tuple[Any, ...]]) -> None:
    asyncio.run(_run(commands))
