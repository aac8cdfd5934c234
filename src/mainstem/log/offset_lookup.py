"""From an offset to the bytes of the batches from there on."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence

from mainstem.log.batch_reader import read_batches
from mainstem.log.log_slice import LogSlice
from mainstem.log.segment import Segment
from mainstem.model.batch import BatchHeader


def find_slice(
    segments: Sequence[Segment],
    number: int,
    offset: int,
    max_bytes: int,
    limit_offset: int,
    log_end_offset: int,
    at_least_one: bool,
) -> LogSlice | None:
    """See `PartitionLog.locate`. `number` is that of the last segment which begins at or below the offset."""
    found: tuple[int, int] | None = None
    for number in range(max(number, 0), len(segments)):  # noqa: B020 - compaction may have emptied some
        segment = segments[number]
        found = segment.find_recent(offset)
        if found is None:
            span = segment.find(offset)
            found = None if span is None else (span.position, span.size_bytes)
        if found is not None:
            break
    if found is None:
        return None
    position, first_bytes = found
    end = segment.size_bytes
    is_last = number == len(segments) - 1
    if limit_offset < (log_end_offset if is_last else segments[number + 1].base_offset):
        end = _position_of(segment, limit_offset)
        if end <= position:
            return None
    length = end - position
    if length > max_bytes:
        if max_bytes < first_bytes:
            if not at_least_one:
                return None
            length = first_bytes
        else:
            length = max_bytes
    return LogSlice(segment.log_file(), position, length)


def _position_of(segment: Segment, offset: int) -> int:
    """Where the batch that holds the offset starts; the segment's end when there is none."""
    recent = segment.find_recent(offset)
    if recent is not None:
        return recent[0]
    span = segment.find(offset)
    return segment.size_bytes if span is None else span.position


def batches_between(
    segments: Sequence[Segment], from_offset: int, limit_offset: int, chunk_bytes: int
) -> Iterator[tuple[BatchHeader, memoryview]]:
    """See `PartitionLog.read_batches`."""
    number = max(0, bisect_right([s.base_offset for s in segments], from_offset) - 1)
    for segment in segments[number:]:
        end = segment.size_bytes
        span = segment.find(from_offset)
        if span is None:
            continue
        for _, header, batch in read_batches(segment.log_file(), span.position, end, chunk_bytes=chunk_bytes):
            if header.base_offset >= limit_offset:
                return
            yield header, batch
