"""Offsets of all partitions of a log directory, in the text files that Kafka keeps there.

    recovery-point-offset-checkpoint    below this offset everything is on stable storage
    log-start-offset-checkpoint         below this offset everything was deleted
    cleaner-offset-checkpoint           below this offset compaction took note of every key

A version (0), the number of entries, then a line `topic partition offset` for each. A file is replaced
whole. One that cannot be read is treated as missing: the start then looks at more, and loses nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Final

from mainstem.log.errors import LogCorrupt
from mainstem.model.ids import TopicPartition
from mainstem.ports.disk import Disk

RECOVERY_POINTS: Final = "recovery-point-offset-checkpoint"
LOG_STARTS: Final = "log-start-offset-checkpoint"
CLEANED: Final = "cleaner-offset-checkpoint"

_logger = logging.getLogger(__name__)


def write_checkpoint(disk: Disk, directory: str, name: str, offsets: Mapping[TopicPartition, int]) -> None:
    lines = ["0", str(len(offsets))]
    lines += [f"{topic} {partition} {offset}" for (topic, partition), offset in offsets.items()]
    lines.append("")
    disk.replace_file(f"{directory}/{name}", "\n".join(lines).encode("ascii"))


def read_checkpoint(disk: Disk, directory: str, name: str) -> dict[TopicPartition, int]:
    path = f"{directory}/{name}"
    try:
        raw = disk.read_file(path)
    except FileNotFoundError:
        return {}
    try:
        return parse_checkpoint(raw)
    except LogCorrupt as error:
        _logger.warning("%s cannot be read and is ignored: %s", path, error)
        return {}


def parse_checkpoint(raw: bytes) -> dict[TopicPartition, int]:
    """The entries of a file; an empty one, as Kafka makes it at first, has none."""
    if not raw:
        return {}
    offsets: dict[TopicPartition, int] = {}
    try:
        lines = raw.decode("ascii").splitlines()
        version, count = int(lines[0]), int(lines[1])
        for line in lines[2:]:
            topic, partition, offset = line.split(" ")
            offsets[TopicPartition(topic, int(partition))] = int(offset)
    except (ValueError, IndexError) as error:
        raise LogCorrupt(f"not readable: {error}") from error
    if version != 0 or len(offsets) != count:
        raise LogCorrupt(f"version {version}, {len(offsets)} of {count} entries")
    return offsets
