"""`partition.metadata`: which topic a partition's directory belongs to.

Two lines of text, `version: 0` and `topic_id: ` with the id as Kafka prints it. A directory whose id is
not the topic's is left over from a topic of the same name that was deleted.
"""

from __future__ import annotations

from typing import Final

from mainstem.log.errors import LogCorrupt
from mainstem.model.ids import TopicId, topic_id_from_text, topic_id_text
from mainstem.ports.disk import Disk

FILE_NAME: Final = "partition.metadata"


def write(disk: Disk, directory: str, topic_id: TopicId, *, sync: bool = False) -> None:
    text = f"version: 0\ntopic_id: {topic_id_text(topic_id)}\n"
    disk.replace_file(f"{directory}/{FILE_NAME}", text.encode("ascii"), sync=sync)


def read(disk: Disk, directory: str) -> TopicId | None:
    """The topic's id, None when there is no such file."""
    path = f"{directory}/{FILE_NAME}"
    try:
        raw = disk.read_file(path)
    except FileNotFoundError:
        return None
    try:
        fields = dict(line.split(": ", 1) for line in raw.decode("ascii").splitlines() if line)
        if fields["version"] != "0":
            raise LogCorrupt(f"{path}: version {fields['version']}, known is 0")
        return topic_id_from_text(fields["topic_id"])
    except (ValueError, KeyError) as error:
        raise LogCorrupt(f"{path}: not readable: {error}") from error
