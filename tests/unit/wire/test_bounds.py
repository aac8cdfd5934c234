"""How much a message may hold that comes from a stranger."""

from __future__ import annotations

import pytest

from mainstem.wire.errors import InvalidMessage
from mainstem.wire.kafka.codec import decode, encode
from mainstem.wire.kafka.messages.describe_groups import DescribeGroupsRequest
from mainstem.wire.kafka.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from mainstem.wire.primitives import MOST_TAGGED_FIELDS, skip_tagged_fields, uvarint


@pytest.mark.parametrize("version", [0, 5])
def test_elements_of_an_array_are_counted(version: int) -> None:
    data = encode(DescribeGroupsRequest(groups=["g"] * 10), version)
    message, _ = decode(DescribeGroupsRequest, version, data, most_elements=10)
    assert len(message.groups) == 10
    with pytest.raises(InvalidMessage, match="more elements than a request may have"):
        decode(DescribeGroupsRequest, version, data, most_elements=9)
    assert len(decode(DescribeGroupsRequest, version, data)[0].groups) == 10


@pytest.mark.parametrize("version", [2, 8])
def test_arrays_in_arrays_share_one_bound(version: int) -> None:
    topics = [
        OffsetCommitRequestTopic(name="t", partitions=[OffsetCommitRequestPartition() for _ in range(3)])
        for _ in range(4)
    ]
    data = encode(OffsetCommitRequest(group_id="g", topics=topics), version)
    decode(OffsetCommitRequest, version, data, most_elements=16)
    with pytest.raises(InvalidMessage):
        decode(OffsetCommitRequest, version, data, most_elements=15)


def test_tagged_fields_are_few() -> None:
    fields = b"\5\0" * (MOST_TAGGED_FIELDS + 1)
    assert skip_tagged_fields(fields, 0, len(fields), MOST_TAGGED_FIELDS) == 2 * MOST_TAGGED_FIELDS
    with pytest.raises(InvalidMessage, match="tagged fields"):
        skip_tagged_fields(fields, 0, len(fields), MOST_TAGGED_FIELDS + 1)
    plain = encode(DescribeGroupsRequest(groups=[]), 5)
    with pytest.raises(InvalidMessage, match="tagged fields"):
        decode(DescribeGroupsRequest, 5, plain[:-1] + uvarint(MOST_TAGGED_FIELDS + 1) + fields)
