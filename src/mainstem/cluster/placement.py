"""Which nodes hold a partition: chosen here, or checked when the client chose.

Replicas are dealt round robin from a given start, the leader first, so that each node leads the
same number of partitions; with each full round the distance between leader and first follower grows
by one, so that the partitions of a lost leader spread over all others. Racks alternate: nodes are
dealt in an order that takes one of each rack in turn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain, zip_longest

from mainstem.core.errors import InvalidReplicaAssignment, InvalidReplicationFactor
from mainstem.core.image import BrokerImage, PartitionImage

NO_LEADER = -1


def place_replicas(
    brokers: Mapping[int, BrokerImage], partition_count: int, replication_factor: int, *, start: int
) -> list[tuple[int, ...]]:
    """The replicas of each partition. `start` moves the first leader, so that topics spread as well."""
    if replication_factor > len(brokers):
        raise InvalidReplicationFactor(
            f"replication factor {replication_factor} cannot be reached: "
            f"{len(brokers)} {'broker is' if len(brokers) == 1 else 'brokers are'} registered"
        )
    nodes = _in_turns_of_racks(brokers)
    count = len(nodes)
    placed: list[tuple[int, ...]] = []
    for partition in range(partition_count):
        leader = (start + partition) % count
        shift = (start + partition) // count
        replicas = [nodes[leader]]
        for follower in range(replication_factor - 1):
            replicas.append(nodes[(leader + 1 + (shift + follower) % (count - 1)) % count])
        placed.append(tuple(replicas))
    return placed


def _in_turns_of_racks(brokers: Mapping[int, BrokerImage]) -> list[int]:
    by_rack: dict[str | None, list[int]] = {}
    for node_id in sorted(brokers):
        by_rack.setdefault(brokers[node_id].rack, []).append(node_id)
    dealt = chain.from_iterable(zip_longest(*by_rack.values()))
    return [node_id for node_id in dealt if node_id is not None]


def check_assignment(
    replicas: Sequence[int], brokers: Mapping[int, BrokerImage], replication_factor: int | None
) -> None:
    """One partition's replicas as a client named them; `replication_factor` is what the others have."""
    if not replicas:
        raise InvalidReplicaAssignment("an assignment must name at least one broker for each partition")
    for node_id in replicas:
        if node_id < 0:
            raise InvalidReplicaAssignment(f"the assignment names broker {node_id}, which cannot be")
        if node_id not in brokers:
            raise InvalidReplicaAssignment(f"the assignment names broker {node_id}, which is not registered")
    if len(set(replicas)) != len(replicas):
        raise InvalidReplicaAssignment(f"the assignment {list(replicas)} names a broker twice")
    if replication_factor is not None and len(replicas) != replication_factor:
        raise InvalidReplicaAssignment(
            f"the assignment {list(replicas)} has {len(replicas)} replicas, "
            f"the topic's other partitions have {replication_factor}"
        )


def new_partition(replicas: Sequence[int], brokers: Mapping[int, BrokerImage]) -> PartitionImage:
    """A partition that has no data yet: every live replica is in sync, the first of them leads."""
    isr = tuple(node_id for node_id in replicas if node_id in brokers)
    return PartitionImage(tuple(replicas), isr, isr[0] if isr else NO_LEADER, leader_epoch=0)
