"""What `__consumer_offsets` holds, in Kafka's own schema.

A key is an int16 that tells the kind of record, and the key's message; a value is an int16 version and the
value's message; no value deletes what the key names. Two kinds are ours (kinds 3 and up belong to other group
types and are skipped when they are read):

    kind  key                        value
    0, 1  group, topic, partition    offset, leader epoch, metadata, commit timestamp [, expiry] [, topic id]
       2  group                      protocol type, generation, protocol, leader, since when, members

We write the versions that Kafka 4 writes, so that its tools and brokers read our log: offsets in version 4
(version 1 where the client gave its own expiry, which only that version can hold) and groups in version 3.
Versions 0 to 4 of both are read.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from mainstem.core.coordinator.record_prefix import PREFIX, kind_of, version_of
from mainstem.model.ids import ZERO_TOPIC_ID, TopicId
from mainstem.wire.errors import WireError
from mainstem.wire.kafka.codec import decode, encode
from mainstem.wire.kafka.records.group_metadata import GroupMetadataKey, GroupMetadataValue, MemberMetadata
from mainstem.wire.kafka.records.offset_commit import OffsetCommitKey, OffsetCommitValue

OFFSET_KINDS: Final = (0, 1)
OFFSET_KIND: Final = 1
GROUP_KIND: Final = 2
OFFSET_VERSION: Final = 4
OFFSET_VERSION_WITH_EXPIRY: Final = 1
GROUP_VERSION: Final = 3
NO_EXPIRY: Final = -1
NO_STATE_TIMESTAMP: Final = -1

_OFFSET_PREFIX = PREFIX.pack(OFFSET_KIND)
_GROUP_PREFIX = PREFIX.pack(GROUP_KIND)
_GROUP_VALUE_PREFIX = PREFIX.pack(GROUP_VERSION)


class CommittedOffset(NamedTuple):
    offset: int
    leader_epoch: int  # -1: not told
    metadata: str
    commit_timestamp_ms: int
    expire_timestamp_ms: int = NO_EXPIRY  # only when the client asked for its own retention
    topic_id: TopicId = ZERO_TOPIC_ID


class StoredMember(NamedTuple):
    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    subscription: bytes  # the member's metadata under the selected protocol
    assignment: bytes


class StoredGroup(NamedTuple):
    """A group as its last completed generation left it. No members: it is empty."""

    protocol_type: str  # "": never had members
    generation: int
    protocol: str | None
    leader_id: str | None
    state_timestamp_ms: int  # since when it is stable or empty; -1: not known
    members: tuple[StoredMember, ...]


class OffsetRecord(NamedTuple):
    group_id: str
    topic: str
    partition: int
    value: CommittedOffset | None


class GroupRecord(NamedTuple):
    group_id: str
    value: StoredGroup | None


GroupsRecord = OffsetRecord | GroupRecord


def encode_record(record: GroupsRecord) -> tuple[bytes, bytes | None]:
    if type(record) is OffsetRecord:
        return _encode_offset(record)
    assert type(record) is GroupRecord
    key = _GROUP_PREFIX + encode(GroupMetadataKey(group=record.group_id), 0)
    return key, None if record.value is None else _encode_group(record.value)


def _encode_offset(record: OffsetRecord) -> tuple[bytes, bytes | None]:
    group_id, topic, partition, value = record
    key = _OFFSET_PREFIX + encode(OffsetCommitKey(group=group_id, topic=topic, partition=partition), 0)
    if value is None:
        return key, None
    version = OFFSET_VERSION if value.expire_timestamp_ms == NO_EXPIRY else OFFSET_VERSION_WITH_EXPIRY
    message = OffsetCommitValue(
        offset=value.offset,
        leader_epoch=value.leader_epoch,
        metadata=value.metadata,
        commit_timestamp=value.commit_timestamp_ms,
        expire_timestamp=value.expire_timestamp_ms,
        topic_id=value.topic_id,
    )
    return key, PREFIX.pack(version) + encode(message, version)


def _encode_group(value: StoredGroup) -> bytes:
    members = [
        MemberMetadata(
            member_id=member.member_id,
            group_instance_id=member.instance_id,
            client_id=member.client_id,
            client_host=member.client_host,
            rebalance_timeout=member.rebalance_timeout_ms,
            session_timeout=member.session_timeout_ms,
            subscription=member.subscription,
            assignment=member.assignment,
        )
        for member in value.members
    ]
    message = GroupMetadataValue(
        protocol_type=value.protocol_type,
        generation=value.generation,
        protocol=value.protocol,
        leader=value.leader_id,
        current_state_timestamp=value.state_timestamp_ms,
        members=members,
    )
    return _GROUP_VALUE_PREFIX + encode(message, GROUP_VERSION)


def decode_record(key: bytes, value: bytes | memoryview | None) -> GroupsRecord | None:
    """Nothing for a kind, a version or bytes that we do not know: a newer broker may have written them."""
    try:
        kind = kind_of(key)
        if kind in OFFSET_KINDS:
            offset_key, _ = decode(OffsetCommitKey, 0, key, 2)
            offset = None if value is None else _decode_offset(value)
            return OffsetRecord(offset_key.group, offset_key.topic, offset_key.partition, offset)
        if kind == GROUP_KIND:
            group_key, _ = decode(GroupMetadataKey, 0, key, 2)
            return GroupRecord(group_key.group, None if value is None else _decode_group(value))
    except WireError:
        return None
    return None


def _decode_offset(value: bytes | memoryview) -> CommittedOffset:
    message, _ = decode(OffsetCommitValue, version_of(value), value, 2)
    return CommittedOffset(
        message.offset,
        message.leader_epoch,
        message.metadata,
        message.commit_timestamp,
        message.expire_timestamp,
        TopicId(message.topic_id),
    )


def _decode_group(value: bytes | memoryview) -> StoredGroup:
    message, _ = decode(GroupMetadataValue, version_of(value), value, 2)
    members = tuple(
        StoredMember(
            member.member_id,
            member.group_instance_id,
            member.client_id,
            member.client_host,
            member.session_timeout if member.rebalance_timeout == -1 else member.rebalance_timeout,
            member.session_timeout,
            bytes(member.subscription),
            bytes(member.assignment),
        )
        for member in message.members
    )
    return StoredGroup(
        message.protocol_type,
        message.generation,
        message.protocol,
        message.leader,
        message.current_state_timestamp,
        members,
    )
