"""Reads an internal partition a chunk at a time, in a thread."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, Generic, NamedTuple, TypeVar

from mainstem.model.batch import BatchHeader
from mainstem.model.records import decode_records

CHUNK_BYTES: Final = 1024 * 1024
CHUNK_RECORDS: Final = 20_000

R = TypeVar("R")


class LoadedChunk(NamedTuple, Generic[R]):
    records: list[R]
    skipped: int  # of kinds that this version does not know
    is_last: bool


def read_chunk(
    batches: Iterator[tuple[BatchHeader, memoryview]], decode: Callable[[bytes, bytes | None], R | None]
) -> LoadedChunk[R]:
    """Decodes batches until the chunk is full. Blocks."""
    records: list[R] = []
    skipped = 0
    size_bytes = 0
    for header, batch in batches:
        size_bytes += header.size_bytes
        if not header.is_control:
            for raw in decode_records(batch):
                record = None if raw.key is None else decode(bytes(raw.key), raw.value)
                if record is None:
                    skipped += 1
                else:
                    records.append(record)
        if size_bytes >= CHUNK_BYTES or len(records) >= CHUNK_RECORDS:
            return LoadedChunk(records, skipped, False)
    return LoadedChunk(records, skipped, True)
