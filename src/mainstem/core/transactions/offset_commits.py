"""Offsets that a consumer's group commits as part of a producer's transaction.

They are written to the group's partition of `__consumer_offsets` as a transactional batch, and so are part
of the transaction like every other write: the coordinator has to know of it first, and the marker that ends
it decides about them.
"""

from __future__ import annotations

import asyncio

from mainstem.core.coordinator.errors import coordinator_error
from mainstem.core.coordinator.result import refuse
from mainstem.core.errors import BrokerNotAvailable, NotEnoughReplicas, RequestTimedOut
from mainstem.core.groups.coordinator import OFFSETS_TOPIC, GroupCoordinator
from mainstem.core.groups.requests import CommitRequest
from mainstem.core.groups.shard import GroupShard
from mainstem.core.replicas import Replicas
from mainstem.core.transactions.admission import TransactionAdmission, TransactionalProducer
from mainstem.model.errors import BrokerError, DiskError, MainstemError

# What a write is told where its transaction cannot be verified now: a client tries its coordinator again.
_PASSING = (NotEnoughReplicas, RequestTimedOut, BrokerNotAvailable, DiskError)


class TransactionalOffsets:
    def __init__(self, replicas: Replicas, groups: GroupCoordinator, admission: TransactionAdmission) -> None:
        self._replicas = replicas
        self._groups = groups
        self._admission = admission

    async def commit(
        self, request: CommitRequest, producer: TransactionalProducer, *, adds_partition: bool
    ) -> list[Exception | None]:
        """One entry an offset of the request: its error, or none. Raises what concerns all of them."""
        number = self._groups.partition_for(request.group_id)
        self._groups.led_shard(number)
        partition = self._replicas.get(OFFSETS_TOPIC, number)
        waiter: asyncio.Future[list[Exception | None]] = asyncio.get_running_loop().create_future()

        def go_on(error: Exception | None) -> None:
            if error is not None:
                refuse(waiter, coordinator_error(error) if isinstance(error, _PASSING) else error)
                return
            try:
                shard: GroupShard = self._groups.led_shard(number)
                shard.commit_in_transaction(request, *producer[1:], waiter)
            except MainstemError as refused:
                refuse(waiter, refused)
            except Exception as defect:
                refuse(waiter, BrokerError(f"the offsets cannot be committed: {defect}"))
                raise

        self._admission.admit(producer, [(partition, go_on)], adds=adds_partition)
        return await waiter
