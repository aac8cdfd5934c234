"""Reads an internal partition a chunk at a time, in a thread."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, Generic, NamedTuple, TypeVar

from mainstem.log.transaction_markers import decode_marker
from mainstem.model.batch import BatchHeader
from mainstem.model.records import decode_records

CHUNK_BYTES: Final = 1024 * 1024
CHUNK_RECORDS: Final = 20_000

R = TypeVar("R")


class PendingRecord(NamedTuple, Generic[R]):
    """Written in a transaction, whose end decides what becomes of it."""

    producer_id: int
    record: R


class TransactionEnd(NamedTuple):
    producer_id: int
    is_commit: bool


class LoadedChunk(NamedTuple, Generic[R]):
    records: list[R | PendingRecord[R] | TransactionEnd]  # in the order of the log
    skipped: int  # of kinds that this version does not know
    is_last: bool


def read_chunk(
    batches: Iterator[tuple[BatchHeader, memoryview]],
    decode: Callable[[bytes, bytes | None], R | None],
    has_transactions: bool,
) -> LoadedChunk[R]:
    """Decodes batches until the chunk is full. Blocks."""
    records: list[R | PendingRecord[R] | TransactionEnd] = []
    skipped = 0
    size_bytes = 0
    for header, batch in batches:
        size_bytes += header.size_bytes
        if header.is_control:
            marker = decode_marker(header, batch) if has_transactions else None
            if marker is not None:
                records.append(TransactionEnd(header.producer_id, marker.is_commit))
        else:
            producer_id = header.producer_id if header.is_transactional and has_transactions else None
            for raw in decode_records(batch):
                record = None if raw.key is None else decode(bytes(raw.key), raw.value)
                if record is None:
                    skipped += 1
                elif producer_id is not None:
                    records.append(PendingRecord(producer_id, record))
                else:
                    records.append(record)
        if size_bytes >= CHUNK_BYTES or len(records) >= CHUNK_RECORDS:
            return LoadedChunk(records, skipped, False)
    return LoadedChunk(records, skipped, True)
