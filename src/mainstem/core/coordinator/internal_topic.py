"""The topic that a coordinator keeps its state in, made when its first client comes."""

from __future__ import annotations

from mainstem.core.broker import Broker
from mainstem.core.errors import TopicAlreadyExists
from mainstem.core.image import TopicImage
from mainstem.core.ports import NewTopic
from mainstem.model.errors import MainstemError


def new_state_topic(
    name: str, *, partition_count: int, replication_factor: int, segment_bytes: int
) -> NewTopic:
    return NewTopic(
        name,
        partition_count=partition_count,
        replication_factor=replication_factor,
        config={
            "cleanup.policy": "compact",
            "compression.type": "producer",
            "segment.bytes": str(segment_bytes),
        },
    )


async def ensure_state_topic(broker: Broker, wanted: NewTopic) -> TopicImage:
    """The topic, made now if it is not there yet. Raises what its creation raised."""
    known = broker.image.topics.get(wanted.name)
    if known is not None:
        return known
    made = await broker.admin.create_topics([wanted], is_internal=True)
    outcome = made[wanted.name]
    if isinstance(outcome, TopicAlreadyExists):  # by another client, in the same moment
        return broker.image.topics[wanted.name]
    if isinstance(outcome, MainstemError):
        raise outcome
    return outcome
