"""The mark of a clean stop, and what such a stop hands to the next start.

Two files lie in a log directory after a clean stop and at no other time:

    .kafka_cleanshutdown      Kafka's own mark, JSON; its `brokerEpoch` is a number drawn for this stop
    mainstem-clean-state      MessagePack: that number, the journal's position, a row for each log

The state counts only beside the mark with the same number. Another broker that used the directory in
between has removed or replaced the mark, and then the logs are recovered from their files. Both are taken
away, durably, before anything else is done with the directory: they are good for one start.
"""

from __future__ import annotations

import json
from typing import Final

import msgspec

from mainstem.log.clean_state import CleanState
from mainstem.log.journal import JournalPosition
from mainstem.model.ids import TopicId, TopicPartition
from mainstem.ports.disk import Disk

MARK: Final = ".kafka_cleanshutdown"
STATE: Final = "mainstem-clean-state"
VERSION: Final = 1


class CleanLog(msgspec.Struct, frozen=True, array_like=True):
    topic: str
    partition: int
    topic_id: bytes
    log_start_offset: int
    state: CleanState

    @property
    def topic_partition(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)


class CleanShutdown(msgspec.Struct, frozen=True, array_like=True):
    version: int
    number: int
    journal: JournalPosition | None
    logs: list[CleanLog]


def clean_log(
    topic_partition: TopicPartition, topic_id: TopicId, log_start_offset: int, state: CleanState
) -> CleanLog:
    return CleanLog(topic_partition.topic, topic_partition.partition, topic_id, log_start_offset, state)


def leave(disk: Disk, directory: str, shutdown: CleanShutdown) -> None:
    """The last thing that is done with a directory. Everything else is on stable storage already."""
    disk.replace_file(f"{directory}/{STATE}", msgspec.msgpack.encode(shutdown))
    mark = json.dumps({"version": 0, "brokerEpoch": shutdown.number}).encode()
    disk.replace_file(f"{directory}/{MARK}", mark)


def take(disk: Disk, directory: str) -> CleanShutdown | None:
    """What the last stop left, if it was clean; the first thing that is done with a directory."""
    mark, state = _read(disk, f"{directory}/{MARK}"), _read(disk, f"{directory}/{STATE}")
    if mark is not None or state is not None:
        disk.remove(f"{directory}/{MARK}")
        disk.remove(f"{directory}/{STATE}")
        disk.sync_directory(directory)
    if mark is None or state is None:
        return None
    try:
        number = json.loads(mark)["brokerEpoch"]
        shutdown = msgspec.msgpack.decode(state, type=CleanShutdown)
    except (ValueError, KeyError, TypeError, msgspec.DecodeError):
        return None
    if shutdown.version != VERSION or shutdown.number != number:
        return None
    return shutdown


def _read(disk: Disk, path: str) -> bytes | None:
    try:
        return disk.read_file(path)
    except FileNotFoundError:
        return None
