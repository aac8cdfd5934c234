"""Batches that claim more than they can hold, and how much is decoded to find out about others."""

from __future__ import annotations

import pytest
from tests.support.logs import START_MS, batch_of

from mainstem.config.topic_options import TopicConfig
from mainstem.log import validation
from mainstem.log.errors import CorruptBatch, InvalidRecord
from mainstem.log.validation import stage_batches
from mainstem.model import compression
from mainstem.model.batch import HEADER_BYTES, parse_header
from mainstem.model.errors import MalformedRecords
from mainstem.model.records import can_hold, decode_records, read_records, seal_batch

PLAIN, COMPACTED = TopicConfig(), TopicConfig(cleanup_policy=frozenset({"compact"}))


def claiming(count: int, payload: bytes, codec: int = 0) -> bytes:
    header = parse_header(batch_of(b"x"))._replace(
        record_count=count, last_offset_delta=count - 1, attributes=codec
    )
    return seal_batch(header, payload)


@pytest.mark.parametrize("codec", range(5))
def test_no_batch_that_can_be_is_thought_impossible(codec: int) -> None:
    """The densest there is: records of nothing, compressed as well as the codec can."""
    record = b"\x0c\0\0\0\1\1\0"
    for count in (1, 100, 300_000):
        batch = claiming(count, compression.compress(codec, record * count), codec)
        assert can_hold(parse_header(batch))
        assert len(stage_batches(batch, TopicConfig(max_message_bytes=4 << 20), START_MS)) == 1


@pytest.mark.parametrize("codec", range(5))
def test_a_count_beyond_all_compression_is_refused(codec: int) -> None:
    payload = compression.compress(codec, b"\x0c\0\0\0\1\1\0")
    batch = claiming(2**31 - 1, payload, codec)
    with pytest.raises(InvalidRecord, match="do not fit"):
        stage_batches(batch, PLAIN, START_MS)


def test_records_are_counted_before_they_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(validation, "MAX_DECODED_RECORDS", 3)
    fine, many = batch_of(b"1", b"2", b"3"), batch_of(b"1", b"2", b"3", b"4")
    stage_batches(fine, COMPACTED, START_MS)
    stage_batches(many, PLAIN, START_MS)  # nobody looks
    with pytest.raises(InvalidRecord, match="smaller batches"):
        stage_batches(many, TopicConfig(message_timestamp_before_max_ms=1_000), START_MS)


@pytest.mark.parametrize("codec", [compression.GZIP, compression.SNAPPY, compression.LZ4, compression.ZSTD])
def test_a_bomb_is_refused_by_its_size(codec: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(validation, "MAX_DECODED_BYTES", 100_000)
    small = TopicConfig(
        compression_type="none" if codec == compression.GZIP else "gzip", max_message_bytes=20_000
    )
    bomb = claiming(1, compression.compress(codec, bytes(150_000)), codec)
    with pytest.raises(CorruptBatch, match="beyond the 100000 bytes"):
        stage_batches(bomb, small, START_MS)


def test_records_come_one_by_one_until_the_first_that_lies() -> None:
    good = batch_of(b"1", b"2", b"3")
    assert [record.value for record in read_records(good)] == [b"1", b"2", b"3"]
    assert list(read_records(good)) == decode_records(good)
    header = parse_header(good)
    torn = seal_batch(header, good[HEADER_BYTES:-3] + b"\xff\xff\xff")
    found = read_records(torn)
    assert next(found).value == b"1"
    with pytest.raises(MalformedRecords):
        list(found)
