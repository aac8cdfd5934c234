"""The topic that holds transactions, made when a transactional id is first asked for."""

from __future__ import annotations

from mainstem.config.broker import BrokerConfig
from mainstem.core.broker import Broker
from mainstem.core.coordinator.internal_topic import ensure_state_topic, new_state_topic
from mainstem.core.image import TopicImage
from mainstem.core.ports import NewTopic
from mainstem.core.transactions.coordinator import TRANSACTIONS_TOPIC


def new_transactions_topic(config: BrokerConfig) -> NewTopic:
    return new_state_topic(
        TRANSACTIONS_TOPIC,
        partition_count=config.transaction_state_log_num_partitions,
        replication_factor=config.transaction_state_log_replication_factor,
        segment_bytes=config.transaction_state_log_segment_bytes,
    )


async def ensure_transactions_topic(broker: Broker) -> TopicImage:
    return await ensure_state_topic(broker, new_transactions_topic(broker.config))
