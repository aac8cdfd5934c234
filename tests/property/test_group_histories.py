"""Random lives of a group: members that come, go and fall silent, a log that is slow, refuses, fails or
crashes, and time. Whatever happens:

- what is in memory is what replaying the log gives, after every step;
- in the states Empty and Stable the volatile state says the same as the stored one;
- all assignments that go out in one generation are of one leader's making;
- once a generation was seen stable, no commit of an earlier one is accepted;
- an acknowledged commit is never lost, and never replaced by an older one;
- when everybody falls silent nobody waits for ever, the group ends empty, and no timer is left.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from random import Random
from typing import Any

import pytest
from tests.support.group_world import REBALANCE_MS, SESSION_MS, Consumer, Numbers, World, subscription
from tests.support.simulated_clock import settle

from mainstem.core.coordinator.runtime import ShardState
from mainstem.core.errors import (
    FencedInstanceId,
    IllegalGeneration,
    NotCoordinator,
    RebalanceInProgress,
    StorageFailed,
    UnknownMemberId,
)
from mainstem.core.groups.group import Group
from mainstem.core.groups.rebalance import GroupCounters
from mainstem.core.groups.requests import SyncResult
from mainstem.core.groups.shard import GroupShard
from mainstem.core.groups.states import GroupState
from mainstem.model.errors import MainstemError

STEPS = 250
SEEDS_PER_TEST = 6


class Actor:
    """One client: has at most one request under way."""

    def __init__(self, history: History, number: int) -> None:
        chance = history.chance
        self.history = history
        self.consumer: Consumer = history.world.consumer(
            f"c{number}",
            instance_id=f"static-{chance.randrange(3)}" if chance.random() < 0.3 else None,
            needs_member_id=chance.random() < 0.8,
            can_skip_assignment=chance.random() < 0.7,
            rebalance_ms=chance.choice([20_000, REBALANCE_MS]),
            session_ms=chance.choice([SESSION_MS, 30_000]),
        )
        self.request: asyncio.Task[Any] | None = None
        self.is_silent = False

    @property
    def is_free(self) -> bool:
        return not self.is_silent and (self.request is None or self.request.done())

    def act(self) -> None:
        chance = self.history.chance
        if self.consumer.joined is None:
            self.begin(self.join())
            return
        action = chance.choices(
            [self.join, self.sync, self.beat, self.commit, self.leave, self.change], [3, 6, 6, 5, 1, 1]
        )[0]
        self.begin(action())

    def begin(self, request: Any) -> None:
        self.request = self.history.world.start_task(self.expect_no_defect(request))

    async def expect_no_defect(self, request: Any) -> None:
        try:
            await request
        except MainstemError as error:
            self.history.told[type(error).__name__] += 1
            if type(error).__name__ in ("UnknownMemberId", "FencedInstanceId"):
                self.consumer.member_id, self.consumer.joined = "", None

    async def join(self) -> None:
        await self.consumer.join()

    async def change(self) -> None:
        topics = self.history.chance.sample(["t", "u", "v"], 2)
        self.consumer.change_protocols({"range": subscription(*topics)})
        await self.consumer.join()

    async def sync(self) -> None:
        consumer = self.consumer
        assert consumer.joined is not None
        generation, made = consumer.generation, self.history.next_number()
        members = consumer.joined.members if consumer.leads else ()
        result = await consumer.sync({m.member_id: b"%d %d" % (generation, made) for m in members})
        self.history.saw_assignment(generation, result)

    async def beat(self) -> None:
        self.consumer.heartbeat()

    async def commit(self) -> None:
        history, consumer = self.history, self.consumer
        number, generation = history.next_number(), consumer.generation
        floor = history.stable_generation
        if history.chance.random() < 0.2:
            generation -= 1
        error = await consumer.commit(number, generation=generation)
        assert error is None
        assert generation >= floor, f"a commit of generation {generation} after {floor} was stable"
        history.acknowledged = max(history.acknowledged, number)

    async def leave(self) -> None:
        await self.consumer.leave()
        self.consumer.member_id, self.consumer.joined = "", None


class History:
    def __init__(self, seed: int) -> None:
        self.chance = Random(seed)
        self.world = World()
        self.actors: list[Actor] = []
        self.told: Counter[str] = Counter()
        self.stable_generation = 0  # the newest of which a member got its assignment
        self.makers: dict[int, bytes] = {}  # generation -> which assignment went out
        self.acknowledged = 0
        self._number = 0
        self.likelihood = {
            self.somebody_acts: 60,
            self.time_passes: 14,
            self.log_commits: 14,
            self.somebody_new: 4,
            self.somebody_goes: 3,
            self.storage_acts: 4,
            self.crash: 1,
        }

    def next_number(self) -> int:
        self._number += 1
        return self._number

    def saw_assignment(self, generation: int, result: SyncResult) -> None:
        self.stable_generation = max(self.stable_generation, generation)
        if result.assignment:
            assert self.makers.setdefault(generation, result.assignment) == result.assignment
            assert int(result.assignment.split()[0]) == generation

    # --- what happens

    async def step(self) -> None:
        chance = self.chance
        happening = chance.choices(list(self.likelihood), list(self.likelihood.values()))[0]
        await happening()
        if chance.random() < 0.7:
            await settle()

    async def somebody_acts(self) -> None:
        free = [actor for actor in self.actors if actor.is_free]
        if free:
            self.chance.choice(free).act()

    async def somebody_new(self) -> None:
        if sum(not actor.is_silent for actor in self.actors) < 5:
            self.actors.append(Actor(self, len(self.actors)))

    async def somebody_goes(self) -> None:
        if self.actors:
            actor = self.chance.choice(self.actors)
            if actor.request is not None and self.chance.random() < 0.5:
                actor.request.cancel()  # its connection is gone; it may come back
            else:
                actor.is_silent = True

    async def time_passes(self) -> None:
        await self.world.clock.elapse(self.chance.choice([0, 10, 1_000, 3_000, 3_000, 9_000, 25_000]))

    async def log_commits(self) -> None:
        self.world.log.commits_at_once = self.chance.random() < 0.6
        self.world.log.commit(self.chance.choice([None, 1, 2]))

    async def storage_acts(self) -> None:
        log = self.world.log
        if log.refusal is not None:
            log.refusal = None
        elif self.chance.random() < 0.5:
            log.refusal = StorageFailed("full")
        else:
            log.fail(StorageFailed("flush failed"))
            await self.world.clock.elapse(1_000)
            await self.world.coordinator.loaded()

    async def crash(self) -> None:
        await self.world.restart(kept=self.chance.randrange(3))

    # --- what must hold

    async def check(self) -> None:
        await settle()
        shard = self.world.shard
        if shard.runtime.state is not ShardState.ACTIVE:
            return
        replayed = GroupShard("again", self.world.clock, Numbers(), self.world.config, GroupCounters())
        for record in self.world.log.records():
            assert record.key is not None
            decoded = replayed.decode(record.key, record.value)
            assert decoded is not None
            replayed.replay(decoded)
        live = {name: group for name, group in shard.groups.items() if group.stored or group.offsets}
        assert {n: (g.stored, g.offsets) for n, g in live.items()} == {
            n: (g.stored, g.offsets) for n, g in replayed.groups.items()
        }
        for group in shard.groups.values():
            check_group(group)

    async def check_offsets(self) -> None:
        log = self.world.log
        log.refusal = None
        log.commits_at_once = True
        log.commit()
        await settle()
        if self.world.shard.runtime.state is not ShardState.ACTIVE:
            await self.world.clock.elapse(1_000)
            await self.world.coordinator.loaded()
        committed = await self.world.committed()
        assert committed.get(("t", 0), 0) >= self.acknowledged

    async def end(self) -> None:
        """Everybody falls silent, the log recovers."""
        for actor in self.actors:
            actor.is_silent = True
        await self.check_offsets()
        for _ in range(40):
            await self.world.clock.elapse(30_000)
        assert all(actor.request is None or actor.request.done() for actor in self.actors)
        for group in self.world.shard.groups.values():
            assert group.state is GroupState.EMPTY
        await self.check()
        await self.check_offsets()
        self.raise_failures()
        await self.world.close()

    def raise_failures(self) -> None:
        for actor in self.actors:
            request = actor.request
            if request is not None and request.done() and not request.cancelled():
                request.result()


def check_group(group: Group) -> None:
    stored, members = group.stored, group.members
    assert group.joined_count == sum(member.join is not None for member in members.values())
    assert set(group.static_members.values()) == {m.member_id for m in members.values() if m.instance_id}
    assert group.supporters == Counter(name for m in members.values() for name, _ in m.protocols)
    assert group.leader_id is None or group.leader_id in members
    assert not set(group.pending_members) & set(members)
    assert group.pending_sync <= set(members)
    if group.state is GroupState.STABLE:
        assert stored is not None
        assert stored.generation == group.generation
        assert stored.leader_id == group.leader_id
        assert [(m.member_id, m.assignment) for m in stored.members] == [
            (m.member_id, m.assignment) for m in members.values()
        ]
    elif group.state is GroupState.EMPTY:
        assert not members
        assert stored is None or (stored.generation, stored.members) == (group.generation, ())
    else:
        assert stored is None or stored.generation <= group.generation


@pytest.mark.parametrize("block", range(5))
async def test_random_lives(block: int) -> None:
    defects: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: defects.append(context))
    told: Counter[str] = Counter()
    generations = acknowledged = 0
    for seed in range(block * SEEDS_PER_TEST, (block + 1) * SEEDS_PER_TEST):
        history = History(seed)
        await history.world.start()
        for _ in range(STEPS):
            await history.step()
            await history.check()
            history.raise_failures()
        await history.end()
        told += history.told
        generations += history.stable_generation
        acknowledged += history.acknowledged > 0
    assert not defects
    # the lives were worth living
    assert generations > 2 * SEEDS_PER_TEST
    assert acknowledged > SEEDS_PER_TEST // 2
    for error in (RebalanceInProgress, UnknownMemberId, IllegalGeneration, NotCoordinator, FencedInstanceId):
        assert told[error.__name__]
    print(told, generations, acknowledged)
