"""The column reader: every row between two offsets once, whatever comes between."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from tests.support.columns import Row, rows_of
from tests.support.deadline import eventually
from tests.support.fake_cluster import FETCH, Answer, FakeCluster, lose_answer

from mainstem.client.cluster import ClusterClient
from mainstem.client.column_reader import ColumnReader
from mainstem.client.errors import ClusterUnreachable, DamagedBatch, OffsetsNotReached, Refused
from mainstem.model.compression import LZ4
from mainstem.model.ids import TopicPartition
from mainstem.model.records import NewRecord, build_batch
from mainstem.wire.kafka.message import Message
from mainstem.wire.kafka.messages.fetch import AbortedTransaction, FetchRequest, FetchResponse

PLACE = TopicPartition("t", 0)


def fill(fake: FakeCluster, count: int, *, per_batch: int = 10, **options: Any) -> None:
    for first in range(0, count, per_batch):
        records = [
            NewRecord(None, b"%d" % number, timestamp_ms=1000 + number)
            for number in range(first, first + per_batch)
        ]
        fake.partitions[PLACE].append(build_batch(records, codec=LZ4, **options))


@contextmanager
def reader_of(
    fake: FakeCluster, start: int = 0, end: int | None = None, *, timeout_s: float = 5.0, **options: Any
) -> Iterator[ColumnReader]:
    with ClusterClient(fake.addresses, timeout_s=timeout_s) as cluster:
        last = fake.partitions[PLACE].end_offset if end is None else end
        yield ColumnReader(cluster, PLACE, start, last, **options)


def values(reader: ColumnReader) -> list[int]:
    return [int(row.value or b"-1") for row in rows(reader)]


def rows(reader: ColumnReader) -> list[Row]:
    return [row for columns in reader for row in rows_of(columns)]


def part_of(answer: Message) -> Any:
    assert isinstance(answer, FetchResponse)
    return answer.responses[0].partitions[0]


def test_all_rows_between_two_offsets_inside_batches() -> None:
    with FakeCluster() as fake:
        fill(fake, 100)
        with reader_of(fake, 15, 87) as reader:
            assert values(reader) == list(range(15, 87))


def test_an_empty_range_asks_nobody() -> None:
    with FakeCluster() as fake:
        fill(fake, 10)
        with reader_of(fake, 5, 5) as reader:
            assert values(reader) == []
        assert fake.count(FETCH) == 0


def test_small_fetches_and_small_chunks_lose_nothing() -> None:
    with FakeCluster() as fake:
        fill(fake, 200)
        with reader_of(fake, fetch_bytes=100, chunk_bytes=64) as reader:
            assert values(reader) == list(range(200))
        assert fake.count(FETCH) > 3


def test_the_next_fetch_leaves_before_the_last_is_given_out() -> None:
    with FakeCluster() as fake:
        fill(fake, 200)
        with reader_of(fake, fetch_bytes=100, chunk_bytes=1) as reader:
            chunks = iter(reader)
            next(chunks)
            eventually(lambda: fake.count(FETCH) == 2, "a second fetch")


def test_who_stops_early_leaves_a_connection_that_can_be_used() -> None:
    with FakeCluster() as fake:
        fill(fake, 200)
        with ClusterClient(fake.addresses, timeout_s=5.0) as cluster:
            first = iter(ColumnReader(cluster, PLACE, 0, 200, fetch_bytes=100, chunk_bytes=1))
            next(first)
            first.close()  # type: ignore[attr-defined]
            assert values(ColumnReader(cluster, PLACE, 100, 120)) == list(range(100, 120))


def test_a_broker_that_loses_answers_is_asked_again() -> None:
    with FakeCluster() as fake:
        fill(fake, 100)
        fake.script(FETCH, lose_answer, lose_answer)
        with reader_of(fake, timeout_s=1.0) as reader:
            assert values(reader) == list(range(100))


def test_a_leader_that_stays_away_is_an_error_after_patience() -> None:
    with FakeCluster() as fake:
        fill(fake, 10)
        with reader_of(fake, patience_s=0.3, timeout_s=1.0) as reader:
            for broker in fake.brokers:
                broker.stop()
            with pytest.raises(ClusterUnreachable):
                values(reader)


def test_offsets_that_are_gone_are_an_error_or_passed_over() -> None:
    with FakeCluster() as fake:
        fill(fake, 100)
        fake.partitions[PLACE].start_offset = 40
        with reader_of(fake) as reader, pytest.raises(Refused, match=r"offset 0 is outside 40\.\.100"):
            values(reader)
        gaps: list[tuple[TopicPartition, int, int]] = []
        with reader_of(fake, on_gap=lambda *gap: gaps.append(gap)) as reader:
            assert values(reader) == list(range(40, 100))
        with reader_of(fake, 0, 30, on_gap=lambda *gap: gaps.append(gap)) as reader:
            assert values(reader) == []
        assert gaps == [(PLACE, 0, 40), (PLACE, 0, 30)]


def test_an_end_that_never_comes_is_told() -> None:
    with FakeCluster() as fake:
        fill(fake, 20)
        with reader_of(fake, 0, 25, patience_s=0.2) as reader, pytest.raises(OffsetsNotReached, match="20"):
            values(reader)


def test_an_open_transaction_that_holds_back_is_told() -> None:
    def hold_back(_request: FetchRequest, answer: Answer) -> Message:
        found = answer()
        part = part_of(found)
        part.last_stable_offset, part.high_watermark = 20, 25
        return found

    with FakeCluster() as fake:
        fill(fake, 20)
        fake.script(FETCH, *[hold_back] * 20_000)
        expected = pytest.raises(OffsetsNotReached, match="open since offset 20")
        with reader_of(fake, 0, 25, patience_s=0.2) as reader, expected:
            values(reader)


def test_aborted_transactions_are_left_out_when_reading_committed() -> None:
    asked: list[int] = []

    def name_aborted(request: FetchRequest, answer: Answer) -> Message:
        asked.append(request.isolation_level)
        found = answer()
        if request.isolation_level:
            part_of(found).aborted_transactions = [AbortedTransaction(producer_id=9, first_offset=10)]
        return found

    with FakeCluster() as fake:
        fill(fake, 10)
        fill(fake, 10, producer_id=9, producer_epoch=0, base_sequence=0, is_transactional=True)
        fake.script(FETCH, *[name_aborted] * 4)
        with reader_of(fake) as reader:
            assert [row.offset for row in rows(reader)] == list(range(10))
        with reader_of(fake, read_committed=False) as reader:
            assert [row.offset for row in rows(reader)] == list(range(20))
        assert set(asked) == {0, 1}


def test_damage_names_partition_and_offset() -> None:
    def damage(_request: FetchRequest, answer: Answer) -> Message:
        found = answer()
        part = part_of(found)
        records = bytearray(part.records)
        records[-1] ^= 1
        part.records = bytes(records)
        return found

    with FakeCluster() as fake:
        fill(fake, 10, per_batch=10)
        fake.script(FETCH, damage)
        with reader_of(fake) as reader, pytest.raises(DamagedBatch, match="t-0: the batch at offset 0"):
            values(reader)
