"""Reading whole batches out of a segment file, in pieces of bounded size."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from mainstem.log.errors import LogCorrupt
from mainstem.model.batch import HEADER_BYTES, BatchHeader, parse_header
from mainstem.ports.disk import File

CHUNK_BYTES: Final = 256 * 1024


def read_batches(
    file: File, position: int, end: int, *, chunk_bytes: int = CHUNK_BYTES
) -> Iterator[tuple[int, BatchHeader, memoryview]]:
    """Position, header and bytes of each batch from `position`, a batch boundary, to `end`.

    `LogCorrupt` at the first batch that is not whole or whose length lies. Checksums are the
    caller's concern.
    """
    chunk, chunk_position = memoryview(b""), position
    while position < end:
        at = position - chunk_position
        if at + HEADER_BYTES > len(chunk):
            chunk, at = memoryview(file.read(min(chunk_bytes, end - position), position)), 0
            chunk_position = position
            if len(chunk) < HEADER_BYTES:
                raise LogCorrupt(f"{end - position} bytes at {position} are too few for a batch")
        header = parse_header(chunk, at)
        size = header.size_bytes
        if size < HEADER_BYTES or size > end - position:
            raise LogCorrupt(f"the batch at {position} claims {size} bytes")
        if at + size > len(chunk):
            chunk = memoryview(file.read(max(size, min(chunk_bytes, end - position)), position))
            chunk_position, at = position, 0
            if len(chunk) < size:
                raise LogCorrupt(f"the batch at {position} is cut short")
        yield position, header, chunk[at : at + size]
        position += size
