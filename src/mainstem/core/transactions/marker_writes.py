"""The end of transactions in this node's partitions: a marker at the end of each.

A marker is taken or not:

    coordinator epoch below that of the last marker     refused: another coordinator decides now
    producer epoch below the producer's                 refused: a later producer has begun
    version 2, the producer's own epoch, open           refused: it would not keep the producer out
    the producer's own epoch, nothing open              written already, or nothing was: only waited for
    else                                                written

So a coordinator that does not know whether a marker was written writes it again, and nothing changes.

In a partition of `__consumer_offsets` the marker decides on the offsets that the transaction holds there. It
goes through the shard, which replays it at its place among the records.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from mainstem.core.coordinator.result import answer, refuse
from mainstem.core.errors import InvalidProducerEpoch, TransactionCoordinatorFenced
from mainstem.core.groups.coordinator import OFFSETS_TOPIC, GroupCoordinator
from mainstem.core.partition import Partition
from mainstem.core.replicas import Replicas
from mainstem.core.transactions.admission import cut_off_unverified
from mainstem.core.transactions.ports import TransactionMarker
from mainstem.log.transaction_markers import EndMarker, build_marker
from mainstem.model.errors import MainstemError
from mainstem.model.ids import TopicPartition
from mainstem.ports.clock import Clock


class LocalMarkers:
    """A `MarkerSink` of the partitions that this node leads."""

    def __init__(self, replicas: Replicas, groups: GroupCoordinator, clock: Clock) -> None:
        self._replicas = replicas
        self._groups = groups
        self._clock = clock

    async def write(self, marker: TransactionMarker) -> Mapping[TopicPartition, Exception | None]:
        outcomes: dict[TopicPartition, Exception | None] = {}
        waiting: dict[TopicPartition, asyncio.Future[None]] = {}
        for key in marker.partitions:
            committed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            try:
                self._begin(key, marker, committed)
            except MainstemError as error:
                outcomes[key] = error
            else:
                waiting[key] = committed
        for key, committed in waiting.items():
            try:
                await committed
            except MainstemError as error:
                outcomes[key] = error
            else:
                outcomes[key] = None
        return outcomes

    def _begin(self, key: TopicPartition, marker: TransactionMarker, committed: asyncio.Future[None]) -> None:
        def settled(error: Exception | None) -> None:
            if error is None:
                answer(committed, None)
            else:
                refuse(committed, error)

        partition = self._replicas.get(*key)
        if key[0] == OFFSETS_TOPIC:
            shard = self._groups.led_shard(key[1])
            shard.runtime.flush()  # what the transaction has committed so far is in front of its end
            shard.runtime.check_active()
            batch = self._batch_of(partition, marker)
            shard.end_transaction(marker.producer_id, batch, is_commit=marker.is_commit, settled=settled)
            return
        partition.write_staged()
        batch = self._batch_of(partition, marker)
        if batch is None:
            partition.when_committed(settled)
        else:
            partition.append_now(batch, settled)

    def _batch_of(self, partition: Partition, marker: TransactionMarker) -> bytes | None:
        """The marker to be written at the end of what the log holds now; None: it is there."""
        is_needed = _is_needed(partition, marker)
        cut_off_unverified(partition, marker.producer_id)
        if not is_needed:
            return None
        return build_marker(
            marker.producer_id,
            marker.producer_epoch,
            EndMarker(marker.is_commit, marker.coordinator_epoch),
            now_ms=self._clock.now_ms(),
        )


def _is_needed(partition: Partition, marker: TransactionMarker) -> bool:
    """Raises where the marker is not to be taken."""
    producers = partition.log.producers
    entry = producers.get(marker.producer_id)
    if entry is None:
        return True
    if marker.coordinator_epoch < entry.coordinator_epoch:
        raise TransactionCoordinatorFenced(
            f"{partition.topic_partition} has a marker of coordinator epoch {entry.coordinator_epoch}, "
            f"this one is of {marker.coordinator_epoch}"
        )
    if marker.producer_epoch < entry.epoch:
        raise InvalidProducerEpoch(
            f"producer {marker.producer_id} has epoch {entry.epoch} in {partition.topic_partition}, "
            f"the marker {marker.producer_epoch}"
        )
    if marker.producer_epoch > entry.epoch:
        return True
    if not producers.has_open_transaction(marker.producer_id, marker.producer_epoch):
        return entry.coordinator_epoch < 0  # no transaction ended here yet, so it may be the first marker
    if marker.transaction_version >= 2:
        raise InvalidProducerEpoch(
            f"the marker of a transaction of version 2 needs an epoch above {entry.epoch}, the producer's"
        )
    return True
