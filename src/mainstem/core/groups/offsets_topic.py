"""The topic that holds groups and their offsets, made when a group is first asked for."""

from __future__ import annotations

from mainstem.config.broker import BrokerConfig
from mainstem.core.broker import Broker
from mainstem.core.errors import TopicAlreadyExists
from mainstem.core.groups.coordinator import OFFSETS_TOPIC
from mainstem.core.image import TopicImage
from mainstem.core.ports import NewTopic
from mainstem.model.errors import MainstemError


def new_offsets_topic(config: BrokerConfig) -> NewTopic:
    return NewTopic(
        OFFSETS_TOPIC,
        partition_count=config.offsets_topic_num_partitions,
        replication_factor=config.offsets_topic_replication_factor,
        config={
            "cleanup.policy": "compact",
            "compression.type": "producer",
            "segment.bytes": str(config.offsets_topic_segment_bytes),
        },
    )


async def ensure_offsets_topic(broker: Broker) -> TopicImage:
    """The topic, made now if it is not there yet. Raises what its creation raised."""
    known = broker.image.topics.get(OFFSETS_TOPIC)
    if known is not None:
        return known
    made = await broker.admin.create_topics([new_offsets_topic(broker.config)], is_internal=True)
    outcome = made[OFFSETS_TOPIC]
    if isinstance(outcome, TopicAlreadyExists):  # by another client, in the same moment
        return broker.image.topics[OFFSETS_TOPIC]
    if isinstance(outcome, MainstemError):
        raise outcome
    return outcome
