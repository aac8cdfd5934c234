"""Delivers the markers of a transaction that was decided: until every partition has them.

A marker is written again where it is not certain that it was; a partition takes a repeated one for what it
is. A partition whose topic was deleted needs none. Nothing here is remembered: the log says that the
transaction is being ended, so after a restart the delivery begins anew.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from mainstem.core.coordinator.result import answer
from mainstem.core.errors import (
    InvalidProducerEpoch,
    TransactionCoordinatorFenced,
    UnknownTopicId,
    UnknownTopicOrPartition,
)
from mainstem.core.transactions.ports import MarkerSink, TransactionMarker
from mainstem.model.errors import MainstemError
from mainstem.model.ids import TopicPartition
from mainstem.ports.clock import Clock

FIRST_PAUSE_MS: Final = 20.0
LONGEST_PAUSE_MS: Final = 2_000.0
ATTEMPTS_PER_WARNING: Final = 10
MAX_WRITES: Final = 256  # at a time; the others wait for their turn

_log = logging.getLogger(__name__)


class MarkerDelivery:
    def __init__(self, clock: Clock, sink: MarkerSink, exists: Callable[[TopicPartition], bool]) -> None:
        self.retries = 0
        self._clock = clock
        self._sink = sink
        self._exists = exists
        self._places = asyncio.Semaphore(MAX_WRITES)

    async def deliver(self, transactional_id: str, marker: TransactionMarker) -> None:
        """Returns when no partition waits for it. Raises when a newer coordinator has taken over."""
        left = frozenset(marker.partitions)
        pause_ms = FIRST_PAUSE_MS
        attempts = 0
        while left:
            left, reason = await self._attempt(transactional_id, marker._replace(partitions=left))
            if not left:
                return
            attempts += 1
            self.retries += 1
            if attempts % ATTEMPTS_PER_WARNING == 0:
                _log.warning(
                    "transactional id %s: %d markers are still to be written: %s",
                    transactional_id,
                    len(left),
                    reason,
                )
            await self.pause(pause_ms)
            pause_ms = min(2 * pause_ms, LONGEST_PAUSE_MS)

    async def _attempt(
        self, transactional_id: str, marker: TransactionMarker
    ) -> tuple[frozenset[TopicPartition], Exception | None]:
        """The partitions that need another attempt, and why the last of them does."""
        asked = frozenset(marker.partitions)
        try:
            async with self._places:
                outcomes = await self._sink.write(marker)
        except TransactionCoordinatorFenced:
            raise
        except MainstemError as error:
            return asked, error
        except Exception as error:  # a defect must not leave a transaction open for ever
            _log.exception("transactional id %s: writing markers failed", transactional_id)
            return asked, error
        left: set[TopicPartition] = set()
        reason: Exception | None = None
        for partition in asked:
            refusal = outcomes.get(partition, UnknownTopicOrPartition(f"no answer for {partition}"))
            if refusal is None or self._is_void(transactional_id, partition, refusal):
                continue
            if isinstance(refusal, TransactionCoordinatorFenced):
                raise refusal
            left.add(partition)
            reason = refusal
        return frozenset(left), reason

    def _is_void(self, transactional_id: str, partition: TopicPartition, error: Exception) -> bool:
        """Whether the partition has no transaction any more that this marker could end."""
        if isinstance(error, UnknownTopicOrPartition | UnknownTopicId):
            return not self._exists(partition)
        if isinstance(error, InvalidProducerEpoch):
            _log.warning(
                "transactional id %s: %s has seen a newer producer; its marker is left out: %s",
                transactional_id,
                partition,
                error,
            )
            return True
        return False

    async def pause(self, delay_ms: float) -> None:
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        timer = self._clock.call_later(delay_ms, lambda: answer(woken, None))
        try:
            await woken
        finally:
            timer.cancel()
