"""The group coordinator as heads see it: routes each call to the shard that owns the group.

A shard is a partition of `__consumer_offsets` that this node leads. A method that waits is a coroutine; when
its caller goes away it is cancelled, and nothing is left behind that a time-out does not clear. Errors are
classes of `mainstem.core.errors`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Final

from mainstem.core.coordinator.led_shards import LedShards
from mainstem.core.coordinator.runtime import ShardLog, ShardState
from mainstem.core.coordinator.sweep import Sweep
from mainstem.core.errors import (
    CoordinatorLoadInProgress,
    InvalidGroupId,
    InvalidSessionTimeout,
)
from mainstem.core.groups.config import GroupConfig
from mainstem.core.groups.describe import describe, matches, summarize
from mainstem.core.groups.group import Group
from mainstem.core.groups.rebalance import GroupCounters, GroupsResult
from mainstem.core.groups.requests import (
    CommitRequest,
    FetchedOffset,
    GroupDescription,
    GroupSummary,
    JoinRequest,
    JoinResult,
    LeaveResult,
    LeavingMember,
    SyncRequest,
    SyncResult,
)
from mainstem.core.groups.shard import GroupShard
from mainstem.model.errors import MainstemError
from mainstem.ports.clock import Clock
from mainstem.ports.random import Randomness

OFFSETS_TOPIC: Final = "__consumer_offsets"
MAX_GROUP_ID_LENGTH: Final = 10_000  # what the key of a record can hold, whatever the encoding


class GroupCoordinator:
    def __init__(
        self, clock: Clock, randomness: Randomness, config: GroupConfig, *, partition_count: int = 50
    ) -> None:
        self.counters = GroupCounters()
        self._clock = clock
        self._randomness = randomness
        self._config = config
        self._shards: LedShards[GroupShard] = LedShards(OFFSETS_TOPIC, partition_count, self._new_shard)
        self._sweep = Sweep(
            clock,
            self._shards,
            lambda: self._config.retention_check_interval_ms,
            lambda shard: shard.groups,
            self._expire,
        )

    def _new_shard(self, name: str) -> GroupShard:
        return GroupShard(name, self._clock, self._randomness, self._config, self.counters)

    # --- life

    @property
    def config(self) -> GroupConfig:
        return self._config

    def update_config(self, config: GroupConfig) -> None:
        self._config = config
        for shard in self._shards:
            shard.config = config

    def set_partition_count(self, partition_count: int) -> None:
        """What the internal topic really has; it is made before the first group is served."""
        self._shards.partition_count = partition_count

    def on_leader(self, partition: int, epoch: int, log: ShardLog) -> None:
        self._shards.on_leader(partition, epoch, log)
        self._sweep.start()

    def on_resigned(self, partition: int, epoch: int) -> None:
        self._shards.on_resigned(partition, epoch)

    async def loaded(self) -> None:
        """Waits until no shard is loading."""
        await self._shards.loaded()

    def close(self) -> None:
        """The node stops: whoever waits is told to look for another coordinator."""
        self._sweep.stop()
        self._shards.close()

    def on_topics_removed(self, topics: Iterable[str]) -> None:
        names = tuple(topics)
        for shard in self._shards:
            if shard.runtime.state is not ShardState.RESIGNED:
                shard.drop_topics(names)

    # --- routing

    def partition_for(self, group_id: str) -> int:
        return self._shards.partition_for(group_id)

    def _shard(self, group_id: str) -> GroupShard:
        if len(group_id) > MAX_GROUP_ID_LENGTH:
            raise InvalidGroupId(f"a group's name has at most {MAX_GROUP_ID_LENGTH} characters")
        return self._shards.serving(self.partition_for(group_id), "group", group_id)

    def led_shard(self, partition: int) -> GroupShard:
        """The shard of a partition of the internal topic, if it serves now."""
        return self._shards.serving(partition, "offsets partition", partition)

    def _named_shard(self, group_id: str) -> GroupShard:
        if not group_id:
            raise InvalidGroupId("a group needs a name")
        return self._shard(group_id)

    # --- membership

    async def join(self, request: JoinRequest) -> JoinResult:
        shard = self._named_shard(request.group_id)
        low, high = self._config.min_session_timeout_ms, self._config.max_session_timeout_ms
        if not low <= request.session_timeout_ms <= high:
            raise InvalidSessionTimeout(f"a session time-out is between {low} and {high} ms")
        waiter: asyncio.Future[JoinResult] = asyncio.get_running_loop().create_future()
        shard.runtime.run(request.group_id, lambda: shard.decide_join(request, waiter))
        return await waiter

    async def sync(self, request: SyncRequest) -> SyncResult:
        shard = self._named_shard(request.group_id)
        waiter: asyncio.Future[SyncResult] = asyncio.get_running_loop().create_future()
        shard.runtime.run(request.group_id, lambda: shard.decide_sync(request, waiter))
        return await waiter

    def heartbeat(
        self, group_id: str, member_id: str, generation: int, instance_id: str | None = None
    ) -> None:
        """Returns when all is well. While the shard loads, all is: nobody's session ends then."""
        try:
            shard = self._named_shard(group_id)
        except CoordinatorLoadInProgress:
            return
        shard.heartbeat(group_id, member_id, generation, instance_id)

    async def leave(self, group_id: str, members: Sequence[LeavingMember]) -> list[LeaveResult]:
        shard = self._named_shard(group_id)
        waiter: asyncio.Future[list[LeaveResult]] = asyncio.get_running_loop().create_future()
        shard.runtime.run(group_id, lambda: shard.decide_leave(group_id, members, waiter))
        return await waiter

    # --- offsets

    async def commit_offsets(self, request: CommitRequest) -> list[Exception | None]:
        """One entry an offset of the request: its error, or none. Raises what concerns all of them."""
        return await self.commit_offsets_soon(request)

    def commit_offsets_soon(self, request: CommitRequest) -> asyncio.Future[list[Exception | None]]:
        """The same without a coroutine, for many commits in one turn."""
        shard = self._shard(request.group_id)
        waiter: asyncio.Future[list[Exception | None]] = asyncio.get_running_loop().create_future()
        shard.runtime.run(request.group_id, lambda: shard.decide_commit(request, waiter), blind=True)
        return waiter

    async def fetch_offsets(
        self,
        group_id: str,
        topics: Iterable[tuple[str, Sequence[int]]] | None = None,
        *,
        require_stable: bool = False,
    ) -> list[FetchedOffset]:
        """Of these partitions (-1 where nothing is committed), or of all that have an offset.

        `require_stable`: none where an open transaction may be about to replace it.
        """
        shard = self._shard(group_id)
        waiter: asyncio.Future[list[FetchedOffset]] = asyncio.get_running_loop().create_future()
        shard.runtime.run(
            group_id,
            lambda: shard.decide_fetch(group_id, topics, require_stable, waiter),
        )
        return await waiter

    async def delete_offsets(
        self, group_id: str, partitions: Sequence[tuple[str, int]]
    ) -> list[Exception | None]:
        shard = self._named_shard(group_id)
        waiter: asyncio.Future[list[Exception | None]] = asyncio.get_running_loop().create_future()
        shard.runtime.run(group_id, lambda: shard.decide_delete_offsets(group_id, partitions, waiter))
        return await waiter

    # --- for tools

    async def describe(self, group_id: str) -> GroupDescription:
        shard = self._named_shard(group_id)
        waiter: asyncio.Future[GroupDescription] = asyncio.get_running_loop().create_future()
        shard.runtime.run(
            group_id,
            lambda: GroupsResult(waiter=waiter, response=describe(group_id, shard.groups.get(group_id))),
        )
        return await waiter

    def list_groups(self, states: Collection[str] = (), types: Collection[str] = ()) -> list[GroupSummary]:
        """All groups of the shards that this node leads, filtered without regard to case."""
        wanted_states = {state.lower() for state in states}
        wanted_types = {kind.lower() for kind in types}
        return [
            summarize(group)
            for shard in self._shards.led()
            for group in shard.groups.values()
            if matches(group, wanted_states, wanted_types)
        ]

    async def delete_groups(self, group_ids: Sequence[str]) -> dict[str, Exception | None]:
        outcomes: dict[str, Exception | None] = {}
        waiters: dict[str, asyncio.Future[None]] = {}
        for group_id in group_ids:
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            try:
                self._start_delete(group_id, waiter)
            except MainstemError as error:
                outcomes[group_id] = error
            else:
                waiters[group_id] = waiter
        for group_id, waiter in waiters.items():
            try:
                await waiter
                outcomes[group_id] = None
            except MainstemError as error:
                outcomes[group_id] = error
        return outcomes

    def _start_delete(self, group_id: str, waiter: asyncio.Future[None]) -> None:
        shard = self._shard(group_id)
        shard.runtime.run(group_id, lambda: shard.decide_delete_group(group_id, waiter))

    def active_groups(self) -> list[Group]:
        """Every group of the shards that serve now: for figures, which do not wait for the rest."""
        return [group for shard in self._shards.active() for group in shard.groups.values()]

    @property
    def group_count(self) -> int:
        return sum(len(shard.groups) for shard in self._shards)

    def shard_states(self) -> Mapping[int, str]:
        return self._shards.states()

    # --- expiry

    @staticmethod
    def _expire(shard: GroupShard, group_id: str, now_ms: int) -> None:
        shard.runtime.run(group_id, partial(shard.decide_expire, group_id, now_ms))
