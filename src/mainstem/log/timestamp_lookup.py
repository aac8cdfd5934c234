"""From a timestamp to an offset, exact to the record. Reads files: not for the loop."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from mainstem.log.batch_reader import read_batches
from mainstem.log.errors import LogCorrupt
from mainstem.log.segment import BatchSpan, Segment
from mainstem.model.batch import NO_TIMESTAMP, BatchHeader, Buffer
from mainstem.model.errors import MalformedRecords
from mainstem.model.records import read_records

_MAX_DECODED_BYTES: Final = 64 * 1024 * 1024  # several look-ups may run at a time


class TimestampOffset(NamedTuple):
    offset: int
    timestamp_ms: int
    leader_epoch: int


def first_at_or_after(
    segments: Sequence[Segment], timestamp_ms: int, log_start_offset: int
) -> TimestampOffset | None:
    """The first record from the log start on whose timestamp is not below the one asked for."""
    for segment in segments:
        if segment.size_bytes and segment.max_timestamp >= timestamp_ms:
            found = _first_in_segment(segment, timestamp_ms, log_start_offset)
            if found is not None:
                return found
    return None


def _first_in_segment(segment: Segment, timestamp_ms: int, log_start_offset: int) -> TimestampOffset | None:
    skip_to = max(segment.time_index.lookup(timestamp_ms), log_start_offset - segment.base_offset)
    position = segment.offset_index.lookup(min(skip_to, 2**32 - 1)) if skip_to else 0
    for at, header in segment.scan_headers(position, segment.size_bytes):
        if header.max_timestamp < timestamp_ms or header.last_offset < log_start_offset:
            continue
        span = BatchSpan(at, header.size_bytes, header.base_offset, header.last_offset)
        found = _first_in_batch(segment, span, timestamp_ms, log_start_offset)
        if found is not None:
            return found
    return None


def _first_in_batch(
    segment: Segment, span: BatchSpan, timestamp_ms: int, log_start_offset: int
) -> TimestampOffset | None:
    header, batch = _read_one(segment, span)
    for offset, timestamp in record_times(header, batch):
        if timestamp >= timestamp_ms and offset >= log_start_offset:
            return TimestampOffset(offset, timestamp, header.leader_epoch)
    return None


def of_max_timestamp(segments: Sequence[Segment], log_start_offset: int) -> TimestampOffset | None:
    """The record with the greatest timestamp; the first of them when several have it."""
    best: Segment | None = None
    for segment in segments:
        if segment.size_bytes and (best is None or segment.max_timestamp > best.max_timestamp):
            best = segment
    if best is None or best.max_timestamp == NO_TIMESTAMP:
        return None
    span = best.find(best.offset_of_max_timestamp)
    if span is None:
        raise LogCorrupt(f"{best.log_path}: no batch at offset {best.offset_of_max_timestamp}")
    found = _first_in_batch(best, span, best.max_timestamp, log_start_offset)
    # A producer's header may claim a greater timestamp than any of its records has.
    return found or first_at_or_after((best,), best.max_timestamp, log_start_offset)


def _read_one(segment: Segment, span: BatchSpan) -> tuple[BatchHeader, memoryview]:
    end = span.position + span.size_bytes
    _, header, batch = next(read_batches(segment.log_file(), span.position, end))
    return header, batch


def record_times(header: BatchHeader, batch: Buffer) -> Iterator[tuple[int, int]]:
    """Offset and timestamp of each record. Where the log stamps time, all have the batch's."""
    most_bytes = max(_MAX_DECODED_BYTES, header.size_bytes)
    stamped = header.max_timestamp if header.is_log_append_time else None
    try:
        for record in read_records(batch, header=header, max_bytes=most_bytes):
            timestamp = header.base_timestamp + record.timestamp_delta if stamped is None else stamped
            yield header.base_offset + record.offset_delta, timestamp
    except MalformedRecords as error:
        raise LogCorrupt(f"the records at offset {header.base_offset} cannot be read: {error}") from error
