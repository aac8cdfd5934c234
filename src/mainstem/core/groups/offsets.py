"""Decisions about committed offsets: commit, delete, expire. All of them only make records.

An offset is kept as long as its group reads it. It expires `offsets_retention_ms` after the group became
empty; of a group that never had members, after its commit; of a stable group of consumers, after its commit
if no member is subscribed to the topic. A client of old can ask for its own retention: then that counts.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence

from mainstem.core.errors import (
    CoordinatorNotAvailable,
    GroupIdNotFound,
    GroupSubscribedToTopic,
    IllegalGeneration,
    NonEmptyGroup,
    OffsetMetadataTooLarge,
    RebalanceInProgress,
    UnknownMemberId,
)
from mainstem.core.groups.group import Group, Member
from mainstem.core.groups.records import NO_EXPIRY, CommittedOffset, OffsetRecord
from mainstem.core.groups.requests import NO_OFFSET, CommitRequest, FetchedOffset
from mainstem.core.groups.states import GroupState
from mainstem.core.groups.subscription import CONSUMER_PROTOCOL_TYPE

LATEST_MS = 2**63 - 1  # what a record can hold: the longest retention there is never ends


def check_commit(group: Group, request: CommitRequest) -> Member | None:
    """The committing member; none for a consumer that assigns its partitions itself, and for tools."""
    if group.state is GroupState.DEAD:
        raise CoordinatorNotAvailable(f"group {group.group_id} is not here any more")
    if request.generation < 0 and group.state is GroupState.EMPTY:
        return None
    if request.generation < 0 and not request.member_id and request.instance_id is None:
        raise UnknownMemberId(f"group {group.group_id} has members: only they may commit")
    member = group.check_member(request.member_id, request.instance_id)
    if request.generation != group.generation:
        raise IllegalGeneration(f"group {group.group_id} is in generation {group.generation}")
    if group.state is GroupState.COMPLETING:
        raise RebalanceInProgress(f"group {group.group_id} forms generation {group.generation}")
    return member


def check_transactional_commit(group: Group, request: CommitRequest) -> Member | None:
    """As `check_commit`, but a producer need not say for which member it commits: it is fenced itself."""
    if group.state is GroupState.DEAD:
        raise CoordinatorNotAvailable(f"group {group.group_id} is not here any more")
    is_anonymous = not request.member_id and request.instance_id is None
    if request.generation < 0 and (is_anonymous or group.state is GroupState.EMPTY):
        return None
    member = group.check_member(request.member_id, request.instance_id)
    if request.generation != group.generation:
        raise IllegalGeneration(f"group {group.group_id} is in generation {group.generation}")
    return member


def commit_records(
    request: CommitRequest, now_ms: int, metadata_max: int
) -> tuple[list[OffsetRecord], list[Exception | None]]:
    """The records, and what became of each offset of the request."""
    group_id = request.group_id
    expire_ms = NO_EXPIRY if request.retention_ms < 0 else min(now_ms + request.retention_ms, LATEST_MS)
    records: list[OffsetRecord] = []
    errors: list[Exception | None] = []
    for topic, partition, offset, leader_epoch, metadata, topic_id in request.offsets:
        if metadata is not None and len(metadata) > metadata_max:
            errors.append(OffsetMetadataTooLarge(f"more than {metadata_max} characters of metadata"))
            continue
        value = CommittedOffset(offset, leader_epoch, metadata or "", now_ms, expire_ms, topic_id)
        records.append(OffsetRecord(group_id, topic, partition, value))
        errors.append(None)
    return records, errors


def fetch(group: Group | None, topics: Iterable[tuple[str, Sequence[int]]] | None) -> list[FetchedOffset]:
    """What is committed for these partitions, or for all that have something."""
    offsets = {} if group is None else group.offsets
    if topics is None:
        return [
            _fetched(topic, partition, value)
            for topic, partitions in offsets.items()
            for partition, value in partitions.items()
        ]
    found: list[FetchedOffset] = []
    for topic, wanted in topics:
        partitions = offsets.get(topic, {})
        for partition in wanted:
            known = partitions.get(partition)
            if known is None:
                found.append(FetchedOffset(topic, partition, NO_OFFSET, -1, ""))
            else:
                found.append(_fetched(topic, partition, known))
    return found


def _fetched(topic: str, partition: int, value: CommittedOffset) -> FetchedOffset:
    return FetchedOffset(topic, partition, value.offset, value.leader_epoch, value.metadata, value.topic_id)


def unstable(offset: FetchedOffset) -> FetchedOffset:
    """In place of an offset that an open transaction may be about to replace."""
    return offset._replace(offset=NO_OFFSET, leader_epoch=-1, metadata="", is_unstable=True)


def delete_records(
    group: Group | None,
    group_id: str,
    wanted: Iterable[tuple[str, int]],
    held: Container[tuple[str, int]] = (),
) -> tuple[list[OffsetRecord], list[Exception | None]]:
    if group is None or group.state is GroupState.DEAD:
        raise GroupIdNotFound(f"there is no group {group_id}")
    if group.state is not GroupState.EMPTY and group.protocol_type != CONSUMER_PROTOCOL_TYPE:
        raise NonEmptyGroup(f"group {group_id} has members, and what they read is not known")
    records: list[OffsetRecord] = []
    errors: list[Exception | None] = []
    for topic, partition in wanted:
        if group.is_subscribed_to(topic):
            errors.append(GroupSubscribedToTopic(f"members of {group_id} read {topic}"))
            continue
        errors.append(None)
        if partition in group.offsets.get(topic, {}) or (topic, partition) in held:
            records.append(OffsetRecord(group_id, topic, partition, None))
    return records, errors


def tombstones(group: Group, topic: str | None = None) -> list[OffsetRecord]:
    """Of all offsets, or of those of one topic."""
    return [
        OffsetRecord(group.group_id, name, partition, None)
        for name, partitions in group.offsets.items()
        if topic is None or name == topic
        for partition in partitions
    ]


def expired(group: Group, now_ms: int, retention_ms: int) -> list[OffsetRecord]:
    has_protocol = group.protocol_type is not None
    if has_protocol and group.state is GroupState.EMPTY:
        since_ms = group.state_since_ms  # none in records of old: then the commit counts
    elif not has_protocol or (
        group.state is GroupState.STABLE
        and group.protocol_type == CONSUMER_PROTOCOL_TYPE
        and group.subscribed_topics is not None
    ):
        since_ms = None
    else:
        return []
    records: list[OffsetRecord] = []
    for topic, partitions in group.offsets.items():
        if group.is_subscribed_to(topic):
            continue
        for partition, value in partitions.items():
            if value.expire_timestamp_ms != NO_EXPIRY:
                is_over = now_ms >= value.expire_timestamp_ms
            else:
                start_ms = value.commit_timestamp_ms if since_ms is None else since_ms
                is_over = now_ms - start_ms >= retention_ms
            if is_over:
                records.append(OffsetRecord(group.group_id, topic, partition, None))
    return records
