"""Where clients find the nodes of the cluster: at the listener through which they ask."""

from __future__ import annotations

from typing import NamedTuple

from mainstem.core.image import BrokerImage


class NodeAddress(NamedTuple):
    node_id: int
    host: str
    port: int
    rack: str | None


def node_address(broker: BrokerImage, listener: str) -> NodeAddress:
    """As clients of `listener` reach the node; its main address where it has none of that name."""
    for endpoint in broker.endpoints:
        if endpoint.name == listener:
            return NodeAddress(broker.node_id, endpoint.host, endpoint.port, broker.rack)
    return NodeAddress(broker.node_id, broker.host, broker.port, broker.rack)
