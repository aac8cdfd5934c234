"""How a group gets from one generation to the next: the phases, and the patience that each has.

1. *Prepare.* Someone joins, leaves, fails or changes its mind: all members are asked to join again (their
   heartbeats say so). The phase ends when all have joined, or at the longest of the members' rebalance time-
   outs; dynamic members that have not joined by then are out. A group that was empty waits a little longer
   instead, so that consumers which start together get into one generation: the initial delay, set anew while
   members keep coming, up to the longest rebalance time-out.
2. *Complete.* The generation has its number, its protocol and its leader; everyone who joined is told. Now
all
   have a rebalance time-out's time to ask for their assignment (sync), and the leader to bring it.
3. *Stable.* The leader's assignment is appended as one record; with that the group is stable, and once the
   record is committed the assignments go out.

A group from which all have gone has a record too: its next generation, without members.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final, Protocol

from mainstem.core.coordinator.result import Result, answer
from mainstem.core.errors import RebalanceInProgress
from mainstem.core.groups.config import GroupConfig
from mainstem.core.groups.group import NO_ASSIGNMENT, Group, Member
from mainstem.core.groups.records import GroupRecord, GroupsRecord, StoredGroup
from mainstem.core.groups.requests import SyncRequest
from mainstem.core.groups.states import GroupState
from mainstem.model.errors import MainstemError
from mainstem.ports.clock import Clock

RETRY_DELAY_MS: Final = 1_000
STALL_MS: Final = 1_000  # a timer that fires so late says that the process stood still

GroupsResult = Result[GroupsRecord]
_log = logging.getLogger(__name__)


class GroupCounters:
    """For the metrics; they only grow."""

    __slots__ = (
        "commits",
        "deleted_groups",
        "expired_offsets",
        "heartbeats",
        "rebalances",
        "session_timeouts",
    )

    def __init__(self) -> None:
        self.commits = 0  # offsets, not requests
        self.deleted_groups = 0
        self.expired_offsets = 0
        self.heartbeats = 0
        self.rebalances = 0  # completed
        self.session_timeouts = 0


class Decisions(Protocol):
    """The shard's runtime, as timers use it."""

    def run(self, scope: str, decide: Callable[[], GroupsResult], *, blind: bool = False) -> None: ...


class Rebalance:
    def __init__(
        self, clock: Clock, config: GroupConfig, decisions: Decisions, counters: GroupCounters
    ) -> None:
        self.config = config
        self.counters = counters
        self._clock = clock
        self._decisions = decisions

    def decide_later(self, group: Group, decide: Callable[[], GroupsResult]) -> None:
        """A decision that nobody asked for: a time-out's."""
        if group.state is GroupState.DEAD:
            return
        try:
            self._decisions.run(group.group_id, decide)
        except MainstemError as error:  # the shard is led elsewhere by now, or was given up
            _log.debug("group %s: %s", group.group_id, error)

    # --- phase 1

    def begin_or_complete(self, group: Group, reason: str) -> GroupsResult:
        if group.state is GroupState.PREPARING:
            return self.complete_if_all_joined(group)
        return self.begin(group, reason)

    def begin(self, group: Group, reason: str) -> GroupsResult:
        if group.state is not GroupState.EMPTY:
            self._send_back(group)
        self._end_sync_phase(group)
        was_empty = group.state is GroupState.EMPTY
        group.move_to(GroupState.PREPARING, self._clock.now_ms())
        _log.info("group %s: rebalance after generation %d: %s", group.group_id, group.generation, reason)
        if was_empty:
            delay_ms = self.config.initial_rebalance_delay_ms
            group.has_new_member = False
            self._await_newcomers(group, delay_ms, max(group.rebalance_timeout_ms - delay_ms, 0))
            return Result()
        if group.all_joined:
            return self.complete(group)
        self._complete_after(group, group.rebalance_timeout_ms)
        return Result()

    def _send_back(self, group: Group) -> None:
        """Who waits for an assignment is to join again. What members of a stable group have, they read on."""
        error = RebalanceInProgress(f"group {group.group_id} rebalances: join again")
        is_forming = group.state is GroupState.COMPLETING
        for member in group.members.values():
            group.refuse_sync(member, error)
            if is_forming:
                member.assignment = NO_ASSIGNMENT

    def _await_newcomers(self, group: Group, delay_ms: int, remaining_ms: int) -> None:
        def delay_is_over() -> GroupsResult:
            if group.state is not GroupState.PREPARING:
                return Result()
            if not group.has_new_member or remaining_ms == 0:
                return self.complete(group)
            group.has_new_member = False
            next_delay_ms = min(self.config.initial_rebalance_delay_ms, remaining_ms)
            self._await_newcomers(group, next_delay_ms, max(remaining_ms - delay_ms, 0))
            return Result()

        group.join_timer = self._clock.call_later(delay_ms, lambda: self.decide_later(group, delay_is_over))

    def _complete_after(self, group: Group, delay_ms: float) -> None:
        def time_is_up() -> GroupsResult:
            return self.complete(group) if group.state is GroupState.PREPARING else Result()

        if group.join_timer is not None:
            group.join_timer.cancel()
        group.join_timer = self._clock.call_later(delay_ms, lambda: self.decide_later(group, time_is_up))

    def complete_if_all_joined(self, group: Group) -> GroupsResult:
        if (
            group.state is GroupState.PREPARING
            and group.previous_state is not GroupState.EMPTY
            and group.all_joined
        ):
            return self.complete(group)
        return Result()

    # --- phase 2

    def complete(self, group: Group) -> GroupsResult:
        if group.join_timer is not None:
            group.join_timer.cancel()
            group.join_timer = None
        late = [m.member_id for m in group.members.values() if m.join is None and m.instance_id is None]
        for member_id in late:
            group.remove(member_id)
        if late:
            _log.info("group %s: %d members did not join again and are out", group.group_id, len(late))
        if not group.members:
            return self._store_empty(group)
        if not group.elect_joined_leader():  # only static members, none here: their sessions decide
            self._complete_after(group, group.rebalance_timeout_ms)
            return Result()
        self._form_generation(group)
        return Result()

    def _form_generation(self, group: Group) -> None:
        group.generation += 1
        group.protocol = group.select_protocol()
        group.learn_subscriptions()
        group.move_to(GroupState.COMPLETING, self._clock.now_ms())
        group.pending_sync = set(group.members)
        for member in group.members.values():
            if member.join is not None:
                group.answer_join(member, group.join_result(member.member_id))
            member.is_new = False
            member.knows_its_id = True
            self.keep_alive(group, member)
        generation = group.generation
        group.sync_timer = self._clock.call_later(
            group.rebalance_timeout_ms,
            lambda: self.decide_later(group, lambda: self._expire_sync(group, generation)),
        )
        _log.info("group %s: generation %d has %d members", group.group_id, generation, len(group.members))

    def _store_empty(self, group: Group) -> GroupsResult:
        generation = group.generation + 1
        since_ms = self._clock.now_ms()
        stored = StoredGroup(group.protocol_type or "", generation, None, None, since_ms, ())

        def settled(error: Exception | None) -> None:
            if error is not None and group.state is GroupState.PREPARING:
                self._complete_after(group, RETRY_DELAY_MS)

        return Result(
            (GroupRecord(group.group_id, stored),),
            applied=lambda: group.become_empty(generation, since_ms),
            settled=settled,
        )

    def _expire_sync(self, group: Group, generation: int) -> GroupsResult:
        if group.generation != generation or group.state not in (GroupState.COMPLETING, GroupState.STABLE):
            return Result()
        late = list(group.pending_sync)
        if not late:
            return Result()
        for member_id in late:
            group.remove(member_id)
        return self.begin(group, f"{len(late)} members did not ask for their assignment")

    def has_synced(self, group: Group, member_id: str) -> None:
        group.pending_sync.discard(member_id)
        if not group.pending_sync:
            self._end_sync_phase(group)

    def _end_sync_phase(self, group: Group) -> None:
        group.pending_sync.clear()
        if group.sync_timer is not None:
            group.sync_timer.cancel()
            group.sync_timer = None

    # --- phase 3

    def store_assignment(self, group: Group, request: SyncRequest) -> GroupsResult:
        """The leader's assignment; who is not in it gets an empty one."""
        assignments = dict(request.assignments)
        since_ms = self._clock.now_ms()
        stored = group.next_stored(assignments, since_ms)
        generation = group.generation

        def settled(error: Exception | None) -> None:
            if error is None:
                if group.generation == generation and group.state is GroupState.STABLE:
                    self._hand_out_assignments(group)
            elif group.generation == generation and group.state is GroupState.COMPLETING:
                for member in group.members.values():
                    group.refuse_sync(member, error)
                reason = f"the assignment could not be stored: {error}"
                self.decide_later(group, lambda: self.begin(group, reason))

        return Result(
            (GroupRecord(group.group_id, stored),),
            applied=lambda: group.become_stable(assignments, since_ms),
            settled=settled,
        )

    def _hand_out_assignments(self, group: Group) -> None:
        self.counters.rebalances += 1
        for member in group.members.values():
            if member.sync is not None:
                answer(member.sync, group.sync_result(member))
                member.sync = None
                self.keep_alive(group, member)

    # --- sessions

    def keep_alive(self, group: Group, member: Member, timeout_ms: float | None = None) -> None:
        """The session goes on. Moves the deadline; the timer looks at it when it fires."""
        if timeout_ms is None:
            timeout_ms = member.session_timeout_ms
        member.deadline_ms = self._clock.monotonic_ms() + timeout_ms
        if member.timer is None or member.deadline_ms < member.timer_due_ms:
            self._arm(group, member, timeout_ms)

    def _arm(self, group: Group, member: Member, delay_ms: float) -> None:
        member.cancel_timer()
        member.timer_due_ms = self._clock.monotonic_ms() + delay_ms
        member.timer = self._clock.call_later(delay_ms, lambda: self._look_at_session(group, member))

    def _look_at_session(self, group: Group, member: Member) -> None:
        member.timer = None
        if group.members.get(member.member_id) is not member or group.state is GroupState.DEAD:
            return
        now_ms = self._clock.monotonic_ms()
        remaining_ms = member.deadline_ms - now_ms
        if remaining_ms > 0:
            self._arm(group, member, remaining_ms)
        elif now_ms - member.timer_due_ms > STALL_MS:
            self.keep_alive(group, member)  # we stood still and heard nobody: as after a restart
        elif not member.is_new and (member.join is not None or member.sync is not None):
            self.keep_alive(group, member)  # it waits for us, not we for it
        else:
            self.decide_later(group, lambda: self._expire_session(group, member))

    def _expire_session(self, group: Group, member: Member) -> GroupsResult:
        if group.members.get(member.member_id) is not member:
            return Result()
        self.counters.session_timeouts += 1
        return self.remove_member(group, member.member_id, f"the session of {member.member_id} timed out")

    def remove_member(self, group: Group, member_id: str, reason: str) -> GroupsResult:
        group.remove(member_id)
        return self.after_removal(group, reason)

    def after_removal(self, group: Group, reason: str) -> GroupsResult:
        if group.state in (GroupState.STABLE, GroupState.COMPLETING):
            return self.begin(group, reason)
        return self.complete_if_all_joined(group)
