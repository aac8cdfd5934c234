"""What a task does: read one range of one partition into Arrow batches.

Spark keeps its Python workers between tasks and builds everything else anew, so connections are kept
here, per process and per way to reach the brokers; a task has the one it took for itself alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Final

from mainstem.client.addresses import parse_addresses
from mainstem.client.answer_codes import OFFSET_OUT_OF_RANGE
from mainstem.client.cluster import ClusterClient
from mainstem.client.column_reader import ColumnReader
from mainstem.client.errors import OffsetsNotReached, Refused
from mainstem.model.column_decoder import DEFAULT_CHUNK_BYTES
from mainstem.model.ids import TopicPartition
from mainstem.spark.client_options import ClientOptions
from mainstem.spark.errors import DataLost
from mainstem.spark.options import SourceOptions
from mainstem.spark.ranges import OffsetRange

MAX_IDLE_CLIENTS: Final = 4

_idle: Final[dict[ClientOptions, list[ClusterClient]]] = {}


def open_cluster(options: ClientOptions) -> ClusterClient:
    return ClusterClient(
        parse_addresses(options.bootstrap),
        client_id=options.client_id,
        timeout_s=options.timeout_s,
        security=replace(options.security),  # a copy: the key itself stays as it can be sent to tasks
    )


@contextmanager
def kept_cluster(options: ClientOptions) -> Iterator[ClusterClient]:
    """A client that nobody else uses meanwhile; with its connections it is kept for the next task."""
    waiting = _idle.setdefault(options, [])
    cluster = waiting.pop() if waiting else open_cluster(options)
    try:
        yield cluster
    except BaseException:
        cluster.close()
        raise
    if sum(map(len, _idle.values())) < MAX_IDLE_CLIENTS:
        waiting.append(cluster)
    else:
        cluster.close()


def read_range(options: SourceOptions, wanted: OffsetRange) -> Iterator[Any]:
    """The records of the range as `pyarrow.RecordBatch`es."""
    from mainstem.spark.arrow import ArrowAssembly

    assembly = ArrowAssembly(wanted.partition, options.with_headers, DEFAULT_CHUNK_BYTES)
    with kept_cluster(options.client) as cluster:
        reader = ColumnReader(
            cluster,
            wanted.partition,
            wanted.start,
            wanted.end,
            read_committed=options.read_committed,
            with_headers=options.with_headers,
            fetch_bytes=options.fetch_bytes,
            patience_s=options.patience_s,
            on_gap=_lost if options.fail_on_data_loss else _passed_over,
        )
        try:
            for columns in reader:
                yield from assembly.batches(columns)
        except (Refused, OffsetsNotReached) as error:
            if isinstance(error, Refused) and error.code != OFFSET_OUT_OF_RANGE:
                raise
            if options.fail_on_data_loss:
                raise DataLost([str(error)]) from error


def _lost(partition: TopicPartition, wanted: int, first: int) -> None:
    raise DataLost([f"{partition} has no records from offset {wanted} to {first - 1} any more"])


def _passed_over(_partition: TopicPartition, _wanted: int, _first: int) -> None:
    pass
