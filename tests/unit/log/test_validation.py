"""What a batch must be to come into a log, and what the topic makes of it."""

from __future__ import annotations

import struct

import pytest
from tests.support.logs import START_MS, batch_of

from mainstem.config.topic_options import TopicConfig
from mainstem.log.errors import (
    BatchTooLarge,
    CorruptBatch,
    InvalidRecord,
    InvalidTimestamp,
    UnsupportedBatchFormat,
)
from mainstem.log.validation import stage_batches
from mainstem.model.batch import HEADER_BYTES, parse_header
from mainstem.model.compression import codec_id
from mainstem.model.errors import PeerError
from mainstem.model.records import decode_records, seal_batch

PLAIN = TopicConfig()
MAGIC_AT = 16


def refused(batch: bytes, config: TopicConfig = PLAIN) -> PeerError:
    with pytest.raises(PeerError) as caught:
        stage_batches(batch, config, START_MS)
    return caught.value


def changed(batch: bytes, **fields: int) -> bytes:
    """With another header, and a checksum that is right."""
    return bytes(seal_batch(parse_header(batch)._replace(**fields), batch[HEADER_BYTES:]))


def test_a_batch_comes_through_as_it_was() -> None:
    batch = batch_of(b"a", b"b", producer=(7, 0, 0), codec=codec_id("lz4"))
    (staged,) = stage_batches(batch, PLAIN, START_MS)
    assert staged.body is batch  # not copied, not decoded
    assert staged.header == parse_header(batch)


def test_several_batches_are_taken_apart() -> None:
    batches = [batch_of(b"a"), batch_of(b"b", b"c")]
    staged = stage_batches(b"".join(batches), PLAIN, START_MS)
    assert [bytes(each.body) for each in staged] == batches
    for cut in (1, HEADER_BYTES - 1, len(batches[1]) - 1):
        assert isinstance(refused(batches[0] + batches[1][:cut]), CorruptBatch)


@pytest.mark.parametrize("size", [0, 1, HEADER_BYTES - 1])
def test_less_than_a_header_is_no_batch(size: int) -> None:
    assert isinstance(refused(batch_of(b"a")[:size]), CorruptBatch)


def test_every_byte_under_the_checksum_counts() -> None:
    batch = batch_of(b"some value", b"another")
    for position in range(17, len(batch)):
        damaged = bytearray(batch)
        damaged[position] ^= 0x10
        assert isinstance(refused(bytes(damaged)), CorruptBatch), position


@pytest.mark.parametrize(
    ("magic", "error"), [(0, UnsupportedBatchFormat), (1, UnsupportedBatchFormat), (3, CorruptBatch)]
)
def test_other_formats(magic: int, error: type[PeerError]) -> None:
    batch = bytearray(batch_of(b"a"))
    batch[MAGIC_AT] = magic
    assert type(refused(bytes(batch))) is error


def test_size_has_a_bound() -> None:
    batch = batch_of(bytes(1_000))
    assert stage_batches(batch, TopicConfig(max_message_bytes=len(batch)), START_MS)
    error = refused(batch, TopicConfig(max_message_bytes=len(batch) - 1))
    assert isinstance(error, BatchTooLarge)
    assert "max.message.bytes" in str(error)


@pytest.mark.parametrize(
    "lie",
    [
        {"record_count": 0, "last_offset_delta": -1},
        {"record_count": 3},
        {"last_offset_delta": 0},
        {"attributes": 0x20},
        {"attributes": 0x80},
        {"producer_id": 5, "producer_epoch": -1},
        {"producer_id": 5, "producer_epoch": 0, "base_sequence": -1},
    ],
    ids=str,
)
def test_headers_that_lie_under_a_right_checksum(lie: dict[str, int]) -> None:
    assert isinstance(refused(changed(batch_of(b"a", b"b"), **lie)), InvalidRecord)


def test_time_stamps_have_bounds() -> None:
    ahead = TopicConfig(message_timestamp_after_max_ms=1_000)
    assert stage_batches(batch_of(b"a", time_ms=START_MS + 1_000), ahead, START_MS)
    assert isinstance(refused(batch_of(b"a", time_ms=START_MS + 1_001), ahead), InvalidTimestamp)
    assert isinstance(refused(batch_of(b"a", b"b", time_ms=START_MS + 1_000), ahead), InvalidTimestamp)
    behind = TopicConfig(message_timestamp_before_max_ms=1_000)
    assert stage_batches(batch_of(b"a", time_ms=START_MS - 1_000), behind, START_MS)
    error = refused(batch_of(b"a", b"b", time_ms=START_MS - 1_001), behind)
    assert isinstance(error, InvalidTimestamp)
    assert "message.timestamp.before.max.ms" in str(error)


def test_bounds_of_time_stamps_are_for_those_of_producers() -> None:
    config = TopicConfig(message_timestamp_type="LogAppendTime", message_timestamp_before_max_ms=0)
    (staged,) = stage_batches(batch_of(b"a", b"b", time_ms=5), config, START_MS)
    assert staged.header.is_log_append_time
    assert staged.header.max_timestamp == START_MS
    crc = struct.unpack_from(">I", staged.body, 17)[0]
    assert (crc, staged.header) == (parse_header(staged.body).crc, parse_header(staged.body))
    assert stage_batches(staged.body, PLAIN, START_MS)  # its checksum is right


@pytest.mark.parametrize("wanted", ["uncompressed", "gzip", "snappy", "lz4", "zstd"])
@pytest.mark.parametrize("sent", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_the_topics_codec_wins(sent: str, wanted: str) -> None:
    batch = batch_of(b"a" * 300, b"b", producer=(7, 1, 5), codec=codec_id(sent))
    (staged,) = stage_batches(batch, TopicConfig(compression_type=wanted), START_MS)
    expected = codec_id("none" if wanted == "uncompressed" else wanted)
    assert staged.header.codec == expected
    if expected == codec_id(sent):
        assert staged.body is batch
    assert decode_records(staged.body) == decode_records(batch)
    before, after = parse_header(batch), staged.header
    for name in (
        "record_count",
        "last_offset_delta",
        "producer_id",
        "producer_epoch",
        "base_sequence",
        "max_timestamp",
    ):
        assert getattr(after, name) == getattr(before, name)
    assert stage_batches(staged.body, PLAIN, START_MS)


def test_records_that_cannot_be_decompressed_are_corrupt() -> None:
    batch = batch_of(b"a" * 300, codec=codec_id("zstd"))
    damaged = bytes(seal_batch(parse_header(batch), b"no zstd at all"))
    assert stage_batches(damaged, PLAIN, START_MS)  # nobody looks
    assert isinstance(refused(damaged, TopicConfig(compression_type="gzip")), CorruptBatch)
