"""From the bytes of one partition, as Fetch gives them, to columns.

What comes is whole batches one after another; the last may be cut off, and the first may begin before
the offset that was asked for. `whole_batches` tells what is there from the headers alone, so that the
next request can leave before anything is decoded. `PartitionDecoder` then checks, decompresses and
decodes batch by batch, and gives out columns whenever they have grown to `chunk_bytes` or `CHUNK_ROWS`:
a few kilobytes that decompress to gigabytes never take more than one batch and one chunk.

Control batches hold no records. With the list of aborted transactions that a read-committed fetch
answers, the batches of those are left out: a producer's batches are aborted from the offset that the
list names up to its next control batch that says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from mainstem.model import compression
from mainstem.model.batch import (
    CRC_START,
    HEADER_BYTES,
    MAGIC,
    BatchHeader,
    Buffer,
    parse_header,
)
from mainstem.model.columns import CREATE_TIME, LOG_APPEND_TIME, Builder, RecordColumns
from mainstem.model.crc import crc32c
from mainstem.model.errors import MalformedRecords, UnknownCodec
from mainstem.model.records import MAX_DECODED_BYTES, decode_records

BUILDER: type[Builder]
try:
    from mainstem.model import _column_builder

    BUILDER = _column_builder.ColumnBuilder
except ImportError:  # installed without a compiler
    from mainstem.model import column_builder

    BUILDER = column_builder.ColumnBuilder

DEFAULT_CHUNK_BYTES: Final = 1 << 20
CHUNK_ROWS: Final = 1 << 16  # rows cost memory where there is nothing in them, too
_ABORT_MARKER: Final = 0


class WholeBatch(NamedTuple):
    header: BatchHeader
    start: int  # where it begins in what came


class AbortedTransaction(NamedTuple):
    producer_id: int
    first_offset: int


class DamagedRecords(MalformedRecords):
    """The batch at `offset` is not what its header or its checksum says."""

    def __init__(self, offset: int, reason: str) -> None:
        super().__init__(f"the batch at offset {offset} is damaged: {reason}")
        self.offset = offset
        self.reason = reason


def whole_batches(records: Buffer, position: int) -> list[WholeBatch]:
    """The batches in `records` that are there to the end and reach `position` or beyond."""
    batches: list[WholeBatch] = []
    start, size = 0, len(records)
    next_offset = position
    while start + HEADER_BYTES <= size:
        header = parse_header(records, start)
        if header.magic != MAGIC:
            raise DamagedRecords(
                next_offset, f"it has record format {header.magic}, and only format {MAGIC} is read"
            )
        if header.size_bytes < HEADER_BYTES:
            raise DamagedRecords(next_offset, f"it claims to take {header.size_bytes} bytes")
        end = start + header.size_bytes
        if end > size:
            break
        if header.last_offset_delta < 0 or header.base_offset < 0:
            raise DamagedRecords(next_offset, "its offsets are negative")
        if header.next_offset > position:
            batches.append(WholeBatch(header, start))
            next_offset = header.next_offset
        start = end
    return batches


class PartitionDecoder:
    def __init__(
        self,
        *,
        with_headers: bool = False,
        chunk_bytes: int = DEFAULT_CHUNK_BYTES,
        builder: type[Builder] = BUILDER,
    ) -> None:
        self._columns = builder(with_headers)
        self._chunk_bytes = chunk_bytes

    def decode(
        self,
        records: Buffer,
        batches: Iterable[WholeBatch],
        *,
        first: int,
        end: int,
        aborted: Iterable[AbortedTransaction] = (),
    ) -> Iterator[RecordColumns]:
        """Full chunks of the records with offsets in first..end-1; the rest waits for `rest`."""
        view = memoryview(records)
        beginnings = sorted(aborted, key=lambda transaction: transaction.first_offset, reverse=True)
        aborted_ids: set[int] = set()
        for header, start in batches:
            if header.base_offset >= end:
                return
            while beginnings and beginnings[-1].first_offset <= header.last_offset:
                aborted_ids.add(beginnings.pop().producer_id)
            batch = view[start : start + header.size_bytes]
            if crc32c(batch[CRC_START:]) != header.crc:
                raise DamagedRecords(header.base_offset, "its checksum is wrong")
            if header.is_control:
                if aborted_ids and _is_abort_marker(header, batch):
                    aborted_ids.discard(header.producer_id)
            elif not (header.is_transactional and header.producer_id in aborted_ids):
                self._add(header, batch[HEADER_BYTES:], first, end)
                if self._columns.data_bytes >= self._chunk_bytes or self._columns.row_count >= CHUNK_ROWS:
                    yield self._columns.take()

    def rest(self) -> RecordColumns | None:
        """What no full chunk was made of."""
        return self._columns.take() if self._columns.row_count else None

    def _add(self, header: BatchHeader, payload: memoryview, first: int, end: int) -> None:
        is_append_time = header.is_log_append_time
        try:
            plain: Buffer = payload
            if header.codec:
                plain = compression.decompress(header.codec, payload, MAX_DECODED_BYTES)
            self._columns.add(
                plain,
                header.record_count,
                header.base_offset,
                header.max_timestamp if is_append_time else header.base_timestamp,
                LOG_APPEND_TIME if is_append_time else CREATE_TIME,
                first,
                end,
            )
        except (MalformedRecords, UnknownCodec) as error:
            raise DamagedRecords(header.base_offset, str(error)) from error


def _is_abort_marker(header: BatchHeader, batch: memoryview) -> bool:
    """A control record's key is its version and its type, 2 bytes each; type 0 aborts, 1 commits."""
    try:
        (record, *_) = decode_records(batch, header=header)
    except (MalformedRecords, ValueError) as error:
        raise DamagedRecords(header.base_offset, str(error)) from error
    key = record.key or b""
    if len(key) < 4:
        raise DamagedRecords(header.base_offset, "a control record without a type")
    return int.from_bytes(key[2:4], "big") == _ABORT_MARKER
