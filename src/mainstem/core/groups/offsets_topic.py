"""The topic that holds groups and their offsets, made when a group is first asked for."""

from __future__ import annotations

from mainstem.config.broker import BrokerConfig
from mainstem.core.broker import Broker
from mainstem.core.coordinator.internal_topic import ensure_state_topic, new_state_topic
from mainstem.core.groups.coordinator import OFFSETS_TOPIC
from mainstem.core.image import TopicImage
from mainstem.core.ports import NewTopic


def new_offsets_topic(config: BrokerConfig) -> NewTopic:
    return new_state_topic(
        OFFSETS_TOPIC,
        partition_count=config.offsets_topic_num_partitions,
        replication_factor=config.offsets_topic_replication_factor,
        segment_bytes=config.offsets_topic_segment_bytes,
    )


async def ensure_offsets_topic(broker: Broker) -> TopicImage:
    return await ensure_state_topic(broker, new_offsets_topic(broker.config))
