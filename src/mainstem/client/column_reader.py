"""Reading one partition between two offsets as columns, for who wants bulk and no single record.

The next fetch leaves before what came is decoded. Reading committed data leaves out what aborted
transactions wrote, and waits at the first offset of a transaction that is still open.

A leader that moved or is out of reach is asked for again until `patience_s` went by without a byte.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from mainstem.client.addresses import Address
from mainstem.client.answer_codes import OFFSET_OUT_OF_RANGE, UNKNOWN_TOPIC_OR_PARTITION
from mainstem.client.cluster import ClusterClient
from mainstem.client.errors import (
    AnswerTooLate,
    ClusterUnreachable,
    ConnectionLost,
    DamagedBatch,
    OffsetsNotReached,
    Refused,
    check,
)
from mainstem.client.offsets import partition_ranges
from mainstem.model.batch import Buffer
from mainstem.model.column_decoder import (
    DEFAULT_CHUNK_BYTES,
    AbortedTransaction,
    DamagedRecords,
    PartitionDecoder,
    WholeBatch,
    whole_batches,
)
from mainstem.model.columns import RecordColumns
from mainstem.model.errors import MainstemError
from mainstem.model.ids import TopicPartition
from mainstem.wire.kafka.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)

DEFAULT_FETCH_BYTES: Final = 4 << 20
MAX_FETCH_BYTES: Final = 128 << 20  # a batch larger than this no broker takes
_MAX_WAIT_MS: Final = 500
_PAUSE_S: Final = 0.1
_LOST = (ConnectionLost, AnswerTooLate, ClusterUnreachable)


class _Arrived(NamedTuple):
    records: Buffer
    batches: list[WholeBatch]
    aborted: list[AbortedTransaction]


_NOTHING: Final = _Arrived(b"", [], [])


class ColumnReader:
    """Reads from `start` up to, but not including, `end`."""

    def __init__(
        self,
        cluster: ClusterClient,
        partition: TopicPartition,
        start: int,
        end: int,
        *,
        read_committed: bool = True,
        with_headers: bool = False,
        fetch_bytes: int = DEFAULT_FETCH_BYTES,
        chunk_bytes: int = DEFAULT_CHUNK_BYTES,
        patience_s: float = 60.0,
        on_gap: Callable[[TopicPartition, int, int], None] | None = None,
    ) -> None:
        """`on_gap` hears of records deleted before they were read; without it they are an error."""
        self.position = start
        self._end = end
        self._cluster = cluster
        self._partition = partition
        self._read_committed = read_committed
        self._fetch_bytes = fetch_bytes
        self._patience_s = patience_s
        self._on_gap = on_gap
        self._decoder = PartitionDecoder(with_headers=with_headers, chunk_bytes=chunk_bytes)
        self._asked: Address | None = None  # whose answer is on its way
        self._deadline = 0.0  # monotonic seconds; moves on with every batch

    def __iter__(self) -> Iterator[RecordColumns]:
        self._deadline = time.monotonic() + self._patience_s
        try:
            while self.position < self._end:
                first = self.position
                try:
                    arrived = self._next_arrival()
                except MainstemError:
                    yield from self._rest()  # what came before it is good
                    raise
                if self.position < self._end:
                    self._try_asking()
                try:
                    yield from self._decoder.decode(
                        arrived.records, arrived.batches, first=first, end=self._end, aborted=arrived.aborted
                    )
                except DamagedRecords as error:
                    raise DamagedBatch(str(self._partition), error.offset, error.reason) from error
                del arrived
            yield from self._rest()
        finally:
            self._forget_asked()

    def _rest(self) -> Iterator[RecordColumns]:
        rest = self._decoder.rest()
        if rest is not None:
            yield rest

    def _next_arrival(self) -> _Arrived:
        """What the answer on its way brings, the position moved past it; perhaps nothing."""
        try:
            if self._asked is None:
                self._ask()
            part = self._receive()
        except (Refused, *_LOST) as error:
            self._back_off(error)
            return _NOTHING
        if part.error_code:
            self._take_error(part)
            return _NOTHING
        records = memoryview(part.records or b"")
        try:
            batches = whole_batches(records, self.position)
        except DamagedRecords as error:
            raise DamagedBatch(str(self._partition), error.offset, error.reason) from error
        if batches:
            self.position = batches[-1].header.next_offset
            self._deadline = time.monotonic() + self._patience_s
        elif len(records):
            self._fetch_more()
        elif time.monotonic() > self._deadline:
            raise OffsetsNotReached(
                str(self._partition),
                self.position,
                self._end,
                high_watermark=part.high_watermark,
                last_stable_offset=part.last_stable_offset if self._read_committed else None,
            )
        aborted = [
            AbortedTransaction(found.producer_id, found.first_offset)
            for found in part.aborted_transactions or ()
        ]
        return _Arrived(records, batches, aborted)

    def _fetch_more(self) -> None:
        """The next batch alone is larger than what was asked for, and the broker keeps to the size."""
        if self._fetch_bytes >= MAX_FETCH_BYTES:
            raise DamagedBatch(
                str(self._partition), self.position, f"it does not end within {MAX_FETCH_BYTES} bytes"
            )
        self._fetch_bytes = min(self._fetch_bytes * 2, MAX_FETCH_BYTES)

    # --- asking

    def _ask(self) -> None:
        address = self._cluster.address_of(self._cluster.leader_of(self._partition))
        connection = self._cluster.connection_to(address)
        wanted = FetchPartition(
            partition=self._partition.partition,
            fetch_offset=self.position,
            partition_max_bytes=self._fetch_bytes,
        )
        self._asked = address
        connection.send(
            FetchRequest(
                max_wait_ms=_MAX_WAIT_MS,
                min_bytes=1,
                max_bytes=self._fetch_bytes,
                isolation_level=int(self._read_committed),
                topics=[FetchTopic(topic=self._partition.topic, partitions=[wanted])],
            ),
            FetchResponse,
        )

    def _try_asking(self) -> None:
        """What goes wrong here comes up again when the answer is waited for."""
        try:
            self._ask()
        except (Refused, *_LOST):
            self._forget_asked()

    def _receive(self) -> PartitionData:
        assert self._asked is not None
        answer = self._cluster.connection_to(self._asked).receive(FetchResponse)
        self._asked = None
        check(answer.error_code, f"partition {self._partition}")
        for topic in answer.responses:
            for part in topic.partitions:
                if TopicPartition(topic.topic, part.partition_index) == self._partition:
                    return part
        raise Refused(UNKNOWN_TOPIC_OR_PARTITION, f"partition {self._partition}")

    def _forget_asked(self) -> None:
        """An answer that nobody waits for any more would be taken for the next one."""
        if self._asked is not None:
            self._cluster.drop_connection(self._asked)
            self._asked = None

    # --- when something is in the way

    def _take_error(self, part: PartitionData) -> None:
        if part.error_code != OFFSET_OUT_OF_RANGE:
            self._back_off(Refused(part.error_code, f"partition {self._partition}"))
            return
        found = partition_ranges(self._cluster, [self._partition])[self._partition]
        if self._on_gap is None or self.position >= found.start:
            raise Refused(
                OFFSET_OUT_OF_RANGE,
                f"partition {self._partition}",
                f"offset {self.position} is outside {found.start}..{found.end}",
            )
        resumed = min(found.start, self._end)
        self._on_gap(self._partition, self.position, resumed)
        self.position = resumed

    def _back_off(self, error: MainstemError) -> None:
        self._forget_asked()
        is_passing = (
            not isinstance(error, Refused) or error.is_passing or error.code == UNKNOWN_TOPIC_OR_PARTITION
        )
        if not is_passing or time.monotonic() > self._deadline:
            raise error
        self._cluster.forget()
        time.sleep(_PAUSE_S)
