"""What the members of a group of consumers say that they read.

The metadata under a protocol of type "consumer" is an int16 version and a subscription, in which every
version begins as version 0 does: the list of topics comes first, whatever the version.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from mainstem.wire.errors import WireError
from mainstem.wire.kafka.codec import decode
from mainstem.wire.kafka.records.consumer_protocol_subscription import ConsumerProtocolSubscription

CONSUMER_PROTOCOL_TYPE: Final = "consumer"


def subscribed_topics(subscriptions: Iterable[bytes]) -> frozenset[str] | None:
    """The union of all; nothing when one of them cannot be read."""
    topics: set[str] = set()
    for subscription in subscriptions:
        try:
            if len(subscription) < 2:
                return None
            message, _ = decode(ConsumerProtocolSubscription, 0, subscription, 2)
        except WireError:
            return None
        topics.update(message.topics)
    return frozenset(topics)
