"""The content of a log file as entries: a dict each, the same for people and programs.

An entry's first field, `kind`, says what it is; the names of the others are those of the format. For
people `entry_text` makes a line of it and leaves out what says nothing: -1, false, none.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from mainstem.cli.log_decoders import RecordDecoder, decode_control_record
from mainstem.cli.log_files import FileKind, LogFile
from mainstem.cli.log_index_checks import read_entries
from mainstem.cli.log_segment_check import CHUNK_BYTES
from mainstem.cli.moments import time_text
from mainstem.cli.record_text import json_bytes
from mainstem.log import journal_format, offset_index, partition_metadata, time_index, transaction_index
from mainstem.log.batch_reader import read_batches
from mainstem.log.checkpoints import parse_checkpoint
from mainstem.log.errors import LogCorrupt
from mainstem.log.leader_epochs import parse_checkpoint as parse_epochs
from mainstem.log.producer_snapshot import decode_snapshot
from mainstem.model.batch import CRC_START, DELETE_HORIZON_BIT, HEADER_BYTES, MAGIC, BatchHeader, parse_header
from mainstem.model.compression import CODEC_NAMES
from mainstem.model.crc import crc32c
from mainstem.model.errors import MalformedRecords, UnknownCodec
from mainstem.model.ids import TopicId, topic_id_text
from mainstem.model.records import Record, decode_records
from mainstem.ports.disk import File, RealDisk

Entry = dict[str, Any]
Entries = Iterator[Entry]

_TIME_FIELDS: Final = frozenset({"timestamp", "base_timestamp", "max_timestamp", "delete_horizon"})
_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class DumpOptions:
    with_records: bool = False
    decoder: RecordDecoder | None = None  # for the records of an internal topic
    from_offset: int = 0


def entries_of(file: LogFile, options: DumpOptions) -> Entries:
    """Raises `LogCorrupt` where the file cannot be read further; what came before was given out."""
    if file.kind is FileKind.METADATA:
        topic_id = partition_metadata.read(RealDisk(), file.path.rpartition("/")[0] or ".")
        yield {"kind": "metadata", "topic_id": None if topic_id is None else topic_id_text(topic_id)}
    elif file.kind is FileKind.EPOCHS:
        for epoch, offset in parse_epochs(file.name, RealDisk().read_file(file.path)):
            yield {"kind": "epoch", "epoch": epoch, "start_offset": offset}
    elif file.kind is FileKind.CHECKPOINT:
        for place, offset in parse_checkpoint(RealDisk().read_file(file.path)).items():
            yield {
                "kind": "checkpoint",
                "topic": place.topic,
                "partition": place.partition,
                "offset": offset,
            }
    elif file.kind is FileKind.SNAPSHOT:
        yield from _snapshot_entries(file)
    else:
        opened = RealDisk().open(file.path, writable=False)
        if file.kind is FileKind.SEGMENT:
            yield from _segment_entries(opened, options)
        elif file.kind is FileKind.JOURNAL:
            yield from _journal_entries(opened, options)
        else:
            yield from _index_entries(file, opened, options)


def entry_text(entry: Entry) -> str:
    kind = entry["kind"]
    indent = "    " if kind == "record" else "  " if kind == "append" or kind == "truncate" else ""
    words = [f"{indent}{kind}"]
    for name, value in entry.items():
        if name == "kind" or value is None or value is False or (value == -1 and name != "timestamp"):
            continue
        words.append(name if value is True else f"{name}={_value_text(name, value)}")
    return " ".join(words)


def _value_text(name: str, value: Any) -> str:
    if name in _TIME_FIELDS:
        return time_text(value)
    if name in ("key", "value", "headers") or isinstance(value, dict | list):
        return _encode(value).decode()
    return str(value)


# --- batches


def _segment_entries(file: File, options: DumpOptions) -> Entries:
    size = file.size()
    for position, header, batch in read_batches(file, 0, size, chunk_bytes=CHUNK_BYTES):
        if header.magic != MAGIC:
            raise LogCorrupt(f"the batch at {position} is of format {header.magic}, known is {MAGIC}")
        if header.last_offset >= options.from_offset:
            yield from _batch_entries(position, header, batch, options)


def _batch_entries(position: int, header: BatchHeader, batch: memoryview, options: DumpOptions) -> Entries:
    is_valid = crc32c(batch[CRC_START:]) == header.crc
    yield _batch_entry(position, header, is_valid=is_valid)
    if not is_valid:
        raise LogCorrupt(f"the checksum of the batch at {position} is wrong")
    if options.with_records:
        try:
            records = decode_records(batch, header=header)
        except (MalformedRecords, UnknownCodec) as error:
            raise LogCorrupt(f"the records of the batch at {position} cannot be read: {error}") from error
        for record in records:
            if header.base_offset + record.offset_delta >= options.from_offset:
                yield _record_entry(header, record, options.decoder)


def _batch_entry(position: int, header: BatchHeader, *, is_valid: bool) -> Entry:
    has_horizon = bool(header.attributes & DELETE_HORIZON_BIT)
    codec = header.codec
    has_sequence = header.base_sequence >= 0
    return {
        "kind": "batch",
        "position": position,
        "size_bytes": header.size_bytes,
        "base_offset": header.base_offset,
        "last_offset": header.last_offset,
        "record_count": header.record_count,
        "codec": CODEC_NAMES[codec] if codec < len(CODEC_NAMES) else codec,
        "timestamp_type": "log-append" if header.is_log_append_time else "create",
        "base_timestamp": None if has_horizon else header.base_timestamp,
        "max_timestamp": header.max_timestamp,
        "delete_horizon": header.base_timestamp if has_horizon else None,
        "leader_epoch": header.leader_epoch,
        "producer_id": header.producer_id,
        "producer_epoch": header.producer_epoch,
        "base_sequence": header.base_sequence,
        "last_sequence": (header.base_sequence + header.last_offset_delta) & 0x7FFFFFFF
        if has_sequence
        else -1,
        "is_transactional": header.is_transactional,
        "is_control": header.is_control,
        "attributes": f"{header.attributes:#06x}",
        "crc": f"{header.crc:#010x}",
        "is_valid": is_valid,
    }


def _record_entry(header: BatchHeader, record: Record, decoder: RecordDecoder | None) -> Entry:
    timestamp = (
        header.max_timestamp if header.is_log_append_time else header.base_timestamp + record.timestamp_delta
    )
    entry: Entry = {
        "kind": "record",
        "offset": header.base_offset + record.offset_delta,
        "timestamp": timestamp,
    }
    if header.base_sequence >= 0:
        entry["sequence"] = (header.base_sequence + record.offset_delta) & 0x7FFFFFFF
    decode = decode_control_record if header.is_control else decoder
    told = decode(record.key, record.value) if decode is not None else None
    if told is not None:
        entry["decoded"] = told
        return entry
    entry["key"] = json_bytes(record.key)
    entry["value"] = json_bytes(record.value)
    entry["headers"] = [[json_bytes(name), json_bytes(value)] for name, value in record.headers]
    return entry


# --- what lies beside them


def _snapshot_entries(file: LogFile) -> Entries:
    for producer_id, entry in decode_snapshot(RealDisk().read_file(file.path)).items():
        last = entry.batches[-1] if entry.batches else None
        yield {
            "kind": "producer",
            "producer_id": producer_id,
            "producer_epoch": entry.epoch,
            "last_sequence": entry.last_sequence,
            "last_offset": -1 if last is None else last.last_offset,
            "offset_delta": 0 if last is None else last.offset_delta,
            "timestamp": entry.last_timestamp_ms,
            "coordinator_epoch": entry.coordinator_epoch,
            "transaction_first_offset": entry.transaction_first_offset,
        }


def _index_entries(file: LogFile, opened: File, options: DumpOptions) -> Entries:
    base = file.base_offset
    if file.kind is FileKind.OFFSET_INDEX:
        for relative, position in read_entries(opened, offset_index.ENTRY):
            if base + relative >= options.from_offset:
                yield {"kind": "entry", "offset": base + relative, "position": position}
    elif file.kind is FileKind.TIME_INDEX:
        for timestamp, relative in read_entries(opened, time_index.ENTRY):
            if base + relative >= options.from_offset:
                yield {"kind": "entry", "timestamp": timestamp, "offset": base + relative}
    else:
        for version, producer_id, first, last, stable in read_entries(opened, transaction_index.ENTRY):
            yield {
                "kind": "aborted",
                "version": version,
                "producer_id": producer_id,
                "first_offset": first,
                "last_offset": last,
                "last_stable_offset": stable,
            }


def _journal_entries(file: File, options: DumpOptions) -> Entries:
    position = 0
    for found in journal_format.read_rounds(file):
        yield {
            "kind": "round",
            "position": position,
            "size_bytes": found.end_position - position,
            "generation": found.generation,
            "sequence": found.sequence,
            "low_sequence": found.low_sequence,
            "entry_count": len(found.entries),
        }
        for entry in found.entries:
            is_append = entry.kind == journal_format.APPEND
            yield {
                "kind": "append" if is_append else "truncate",
                "topic_id": topic_id_text(TopicId(entry.topic_id)),
                "partition": entry.partition,
                "base_offset": entry.base_offset,
                "next_offset": entry.next_offset,
                "size_bytes": entry.size_bytes,
            }
            if is_append and options.with_records:
                yield from _journaled_batches(memoryview(entry.buffers[0]), options)
        position = found.end_position


def _journaled_batches(batches: memoryview, options: DumpOptions) -> Entries:
    """Whole ones: the round's checksum has been looked at."""
    position = 0
    while position + HEADER_BYTES <= len(batches):
        header = parse_header(batches, position)
        end = position + max(header.size_bytes, HEADER_BYTES)
        yield from _batch_entries(position, header, batches[position:end], options)
        position = end
