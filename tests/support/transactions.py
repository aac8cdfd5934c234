"""Transactions as a log sees them: batches, markers, and what a reader of committed data makes of both."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence

from tests.support.logs import START_MS

from mainstem.log.partition_log import PartitionLog
from mainstem.log.transaction_markers import EndMarker, build_marker
from mainstem.model.batch import parse_header
from mainstem.model.ids import TopicPartition
from mainstem.model.records import NewRecord, build_batch, decode_records


def transactional(
    producer_id: int, *values: bytes, epoch: int = 0, sequence: int = 0, time_ms: int = START_MS
) -> bytes:
    return build_batch(
        [NewRecord(b"k", value, timestamp_ms=time_ms) for value in values],
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=sequence,
        is_transactional=True,
    )


def end_of(producer_id: int, *, commit: bool, epoch: int = 0, coordinator_epoch: int = 0) -> bytes:
    return build_marker(producer_id, epoch, EndMarker(commit, coordinator_epoch), now_ms=START_MS)


def committed_values(
    raw: bytes, aborted: Sequence[tuple[int, int]], from_offset: int = 0
) -> list[tuple[int, bytes | None]]:
    """What a client shows of fetched bytes: offset and value, without what was aborted.

    `aborted` is producer and first offset, as a fetch response has them.
    """
    waiting = sorted(aborted, key=lambda pair: pair[1])
    left_out: set[int] = set()
    shown: list[tuple[int, bytes | None]] = []
    position = 0
    while len(raw) - position >= 61:
        header = parse_header(raw, position)
        batch = raw[position : position + header.size_bytes]
        if len(batch) < header.size_bytes:
            break
        position += len(batch)
        while waiting and waiting[0][1] <= header.last_offset:
            left_out.add(waiting.pop(0)[0])
        if header.is_control:
            if decode_records(batch)[0].key == b"\0\0\0\0":
                left_out.discard(header.producer_id)
            continue
        if header.is_transactional and header.producer_id in left_out:
            continue
        shown += [
            (header.base_offset + record.offset_delta, record.value)
            for record in decode_records(batch)
            if header.base_offset + record.offset_delta >= from_offset
        ]
    return shown


def offset_behind(raw: bytes, offset: int) -> int:
    """The offset after the last whole batch of fetched bytes."""
    position = 0
    while len(raw) - position >= 61:
        header = parse_header(raw, position)
        if position + header.size_bytes > len(raw):
            break
        position += header.size_bytes
        offset = header.next_offset
    return offset


def read_committed(
    log: PartitionLog, offset: int, max_bytes: int, limit: int
) -> tuple[bytes, list[tuple[int, int]]]:
    found = log.locate(offset, max_bytes, limit, at_least_one=True)
    if found is None:
        return b"", []
    aborted = log.aborted_in(offset, found, limit)
    return found.read(), [(each.producer_id, each.first_offset) for each in aborted]


class Verifier:
    """Says what the test tells it to; when, too, once it is held."""

    def __init__(self) -> None:
        self.refusal: Exception | None = None
        self.asked: list[tuple[int, int, set[TopicPartition], bool]] = []
        self.may_answer = asyncio.Event()
        self.may_answer.set()

    async def verify(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        partitions: Collection[TopicPartition],
        *,
        add: bool,
    ) -> Mapping[TopicPartition, Exception | None]:
        assert transactional_id == "app"
        self.asked.append((producer_id, producer_epoch, set(partitions), add))
        await self.may_answer.wait()
        return dict.fromkeys(partitions, self.refusal)
