"""Who leads instead: what a refusal may say so that the client need not ask for metadata first (KIP-951).

A response of Produce 10 or Fetch 16 and above may carry, in tagged fields, the leader and its epoch beside
the refused partition, and at the end of the response the addresses of the leaders that it named.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Final, NamedTuple

from mainstem.core.image import ClusterImage
from mainstem.heads.kafka.codes import ErrorCode
from mainstem.heads.kafka.endpoints import NodeAddress, node_address
from mainstem.wire.primitives import uvarint

_HINT_FIELD_BYTES: Final = 9
_NODE_ID = struct.Struct(">i")
_ENDPOINTS_TAG: Final = 0

HINTED: Final = frozenset((ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH))


class LeaderHint(NamedTuple):
    leader_id: int
    leader_epoch: int


def leader_hint(image: ClusterImage, topic: str, partition: int) -> LeaderHint | None:
    known = image.topics.get(topic)
    if known is None or not 0 <= partition < len(known.partitions):
        return None
    state = known.partitions[partition]
    return LeaderHint(state.leader, state.leader_epoch) if state.leader >= 0 else None


def hinted_addresses(image: ClusterImage, hints: Iterable[LeaderHint], listener: str) -> list[NodeAddress]:
    leaders = sorted({hint.leader_id for hint in hints})
    return [node_address(image.brokers[leader], listener) for leader in leaders if leader in image.brokers]


def current_leader_field(tag: int, hint: LeaderHint) -> bytes:
    """The tagged fields of a partition: this one and no other."""
    head = bytes((1, tag, _HINT_FIELD_BYTES))
    return head + struct.pack(">ii", hint.leader_id, hint.leader_epoch) + b"\0"


def node_endpoints_field(nodes: Iterable[NodeAddress]) -> bytes:
    """The tagged fields at the end of the response; without nodes there are none."""
    packed = [
        _NODE_ID.pack(node.node_id)
        + _compact_string(node.host)
        + _NODE_ID.pack(node.port)
        + (b"\0" if node.rack is None else _compact_string(node.rack))
        + b"\0"
        for node in nodes
    ]
    if not packed:
        return b"\0"
    field = uvarint(len(packed) + 1) + b"".join(packed)
    return bytes((1, _ENDPOINTS_TAG)) + uvarint(len(field)) + field


def _compact_string(text: str) -> bytes:
    data = text.encode()
    return uvarint(len(data) + 1) + data
