"""What a producer sent, checked before it may be written.

Everything that the header says is checked, and the checksum once, over the bytes as they came. Records
are decoded only where a topic's options make their content matter:

- another codec or the broker's own time is demanded: the batch is written anew;
- the topic is compacted: every record needs a key;
- timestamps must not be too old: the header knows only the greatest and the first.

Nothing here changes the log or the bytes that came.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from mainstem.config.topic_options import TopicConfig
from mainstem.config.value import LONG_MAX
from mainstem.log.compaction.record_scan import keyless_records
from mainstem.log.errors import (
    BatchTooLarge,
    CorruptBatch,
    InvalidRecord,
    InvalidTimestamp,
    TransactionalIdRequired,
    UnsupportedBatchFormat,
    UnsupportedCompression,
)
from mainstem.log.staged import StagedBatch
from mainstem.model import compression
from mainstem.model.batch import (
    CODEC_MASK,
    CONTROL_BIT,
    CRC_START,
    HEADER_BYTES,
    LOG_APPEND_TIME_BIT,
    MAGIC,
    TRANSACTIONAL_BIT,
    BatchHeader,
    Buffer,
    parse_header,
)
from mainstem.model.crc import crc32c
from mainstem.model.errors import MalformedRecords, UnknownCodec
from mainstem.model.records import Record, can_hold, read_records, seal_batch

# Of a batch whose records have to be looked at. All connections wait while that is done, so it is bounded:
# producers fill a batch up to a size before compression, so even the best compressed are far below.
MAX_DECODED_BYTES: Final = 64 * 1024 * 1024
MAX_DECODED_RECORDS: Final = 500_000
PLAIN_ATTRIBUTES: Final = CODEC_MASK | LOG_APPEND_TIME_BIT  # what a producer's batch may have
TRANSACTIONAL_ATTRIBUTES: Final = PLAIN_ATTRIBUTES | TRANSACTIONAL_BIT  # under a transactional id


def stage_batches(
    records: Buffer, config: TopicConfig, now_ms: int, legal_attributes: int = PLAIN_ATTRIBUTES
) -> list[StagedBatch]:
    """The batches in `records`, each fit to be appended. Raises for the first that is not."""
    end = len(records)
    if end < HEADER_BYTES:
        raise CorruptBatch(f"{end} bytes hold no record batch")
    header = parse_header(records)
    if header.size_bytes == end:  # what producers send: one batch
        return [_stage(records, header, config, now_ms, legal_attributes)]
    staged: list[StagedBatch] = []
    view = memoryview(records)
    position = 0
    while position < end:
        if end - position < HEADER_BYTES:
            raise CorruptBatch(f"{end - position} bytes after the last batch are no batch")
        header = parse_header(view, position)
        size = header.size_bytes
        if size < HEADER_BYTES or position + size > end:
            _check_magic(header)
            raise CorruptBatch(f"a batch claims {size} bytes where {end - position} came")
        batch = view[position : position + size]
        staged.append(_stage(batch, header, config, now_ms, legal_attributes))
        position += size
    return staged


def _check_magic(header: BatchHeader) -> None:
    if header.magic != MAGIC:
        if header.magic in (0, 1):
            raise UnsupportedBatchFormat(
                f"the records are in format {header.magic}; formats 0 and 1 are from before Kafka 0.11, use "
                "a client that writes format 2"
            )
        raise CorruptBatch(f"there is no batch format {header.magic}")


def _stage(
    batch: Buffer, header: BatchHeader, config: TopicConfig, now_ms: int, legal_attributes: int
) -> StagedBatch:
    _check_magic(header)
    if header.size_bytes > config.max_message_bytes:
        raise BatchTooLarge(
            f"the batch has {header.size_bytes} bytes, max.message.bytes of the topic is "
            f"{config.max_message_bytes}"
        )
    if crc32c(memoryview(batch)[CRC_START:]) != header.crc:
        raise CorruptBatch("the checksum of the batch is wrong: it was damaged on its way")
    _check_header(header, legal_attributes)
    if header.codec > compression.ZSTD:
        raise UnsupportedCompression(f"there is no compression codec {header.codec}")
    if not can_hold(header):
        raise InvalidRecord(f"{header.record_count} records do not fit into {header.size_bytes} bytes")
    if config.message_timestamp_type == "CreateTime":
        _check_times(batch, header, config, now_ms)
    if "compact" in config.cleanup_policy:
        _check_keys(batch, header, config)
    return _as_the_topic_wants(batch, header, config, now_ms)


def _check_header(header: BatchHeader, legal_attributes: int) -> None:
    attributes, count = header.attributes, header.record_count
    if attributes & ~legal_attributes:
        if attributes & TRANSACTIONAL_BIT and not attributes & ~TRANSACTIONAL_ATTRIBUTES:
            raise TransactionalIdRequired("a transactional batch needs a request with a transactional id")
        if attributes & CONTROL_BIT:
            raise InvalidRecord("clients may not write control records")
        raise InvalidRecord(f"the attributes {attributes:#06x} are not a producer's")
    if count < 1 or header.last_offset_delta != count - 1:
        raise InvalidRecord(f"{count} records cannot end at offset delta {header.last_offset_delta}")
    if header.producer_id >= 0:
        if header.producer_epoch < 0 or header.base_sequence < 0:
            raise InvalidRecord("a batch with a producer id needs an epoch and a sequence")
    elif attributes & TRANSACTIONAL_BIT:
        raise InvalidRecord("a transactional batch needs a producer id")


def _check_times(batch: Buffer, header: BatchHeader, config: TopicConfig, now_ms: int) -> None:
    if header.max_timestamp > now_ms + config.message_timestamp_after_max_ms:
        raise InvalidTimestamp(
            f"the timestamp {header.max_timestamp} lies {header.max_timestamp - now_ms} ms ahead of the "
            f"broker's clock, message.timestamp.after.max.ms allows {config.message_timestamp_after_max_ms}"
        )
    if config.message_timestamp_before_max_ms == LONG_MAX:
        return
    oldest = now_ms - config.message_timestamp_before_max_ms
    for record in _records(batch, header, config):
        timestamp = header.base_timestamp + record.timestamp_delta
        if 0 <= timestamp < oldest:
            raise InvalidTimestamp(
                f"the timestamp {timestamp} lies {now_ms - timestamp} ms behind the broker's clock, "
                f"message.timestamp.before.max.ms allows {config.message_timestamp_before_max_ms}"
            )


def _check_keys(batch: Buffer, header: BatchHeader, config: TopicConfig) -> None:
    _check_count(header)
    try:
        payload = memoryview(batch)[HEADER_BYTES : header.size_bytes]
        plain = compression.decompress(header.codec, payload, _most_decoded_bytes(config))
        numbers = keyless_records(plain, header.record_count)
    except MalformedRecords as error:
        raise CorruptBatch(str(error)) from error
    if numbers:
        raise InvalidRecord(
            f"record {numbers[0]} of the batch has no key, which a compacted topic needs",
            [(number, "a compacted topic takes no record without a key") for number in numbers],
        )


def _records(batch: Buffer, header: BatchHeader, config: TopicConfig) -> Iterator[Record]:
    _check_count(header)
    try:
        yield from read_records(batch, header=header, max_bytes=_most_decoded_bytes(config))
    except MalformedRecords as error:
        raise CorruptBatch(str(error)) from error


def _check_count(header: BatchHeader) -> None:
    if header.record_count > MAX_DECODED_RECORDS:
        raise InvalidRecord(
            f"the batch has {header.record_count} records; where the broker has to look at each it takes "
            f"{MAX_DECODED_RECORDS} at most: let the producer make smaller batches"
        )


def _most_decoded_bytes(config: TopicConfig) -> int:
    return max(MAX_DECODED_BYTES, 4 * config.max_message_bytes)


def _as_the_topic_wants(batch: Buffer, header: BatchHeader, config: TopicConfig, now_ms: int) -> StagedBatch:
    codec = header.codec
    if config.compression_type != "producer":
        wanted = "none" if config.compression_type == "uncompressed" else config.compression_type
        codec = compression.codec_id(wanted)
    stamps = config.message_timestamp_type == "LogAppendTime"
    if codec == header.codec and not stamps and not header.is_log_append_time:
        return StagedBatch(batch, header)
    attributes = header.attributes & ~CODEC_MASK & ~LOG_APPEND_TIME_BIT | codec
    changed = header._replace(attributes=attributes)
    if stamps:
        changed = changed._replace(attributes=attributes | LOG_APPEND_TIME_BIT, max_timestamp=now_ms)
    payload: Buffer = memoryview(batch)[HEADER_BYTES:]
    if codec != header.codec:
        payload = _recompressed(header.codec, codec, payload, config)
    sealed = seal_batch(changed, payload)
    if len(sealed) > config.max_message_bytes:
        raise BatchTooLarge(
            f"the batch has {len(sealed)} bytes in the topic's codec {config.compression_type}, "
            f"max.message.bytes is {config.max_message_bytes}"
        )
    return StagedBatch(sealed, parse_header(sealed))


def _recompressed(before: int, after: int, payload: Buffer, config: TopicConfig) -> bytes:
    levels = {
        compression.GZIP: config.compression_gzip_level,
        compression.LZ4: config.compression_lz4_level,
        compression.ZSTD: config.compression_zstd_level,
    }
    try:
        plain = compression.decompress(before, payload, _most_decoded_bytes(config))
    except (MalformedRecords, UnknownCodec) as error:
        raise CorruptBatch(f"the records cannot be decompressed: {error}") from error
    return compression.compress(after, plain, levels.get(after))
