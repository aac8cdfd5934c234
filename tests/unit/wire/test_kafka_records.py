"""Bytes that Kafka 4.3.1's own classes wrote for what its coordinators keep."""

from __future__ import annotations

import pytest

from mainstem.wire.kafka.codec import decode, encode
from mainstem.wire.kafka.message import Message
from mainstem.wire.kafka.records.consumer_group_member_metadata import (
    ClassicMemberMetadata,
    ClassicProtocol,
    ConsumerGroupMemberMetadataValue,
)
from mainstem.wire.kafka.records.consumer_protocol_subscription import (
    ConsumerProtocolSubscription,
    TopicPartition,
)
from mainstem.wire.kafka.records.end_txn_marker import EndTxnMarker
from mainstem.wire.kafka.records.group_metadata import GroupMetadataKey, GroupMetadataValue, MemberMetadata
from mainstem.wire.kafka.records.offset_commit import OffsetCommitKey, OffsetCommitValue
from mainstem.wire.kafka.records.transaction_log import (
    PartitionsSchema,
    TransactionLogKey,
    TransactionLogValue,
)

TOPIC_ID = bytes.fromhex("00000000000000010000000000000002")
MOMENT_MS = 1_700_000_000_000
COMMIT = OffsetCommitValue(
    offset=42, leader_epoch=3, metadata="m", commit_timestamp=MOMENT_MS, expire_timestamp=MOMENT_MS + 9_999
)
MEMBER = MemberMetadata(
    member_id="c-1",
    group_instance_id="i",
    client_id="c",
    client_host="/127.0.0.1",
    rebalance_timeout=300_000,
    session_timeout=45_000,
    subscription=b"\x01\x02",
    assignment=b"\x03",
)
GROUP = GroupMetadataValue(
    protocol_type="consumer",
    generation=5,
    protocol="range",
    leader="c-1",
    current_state_timestamp=MOMENT_MS,
    members=[MEMBER],
)
TRANSACTION = TransactionLogValue(
    producer_id=1000,
    producer_epoch=2,
    transaction_timeout_ms=60_000,
    transaction_status=1,
    transaction_partitions=[PartitionsSchema(topic="t", partition_ids=[0, 3])],
    transaction_last_update_timestamp_ms=11,
    transaction_start_timestamp_ms=10,
)
TRANSACTION_V1 = TransactionLogValue(
    producer_id=1000,
    previous_producer_id=999,
    next_producer_id=1001,
    producer_epoch=2,
    next_producer_epoch=0,
    transaction_timeout_ms=60_000,
    transaction_status=1,
    transaction_partitions=[PartitionsSchema(topic="t", partition_ids=[0, 3])],
    transaction_last_update_timestamp_ms=11,
    transaction_start_timestamp_ms=10,
    client_transaction_version=2,
)
CLASSIC = ClassicMemberMetadata(
    session_timeout_ms=9, supported_protocols=[ClassicProtocol(name="range", metadata=b"\x01")]
)
GROUP_HEAD = "0008636f6e73756d657200000005000572616e67650003632d31"
MEMBER_TAIL = "0000afc80000000201020000000103"
SUBSCRIPTION = ConsumerProtocolSubscription(
    topics=["t", "u"],
    owned_partitions=[TopicPartition(topic="t", partitions=[1, 2])],
    generation_id=4,
    rack_id="r",
)

WRITTEN_BY_KAFKA: list[tuple[Message, int, str]] = [
    (OffsetCommitKey(group="g", topic="tä", partition=7), 0, "000167000374c3a400000007"),
    (COMMIT, 0, "000000000000002a00016d0000018bcfe56800"),
    (COMMIT, 1, "000000000000002a00016d0000018bcfe568000000018bcfe58f0f"),
    (COMMIT, 2, "000000000000002a00016d0000018bcfe56800"),
    (COMMIT, 3, "000000000000002a0000000300016d0000018bcfe56800"),
    (
        OffsetCommitValue(
            offset=42, leader_epoch=3, metadata="m", commit_timestamp=MOMENT_MS, topic_id=TOPIC_ID
        ),
        4,
        "000000000000002a00000003026d0000018bcfe5680001001000000000000000010000000000000002",
    ),
    (OffsetCommitValue(offset=1), 4, "0000000000000001ffffffff01000000000000000000"),
    (GroupMetadataKey(group="g"), 0, "000167"),
    (
        GROUP,
        3,
        f"{GROUP_HEAD}0000018bcfe56800000000010003632d31000169000163000a2f3132372e302e302e31000493e0{MEMBER_TAIL}",
    ),
    (
        GROUP,
        4,
        "09636f6e73756d6572000000050672616e676504632d310000018bcfe568000204632d31026902630b2f3132372e302e"
        "302e31000493e00000afc803010202030000",
    ),
    (
        GroupMetadataValue(protocol_type="consumer", generation=6, protocol=None, leader=None),
        3,
        "0008636f6e73756d657200000006ffffffffffffffffffffffff00000000",
    ),
    (TransactionLogKey(transactional_id="tx"), 0, "00027478"),
    (
        TRANSACTION,
        0,
        "00000000000003e800020000ea600100000001000174000000020000000000000003000000000000000b"
        "000000000000000a",
    ),
    (
        TRANSACTION_V1,
        1,
        "00000000000003e800020000ea600102027403000000000000000300000000000000000b000000000000000a"
        "04000800000000000003e7010800000000000003e90202000203020000",
    ),
    (
        TransactionLogValue(transaction_partitions=None),
        1,
        "000000000000000000000000000000000000000000000000000000000000000000",
    ),
    (
        ConsumerGroupMemberMetadataValue(
            instance_id="i", subscribed_topic_names=["a", "b"], classic_member_metadata=CLASSIC
        ),
        0,
        "0269010101030261026201ffffffff010100100100000009020672616e676502010000",
    ),
    (ConsumerGroupMemberMetadataValue(), 0, "010101010101ffffffff0100"),
    (SUBSCRIPTION, 3, "00000002000174000175ffffffff0000000100017400000002000000010000000200000004000172"),
    (EndTxnMarker(coordinator_epoch=3), 0, "00000003"),
]


@pytest.mark.parametrize(
    ("message", "version", "written"),
    WRITTEN_BY_KAFKA,
    ids=[f"{type(message).__name__}-{version}" for message, version, _ in WRITTEN_BY_KAFKA],
)
def test_kafkas_own_bytes(message: Message, version: int, written: str) -> None:
    data = bytes.fromhex(written)
    assert encode(message, version) == data
    again, end = decode(type(message), version, data)
    assert end == len(data)
    assert encode(again, version) == data
    if version == type(message).SCHEMA.max_version:
        assert again == message


def test_a_null_struct_in_a_tagged_field() -> None:
    data = bytes.fromhex("010101010101ffffffff0101000100")
    value = decode(ConsumerGroupMemberMetadataValue, 0, data)[0]
    assert value.classic_member_metadata is None
    assert encode(value, 0).hex() == data.hex()
