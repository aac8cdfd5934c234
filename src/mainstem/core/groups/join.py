"""Who may join a group, and under which id.

A member that has no id yet is given one. A dynamic member is first only told the id and has to come back with
it, within its session time-out, so that a client whose first answer is lost leaves no ghost behind (older
clients do not know that and are taken in at once). A static member is known by its instance id: when it comes
back without a member id, it takes the place of its former incarnation, which is fenced from then on; if the
group is stable and the selected protocol stays, nobody else notices.
"""

from __future__ import annotations

from asyncio import Future
from typing import Final

from mainstem.core.coordinator.result import answer
from mainstem.core.errors import (
    CoordinatorNotAvailable,
    GroupMaxSizeReached,
    InconsistentGroupProtocol,
    InvalidRequest,
    MemberIdRequired,
    UnknownMemberId,
)
from mainstem.core.groups.group import Group, Member
from mainstem.core.groups.rebalance import GroupsResult, Rebalance
from mainstem.core.groups.records import GroupRecord, StoredGroup
from mainstem.core.groups.requests import UNKNOWN_MEMBER_ID, JoinRequest, JoinResult
from mainstem.core.groups.states import GroupState
from mainstem.ports.clock import Clock
from mainstem.ports.random import Randomness

# Characters of a name: what the group's record can hold, whatever their encoding and with a member's number.
MAX_NAME_LENGTH: Final = 10_000
MAX_PENDING_MEMBERS: Final = 10_000  # of one group: ids given out and not used yet


class Join:
    def __init__(self, clock: Clock, randomness: Randomness, rebalance: Rebalance) -> None:
        self._clock = clock
        self._randomness = randomness
        self._rebalance = rebalance

    def decide(self, group: Group, request: JoinRequest, waiter: Future[JoinResult]) -> GroupsResult:
        if not self._has_room(group, request.member_id):
            group.remove(request.member_id)
            raise GroupMaxSizeReached(f"group {group.group_id} has as many members as group.max.size allows")
        if group.state is GroupState.DEAD:
            raise CoordinatorNotAvailable(f"group {group.group_id} is not here any more")
        if not group.supports(request.protocol_type, request.protocols):
            raise InconsistentGroupProtocol(
                f"no protocol of type {request.protocol_type!r} that all members of {group.group_id} support"
            )
        if request.member_id == UNKNOWN_MEMBER_ID:
            _check_names(request)
            return self._join_unknown(group, request, waiter)
        if request.member_id in group.pending_members and request.instance_id is None:
            return self._add(group, request, request.member_id, waiter)
        return self._join_known(group, request, waiter)

    def _has_room(self, group: Group, member_id: str) -> bool:
        max_size = self._rebalance.config.max_size
        member = group.members.get(member_id)
        match group.state:
            case GroupState.PREPARING:
                # not the number of members: those that do not come back make room
                return (member is not None and member.join is not None) or group.joined_count < max_size
            case GroupState.COMPLETING | GroupState.STABLE:
                return member is not None or len(group.members) < max_size
        return True

    def _join_unknown(self, group: Group, request: JoinRequest, waiter: Future[JoinResult]) -> GroupsResult:
        instance_id = request.instance_id
        name = request.client_id if instance_id is None else instance_id
        new_id = f"{name}-{self._randomness.unique_id()}"
        if instance_id is not None:
            old_id = group.static_members.get(instance_id)
            if old_id is not None:
                return self._replace_static(group, request, old_id, new_id, waiter)
        elif request.needs_member_id:
            self._expect(group, new_id, request.session_timeout_ms)
            raise MemberIdRequired(new_id)
        return self._add(group, request, new_id, waiter)

    def _expect(self, group: Group, member_id: str, timeout_ms: int) -> None:
        if len(group.pending_members) >= MAX_PENDING_MEMBERS:
            raise GroupMaxSizeReached(f"group {group.group_id}: too many members are about to join")

        def gone() -> GroupsResult:
            group.drop_pending(member_id)
            return self._rebalance.complete_if_all_joined(group)

        group.pending_members[member_id] = self._clock.call_later(
            timeout_ms, lambda: self._rebalance.decide_later(group, gone)
        )

    def _new_member(self, request: JoinRequest, member_id: str) -> Member:
        return Member(
            member_id,
            request.instance_id,
            request.client_id,
            request.client_host,
            request.rebalance_timeout_ms,
            request.session_timeout_ms,
            request.protocols,
        )

    def _add(
        self, group: Group, request: JoinRequest, member_id: str, waiter: Future[JoinResult]
    ) -> GroupsResult:
        member = self._new_member(request, member_id)
        member.is_new = True
        member.knows_its_id = request.member_id == member_id or request.instance_id is not None
        if group.state is GroupState.PREPARING and group.previous_state is GroupState.EMPTY:
            group.has_new_member = True
        group.add(member, request.protocol_type)
        group.await_join(member, waiter)
        if not member.knows_its_id:
            waiter.add_done_callback(lambda future: self._forget_if_cancelled(group, member, future))
        # It cannot send heartbeats while it waits, but must not wait for ever if it is gone.
        timeout_ms = self._rebalance.config.new_member_join_timeout_ms
        self._rebalance.keep_alive(group, member, timeout_ms)
        return self._rebalance.begin_or_complete(group, f"{member_id} joins ({request.reason or 'new'})")

    def _forget_if_cancelled(self, group: Group, member: Member, future: Future[JoinResult]) -> None:
        """Its connection is gone, and it can never come back under an id that it was not told."""
        if future.cancelled() and member.join is future:
            reason = f"{member.member_id} went away while it joined"
            self._rebalance.decide_later(
                group, lambda: self._rebalance.remove_member(group, member.member_id, reason)
            )

    def _join_known(self, group: Group, request: JoinRequest, waiter: Future[JoinResult]) -> GroupsResult:
        member = group.check_member(request.member_id, request.instance_id)
        is_same = tuple(member.protocols) == request.protocols
        match group.state:
            case GroupState.PREPARING:
                return self._rejoin(group, member, request, waiter)
            case GroupState.COMPLETING if is_same:
                # it did not get the answer to its first request
                answer(waiter, group.join_result(member.member_id))
                return GroupsResult()
            case GroupState.STABLE if is_same and member.member_id != group.leader_id:
                return GroupsResult(
                    waiter=waiter, response=group.join_result(member.member_id)._replace(members=())
                )
            case GroupState.COMPLETING | GroupState.STABLE:
                # the leader asks for a rebalance by joining; anybody by new metadata
                return self._rejoin(group, member, request, waiter)
        raise UnknownMemberId(f"group {group.group_id} is empty: join without a member id")

    def _rejoin(
        self, group: Group, member: Member, request: JoinRequest, waiter: Future[JoinResult]
    ) -> GroupsResult:
        group.update(member, request.protocols, request.rebalance_timeout_ms, request.session_timeout_ms)
        group.await_join(member, waiter)
        return self._rebalance.begin_or_complete(
            group, f"{member.member_id} joins again ({request.reason or 'no reason given'})"
        )

    # --- static members

    def _replace_static(
        self, group: Group, request: JoinRequest, old_id: str, new_id: str, waiter: Future[JoinResult]
    ) -> GroupsResult:
        member = self._new_member(request, new_id)
        if group.state is GroupState.STABLE and group.select_protocol(old_id, member) == group.protocol:
            return self._replace_quietly(group, request, old_id, member, waiter)
        group.replace_static(old_id, member)
        group.await_join(member, waiter)
        self._rebalance.keep_alive(group, member)
        if group.state is GroupState.PREPARING:
            return self._rebalance.complete_if_all_joined(group)
        return self._rebalance.begin(group, f"static member {request.instance_id} is back as {new_id}")

    def _replace_quietly(
        self, group: Group, request: JoinRequest, old_id: str, member: Member, waiter: Future[JoinResult]
    ) -> GroupsResult:
        """The group stays as it is; the log learns the new id, and then the member its generation."""
        since_ms = self._clock.now_ms()
        leader_before = group.leader_id
        is_leader = leader_before == old_id
        leader_id = member.member_id if is_leader else leader_before
        protocol = group.protocol
        members = tuple(
            [
                (member if name == old_id else other).as_stored(protocol, other.assignment)
                for name, other in group.members.items()
            ]
        )
        protocol_type = group.protocol_type or ""
        stored = StoredGroup(protocol_type, group.generation, protocol, leader_id, since_ms, members)

        def applied() -> None:
            group.replace_static(old_id, member)
            group.state_since_ms = since_ms
            group.learn_subscriptions()
            self._rebalance.keep_alive(group, member)

        def settled(error: Exception | None) -> None:
            if error is None and not waiter.done():
                waiter.set_result(self._quiet_result(group, request, member, leader_before))

        return GroupsResult(
            (GroupRecord(group.group_id, stored),), waiter=waiter, applied=applied, settled=settled
        )

    def _quiet_result(
        self, group: Group, request: JoinRequest, member: Member, leader_before: str | None
    ) -> JoinResult:
        result = group.join_result(member.member_id)
        if request.can_skip_assignment:
            return result._replace(skip_assignment=member.member_id == group.leader_id)
        # An older client that is told to lead would assign; told of a leader that is gone, it just syncs.
        return result._replace(leader_id=leader_before, members=())


def _check_names(request: JoinRequest) -> None:
    names = [request.client_id, request.instance_id or "", request.protocol_type]
    names += [protocol.name for protocol in request.protocols]
    if max(map(len, names)) > MAX_NAME_LENGTH:
        raise InvalidRequest(
            f"a name of a member or of its protocols has more than {MAX_NAME_LENGTH} characters"
        )
