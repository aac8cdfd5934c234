"""One group: what the log says of it, and what is under way.

Replayed, and so the same after a restart: `stored` (the last completed generation: its number, protocol,
leader, members with their subscriptions and assignments, or that it is empty) and `offsets`. They change only
when a record is replayed.

Volatile, and so forgotten by a restart: everything below `state`. In the states Empty and Stable it says the
same as `stored`; in between it is the attempt to get from one stored generation to the next: who has joined,
who waits for an answer, which generation is being formed, when whose patience ends. A restart in the middle
goes back to the stored generation, and the members find out by an error and join again. A deadline begins
anew.

Memory: about 350 bytes an offset; a member about 1.5 KB and twice its metadata; an idle group about 1 KB.
"""

from __future__ import annotations

from asyncio import Future
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from mainstem.core.coordinator.result import answer, refuse
from mainstem.core.errors import FencedInstanceId, RebalanceInProgress, UnknownMemberId
from mainstem.core.groups.records import NO_STATE_TIMESTAMP, CommittedOffset, StoredGroup, StoredMember
from mainstem.core.groups.requests import JoinedMember, JoinProtocol, JoinResult, SyncResult
from mainstem.core.groups.states import ALLOWED_FROM, GroupState
from mainstem.core.groups.subscription import CONSUMER_PROTOCOL_TYPE, subscribed_topics
from mainstem.ports.clock import TimerHandle

NO_ASSIGNMENT: Final = b""


class Member:
    __slots__ = (
        "assignment",
        "client_host",
        "client_id",
        "deadline_ms",
        "instance_id",
        "is_new",
        "join",
        "knows_its_id",
        "member_id",
        "protocols",
        "rebalance_timeout_ms",
        "session_timeout_ms",
        "sync",
        "timer",
        "timer_due_ms",
    )

    def __init__(
        self,
        member_id: str,
        instance_id: str | None,
        client_id: str,
        client_host: str,
        rebalance_timeout_ms: int,
        session_timeout_ms: int,
        protocols: Sequence[JoinProtocol],
    ) -> None:
        self.member_id = member_id
        self.instance_id = instance_id
        self.client_id = client_id
        self.client_host = client_host
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.session_timeout_ms = session_timeout_ms
        self.protocols = protocols
        self.assignment = NO_ASSIGNMENT
        self.join: Future[JoinResult] | None = None  # has joined the coming generation and waits for it
        self.sync: Future[SyncResult] | None = None  # waits for its assignment
        self.is_new = False  # in no completed generation yet
        self.knows_its_id = True
        self.deadline_ms = 0.0  # of its session, on the monotonic clock
        self.timer: TimerHandle | None = None  # fires at timer_due_ms and looks whether the deadline moved on
        self.timer_due_ms = 0.0

    def metadata(self, protocol: str | None) -> bytes:
        for name, metadata in self.protocols:
            if name == protocol:
                return metadata
        return b""

    def vote(self, candidates: set[str]) -> str | None:
        return next((name for name, _ in self.protocols if name in candidates), None)

    def as_stored(self, protocol: str | None, assignment: bytes) -> StoredMember:
        return StoredMember(
            self.member_id,
            self.instance_id,
            self.client_id,
            self.client_host,
            self.rebalance_timeout_ms,
            self.session_timeout_ms,
            self.metadata(protocol),
            assignment,
        )

    def cancel_timer(self) -> None:
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None


class Group:
    __slots__ = (
        "generation",
        "group_id",
        "has_new_member",
        "join_timer",
        "joined_count",
        "leader_id",
        "members",
        "offsets",
        "pending_members",
        "pending_sync",
        "previous_state",
        "protocol",
        "protocol_type",
        "state",
        "state_since_ms",
        "static_members",
        "stored",
        "subscribed_topics",
        "supporters",
        "sync_timer",
    )

    def __init__(self, group_id: str) -> None:
        self.group_id = group_id
        self.stored: StoredGroup | None = None
        self.offsets: dict[str, dict[int, CommittedOffset]] = {}
        self.state = GroupState.EMPTY
        self.previous_state = GroupState.EMPTY
        self.state_since_ms: int | None = None  # as the record says, wall clock
        self.generation = 0
        self.protocol_type: str | None = None
        self.protocol: str | None = None
        self.leader_id: str | None = None  # in members, if any is
        self.members: dict[str, Member] = {}
        self.static_members: dict[str, str] = {}  # instance id -> member id, of exactly the static members
        self.pending_members: dict[str, TimerHandle] = {}  # were given an id and are to join under it
        self.pending_sync: set[str] = set()  # of the forming generation, have not asked for their assignment
        self.supporters: Counter[str] = Counter()  # protocol -> how many members support it
        self.joined_count = 0  # how many members have a `join`
        self.has_new_member = False  # since the initial delay was last set
        self.subscribed_topics: frozenset[str] | None = None  # None: not known
        self.join_timer: TimerHandle | None = None
        self.sync_timer: TimerHandle | None = None

    # --- from the records

    def restore(self) -> None:
        """Volatile state from the replayed one, after loading."""
        stored = self.stored
        if stored is None:
            return
        self.state = self.previous_state = GroupState.STABLE if stored.members else GroupState.EMPTY
        since = stored.state_timestamp_ms
        self.state_since_ms = None if since == NO_STATE_TIMESTAMP else since
        self.generation = stored.generation
        self.protocol_type = stored.protocol_type or None
        self.protocol = stored.protocol
        self.leader_id = stored.leader_id
        for entry in stored.members:
            member = Member(
                entry.member_id,
                entry.instance_id,
                entry.client_id,
                entry.client_host,
                entry.rebalance_timeout_ms,
                entry.session_timeout_ms,
                (JoinProtocol(stored.protocol or "", entry.subscription),),
            )
            member.assignment = entry.assignment
            self._insert(member)
        self.learn_subscriptions()

    def next_stored(self, assignments: dict[str, bytes], since_ms: int) -> StoredGroup:
        """The record of the generation that is being formed."""
        protocol = self.protocol
        get = assignments.get
        members = tuple(
            [member.as_stored(protocol, get(name, NO_ASSIGNMENT)) for name, member in self.members.items()]
        )
        return StoredGroup(
            self.protocol_type or "", self.generation, protocol, self.leader_id, since_ms, members
        )

    # --- states

    def move_to(self, state: GroupState, since_ms: int) -> None:
        if self.state not in ALLOWED_FROM[state]:
            raise AssertionError(f"group {self.group_id} cannot go from {self.state.value} to {state.value}")
        self.previous_state = self.state
        self.state = state
        self.state_since_ms = since_ms

    def become_stable(self, assignments: dict[str, bytes], since_ms: int) -> None:
        for member_id, member in self.members.items():
            member.assignment = assignments.get(member_id, NO_ASSIGNMENT)
        self.move_to(GroupState.STABLE, since_ms)

    def become_empty(self, generation: int, since_ms: int) -> None:
        self.generation = generation
        self.protocol = None
        self.leader_id = None
        self.pending_sync.clear()
        self.learn_subscriptions()
        self.move_to(GroupState.EMPTY, since_ms)

    def cancel_timers(self) -> None:
        for timer in (self.join_timer, self.sync_timer, *self.pending_members.values()):
            if timer is not None:
                timer.cancel()
        self.join_timer = self.sync_timer = None
        for member in self.members.values():
            member.cancel_timer()

    def bury(self, error: Exception) -> None:
        """The group is deleted, or its shard is given up."""
        self.cancel_timers()
        self.pending_members.clear()
        for member in self.members.values():
            if member.join is not None:
                refuse(member.join, error)
            if member.sync is not None:
                refuse(member.sync, error)
        self.move_to(GroupState.DEAD, self.state_since_ms or 0)

    @property
    def is_idle(self) -> bool:
        """Neither the log nor anybody alive knows of it."""
        return (
            self.stored is None
            and not self.offsets
            and not self.members
            and not self.pending_members
            and self.state is GroupState.EMPTY
        )

    # --- members

    def _insert(self, member: Member) -> None:
        self.members[member.member_id] = member
        if member.instance_id is not None:
            self.static_members[member.instance_id] = member.member_id
        self.supporters.update({name for name, _ in member.protocols})

    def add(self, member: Member, protocol_type: str) -> None:
        if not self.members:
            self.protocol_type = protocol_type
        if self.leader_id is None:
            self.leader_id = member.member_id
        self._insert(member)
        self.drop_pending(member.member_id)

    def drop_pending(self, member_id: str) -> bool:
        timer = self.pending_members.pop(member_id, None)
        if timer is None:
            return False
        timer.cancel()
        return True

    def remove(self, member_id: str) -> None:
        """Whoever waits as this member is told that it is unknown now, and may join anew."""
        self.drop_pending(member_id)
        self.pending_sync.discard(member_id)
        member = self.members.pop(member_id, None)
        if member is None:
            return
        self._withdraw(member, UnknownMemberId(f"{member_id} is not in the group any more"))
        if member.instance_id is not None:
            del self.static_members[member.instance_id]
        if self.leader_id == member_id:
            self.leader_id = next(iter(self.members), None)

    def _withdraw(self, member: Member, error: Exception) -> None:
        self.refuse_join(member, error)
        self.refuse_sync(member, error)
        member.cancel_timer()
        self._drop_support(member.protocols)

    def _drop_support(self, protocols: Iterable[JoinProtocol]) -> None:
        for name in {name for name, _ in protocols}:
            self.supporters[name] -= 1
            if not self.supporters[name]:
                del self.supporters[name]

    def update(
        self,
        member: Member,
        protocols: Sequence[JoinProtocol],
        rebalance_timeout_ms: int,
        session_timeout_ms: int,
    ) -> None:
        self._drop_support(member.protocols)
        member.protocols = protocols
        self.supporters.update({name for name, _ in protocols})
        member.rebalance_timeout_ms = rebalance_timeout_ms
        member.session_timeout_ms = session_timeout_ms

    def replace_static(self, old_id: str, new: Member) -> None:
        """The place of a static member goes to its next incarnation; the old one is fenced."""
        old = self.members[old_id]
        self._withdraw(old, FencedInstanceId(f"{old.instance_id} has joined as {new.member_id}"))
        self.pending_sync.discard(old_id)
        new.assignment = old.assignment
        # the order of the members is that of the record: it stays
        self.members = {
            (new.member_id if name == old_id else name): (new if name == old_id else member)
            for name, member in self.members.items()
        }
        assert new.instance_id is not None
        self.static_members[new.instance_id] = new.member_id
        self.supporters.update({name for name, _ in new.protocols})
        if self.leader_id == old_id:
            self.leader_id = new.member_id

    def check_member(self, member_id: str, instance_id: str | None) -> Member:
        if instance_id is not None:
            current = self.static_members.get(instance_id)
            if current is None:
                raise UnknownMemberId(f"group {self.group_id} has no member with instance id {instance_id}")
            if current != member_id:
                raise FencedInstanceId(f"instance id {instance_id} belongs to {current}, not to {member_id}")
        member = self.members.get(member_id)
        if member is None:
            raise UnknownMemberId(f"group {self.group_id} has no member {member_id}: join again")
        return member

    # --- waiting for the next generation

    def await_join(self, member: Member, waiter: Future[JoinResult]) -> None:
        if member.join is None:
            self.joined_count += 1
        else:
            refuse(member.join, RebalanceInProgress("a later request to join takes this one's place"))
        member.join = waiter

    def answer_join(self, member: Member, result: JoinResult) -> None:
        if member.join is not None:
            answer(member.join, result)
            member.join = None
            self.joined_count -= 1

    def refuse_join(self, member: Member, error: Exception) -> None:
        if member.join is not None:
            refuse(member.join, error)
            member.join = None
            self.joined_count -= 1

    @staticmethod
    def refuse_sync(member: Member, error: Exception) -> None:
        if member.sync is not None:
            refuse(member.sync, error)
            member.sync = None

    @property
    def all_joined(self) -> bool:
        return self.joined_count == len(self.members) and not self.pending_members

    @property
    def rebalance_timeout_ms(self) -> int:
        return max((member.rebalance_timeout_ms for member in self.members.values()), default=0)

    def elect_joined_leader(self) -> bool:
        """The leader stays if it has joined; else the first member that has. False: nobody has."""
        leader = self.members.get(self.leader_id) if self.leader_id is not None else None
        if leader is not None and leader.join is not None:
            return True
        joined = next((member for member in self.members.values() if member.join is not None), None)
        if joined is None:
            return False
        self.leader_id = joined.member_id
        return True

    # --- protocols

    def supports(self, protocol_type: str, protocols: Sequence[JoinProtocol]) -> bool:
        """Whether a member with these could be in the group: all members must share one protocol."""
        if self.state is GroupState.EMPTY:
            return bool(protocol_type) and bool(protocols)
        count = len(self.members)
        return self.protocol_type == protocol_type and any(
            self.supporters[name] == count for name, _ in protocols
        )

    def select_protocol(
        self, replaced_id: str | None = None, replacement: Member | None = None
    ) -> str | None:
        """Each member votes for its first choice among what all support; most votes win.

        With a replacement: what would be selected if that member stood in the place of `replaced_id`.
        """
        members = [
            replacement if replacement is not None and name == replaced_id else member
            for name, member in self.members.items()
        ]
        if not members:
            return None
        candidates = {name for name, _ in members[0].protocols}
        for member in members[1:]:
            candidates.intersection_update([name for name, _ in member.protocols])
        votes = Counter(member.vote(candidates) for member in members)
        return votes.most_common(1)[0][0]

    def learn_subscriptions(self) -> None:
        self.subscribed_topics = None
        if self.protocol_type != CONSUMER_PROTOCOL_TYPE:
            return
        if not self.members:
            self.subscribed_topics = frozenset()
        elif self.protocol is not None:
            self.subscribed_topics = subscribed_topics(
                [member.metadata(self.protocol) for member in self.members.values()]
            )

    def is_subscribed_to(self, topic: str) -> bool:
        """When in doubt, a group of consumers is."""
        if self.subscribed_topics is None:
            return self.protocol_type == CONSUMER_PROTOCOL_TYPE
        return topic in self.subscribed_topics

    # --- answers

    def joined_members(self) -> tuple[JoinedMember, ...]:
        protocol = self.protocol
        return tuple(
            [JoinedMember(m.member_id, m.instance_id, m.metadata(protocol)) for m in self.members.values()]
        )

    def join_result(self, member_id: str) -> JoinResult:
        """The present generation, as this member is told of it."""
        members = self.joined_members() if member_id == self.leader_id else ()
        return JoinResult(
            member_id, self.generation, self.protocol_type, self.protocol, self.leader_id, False, members
        )

    def sync_result(self, member: Member) -> SyncResult:
        return SyncResult(self.protocol_type, self.protocol, member.assignment)
