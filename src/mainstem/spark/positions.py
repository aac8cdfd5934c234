"""A point in a stream: of each partition the next offset. Spark keeps it in the checkpoint, as JSON.

    {"offsets": {"orders": {"0": 17, "1": 4}}, "topicIds": {"orders": "b2K…"}, "group": "…-1f3a"}

The ids tell a topic that was deleted and made again from the one that the job had read. The group is
the consumer group that shows the position; its name is made up once and stays with the checkpoint.
Spark compares positions as text, so the same point is always written the same way.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mainstem.model.ids import TopicPartition


@dataclass(frozen=True, slots=True)
class Positions:
    offsets: Mapping[TopicPartition, int]
    topic_ids: Mapping[str, str]
    group: str

    def to_json(self) -> dict[str, Any]:
        by_topic: dict[str, dict[str, int]] = defaultdict(dict)
        for partition, offset in sorted(self.offsets.items()):
            by_topic[partition.topic][str(partition.partition)] = offset
        return {
            "offsets": dict(by_topic),
            "topicIds": {topic: self.topic_ids[topic] for topic in by_topic},
            "group": self.group,
        }

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> Positions:
        offsets = {
            TopicPartition(topic, int(partition)): offset
            for topic, entries in found["offsets"].items()
            for partition, offset in entries.items()
        }
        return cls(offsets, dict(found["topicIds"]), found["group"])
