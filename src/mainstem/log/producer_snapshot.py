"""Snapshots of the producers of a partition (`.snapshot`), in Kafka's format.

A file is named after the log end offset at which it was taken: one at each roll and one at a clean
stop. Loading reads the newest one that is whole, then the batches behind it. Big-endian:

    int16   version, 1
    uint32  CRC-32C of everything that follows it
    int32   number of entries, and for each
      int64  producer id          int16  producer epoch     int32  last sequence      int64  last offset
      int32  offset delta         int64  timestamp          int32  coordinator epoch
      int64  first offset of the open transaction, -1 without one

Only the last of a producer's batches is kept; an
entry without one has sequence and offset -1.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from struct import Struct
from struct import error as StructError
from typing import Final

from mainstem.log.errors import LogCorrupt
from mainstem.log.names import SNAPSHOT_SUFFIX, file_name, offset_of
from mainstem.log.producer_state import NO_OFFSET, ProducerEntry, SequenceRange
from mainstem.model.batch import NO_SEQUENCE
from mainstem.model.crc import crc32c
from mainstem.ports.disk import Disk

VERSION: Final = 1
_HEADER: Final = Struct(">hI")
_COUNT: Final = Struct(">i")
# producer id, epoch, last sequence, last offset, offset delta, timestamp, coordinator epoch, first offset
_ENTRY: Final = Struct(">qhiqiqiq")


def encode_snapshot(entries: Mapping[int, ProducerEntry]) -> bytes:
    parts = [_COUNT.pack(len(entries))]
    for producer_id, entry in entries.items():
        if entry.batches:
            sequence, offset, delta, _ = entry.batches[-1]
        else:
            sequence, offset, delta = NO_SEQUENCE, NO_OFFSET, 0
        parts.append(
            _ENTRY.pack(
                producer_id,
                entry.epoch,
                sequence,
                offset,
                delta,
                entry.last_timestamp_ms,
                entry.coordinator_epoch,
                entry.transaction_first_offset,
            )
        )
    body = b"".join(parts)
    return _HEADER.pack(VERSION, crc32c(body)) + body


def decode_snapshot(raw: bytes) -> dict[int, ProducerEntry]:
    try:
        version, crc = _HEADER.unpack_from(raw)
        if version != VERSION:
            raise LogCorrupt(f"a producer snapshot of version {version}, known is {VERSION}")
        body = memoryview(raw)[_HEADER.size :]
        if crc32c(body) != crc:
            raise LogCorrupt("a producer snapshot with a wrong checksum")
        (count,) = _COUNT.unpack_from(body)
        rows = list(_ENTRY.iter_unpack(body[_COUNT.size :]))
    except StructError as error:
        raise LogCorrupt(f"a producer snapshot that is not whole: {error}") from error
    if count != len(rows):
        raise LogCorrupt(f"a producer snapshot announces {count} entries and has {len(rows)}")
    entries = {}
    for producer_id, epoch, sequence, offset, delta, timestamp, coordinator_epoch, first_offset in rows:
        batches = () if offset < 0 else (SequenceRange(sequence, offset, delta, timestamp),)
        entries[producer_id] = ProducerEntry(epoch, batches, timestamp, coordinator_epoch, first_offset)
    return entries


def snapshot_path(directory: str, offset: int) -> str:
    return f"{directory}/{file_name(offset, SNAPSHOT_SUFFIX)}"


def snapshot_offsets(names: Iterable[str]) -> list[int]:
    """The offsets of the snapshots among these file names, rising."""
    return sorted(offset for name in names if (offset := offset_of(name, SNAPSHOT_SUFFIX)) is not None)


def write_snapshot(disk: Disk, directory: str, offset: int, entries: Mapping[int, ProducerEntry]) -> None:
    disk.replace_file(snapshot_path(directory, offset), encode_snapshot(entries), sync=False)


def load_newest_snapshot(
    disk: Disk, directory: str, *, up_to_offset: int
) -> tuple[int, dict[int, ProducerEntry]] | None:
    """The newest whole snapshot at or below the offset. Damaged ones are removed on the way."""
    for offset in reversed(snapshot_offsets(disk.list(directory))):
        if offset > up_to_offset:
            continue
        path = snapshot_path(directory, offset)
        try:
            return offset, decode_snapshot(disk.read_file(path))
        except LogCorrupt:
            disk.remove(path)
    return None


def remove_other_snapshots(disk: Disk, directory: str, wanted: Container[int]) -> None:
    for offset in snapshot_offsets(disk.list(directory)):
        if offset not in wanted:
            disk.remove(snapshot_path(directory, offset))
