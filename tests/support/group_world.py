"""One group coordinator over a log in memory, and consumers that talk to it as clients do."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from tests.support.coordinator_world import CoordinatorWorld
from tests.support.simulated_clock import settle

from mainstem.core.errors import MemberIdRequired
from mainstem.core.groups.config import GroupConfig
from mainstem.core.groups.coordinator import GroupCoordinator
from mainstem.core.groups.group import Group
from mainstem.core.groups.requests import (
    CommitRequest,
    FetchedOffset,
    JoinProtocol,
    JoinRequest,
    JoinResult,
    LeavingMember,
    OffsetToCommit,
    SyncRequest,
    SyncResult,
)
from mainstem.core.groups.shard import GroupShard
from mainstem.core.groups.states import GroupState
from mainstem.wire.kafka.codec import encode
from mainstem.wire.kafka.records.consumer_protocol_subscription import ConsumerProtocolSubscription

T = TypeVar("T")

GROUP = "g"
INITIAL_DELAY_MS = 3_000
FORMING_MS = 2 * INITIAL_DELAY_MS  # when several come at once, each but the first prolongs the delay
SESSION_MS = 10_000
REBALANCE_MS = 60_000


def subscription(*topics: str) -> bytes:
    return b"\x00\x01" + encode(ConsumerProtocolSubscription(topics=list(topics)), 1)


class Numbers:
    """Ids that repeat from run to run."""

    def __init__(self) -> None:
        self._last = 0

    def unique_id(self) -> str:
        self._last += 1
        return str(self._last)


class World(CoordinatorWorld[GroupCoordinator]):
    def __init__(self, config: GroupConfig | None = None) -> None:
        super().__init__()
        self.config = config or GroupConfig(initial_rebalance_delay_ms=INITIAL_DELAY_MS)
        self.randomness = Numbers()

    def make_coordinator(self) -> GroupCoordinator:
        return GroupCoordinator(self.clock, self.randomness, self.config, partition_count=1)

    # --- looking in

    @property
    def shard(self) -> GroupShard:
        return self.coordinator._shards.by_partition[0]

    def group(self, group_id: str = GROUP) -> Group:
        return self.shard.groups[group_id]

    @property
    def state(self) -> GroupState:
        return self.group().state

    # --- what clients ask

    async def commit(self, offsets: Mapping[str, int], **more: Any) -> list[Exception | None]:
        wanted = [OffsetToCommit(topic, 0, offset) for topic, offset in offsets.items()]
        return await self.coordinator.commit_offsets(CommitRequest(group_id=GROUP, offsets=wanted, **more))

    async def leave(self, *members: tuple[str, str | None]) -> list[Exception | None]:
        leaving = [LeavingMember(member_id, instance_id) for member_id, instance_id in members]
        return [result.error for result in await self.coordinator.leave(GROUP, leaving)]

    async def committed(self, group_id: str = GROUP) -> dict[tuple[str, int], int]:
        found: Sequence[FetchedOffset] = await self.coordinator.fetch_offsets(group_id)
        return {(each.topic, each.partition): each.offset for each in found}

    def consumer(self, name: str = "c", **more: Any) -> Consumer:
        return Consumer(self, name, **more)

    async def stable(self, *consumers: Consumer) -> None:
        """Brings these and no others into one stable generation."""
        joins = [consumer.start_join() for consumer in consumers]
        await self.clock.elapse(FORMING_MS)
        results = await asyncio.gather(*joins)
        assert len({result.generation for result in results}) == 1
        await asyncio.gather(*[consumer.start_sync() for consumer in consumers])
        assert self.state is GroupState.STABLE


class Consumer:
    """One member: remembers what it was told, as a client does."""

    def __init__(
        self,
        world: World,
        name: str,
        *,
        group_id: str = GROUP,
        instance_id: str | None = None,
        protocols: Mapping[str, bytes] | None = None,
        protocol_type: str = "consumer",
        session_ms: int = SESSION_MS,
        rebalance_ms: int = REBALANCE_MS,
        needs_member_id: bool = True,
        can_skip_assignment: bool = True,
    ) -> None:
        self.world = world
        self.request = JoinRequest(
            group_id=group_id,
            instance_id=instance_id,
            client_id=name,
            client_host="127.0.0.1",
            session_timeout_ms=session_ms,
            rebalance_timeout_ms=rebalance_ms,
            protocol_type=protocol_type,
            protocols=tuple(
                JoinProtocol(name, metadata)
                for name, metadata in (protocols or {"range": subscription("t")}).items()
            ),
            needs_member_id=needs_member_id,
            can_skip_assignment=can_skip_assignment,
        )
        self.member_id = ""
        self.joined: JoinResult | None = None

    @property
    def generation(self) -> int:
        return -1 if self.joined is None else self.joined.generation

    @property
    def leads(self) -> bool:
        return self.joined is not None and self.joined.leader_id == self.member_id

    def change_protocols(self, protocols: Mapping[str, bytes]) -> None:
        named = tuple(JoinProtocol(name, metadata) for name, metadata in protocols.items())
        self.request = replace(self.request, protocols=named)

    async def join(self) -> JoinResult:
        """As clients do: when the coordinator gives an id, comes back with it."""
        try:
            result = await self.join_once()
        except MemberIdRequired as error:
            self.member_id = error.member_id
            result = await self.join_once()
        return result

    async def join_once(self) -> JoinResult:
        result = await self.world.coordinator.join(replace(self.request, member_id=self.member_id))
        self.member_id = result.member_id
        self.joined = result
        return result

    def start_join(self) -> asyncio.Task[JoinResult]:
        return self.world.start_task(self.join())

    async def sync(self, assignments: Mapping[str, bytes] | None = None) -> SyncResult:
        """The leader assigns each member its own name, unless the test says otherwise."""
        assert self.joined is not None
        if assignments is None:
            members = self.joined.members if self.leads else ()
            assignments = {member.member_id: f"for {member.member_id}".encode() for member in members}
        return await self.world.coordinator.sync(
            SyncRequest(
                group_id=self.request.group_id,
                member_id=self.member_id,
                generation=self.generation,
                instance_id=self.request.instance_id,
                protocol_type=self.request.protocol_type,
                protocol=self.joined.protocol,
                assignments=tuple(assignments.items()),
            )
        )

    def start_sync(self, assignments: Mapping[str, bytes] | None = None) -> asyncio.Task[SyncResult]:
        return self.world.start_task(self.sync(assignments))

    async def leave(self) -> Exception | None:
        (error,) = await self.world.leave((self.member_id, self.request.instance_id))
        return error

    def heartbeat(self) -> None:
        self.world.coordinator.heartbeat(
            self.request.group_id, self.member_id, self.generation, self.request.instance_id
        )

    async def commit(self, offset: int, topic: str = "t", generation: int | None = None) -> Exception | None:
        (error,) = await self.world.commit(
            {topic: offset},
            member_id=self.member_id,
            instance_id=self.request.instance_id,
            generation=self.generation if generation is None else generation,
        )
        return error


async def outcome(task: asyncio.Task[Any]) -> object:
    """What became of it by now: its result, the class of its error, or "waits"."""
    await settle()
    if not task.done():
        return "waits"
    error = task.exception()
    return task.result() if error is None else type(error)


async def keep_alive(world: World, delay_ms: float, *consumers: Consumer) -> None:
    """Time passes while these send heartbeats, whatever they are told."""
    while delay_ms > 0:
        step_ms = min(1_000, delay_ms)
        await world.clock.elapse(step_ms)
        delay_ms -= step_ms
        for consumer in consumers:
            try:
                consumer.heartbeat()
            except Exception:
                continue
