"""Cleanings without a broker: each step called directly, one after the other."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence

from tests.support.logs import append

from mainstem.log.compaction.batch_filter import last_of_producers
from mainstem.log.compaction.cleanable import Cleanable, measure
from mainstem.log.compaction.cleaning import Cleaning, CleaningMemory, CleaningStatistics
from mainstem.log.compaction.pace import Pace, Throttle
from mainstem.log.compaction.segment_swap import finish_swap, prepare_swap
from mainstem.log.partition_log import PartitionLog
from mainstem.model.batch import BatchHeader
from mainstem.model.records import NewRecord, build_batch, decode_records

MEMORY = CleaningMemory(1024 * 1024, 0.9, 64 * 1024)
UNLIMITED = 1e30


def measured(log: PartitionLog, *, limit_offset: int | None = None) -> Cleanable:
    return measure(
        log.segments,
        log.config,
        first_dirty_offset=log.first_dirty_offset,
        log_start_offset=log.log_start_offset,
        limit_offset=log.log_end_offset if limit_offset is None else limit_offset,
        now_ms=log.storage.clock.now_ms(),
    )


def new_cleaning(
    log: PartitionLog, cleanable: Cleanable | None = None, memory: CleaningMemory = MEMORY
) -> Cleaning:
    pace = Pace(Throttle(log.storage.clock.monotonic_ms, UNLIMITED), threading.Event(), lambda: log.is_closed)
    return Cleaning(
        log.storage,
        log.directory,
        log.config,
        cleanable or measured(log),
        last_of_producers(log.producers.entries),
        memory,
        pace,
    )


def steps_of(log: PartitionLog, cleaning: Cleaning) -> Iterator[str]:
    """One cleaning, that stops after each of its steps."""
    cleaning.build_map()
    yield "mapped"
    disk, directory = log.storage.disk, log.directory
    for group in cleaning.groups():
        group.pin()
        cleaned = cleaning.clean(group)
        yield "cleaned"
        assert log.begin_swap(group.segments)
        plan = prepare_swap(disk, directory, cleaned, group.base_offsets)
        yield "prepared"
        log.swap(plan, cleaned, group.segments)
        yield "swapped"
        log.end_swap(finish_swap(disk, directory, plan))
        yield "finished"
    log.first_dirty_offset = cleaning.end_offset


def compact(log: PartitionLog, *, roll: bool = True, memory: CleaningMemory = MEMORY) -> CleaningStatistics:
    """Cleans all that is there; what the cleaning did."""
    if roll and log.active.size_bytes:
        log.roll()
    cleaning = new_cleaning(log, memory=memory)
    for _ in steps_of(log, cleaning):
        pass
    return cleaning.statistics


def put_batch(pairs: Sequence[tuple[bytes | None, bytes | None]], time_ms: int) -> bytes:
    return build_batch([NewRecord(key, value, timestamp_ms=time_ms) for key, value in pairs])


def put(
    log: PartitionLog, *pairs: tuple[bytes | None, bytes | None], codec: int = 0, time_ms: int | None = None
) -> int:
    """Appends one batch of keys and values; its base offset."""
    now_ms = log.storage.clock.now_ms() if time_ms is None else time_ms
    records = [NewRecord(key, value, timestamp_ms=now_ms + n) for n, (key, value) in enumerate(pairs)]
    return append(log, build_batch(records, codec=codec))


def headers_in(log: PartitionLog) -> list[BatchHeader]:
    return [header for header, _ in log.read_batches(0, log.log_end_offset, 1 << 16)]


def records_in(log: PartitionLog) -> dict[int, tuple[bytes | None, bytes | None, int]]:
    """Offset, key, value and time of every record that is not a marker."""
    found = {}
    for header, batch in log.read_batches(0, log.log_end_offset, 1 << 16):
        if header.is_control:
            continue
        for record in decode_records(batch, header=header):
            offset = header.base_offset + record.offset_delta
            assert offset not in found
            time_ms = header.base_timestamp + record.timestamp_delta
            found[offset] = (
                record.key,
                record.value,
                header.max_timestamp if header.is_log_append_time else time_ms,
            )
    return found
