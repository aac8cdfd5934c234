"""The records of `__consumer_offsets`: Kafka's own bytes, there and back, and never an exception."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mainstem.core.groups.records import (
    NO_EXPIRY,
    CommittedOffset,
    GroupRecord,
    OffsetRecord,
    StoredGroup,
    StoredMember,
    decode_record,
    encode_record,
)
from mainstem.model.ids import TopicId

text = st.text(st.characters(codec="utf-8"), max_size=20)
int32 = st.integers(-(2**31), 2**31 - 1)
int64 = st.integers(-(2**63), 2**63 - 1)
offsets = st.builds(
    CommittedOffset,
    int64,
    int32,
    text,
    int64,
    expire_timestamp_ms=st.just(NO_EXPIRY),
    topic_id=st.binary(min_size=16, max_size=16).map(TopicId),
)
members = st.builds(
    StoredMember,
    text,
    st.none() | text,
    text,
    text,
    st.integers(0, 2**31 - 1),
    int32,
    st.binary(max_size=30),
    st.binary(max_size=30),
)
groups = st.builds(
    StoredGroup,
    text,
    int32,
    st.none() | text,
    st.none() | text,
    int64,
    st.lists(members, max_size=4).map(tuple),
)
records = st.one_of(
    st.builds(OffsetRecord, text, text, int32, st.none() | offsets),
    st.builds(GroupRecord, text, st.none() | groups),
)


@given(records)
def test_there_and_back(record: OffsetRecord | GroupRecord) -> None:
    key, value = encode_record(record)
    assert decode_record(key, value) == record


@given(text, text, int32, offsets, st.integers(0, 2**63 - 1))
def test_an_expiry_of_its_own_is_kept(
    group_id: str, topic: str, partition: int, offset: CommittedOffset, expiry_ms: int
) -> None:
    """In the only version that can hold it; what that version cannot hold is not told."""
    value = offset._replace(expire_timestamp_ms=expiry_ms)
    decoded = decode_record(*encode_record(OffsetRecord(group_id, topic, partition, value)))
    assert decoded == OffsetRecord(
        group_id, topic, partition, value._replace(leader_epoch=-1, topic_id=TopicId(bytes(16)))
    )


def test_kafkas_bytes() -> None:
    """Offset of group "g", topic "t", partition 2: as Kafka 4 writes the key and, in version 4, the value."""
    value = CommittedOffset(5, 7, "m", 1_000, topic_id=TopicId(bytes(range(16))))
    key, encoded = encode_record(OffsetRecord("g", "t", 2, value))
    assert key == bytes.fromhex("0001 0001 67 0001 74 00000002")
    assert encoded is not None
    assert encoded == (
        bytes.fromhex("0004 0000000000000005 00000007 02 6d 00000000000003e8")
        + bytes.fromhex("01 00 10")  # one tagged field, number 0, of 16 bytes
        + bytes(range(16))
    )
    assert encode_record(GroupRecord("g", None)) == (bytes.fromhex("0002 0001 67"), None)


def test_old_versions_of_values_are_read() -> None:
    key = bytes.fromhex("0001 0001 67 0001 74 00000002")
    old = bytes.fromhex("0000 0000000000000005 0001 6d 00000000000003e8")
    decoded = decode_record(key, old)
    assert decoded == OffsetRecord("g", "t", 2, CommittedOffset(5, -1, "m", 1_000))
    assert decode_record(b"\x00\x00" + key[2:], old) == decoded


@given(st.binary(max_size=60), st.none() | st.binary(max_size=200))
def test_what_is_not_known_is_nothing(key: bytes, value: bytes | None) -> None:
    decode_record(key, value)


@given(records, st.data())
def test_a_damaged_record_is_nothing_or_something_but_never_an_error(
    record: OffsetRecord | GroupRecord, data: st.DataObject
) -> None:
    key, value = encode_record(record)
    whole = key if value is None or data.draw(st.booleans()) else value
    damaged = bytearray(whole)
    position = data.draw(st.integers(0, len(damaged) - 1))
    damaged[position] = data.draw(st.integers(0, 255))
    cut = bytes(damaged[: data.draw(st.integers(0, len(damaged)))])
    decode_record(cut, value) if whole is key else decode_record(key, cut)


def test_kinds_and_versions_of_others_are_nothing() -> None:
    for kind in (-1, 3, 5, 17, 32_767):
        assert decode_record(kind.to_bytes(2, "big", signed=True) + b"\x00\x01g", b"") is None
    key = bytes.fromhex("0001 0001 67 0001 74 00000002")
    assert decode_record(key, bytes.fromhex("0005 00")) is None
    assert decode_record(key, b"") is None
    assert decode_record(b"", None) is None
