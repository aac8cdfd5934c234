"""What a task does: write the rows that it is given, all of them, and say under which transaction.

    exactly once      each task opens a transaction of its own, writes, and prepares it under
                      (writer, number). What it wrote is out of sight until the driver decides on it.
    at least once     the rows are in sight as soon as they are written. A task that is repeated writes
                      them again.

A task that fails aborts its transaction; one that is killed leaves it to the driver's next decision, or to
its time-out.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from typing import Any, Final, NamedTuple
from uuid import uuid4

from pyspark.sql.datasource import WriterCommitMessage

from mainstem.client.batch_writer import BatchWriter
from mainstem.client.cluster import ClusterClient
from mainstem.client.errors import check
from mainstem.client.partition_queue import ProducerIdentity
from mainstem.client.partitioner import StickyChoice
from mainstem.client.transactions import (
    AlreadyDecided,
    end_transaction,
    init_transactions,
    prepare_transaction,
)
from mainstem.model.errors import MainstemError
from mainstem.model.ids import TopicPartition
from mainstem.model.row_packing import PACKER
from mainstem.spark.arrow_rows import by_topic, chosen_partitions, new_columns
from mainstem.spark.reading import kept_cluster
from mainstem.spark.sink_options import SinkOptions
from mainstem.wire.kafka.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse

GATHERED_BYTES: Final = 4 << 20  # of small Arrow batches written together, for large record batches
MAX_USED_IDS: Final = 256

# By writer: the number of the batch that was last prepared under a transactional id of this process.
_used: Final[dict[str, list[tuple[int, str]]]] = {}


class Decidable(NamedTuple):
    """What the driver will decide on."""

    writer: str
    number: int


@dataclass(frozen=True)
class TaskWritten(WriterCommitMessage):
    """What a task tells the driver."""

    writer: str
    transactional_id: str | None  # None: nothing to decide on
    row_count: int


def write_task(options: SinkOptions, batches: Iterable[Any], decidable: Decidable | None) -> TaskWritten:
    """Without `decidable` at least once."""
    with kept_cluster(options.client) as cluster:
        task = _Task(options, cluster, decidable)
        try:
            for batch in _gathered(batches):
                task.add(batch)
            return task.finish()
        except BaseException:
            task.abandon()
            raise
        finally:
            task.close()


def _gathered(batches: Iterable[Any]) -> Iterator[Any]:
    """Arrow batches put together until they are worth a request."""
    import pyarrow as pa

    held: list[Any] = []
    size = 0
    for batch in batches:
        if batch.num_rows:
            held.append(batch)
            size += batch.nbytes
        if size >= GATHERED_BYTES:
            yield held[0] if len(held) == 1 else pa.concat_batches(held)
            held, size = [], 0
    if held:
        yield held[0] if len(held) == 1 else pa.concat_batches(held)


class _Task:
    def __init__(self, options: SinkOptions, cluster: ClusterClient, decidable: Decidable | None) -> None:
        self._options = options
        self._cluster = cluster
        self._decidable = decidable
        self._transactional_id = None if decidable is None else _transactional_id(decidable)
        self._identity: ProducerIdentity | None = None
        self._writer: BatchWriter | None = None
        self._keyless: dict[str, StickyChoice] = {}
        self._row_count = 0

    def add(self, batch: Any) -> None:
        writer = self._writer or self._open()
        now_ms = time.time_ns() // 1_000_000
        for topic, rows in by_topic(batch, self._options.topic):
            count = len(self._cluster.topic(topic).partitions)
            keyless = self._keyless.setdefault(topic, StickyChoice())
            keyless.move_on(count)
            packer = PACKER(new_columns(rows, now_ms))
            chosen = chosen_partitions(rows, topic, count)
            order, bounds = packer.grouped(packer.partitions(count, keyless.partition(count), chosen), count)
            for number in range(count):
                first = bounds[number]
                while first < bounds[number + 1]:
                    packed = packer.pack(order, first, bounds[number + 1], self._options.batch_bytes)
                    writer.write(TopicPartition(topic, number), packed)
                    first += packed.row_count
        self._row_count += batch.num_rows

    def _open(self) -> BatchWriter:
        """A task without rows never gets here, and costs the broker nothing."""
        options = self._options
        if self._transactional_id is None:
            self._identity = _plain_identity(self._cluster)
        else:
            self._identity = init_transactions(
                self._cluster, self._transactional_id, options.transaction_timeout_ms
            )
        self._writer = BatchWriter(
            self._cluster,
            self._identity,
            transactional_id=self._transactional_id,
            codec=options.codec,
            patience_s=options.patience_s,
        )
        return self._writer

    def finish(self) -> TaskWritten:
        if self._writer is not None:
            self._writer.flush()
        if self._decidable is None:
            return TaskWritten("", None, self._row_count)
        writer, number = self._decidable
        if self._identity is None:
            return TaskWritten(writer, None, 0)
        assert self._transactional_id is not None
        try:
            prepare_transaction(self._cluster, self._transactional_id, self._identity, number)
        except AlreadyDecided:  # a batch that is repeated: what it was to write is there
            self.abandon()
            return TaskWritten(writer, None, self._row_count)
        _used.setdefault(writer, []).append((number, self._transactional_id))
        return TaskWritten(writer, self._transactional_id, self._row_count)

    def abandon(self) -> None:
        if self._transactional_id is None or self._identity is None or self._writer is None:
            return
        with if_possible():
            end_transaction(self._cluster, self._transactional_id, self._identity, is_commit=False)

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()


def _transactional_id(decidable: Decidable) -> str:
    """One that this process used before, so that the broker has fewer producers to remember, or a new one.

    A batch that is repeated elsewhere knows nothing of these, so none is ever waited for: only those are
    taken whose batch was decided a whole batch ago and has its markers by now.
    """
    writer, number = decidable
    used = _used.get(writer, [])
    for place, (before, transactional_id) in enumerate(used):
        if before < number - 1:
            del used[place]
            return transactional_id
    while sum(map(len, _used.values())) > MAX_USED_IDS:
        del _used[next(iter(_used))]
    return f"{{{writer}}}{uuid4().hex}"


def if_possible() -> AbstractContextManager[None]:
    """For what is better done now, but is done by a time-out otherwise."""
    return suppress(MainstemError)


def _plain_identity(cluster: ClusterClient) -> ProducerIdentity:
    def attempt() -> ProducerIdentity:
        request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60_000)
        answer = cluster.ask(request, InitProducerIdResponse)
        check(answer.error_code, "producer id")
        return ProducerIdentity(answer.producer_id, answer.producer_epoch)

    return cluster.persist(attempt)
