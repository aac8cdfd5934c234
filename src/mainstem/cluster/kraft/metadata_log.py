"""The log in which Kafka keeps its metadata: the folder `__cluster_metadata-0` of a log directory.

    00000000000000001234-0000000005.checkpoint   everything up to offset 1234, as record batches
    00000000000000000000.log ...                 segments as of any partition

Reading is: the newest checkpoint, then the batches of the log from its offset on. The value of a record is

    uvarint 1            the version of this frame
    uvarint key          which kind of record
    uvarint version      of its message, which follows

Control batches (leaders, voters, head and foot of a checkpoint) are about the log itself and are passed over.
Records between a BeginTransactionRecord and its end count only if that is no AbortTransactionRecord.

What is in the log of a node that stopped cleanly is committed; it is taken as it stands.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from mainstem.cluster.errors import KafkaMetadataUnreadable
from mainstem.log.batch_reader import read_batches
from mainstem.log.errors import LogCorrupt
from mainstem.model.batch import CRC_START
from mainstem.model.crc import crc32c
from mainstem.model.errors import MainstemError
from mainstem.model.records import read_records
from mainstem.ports.disk import Disk
from mainstem.wire.errors import WireError
from mainstem.wire.kafka.codec import decode
from mainstem.wire.kafka.message import Message
from mainstem.wire.kafka.metadata.abort_transaction_record import AbortTransactionRecord
from mainstem.wire.kafka.metadata.access_control_entry_record import AccessControlEntryRecord
from mainstem.wire.kafka.metadata.begin_transaction_record import BeginTransactionRecord
from mainstem.wire.kafka.metadata.client_quota_record import ClientQuotaRecord
from mainstem.wire.kafka.metadata.config_record import ConfigRecord
from mainstem.wire.kafka.metadata.end_transaction_record import EndTransactionRecord
from mainstem.wire.kafka.metadata.partition_change_record import PartitionChangeRecord
from mainstem.wire.kafka.metadata.partition_record import PartitionRecord
from mainstem.wire.kafka.metadata.producer_ids_record import ProducerIdsRecord
from mainstem.wire.kafka.metadata.remove_access_control_entry_record import RemoveAccessControlEntryRecord
from mainstem.wire.kafka.metadata.remove_topic_record import RemoveTopicRecord
from mainstem.wire.kafka.metadata.remove_user_scram_credential_record import RemoveUserScramCredentialRecord
from mainstem.wire.kafka.metadata.topic_record import TopicRecord
from mainstem.wire.kafka.metadata.user_scram_credential_record import UserScramCredentialRecord
from mainstem.wire.primitives import read_uvarint

FOLDER: Final = "__cluster_metadata-0"
_CHECKPOINT: Final = re.compile(r"(\d{20})-(\d{10})\.checkpoint")
_SEGMENT: Final = re.compile(r"(\d{20})\.log")
_FRAME_VERSION: Final = 1

_RECORDS: Final[dict[int, type[Message]]] = {
    kind.SCHEMA.key: kind
    for kind in (
        TopicRecord,
        PartitionRecord,
        PartitionChangeRecord,
        RemoveTopicRecord,
        ConfigRecord,
        ClientQuotaRecord,
        ProducerIdsRecord,
        AccessControlEntryRecord,
        RemoveAccessControlEntryRecord,
        UserScramCredentialRecord,
        RemoveUserScramCredentialRecord,
        BeginTransactionRecord,
        EndTransactionRecord,
        AbortTransactionRecord,
    )
}


def read_metadata(disk: Disk, folder: str) -> Iterator[Message]:
    """The records that count, in their order; kinds that say nothing about data or users are left out."""
    held: list[Message] | None = None  # of a transaction that has not ended
    for message in _read_all(disk, folder):
        if isinstance(message, BeginTransactionRecord):
            held = []
        elif isinstance(message, EndTransactionRecord):
            yield from held or ()
            held = None
        elif isinstance(message, AbortTransactionRecord):
            held = None
        elif held is not None:
            held.append(message)
        else:
            yield message


def _read_all(disk: Disk, folder: str) -> Iterator[Message]:
    names = sorted(name for name, is_directory in disk.scan(folder) if not is_directory)
    checkpoints = [found for name in names if (found := _CHECKPOINT.fullmatch(name))]
    from_offset = 0
    if checkpoints:
        newest = checkpoints[-1]
        from_offset = int(newest[1])
        yield from _read_file(disk, f"{folder}/{newest[0]}", 0)
    segments = [name for name in names if _SEGMENT.fullmatch(name)]
    if not checkpoints and (not segments or int(segments[0][:20]) > 0):
        raise KafkaMetadataUnreadable(folder, "it holds neither a checkpoint nor the beginning of the log")
    for name in segments:
        yield from _read_file(disk, f"{folder}/{name}", from_offset)


def _read_file(disk: Disk, path: str, from_offset: int) -> Iterator[Message]:
    file = disk.open(path, writable=False)
    try:
        for position, header, batch in read_batches(file, 0, _whole_bytes(disk, path)):
            if crc32c(batch[CRC_START:]) != header.crc:
                raise LogCorrupt(f"the checksum of the batch at {position} is wrong")
            if header.is_control or header.last_offset < from_offset:
                continue
            for record in read_records(batch, header=header):
                if header.base_offset + record.offset_delta >= from_offset and record.value is not None:
                    message = _decode(record.value)
                    if message is not None:
                        yield message
    except (MainstemError, WireError, IndexError) as error:
        raise KafkaMetadataUnreadable(path, str(error)) from error
    finally:
        file.close()


def _whole_bytes(disk: Disk, path: str) -> int:
    """A segment that Kafka is not done with is longer than what is written: zeros follow."""
    file = disk.open(path, writable=False)
    try:
        size = disk.size(path)
        position = 0
        while position + 12 <= size:
            length = int.from_bytes(file.read(4, position + 8), "big", signed=True)
            if length <= 0:
                return position
            position += 12 + length
        return size
    finally:
        file.close()


def _decode(value: bytes) -> Message | None:
    frame_version, position = read_uvarint(value, 0)
    if frame_version != _FRAME_VERSION:
        raise LogCorrupt(f"a record in a frame of version {frame_version}, known is {_FRAME_VERSION}")
    key, position = read_uvarint(value, position)
    version, position = read_uvarint(value, position)
    kind = _RECORDS.get(key)
    if kind is None:
        return None
    message, _ = decode(kind, version, value, position)
    return message
