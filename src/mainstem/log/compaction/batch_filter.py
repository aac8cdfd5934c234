"""Which batches compaction keeps, and how those are written that lose records.

A record is kept when it is the newest of its key, and a tombstone (a key without a value) only until its
batch's *delete horizon*: the time of the first cleaning that found it the newest, plus
`delete.retention.ms`. The horizon stands in the batch header in place of the base timestamp, and a bit in the
attributes says so; the timestamps of the records are counted from it then.

A batch keeps its base offset, its last offset, its epoch and its sequences whatever it loses. One that lost
all records is dropped, except, as a header alone:

- the last one of each producer: it carries the sequence (or, for a marker, the epoch) that the producer
  is checked against;
- the last one of a cleaned segment: a segment reaches up to the next one, or recovery would take the
  difference for a loss.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from mainstem.log.compaction.record_scan import shift_timestamps
from mainstem.log.compaction.selection import NewestOffsets
from mainstem.log.compaction.transactions import TransactionTracker
from mainstem.log.errors import LogCorrupt
from mainstem.log.producer_state import ProducerEntry
from mainstem.model import compression
from mainstem.model.batch import (
    CODEC_MASK,
    CRC_START,
    DELETE_HORIZON_BIT,
    HEADER_BYTES,
    MAGIC,
    NO_TIMESTAMP,
    BatchHeader,
    Buffer,
)
from mainstem.model.crc import crc32c
from mainstem.model.errors import MalformedRecords, UnknownCodec
from mainstem.model.records import MIN_RECORD_BYTES, seal_batch

MAX_DECODED_BYTES: Final = 256 * 1024 * 1024


class LastOfProducer(NamedTuple):
    """Which batch carries a producer's state."""

    data_offset: int | None  # last offset of its last batch of records; None: a marker came after an epoch
    epoch: int


def last_of_producers(entries: Mapping[int, ProducerEntry]) -> dict[int, LastOfProducer]:
    return {
        producer_id: LastOfProducer(entry.batches[-1].last_offset if entry.batches else None, entry.epoch)
        for producer_id, entry in entries.items()
    }


class BatchFilter:
    def __init__(
        self,
        newest: NewestOffsets,
        transactions: TransactionTracker,
        producers: Mapping[int, LastOfProducer],
        last_markers: Mapping[int, int],
        *,
        now_ms: int,
        delete_retention_ms: int,
        breathe: Callable[[int], None],
    ) -> None:
        self.records_read = 0
        self.records_kept = 0
        self.keyless_records = 0
        self._newest = newest
        self._transactions = transactions
        self._producers = producers
        self._last_markers = last_markers  # producer id -> a marker of it, as far up as is known
        self._now_ms = now_ms
        self._new_horizon_ms = now_ms + delete_retention_ms
        self._breathe = breathe

    def keep(self, header: BatchHeader, batch: memoryview) -> Buffer | None:
        """What is written of the batch: itself, less of it, its header alone, or nothing."""
        check_batch(header, batch)
        self.records_read += header.record_count
        if header.is_control:
            kept = self._keep_marker(header, batch)
        elif (header.is_transactional and self._transactions.is_aborted(header)) or header.record_count == 0:
            kept = None
        elif header.base_offset > self._newest.latest_offset:
            kept = batch
            self.records_kept += header.record_count
        else:
            kept = self._keep_records(header, batch)
        if kept is None and self._carries_producer(header):
            return batch if header.record_count == 0 else emptied(header)
        return kept

    def _carries_producer(self, header: BatchHeader) -> bool:
        if header.producer_id < 0:
            return False
        last = self._producers.get(header.producer_id)
        if last is None:
            return False
        if last.data_offset is None:
            return (
                header.is_control
                and header.producer_epoch == last.epoch
                and header.base_offset >= self._last_markers.get(header.producer_id, 0)
            )
        return header.last_offset == last.data_offset

    def _keep_marker(self, header: BatchHeader, batch: memoryview) -> Buffer | None:
        is_needless = self._transactions.has_ended_empty(header, batch)
        if header.record_count == 0:
            return None
        horizon_ms = horizon_of(header)
        if is_needless and horizon_ms is not None and horizon_ms <= self._now_ms:
            return None
        self.records_kept += header.record_count
        if is_needless and horizon_ms is None:
            return self._with_horizon(header, plain_records(header, batch), header.max_timestamp)
        return batch

    def _keep_records(self, header: BatchHeader, batch: memoryview) -> Buffer | None:
        plain = plain_records(header, batch)
        horizon_ms = horizon_of(header)
        drops_tombstones = horizon_ms is not None and horizon_ms <= self._now_ms
        try:
            selection = self._newest.select_batch(
                plain, header.record_count, header.base_offset, drops_tombstones, self._breathe
            )
        except MalformedRecords as error:
            raise unreadable(header, error) from error
        self.records_kept += selection.record_count
        self.keyless_records += selection.keyless
        if selection.record_count == 0:
            return None
        needs_horizon = selection.has_tombstone and horizon_ms is None
        if selection.record_count == header.record_count:
            return self._with_horizon(header, plain, header.max_timestamp) if needs_horizon else batch
        changed = header._replace(record_count=selection.record_count)
        newest_ms = header.max_timestamp
        if not header.is_log_append_time:
            newest_ms = header.base_timestamp + selection.newest_delta
        if needs_horizon:
            return self._with_horizon(changed, selection.records, newest_ms)
        return sealed(changed._replace(max_timestamp=newest_ms), selection.records)

    def _with_horizon(self, header: BatchHeader, plain: bytes, newest_ms: int) -> bytes:
        horizon_ms = self._new_horizon_ms
        changed = header._replace(
            attributes=header.attributes | DELETE_HORIZON_BIT,
            base_timestamp=horizon_ms,
            max_timestamp=newest_ms,
        )
        return sealed(changed, shift_timestamps(plain, header.base_timestamp - horizon_ms))


def horizon_of(header: BatchHeader) -> int | None:
    return header.base_timestamp if header.attributes & DELETE_HORIZON_BIT else None


def check_batch(header: BatchHeader, batch: memoryview) -> None:
    if header.magic != MAGIC:
        raise LogCorrupt(
            f"the batch at offset {header.base_offset} is in format {header.magic}, only 2 is compacted"
        )
    if crc32c(batch[CRC_START:]) != header.crc:
        raise LogCorrupt(f"the checksum of the batch at offset {header.base_offset} is wrong")


def plain_records(header: BatchHeader, batch: memoryview) -> bytes:
    """The records of a batch, decompressed, and so many bytes that their count is possible."""
    try:
        plain = compression.decompress(header.codec, batch[HEADER_BYTES:], MAX_DECODED_BYTES)
    except (MalformedRecords, UnknownCodec) as error:
        raise unreadable(header, error) from error
    if not 0 <= header.record_count * MIN_RECORD_BYTES <= len(plain):
        raise unreadable(header, f"{header.record_count} records do not fit into {len(plain)} bytes")
    return plain


def unreadable(header: BatchHeader, cause: object) -> LogCorrupt:
    return LogCorrupt(f"the records at offset {header.base_offset} cannot be read: {cause}")


def sealed(header: BatchHeader, plain: bytes) -> bytes:
    return seal_batch(header, compression.compress(header.codec, plain))


def emptied(header: BatchHeader) -> bytes:
    """The batch without any record: its offsets, its producer and its greatest timestamp stay."""
    return seal_batch(
        header._replace(
            attributes=header.attributes & ~CODEC_MASK & ~DELETE_HORIZON_BIT,
            base_timestamp=NO_TIMESTAMP,
            record_count=0,
        ),
        b"",
    )
