"""The topic that holds transactions, made when a transactional id is first asked for."""

from __future__ import annotations

from mainstem.config.broker import BrokerConfig
from mainstem.core.broker import Broker
from mainstem.core.errors import TopicAlreadyExists
from mainstem.core.image import TopicImage
from mainstem.core.ports import NewTopic
from mainstem.core.transactions.coordinator import TRANSACTIONS_TOPIC
from mainstem.model.errors import MainstemError


def new_transactions_topic(config: BrokerConfig) -> NewTopic:
    return NewTopic(
        TRANSACTIONS_TOPIC,
        partition_count=config.transaction_state_log_num_partitions,
        replication_factor=config.transaction_state_log_replication_factor,
        config={
            "cleanup.policy": "compact",
            "compression.type": "producer",
            "segment.bytes": str(config.transaction_state_log_segment_bytes),
        },
    )


async def ensure_transactions_topic(broker: Broker) -> TopicImage:
    """The topic, made now if it is not there yet. Raises what its creation raised."""
    known = broker.image.topics.get(TRANSACTIONS_TOPIC)
    if known is not None:
        return known
    made = await broker.admin.create_topics([new_transactions_topic(broker.config)], is_internal=True)
    outcome = made[TRANSACTIONS_TOPIC]
    if isinstance(outcome, TopicAlreadyExists):  # by another client, in the same moment
        return broker.image.topics[TRANSACTIONS_TOPIC]
    if isinstance(outcome, MainstemError):
        raise outcome
    return outcome
