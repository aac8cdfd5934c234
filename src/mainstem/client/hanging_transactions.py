"""Transactions that are open in a partition and that no coordinator knows of: nobody will ever end them.

They cannot come about while `transaction.partition.verification.enable` is on. They come with the files of
another broker, or from writes that arrived late while it was off. Readers of committed data stop in front
of them, and compaction too.

A transaction that ends while we look must not be taken for one. So the partitions are asked first, then
the coordinators, and then the partitions again: what a coordinator did not know any more at that moment
had its marker in the partition before.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from typing import Final, NamedTuple

from mainstem.client.answer_codes import TRANSACTIONAL_ID_NOT_FOUND
from mainstem.client.cluster import ClusterClient
from mainstem.client.errors import Refused, check
from mainstem.client.topics import list_topics
from mainstem.client.transactions import describe_transaction, list_transactions
from mainstem.model.ids import TopicPartition
from mainstem.wire.kafka.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    TopicRequest,
)
from mainstem.wire.kafka.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)

OPEN_STATES: Final = ("Ongoing", "PrepareCommit", "PrepareAbort")
_PARTITIONS_PER_REQUEST: Final = 1000


class HangingTransaction(NamedTuple):
    partition: TopicPartition
    producer_id: int
    producer_epoch: int
    coordinator_epoch: int  # of its producer's last marker there; -1: it has none
    first_offset: int
    last_time_ms: int  # of its producer's last record there


def find_hanging(cluster: ClusterClient, topics: Iterable[str] | None = None) -> list[HangingTransaction]:
    """Of these topics, or of all. Needs Read on them, and Describe on the transactional ids of all."""
    views = list_topics(cluster) if topics is None else [cluster.topic(name, fresh=True) for name in topics]
    partitions = [TopicPartition(view.name, index) for view in views for index in range(len(view.partitions))]
    suspects = cluster.persist(lambda: _open_in(cluster, partitions))
    if not suspects:
        return []
    known = _known_at_coordinators(cluster, {each.producer_id for each in suspects})
    suspects = {each for each in suspects if (each.producer_id, each.partition) not in known}
    if not suspects:
        return []
    still_open = cluster.persist(lambda: _open_in(cluster, {each.partition for each in suspects}))
    begun = {(each.partition, each.producer_id, each.first_offset) for each in suspects}
    return sorted(
        each for each in still_open if (each.partition, each.producer_id, each.first_offset) in begun
    )


def abort_hanging(cluster: ClusterClient, hanging: HangingTransaction) -> None:
    """Writes the marker that ends it. Needs Alter on the cluster."""
    partition = hanging.partition
    marker = WritableTxnMarker(
        producer_id=hanging.producer_id,
        producer_epoch=hanging.producer_epoch,
        transaction_result=False,
        topics=[WritableTxnMarkerTopic(name=partition.topic, partition_indexes=[partition.partition])],
        coordinator_epoch=max(0, hanging.coordinator_epoch),
    )

    def attempt() -> None:
        leader = cluster.leader_of(partition)
        answer = cluster.ask_node(leader, WriteTxnMarkersRequest(markers=[marker]), WriteTxnMarkersResponse)
        for result in answer.markers:
            for topic in result.topics:
                for each in topic.partitions:
                    check(each.error_code, f"partition {partition}")

    cluster.persist(attempt)


def _known_at_coordinators(
    cluster: ClusterClient, producer_ids: Collection[int]
) -> set[tuple[int, TopicPartition]]:
    known: set[tuple[int, TopicPartition]] = set()
    for each in list_transactions(cluster, states=OPEN_STATES):
        if each.producer_id not in producer_ids:
            continue
        try:
            found = describe_transaction(cluster, each.transactional_id)
        except Refused as error:
            if error.code != TRANSACTIONAL_ID_NOT_FOUND:  # it ended, and was forgotten
                raise
        else:
            known |= {(each.producer_id, partition) for partition in found.partitions}
    return known


def _open_in(cluster: ClusterClient, partitions: Iterable[TopicPartition]) -> set[HangingTransaction]:
    """What is open in these partitions, whether it hangs or not."""
    by_leader: dict[int, list[TopicPartition]] = defaultdict(list)
    for partition in partitions:
        by_leader[cluster.leader_of(partition)].append(partition)
    found: set[HangingTransaction] = set()
    for leader, led in by_leader.items():
        for start in range(0, len(led), _PARTITIONS_PER_REQUEST):
            found.update(_open_on(cluster, leader, led[start : start + _PARTITIONS_PER_REQUEST]))
    return found


def _open_on(
    cluster: ClusterClient, leader: int, partitions: Iterable[TopicPartition]
) -> Iterator[HangingTransaction]:
    by_topic: dict[str, list[int]] = defaultdict(list)
    for topic, index in partitions:
        by_topic[topic].append(index)
    asked = [TopicRequest(name=topic, partition_indexes=indexes) for topic, indexes in by_topic.items()]
    answer = cluster.ask_node(leader, DescribeProducersRequest(topics=asked), DescribeProducersResponse)
    for topic_answer in answer.topics:
        for each in topic_answer.partitions:
            partition = TopicPartition(topic_answer.name, each.partition_index)
            check(each.error_code, f"partition {partition}", each.error_message)
            for producer in each.active_producers:
                if producer.current_txn_start_offset >= 0:
                    yield HangingTransaction(
                        partition,
                        producer.producer_id,
                        producer.producer_epoch,
                        producer.coordinator_epoch,
                        producer.current_txn_start_offset,
                        producer.last_timestamp,
                    )
