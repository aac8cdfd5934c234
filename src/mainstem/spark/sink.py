"""`write` and `writeStream` with `format("mainstem")`.

Tasks prepare transactions; the driver's commit is one decision on all of them, under a key that is the same
when Spark repeats the batch:

    stream     (id of the query, number of the batch). The id is in the checkpoint. Spark repeats a batch
               when it was killed between our decision and its own note of it; the decision stands then, and
               what the repeated tasks wrote is aborted.
    batch      a key of its own for each write, or (txnAppId, txnVersion) where the author gives one

A stream's abort decides nothing: the batch comes again under its number. After each decision no task of that
writer is at work, so transactions of it that are still open are of tasks that were killed, and are aborted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final
from uuid import uuid4

from pyspark import TaskContext
from pyspark.sql.datasource import (
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
)

from mainstem.client.cluster import ClusterClient
from mainstem.client.transactions import abort_transaction, decide, list_transactions
from mainstem.spark.reading import kept_cluster
from mainstem.spark.sink_options import SinkOptions
from mainstem.spark.writing import Decidable, TaskWritten, if_possible, write_task

_QUERY_ID: Final = "sql.streaming.queryId"
_BATCH_ID: Final = "streaming.sql.batchId"

Messages = Sequence[WriterCommitMessage | None]


class StreamSink(DataSourceStreamArrowWriter):
    def __init__(self, options: SinkOptions) -> None:
        self._options = options

    def write(self, iterator: Iterator[Any]) -> WriterCommitMessage:
        decidable = None
        if self._options.is_exactly_once:
            context = TaskContext.get()
            assert context is not None
            query, batch = context.getLocalProperty(_QUERY_ID), context.getLocalProperty(_BATCH_ID)
            assert query is not None
            assert batch is not None
            decidable = Decidable(f"spark-{query}", int(batch))
        return write_task(self._options, iterator, decidable)

    def commit(self, messages: Messages, batchId: int) -> None:
        if self._options.is_exactly_once:
            with kept_cluster(self._options.client) as cluster:
                _decide(cluster, messages, batchId)

    def abort(self, messages: Messages, batchId: int) -> None:
        """Spark will come with the batch again: what is prepared waits for that, or expires."""


class BatchSink(DataSourceArrowWriter):
    def __init__(self, options: SinkOptions) -> None:
        self._options = options
        self._decidable: Decidable | None = None
        if options.is_exactly_once:
            self._decidable = Decidable(options.app_id or f"spark-batch-{uuid4().hex}", options.version)

    def write(self, iterator: Iterator[Any]) -> WriterCommitMessage:
        return write_task(self._options, iterator, self._decidable)

    def commit(self, messages: Messages) -> None:
        if self._decidable is not None:
            with kept_cluster(self._options.client) as cluster:
                _decide(cluster, messages, self._decidable.number)

    def abort(self, messages: Messages) -> None:  # noqa: ARG002 (Spark passes it by name)
        """Nobody will come again under a key that was made up here; after a commit this changes nothing."""
        if self._decidable is not None and self._options.app_id is None:
            with kept_cluster(self._options.client) as cluster, if_possible():
                decide(cluster, *self._decidable, [])
                _abort_open(cluster, self._decidable.writer)


def _decide(cluster: ClusterClient, messages: Messages, number: int) -> None:
    written = [message for message in messages if isinstance(message, TaskWritten)]
    if not written:
        return
    writer = written[0].writer
    ids = [message.transactional_id for message in written if message.transactional_id is not None]
    if not ids and not any(message.row_count for message in written):
        return  # nothing was to be written, so there is nothing that a repetition could write twice
    decide(cluster, writer, number, ids)
    with if_possible():
        _abort_open(cluster, writer)


def _abort_open(cluster: ClusterClient, writer: str) -> None:
    pattern = re.escape("{" + writer + "}") + ".*"
    for found in list_transactions(cluster, states=["Ongoing"], pattern=pattern):
        abort_transaction(cluster, found.transactional_id)
