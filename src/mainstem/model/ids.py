"""Names of things: topics, partitions and their ids."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import NamedTuple, NewType

# A topic's identity for life: 16 bytes of a UUID. A topic that is deleted and made again under the
# same name has another id. Kept as bytes because that is what the wire and the journal carry.
TopicId = NewType("TopicId", bytes)

ZERO_TOPIC_ID = TopicId(bytes(16))


class TopicPartition(NamedTuple):
    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


def topic_id_text(topic_id: TopicId) -> str:
    """The id as Kafka prints it: URL-safe base64 without padding, 22 characters."""
    return urlsafe_b64encode(topic_id).rstrip(b"=").decode("ascii")


def topic_id_from_text(text: str) -> TopicId:
    raw = urlsafe_b64decode(text + "=" * (-len(text) % 4))
    if len(raw) != 16:
        raise ValueError(f"a topic id has 16 bytes, {text!r} has {len(raw)}")
    return TopicId(raw)
