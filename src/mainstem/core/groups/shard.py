"""The groups of one partition of `__consumer_offsets`.

A method whose name begins with `decide` is a decision for the runtime: it returns records and an answer, or
raises. `replay` is the only place where the replayed state changes.
"""

from __future__ import annotations

from asyncio import Future
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Final

from mainstem.core.coordinator.runtime import ShardRuntime, ShardState
from mainstem.core.errors import (
    CoordinatorNotAvailable,
    GroupIdNotFound,
    IllegalGeneration,
    InconsistentGroupProtocol,
    NonEmptyGroup,
    RebalanceInProgress,
    UnknownMemberId,
)
from mainstem.core.groups import offsets
from mainstem.core.groups.config import GroupConfig
from mainstem.core.groups.group import Group
from mainstem.core.groups.join import Join
from mainstem.core.groups.pending_offsets import PendingOffsets
from mainstem.core.groups.rebalance import GroupCounters, GroupsResult, Rebalance
from mainstem.core.groups.records import (
    GroupRecord,
    GroupsRecord,
    OffsetRecord,
    decode_record,
    encode_record,
)
from mainstem.core.groups.requests import (
    NO_GENERATION,
    CommitRequest,
    FetchedOffset,
    JoinRequest,
    JoinResult,
    LeaveResult,
    LeavingMember,
    SyncRequest,
    SyncResult,
)
from mainstem.core.groups.states import GroupState
from mainstem.model.batch import Buffer
from mainstem.model.errors import MainstemError
from mainstem.model.records import NewRecord, build_batch
from mainstem.ports.clock import Clock
from mainstem.ports.random import Randomness

MAX_UNSTORED_GROUPS: Final = 100_000  # of one shard: members are about to join, the log has nothing yet


class GroupShard:
    def __init__(
        self, name: str, clock: Clock, randomness: Randomness, config: GroupConfig, counters: GroupCounters
    ) -> None:
        self.groups: dict[str, Group] = {}
        self.pending = PendingOffsets()
        self.runtime: ShardRuntime[GroupsRecord] = ShardRuntime(name, self, clock, self)
        self.counters = counters
        self._clock = clock
        self._unstored = 0
        self._removed_topics: set[str] = set()  # while loading
        self._rebalance = Rebalance(clock, config, self.runtime, counters)
        self._join = Join(clock, randomness, self._rebalance)

    @property
    def config(self) -> GroupConfig:
        return self._rebalance.config

    @config.setter
    def config(self, config: GroupConfig) -> None:
        self._rebalance.config = config

    # --- what the runtime asks of a shard

    def encode(self, record: GroupsRecord) -> tuple[bytes, bytes | None]:
        return encode_record(record)

    def decode(self, key: bytes, value: bytes | None) -> GroupsRecord | None:
        return decode_record(key, value)

    def replay(self, record: GroupsRecord) -> None:
        group = self.groups.get(record.group_id)
        if group is None:
            if record.value is None:
                if type(record) is OffsetRecord:
                    self.pending.supersede(record)
                return
            group = self.groups[record.group_id] = Group(record.group_id)
        if type(record) is OffsetRecord:
            self.pending.supersede(record)
            self._replay_offset(group, record)
        elif type(record) is GroupRecord:
            group.stored = record.value
            if record.value is None:
                self._after_deletion(group)

    def _replay_offset(self, group: Group, record: OffsetRecord) -> None:
        _, topic, partition, value = record
        partitions = group.offsets.get(topic)
        if value is not None:
            if partitions is None:
                partitions = group.offsets[topic] = {}
            partitions[partition] = value
        elif partitions is not None:
            partitions.pop(partition, None)
            if not partitions:
                del group.offsets[topic]
            self.forget_if_idle(group)

    def replay_pending(self, producer_id: int, record: GroupsRecord) -> None:
        if type(record) is not OffsetRecord or record.value is None:
            return  # nobody writes others in a transaction
        if record.group_id not in self.groups:
            self.groups[record.group_id] = Group(record.group_id)
        self.pending.hold(producer_id, record)

    def replay_end(self, producer_id: int, is_commit: bool) -> None:
        for group_id, records in self.pending.end(producer_id, is_commit=is_commit).items():
            group = self.groups.get(group_id)
            if group is None:
                group = self.groups[group_id] = Group(group_id)
            if is_commit:
                for record in records:
                    self._replay_offset(group, record)
            self.forget_if_idle(group)

    def _after_deletion(self, group: Group) -> None:
        """Offsets that outlive their group are those of a group without members."""
        if group.offsets or self.pending.of_group(group.group_id):
            kept = self.groups[group.group_id] = Group(group.group_id)
            kept.offsets = group.offsets
        else:
            del self.groups[group.group_id]
        group.bury(CoordinatorNotAvailable(f"group {group.group_id} was deleted"))

    def on_loaded(self) -> None:
        for group in self.groups.values():
            group.restore()
            for member in group.members.values():
                self._rebalance.keep_alive(group, member)
        removed, self._removed_topics = self._removed_topics, set()
        self.drop_topics(removed)
        for group in [group for group in self.groups.values() if len(group.members) > self.config.max_size]:
            reason = f"{len(group.members)} members are more than group.max.size allows"
            self._rebalance.decide_later(group, partial(self._rebalance.begin, group, reason))

    def clear(self, error: Exception) -> None:
        groups, self.groups = self.groups, {}
        self.pending = PendingOffsets()
        self._unstored = 0
        if self.runtime.state is ShardState.RESIGNED:
            self._removed_topics.clear()  # the next leader was told as well
        for group in groups.values():
            group.bury(error)

    # --- groups that the log does not know yet

    def _new_group(self, group_id: str) -> Group:
        if self._unstored >= MAX_UNSTORED_GROUPS:
            self._unstored = sum(group.stored is None for group in self.groups.values())
            if self._unstored >= MAX_UNSTORED_GROUPS:
                raise CoordinatorNotAvailable("too many new groups are being formed")
        self._unstored += 1  # an upper bound: counted anew when it reaches the limit
        group = self.groups[group_id] = Group(group_id)
        return group

    def forget_if_idle(self, group: Group) -> None:
        if (
            group.is_idle
            and not self.pending.of_group(group.group_id)
            and self.groups.get(group.group_id) is group
        ):
            del self.groups[group.group_id]
            group.bury(CoordinatorNotAvailable(f"group {group.group_id} is not here any more"))

    # --- membership

    def decide_join(self, request: JoinRequest, waiter: Future[JoinResult]) -> GroupsResult:
        group = self.groups.get(request.group_id)
        if group is None:
            if request.member_id:
                raise UnknownMemberId(f"there is no group {request.group_id}: join without a member id")
            group = self._new_group(request.group_id)
        try:
            return self._join.decide(group, request, waiter)
        except MainstemError:
            self.forget_if_idle(group)
            raise

    def decide_sync(self, request: SyncRequest, waiter: Future[SyncResult]) -> GroupsResult:
        group = self.groups.get(request.group_id)
        if group is None or group.state is GroupState.EMPTY:
            raise UnknownMemberId(f"there is no member {request.member_id} of {request.group_id}")
        member = group.check_member(request.member_id, request.instance_id)
        if request.generation != group.generation:
            raise IllegalGeneration(f"group {request.group_id} is in generation {group.generation}")
        if (request.protocol_type is not None and request.protocol_type != group.protocol_type) or (
            request.protocol is not None and request.protocol != group.protocol
        ):
            raise InconsistentGroupProtocol(f"group {group.group_id} uses {group.protocol}")
        if group.state is GroupState.PREPARING:
            raise RebalanceInProgress(f"group {group.group_id} rebalances: join again")
        self._rebalance.has_synced(group, member.member_id)
        if group.state is GroupState.STABLE:
            return GroupsResult(waiter=waiter, response=group.sync_result(member))
        group.refuse_sync(member, RebalanceInProgress("a later request takes this one's place"))
        member.sync = waiter
        if member.member_id == group.leader_id:
            return self._rebalance.store_assignment(group, request)
        return GroupsResult()

    def heartbeat(self, group_id: str, member_id: str, generation: int, instance_id: str | None) -> None:
        """Not a decision: it makes no records and rests on none."""
        group = self.groups.get(group_id)
        if group is None:
            raise UnknownMemberId(f"there is no group {group_id}")
        member = group.check_member(member_id, instance_id)
        if generation != group.generation:
            raise IllegalGeneration(f"group {group_id} is in generation {group.generation}")
        self.counters.heartbeats += 1
        self._rebalance.keep_alive(group, member)
        if group.state is GroupState.PREPARING:
            raise RebalanceInProgress(f"group {group_id} rebalances: join again")

    def decide_leave(
        self, group_id: str, leaving: Sequence[LeavingMember], waiter: Future[list[LeaveResult]]
    ) -> GroupsResult:
        group = self.groups.get(group_id)
        if group is None:
            raise UnknownMemberId(f"there is no group {group_id}")
        answers: list[LeaveResult] = []
        gone = 0
        for member_id, instance_id, _ in leaving:
            error: Exception | None = None
            try:
                self._leave(group, member_id, instance_id)
                gone += 1
            except MainstemError as refused:
                error = refused
            answers.append(LeaveResult(member_id, instance_id, error))
        if gone:
            reasons = {member.reason for member in leaving if member.reason} or {"no reason given"}
            result = self._rebalance.after_removal(group, f"{gone} members leave: {', '.join(reasons)}")
            self.forget_if_idle(group)
        else:
            result = GroupsResult()
        result.waiter = waiter
        result.response = answers
        return result

    def _leave(self, group: Group, member_id: str, instance_id: str | None) -> None:
        if not member_id:  # a tool removes a static member by its instance id
            found = None if instance_id is None else group.static_members.get(instance_id)
            if found is None:
                raise UnknownMemberId(f"group {group.group_id} has no member with instance id {instance_id}")
            member_id = found
        elif group.drop_pending(member_id):
            return
        else:
            group.check_member(member_id, instance_id)
        group.remove(member_id)

    # --- offsets

    def decide_commit(self, request: CommitRequest, waiter: Future[list[Exception | None]]) -> GroupsResult:
        group = self.groups.get(request.group_id)
        if group is not None:
            member = offsets.check_commit(group, request)
            if member is not None:  # a commit is a sign of life too
                self._rebalance.keep_alive(group, member)
        elif request.generation > NO_GENERATION:
            if request.knows_group_id_not_found:
                raise GroupIdNotFound(f"there is no group {request.group_id}")
            raise IllegalGeneration(f"there is no group {request.group_id}")
        records, errors = offsets.commit_records(
            request, self._clock.now_ms(), self._rebalance.config.offset_metadata_max_bytes
        )
        self.counters.commits += len(records)
        return GroupsResult(records, waiter=waiter, response=errors)

    def commit_in_transaction(
        self,
        request: CommitRequest,
        producer_id: int,
        producer_epoch: int,
        waiter: Future[list[Exception | None]],
    ) -> None:
        """Writes the offsets as part of a producer's transaction, now, in a batch of their own."""
        self.runtime.flush()
        self.runtime.check_active()
        group = self.groups.get(request.group_id)
        if group is not None:
            member = offsets.check_transactional_commit(group, request)
            if member is not None:
                self._rebalance.keep_alive(group, member)
        elif request.generation > NO_GENERATION:
            raise IllegalGeneration(f"there is no group {request.group_id}")
        now_ms = self._clock.now_ms()
        records, errors = offsets.commit_records(
            request, now_ms, self._rebalance.config.offset_metadata_max_bytes
        )
        result = GroupsResult(waiter=waiter, response=errors)
        if not records:
            self.runtime.run(request.group_id, lambda: result)
            return
        self.counters.commits += len(records)
        result.applied = partial(self._replay_all_pending, producer_id, records)
        pairs = [self.encode(record) for record in records]
        batch = build_batch(
            [NewRecord(key, value, timestamp_ms=now_ms) for key, value in pairs],
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            is_transactional=True,
        )
        self.runtime.append_alone(batch, result)

    def _replay_all_pending(self, producer_id: int, records: Sequence[OffsetRecord]) -> None:
        for record in records:
            self.replay_pending(producer_id, record)

    def end_transaction(
        self,
        producer_id: int,
        marker: Buffer | None,
        *,
        is_commit: bool,
        settled: Callable[[Exception | None], None],
    ) -> None:
        """Writes the marker, now; none: it was written before, and only its commit is waited for."""
        result = GroupsResult(settled=settled)
        if marker is None:
            self.runtime.run("", lambda: result)
        else:
            result.applied = partial(self.replay_end, producer_id, is_commit)
            self.runtime.append_alone(marker, result)

    def decide_fetch(
        self,
        group_id: str,
        topics: Iterable[tuple[str, Sequence[int]]] | None,
        require_stable: bool,
        waiter: Future[list[FetchedOffset]],
    ) -> GroupsResult:
        found = offsets.fetch(self.groups.get(group_id), topics)
        held = self.pending.of_group(group_id) if require_stable else None
        if held:
            found = [offsets.unstable(each) if each[:2] in held else each for each in found]
        return GroupsResult(waiter=waiter, response=found)

    def decide_delete_offsets(
        self, group_id: str, wanted: Iterable[tuple[str, int]], waiter: Future[list[Exception | None]]
    ) -> GroupsResult:
        held = self.pending.of_group(group_id)
        records, errors = offsets.delete_records(self.groups.get(group_id), group_id, wanted, held)
        return GroupsResult(records, waiter=waiter, response=errors)

    def decide_delete_group(self, group_id: str, waiter: Future[None]) -> GroupsResult:
        group = self.groups.get(group_id)
        if group is None:
            raise GroupIdNotFound(f"there is no group {group_id}")
        if group.state is not GroupState.EMPTY:
            raise NonEmptyGroup(f"group {group_id} has members")
        self.counters.deleted_groups += 1
        return GroupsResult(self._group_tombstones(group), waiter=waiter)

    def _group_tombstones(self, group: Group) -> list[GroupsRecord]:
        records: list[GroupsRecord] = [*self._offset_tombstones(group)]
        if group.stored is not None:
            records.append(GroupRecord(group.group_id, None))
        return records

    def _offset_tombstones(self, group: Group, topic: str | None = None) -> list[OffsetRecord]:
        """Of all offsets, or of those of one topic; of those that transactions hold as well."""
        return offsets.tombstones(group, topic) + [
            OffsetRecord(group.group_id, name, partition, None)
            for name, partition in self.pending.of_group(group.group_id)
            if topic in (None, name) and partition not in group.offsets.get(name, {})
        ]

    def decide_expire(self, group_id: str, now_ms: int) -> GroupsResult:
        """The offsets whose time is over, and the group if nothing else is left of it."""
        group = self.groups.get(group_id)
        if group is None:
            return GroupsResult()
        held = self.pending.of_group(group_id)
        records: list[GroupsRecord] = [
            record
            for record in offsets.expired(group, now_ms, self.config.offsets_retention_ms)
            if (record.topic, record.partition) not in held
        ]
        self.counters.expired_offsets += len(records)
        left = sum(map(len, group.offsets.values())) + len(held) - len(records)
        if not left and group.state is GroupState.EMPTY and not group.pending_members:
            if group.stored is not None:
                records.append(GroupRecord(group_id, None))
            elif not records:
                self.forget_if_idle(group)
        return GroupsResult(records)

    def drop_topics(self, topics: Iterable[str]) -> None:
        """The offsets of topics that are gone go too, once the shard is loaded."""
        names = set(topics)
        if not names:
            return
        try:
            self.runtime.check_active()
        except MainstemError:
            self._removed_topics |= names
            return
        for group in list(self.groups.values()):
            held = {topic for topic, _ in self.pending.of_group(group.group_id)}
            for topic in names & (group.offsets.keys() | held):
                self._rebalance.decide_later(group, partial(self._decide_drop, group, topic))

    def _decide_drop(self, group: Group, topic: str) -> GroupsResult:
        return GroupsResult(self._offset_tombstones(group, topic))
