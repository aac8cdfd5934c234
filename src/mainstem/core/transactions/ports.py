"""What the transaction coordinator and the partitions promise each other.

The coordinator decides; partitions carry the decision out. It reaches the partitions through a
`MarkerSink` (this node's, or another's over the wire), and a partition that sees the first batch of a
producer's transaction asks a `TransactionVerifier` whether the coordinator knows of it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple, Protocol

from mainstem.model.ids import TopicPartition


class TransactionMarker(NamedTuple):
    """The end of one producer's transaction in some partitions."""

    producer_id: int
    producer_epoch: int  # of the marker; one above the producer's with transaction version 2
    coordinator_epoch: int  # a marker from an older coordinator than the last is refused
    is_commit: bool
    partitions: Collection[TopicPartition]
    transaction_version: int = 1  # 2: the marker's epoch must be above the producer's last


class MarkerSink(Protocol):
    async def write(self, marker: TransactionMarker) -> Mapping[TopicPartition, Exception | None]:
        """Writes the marker at the end of each partition; None where it is committed there."""
        ...


class TransactionVerifier(Protocol):
    async def verify(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        partitions: Collection[TopicPartition],
        *,
        add: bool,
    ) -> Mapping[TopicPartition, Exception | None]:
        """Whether the producer's ongoing transaction has these partitions; `add` puts them in first."""
        ...
