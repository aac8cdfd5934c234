"""What the coordinator is asked and what it answers, without any protocol's names.

Errors are raised as classes of `mainstem.core.errors`; where a request is about several things, the error of
each stands in its answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from mainstem.model.ids import ZERO_TOPIC_ID, TopicId

UNKNOWN_MEMBER_ID: Final = ""
NO_GENERATION: Final = -1
NO_OFFSET: Final = -1


class JoinProtocol(NamedTuple):
    name: str
    metadata: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinRequest:
    group_id: str
    member_id: str = UNKNOWN_MEMBER_ID
    instance_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocol_type: str
    protocols: tuple[JoinProtocol, ...]  # the member's first choice first
    needs_member_id: bool = True  # the client knows MemberIdRequired
    can_skip_assignment: bool = True  # the client knows skip_assignment
    reason: str | None = None


class JoinedMember(NamedTuple):
    member_id: str
    instance_id: str | None
    metadata: bytes


class JoinResult(NamedTuple):
    member_id: str
    generation: int
    protocol_type: str | None
    protocol: str | None
    leader_id: str | None
    skip_assignment: bool  # the leader is told the members but must not assign
    members: tuple[JoinedMember, ...]  # only for the leader


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncRequest:
    group_id: str
    member_id: str
    generation: int
    instance_id: str | None = None
    protocol_type: str | None = None  # None: the client does not say
    protocol: str | None = None
    assignments: Sequence[tuple[str, bytes]] = ()  # from the leader: member id, assignment


class SyncResult(NamedTuple):
    protocol_type: str | None
    protocol: str | None
    assignment: bytes


class LeavingMember(NamedTuple):
    member_id: str  # may be empty when the instance id is given
    instance_id: str | None = None
    reason: str | None = None


class LeaveResult(NamedTuple):
    member_id: str
    instance_id: str | None
    error: Exception | None


class OffsetToCommit(NamedTuple):
    topic: str
    partition: int
    offset: int
    leader_epoch: int = -1
    metadata: str | None = ""
    topic_id: TopicId = ZERO_TOPIC_ID


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitRequest:
    group_id: str
    offsets: Sequence[OffsetToCommit]
    member_id: str = UNKNOWN_MEMBER_ID
    instance_id: str | None = None
    generation: int = NO_GENERATION
    retention_ms: int = -1  # -1: the broker's
    knows_group_id_not_found: bool = True  # an older client is told IllegalGeneration instead


class FetchedOffset(NamedTuple):
    topic: str
    partition: int
    offset: int  # -1: nothing committed
    leader_epoch: int
    metadata: str
    topic_id: TopicId = ZERO_TOPIC_ID  # of the topic at the commit, where the client told it
    is_unstable: bool = False  # an open transaction holds a newer one; asked for was what is certain


class GroupSummary(NamedTuple):
    group_id: str
    protocol_type: str
    state: str
    group_type: str


class MemberDescription(NamedTuple):
    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    metadata: bytes  # only of a stable group
    assignment: bytes  # of this generation, or of the one before while the group rebalances


class GroupDescription(NamedTuple):
    group_id: str
    state: str  # "Dead" when there is no such group
    protocol_type: str
    protocol: str
    members: tuple[MemberDescription, ...]
    exists: bool = True
