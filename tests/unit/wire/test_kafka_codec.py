"""What the codec promises beyond agreeing with others: defaults, refusals, slices."""

from __future__ import annotations

import pytest

from mainstem.wire.errors import InvalidMessage, TruncatedMessage, UnsupportedVersion
from mainstem.wire.kafka.codec import decode, encode
from mainstem.wire.kafka.messages.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
    FinalizedFeatureKey,
)
from mainstem.wire.kafka.messages.create_topics import CreatableTopic, CreateTopicsRequest
from mainstem.wire.kafka.messages.fetch import FetchRequest, ForgottenTopic
from mainstem.wire.kafka.messages.metadata import MetadataRequest, MetadataRequestTopic
from mainstem.wire.kafka.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from mainstem.wire.kafka.messages.sasl_handshake import SaslHandshakeRequest


def test_a_message_in_the_plain_encoding() -> None:
    request = MetadataRequest(topics=[MetadataRequestTopic(name="abc")])
    data = bytes.fromhex("00000001 0003 616263 01")
    assert encode(request, 4) == data
    assert decode(MetadataRequest, 4, data) == (request, len(data))


def test_a_message_in_the_compact_encoding() -> None:
    request = ApiVersionsRequest(client_software_name="lib", client_software_version="1.2")
    data = bytes.fromhex("04 6c6962 04 312e32 00")
    assert encode(request, 3) == data
    assert decode(ApiVersionsRequest, 3, data) == (request, len(data))


def test_tagged_fields_are_written_when_they_differ_from_their_defaults() -> None:
    response = ApiVersionsResponse(api_keys=[ApiVersion(api_key=18, max_version=4)])
    plain = bytes.fromhex("0000 02 0012 0000 0004 00 00000000 00")
    assert encode(response, 3) == plain
    response.finalized_features_epoch = 7
    response.finalized_features = [FinalizedFeatureKey(name="f", max_version_level=1)]
    tags = bytes.fromhex("02 01 08 0000000000000007 02 08 02 0266 0001 0000 00")
    assert encode(response, 3) == plain[:-1] + tags
    assert decode(ApiVersionsResponse, 3, plain[:-1] + tags)[0] == response


def test_unknown_tagged_fields_are_skipped() -> None:
    data = bytes.fromhex("04 6c6962 04 312e32 02 05 01 ff 8001 02 abcd")
    request = ApiVersionsRequest(client_software_name="lib", client_software_version="1.2")
    assert decode(ApiVersionsRequest, 3, data) == (request, len(data))


def test_a_tagged_field_must_fill_its_size() -> None:
    # the epoch in nine bytes instead of eight
    data = bytes.fromhex("0000 01 00000000 01 01 09 0000000000000007 00")
    with pytest.raises(InvalidMessage, match="finalized_features_epoch"):
        decode(ApiVersionsResponse, 3, data)


def test_null_and_empty_are_told_apart_where_the_version_can() -> None:
    assert decode(MetadataRequest, 1, bytes.fromhex("ffffffff"))[0].topics is None
    assert decode(MetadataRequest, 1, bytes.fromhex("00000000"))[0].topics == []
    assert encode(MetadataRequest(topics=None), 1) == bytes.fromhex("ffffffff")
    with pytest.raises(InvalidMessage):
        decode(MetadataRequest, 0, bytes.fromhex("ffffffff"))
    with pytest.raises(InvalidMessage):
        encode(MetadataRequest(topics=None), 0)


def test_what_a_version_lacks_is_refused_unless_it_may_be_left_out() -> None:
    with pytest.raises(InvalidMessage, match="allow_auto_topic_creation"):
        encode(MetadataRequest(allow_auto_topic_creation=False), 3)
    topic = MetadataRequestTopic(name="abc", topic_id=b"\x01" * 16)
    assert encode(MetadataRequest(topics=[topic]), 0) == bytes.fromhex("00000001 0003 616263")


@pytest.mark.parametrize("version", [-1, 14])
def test_versions_that_the_schema_does_not_list(version: int) -> None:
    with pytest.raises(UnsupportedVersion):
        decode(MetadataRequest, version, b"\0" * 20)
    with pytest.raises(UnsupportedVersion):
        encode(MetadataRequest(), version)


def test_a_count_is_not_believed_beyond_the_bytes_that_remain() -> None:
    with pytest.raises(TruncatedMessage, match="topics"):
        decode(MetadataRequest, 4, bytes.fromhex("7fffffff 00"))
    with pytest.raises(TruncatedMessage, match="topics"):
        decode(CreateTopicsRequest, 5, bytes.fromhex("ffffffff0f 00"))


@pytest.mark.parametrize(
    "data",
    ["ffffffffff01", "ffffffff1f", "808080808000"],
    ids=["six bytes", "more than 32 bits", "six bytes of zero"],
)
def test_endless_varints_are_refused(data: str) -> None:
    with pytest.raises(InvalidMessage):
        decode(ApiVersionsRequest, 3, bytes.fromhex(data) + b"\0" * 10)


def test_strings_are_utf_8_and_bounded() -> None:
    with pytest.raises(InvalidMessage):
        decode(SaslHandshakeRequest, 1, bytes.fromhex("0002 c328"))
    long = "x" * 0x8000
    with pytest.raises(InvalidMessage):
        encode(SaslHandshakeRequest(mechanism=long), 1)
    with pytest.raises(InvalidMessage):
        encode(ApiVersionsRequest(client_software_name=long), 3)
    with pytest.raises(InvalidMessage):
        decode(ApiVersionsRequest, 3, bytes.fromhex("818002") + b"x" * 0x8000 + b"\x01\x00")


@pytest.mark.parametrize(
    "request_",
    [
        CreateTopicsRequest(timeout_ms=1 << 31),
        CreateTopicsRequest(topics=[CreatableTopic(name="\ud800")]),
        CreateTopicsRequest(timeout_ms="soon"),  # type: ignore[arg-type]
        FetchRequest(forgotten_topics_data=[ForgottenTopic(topic_id=b"short")]),
    ],
    ids=["too large", "surrogate", "wrong type", "short id"],
)
def test_values_that_the_wire_cannot_hold(request_: CreateTopicsRequest | FetchRequest) -> None:
    with pytest.raises(InvalidMessage):
        encode(request_, 17 if isinstance(request_, FetchRequest) else 5)


def test_records_are_slices_of_the_input() -> None:
    partition = PartitionProduceData(index=1, records=b"batch")
    request = ProduceRequest(topic_data=[TopicProduceData(name="t", partition_data=[partition])])
    frame = bytearray(encode(request, 9))
    records = decode(ProduceRequest, 9, frame)[0].topic_data[0].partition_data[0].records
    assert isinstance(records, memoryview)
    assert bytes(records) == b"batch"
    frame[frame.index(b"batch")] = ord("m")
    assert bytes(records) == b"match"


def test_defaults_are_not_shared() -> None:
    first = MetadataRequest()
    assert first.topics is not None
    first.topics.append(MetadataRequestTopic())
    assert MetadataRequest().topics == []
