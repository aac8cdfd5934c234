"""The reader: every record once and in order, what is in the way waited for, but not for ever."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from tests.support.fake_cluster import FETCH, Answer, FakeCluster, lose_answer

from mainstem.client.cluster import ClusterClient
from mainstem.client.errors import ClusterUnreachable, DamagedBatch, Refused
from mainstem.client.reader import FetchedRecord, RecordReader
from mainstem.model.compression import ZSTD
from mainstem.model.ids import TopicPartition
from mainstem.model.records import NewRecord, build_batch
from mainstem.wire.kafka.message import Message
from mainstem.wire.kafka.messages.fetch import AbortedTransaction, FetchResponse

PLACE = TopicPartition("t", 0)


def fill(fake: FakeCluster, count: int, *, place: TopicPartition = PLACE, per_batch: int = 10) -> None:
    part = fake.partitions[place]
    for first in range(0, count, per_batch):
        records = [
            NewRecord(None, b"%d" % number, timestamp_ms=1000 + number)
            for number in range(first, first + per_batch)
        ]
        part.append(build_batch(records, codec=ZSTD))


@contextmanager
def reader_of(
    fake: FakeCluster,
    positions: dict[TopicPartition, int] | None = None,
    *,
    timeout_s: float = 5.0,
    **options: Any,
) -> Iterator[RecordReader]:
    places = positions or dict.fromkeys(fake.partitions, 0)
    ends = {place: fake.partitions[place].end_offset for place in places}
    with ClusterClient(fake.addresses, timeout_s=timeout_s) as cluster:
        reader = RecordReader(cluster, places, **{"ends": ends, **options})
        yield reader
        reader.close()


def read_all(reader: RecordReader) -> list[FetchedRecord]:
    records: list[FetchedRecord] = []
    deadline = time.monotonic() + 20
    while not reader.is_finished:
        assert time.monotonic() < deadline
        records += reader.read(0.5)
    return records


def values(records: list[FetchedRecord]) -> list[int]:
    return [int(record.value or b"-1") for record in records]


def test_all_records_between_start_and_end() -> None:
    with FakeCluster(node_count=2, topics={"t": 3}) as fake:
        for number in range(3):
            fill(fake, 100, place=TopicPartition("t", number))
        with reader_of(fake) as reader:
            assert reader.remaining_count == 300
            records = read_all(reader)
            assert reader.remaining_count == 0
        for number in range(3):
            mine = [record for record in records if record.partition.partition == number]
            assert [record.offset for record in mine] == list(range(100))
            assert [record.timestamp_ms for record in mine] == list(range(1000, 1100))


def test_a_start_and_an_end_inside_a_batch() -> None:
    with FakeCluster() as fake:
        fill(fake, 100)
        with reader_of(fake, {PLACE: 15}, ends={PLACE: 34}) as reader:
            assert values(read_all(reader)) == list(range(15, 34))


def test_a_batch_that_came_half_comes_again() -> None:
    with FakeCluster() as fake:
        fill(fake, 50)
        size = len(fake.partitions[PLACE].batches[0])
        with reader_of(fake, partition_max_bytes=size + size // 2) as reader:
            assert values(read_all(reader)) == list(range(50))


def test_gaps_of_compaction_and_markers_of_transactions_are_passed_over() -> None:
    with FakeCluster() as fake:
        part = fake.partitions[PLACE]
        fill(fake, 10)
        part.append(build_batch([NewRecord(b"\0\0\0\1", b"\0\0\0\0\0\0")], is_control=True))
        part.end_offset = 500
        fill(fake, 10)
        part.append(build_batch([NewRecord(b"\0\0\0\1", b"\0\0\0\0\0\0")], is_control=True))
        with reader_of(fake) as reader:
            records = read_all(reader)
        assert [record.offset for record in records] == [*range(10), *range(500, 510)]


def test_what_was_aborted_is_left_out_up_to_its_marker() -> None:
    def written(producer_id: int, *values: bytes, is_transactional: bool = True) -> bytes:
        records = [NewRecord(None, value) for value in values]
        return build_batch(
            records, producer_id=producer_id, producer_epoch=0, is_transactional=is_transactional
        )

    def marker(producer_id: int, kind: bytes) -> bytes:
        record = NewRecord(b"\0\0\0" + kind, b"\0\0\0\0\0\0")
        return build_batch([record], producer_id=producer_id, is_transactional=True, is_control=True)

    with FakeCluster() as fake:
        part = fake.partitions[PLACE]
        for batch in (
            written(7, b"1", b"2"),
            written(8, b"3"),
            written(7, b"4"),
            marker(7, b"\0"),
            written(7, b"5", is_transactional=False),
            written(7, b"6"),
            marker(7, b"\1"),
            marker(8, b"\1"),
            written(8, b"7"),
            marker(8, b"\0"),
            written(-1, b"8", is_transactional=False),
        ):
            part.append(batch)

        def with_aborted(request: Any, answer: Answer) -> Message:
            assert request.isolation_level == 1
            told = answer()
            assert isinstance(told, FetchResponse)
            told.responses[0].partitions[0].aborted_transactions = [
                AbortedTransaction(producer_id=8, first_offset=9),
                AbortedTransaction(producer_id=7, first_offset=0),
            ]
            return told

        fake.script(FETCH, with_aborted)
        with reader_of(fake, read_committed=True) as reader:
            assert values(read_all(reader)) == [3, 5, 6, 8]
            assert reader.positions == {PLACE: part.end_offset}


def test_a_leader_that_moves_is_followed() -> None:
    with FakeCluster(node_count=2) as fake:
        fill(fake, 30)

        def move(_request: Any, answer: Answer) -> Message:
            fake.partitions[PLACE].leader = 1
            return answer()

        fake.script(FETCH, move)
        with reader_of(fake) as reader:
            assert values(read_all(reader)) == list(range(30))
        assert {node for node, request in fake.requests if type(request).SCHEMA.key == FETCH} == {0, 1}


def test_a_connection_lost_in_the_middle_repeats_nothing() -> None:
    with FakeCluster() as fake:
        fill(fake, 100)
        size = len(fake.partitions[PLACE].batches[0])
        fake.script(FETCH, lose_answer, lose_answer)
        with reader_of(fake, partition_max_bytes=2 * size) as reader:
            first = list(reader.read(0.5))
            fake.brokers[0].drop_connections()
            assert values(first + read_all(reader)) == list(range(100))


def test_a_partition_without_a_leader_does_not_hold_up_the_others() -> None:
    with FakeCluster(topics={"t": 2}) as fake:
        for number in range(2):
            fill(fake, 20, place=TopicPartition("t", number))
        fake.partitions[PLACE].leader = -1
        with reader_of(fake) as reader:
            records: list[FetchedRecord] = []
            deadline = time.monotonic() + 5
            while len(records) < 20 and time.monotonic() < deadline:
                records += reader.read(0.2)
            assert {record.partition.partition for record in records} == {1}
            fake.partitions[PLACE].leader = 0
            assert values(read_all(reader)) == list(range(20))


def test_patience_with_a_missing_leader_has_an_end() -> None:
    with FakeCluster() as fake:
        fill(fake, 10)
        fake.partitions[PLACE].leader = -1
        with reader_of(fake, patience_s=0.5) as reader:
            started = time.monotonic()
            with pytest.raises(Refused, match="no leader at the moment"):
                read_all(reader)
            assert time.monotonic() - started < 3


def test_troubles_that_passed_do_not_add_up() -> None:
    with FakeCluster() as fake, reader_of(fake, ends=None, patience_s=0.6) as reader:
        for _ in range(3):
            fake.script(FETCH, lose_answer)
            deadline = time.monotonic() + 0.5
            while time.monotonic() < deadline:
                assert list(reader.read(0.1)) == []


def test_a_broker_that_is_gone_is_told_after_the_patience() -> None:
    with FakeCluster() as fake:
        fill(fake, 10)
        with reader_of(fake, ends={PLACE: 20}, patience_s=0.5) as reader:
            assert values(list(reader.read(1.0))) == list(range(10))
            fake.brokers[0].stop()
            with pytest.raises(ClusterUnreachable, match="connection refused"):
                read_all(reader)


def test_a_fetch_that_is_never_answered_is_given_up_and_sent_again() -> None:
    with FakeCluster() as fake:
        fill(fake, 10)

        def sleep(_request: Any, _answer: Answer) -> None:
            time.sleep(3)

        fake.script(FETCH, sleep)
        with reader_of(fake, timeout_s=0.3) as reader:
            started = time.monotonic()
            assert values(read_all(reader)) == list(range(10))
            assert time.monotonic() - started < 2.5


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (lambda batch: batch[:-1] + bytes([batch[-1] ^ 1]), "its checksum is wrong"),
        (lambda batch: batch[:16] + b"\1" + batch[17:], "no batch of version 2"),
    ],
)
def test_a_damaged_batch_is_told_after_what_came_before_it(spoil: Any, told: str) -> None:
    with FakeCluster() as fake:
        fill(fake, 30)
        batches = fake.partitions[PLACE].batches
        batches[1] = spoil(batches[1])
        with reader_of(fake) as reader:
            assert values(list(reader.read(1.0))) == list(range(10))
            with pytest.raises(
                DamagedBatch, match=rf"t-0: the batch at offset 10 is damaged: .*{told}"
            ) as error:
                reader.read(1.0)
            assert error.value.offset == 10


def test_records_that_lie_in_a_batch_with_the_right_checksum_are_damage_too() -> None:
    from mainstem.model.batch import parse_header
    from mainstem.model.records import seal_batch

    with FakeCluster() as fake:
        header = parse_header(build_batch([NewRecord(None, b"v")]))
        fake.partitions[PLACE].append(
            seal_batch(header._replace(record_count=3, last_offset_delta=2), b"\x0e" * 8)
        )
        with (
            reader_of(fake) as reader,
            pytest.raises(DamagedBatch, match="3 records do not fit into 8 bytes"),
        ):
            read_all(reader)


def test_records_deleted_before_they_were_read_are_told_as_a_gap() -> None:
    gaps = []
    with FakeCluster() as fake:
        fill(fake, 30)
        part = fake.partitions[PLACE]
        part.start_offset, part.batches = 10, part.batches[1:]
        with reader_of(fake, on_gap=lambda *gap: gaps.append(gap)) as reader:
            assert values(read_all(reader)) == list(range(10, 30))
    assert gaps == [(PLACE, 0, 10)]


def test_a_position_beyond_the_end_is_an_error() -> None:
    with FakeCluster() as fake:
        fill(fake, 10)
        with (
            reader_of(fake, {PLACE: 50}, ends={PLACE: 60}) as reader,
            pytest.raises(Refused, match=r"offset 50 is outside 0\.\.10"),
        ):
            read_all(reader)


def test_throttling_is_heeded() -> None:
    with FakeCluster() as fake:
        fill(fake, 20)
        size = len(fake.partitions[PLACE].batches[0])

        def throttle(_request: Any, answer: Answer) -> Message:
            told = answer()
            assert isinstance(told, FetchResponse)
            told.throttle_time_ms = 300
            return told

        fake.script(FETCH, throttle)
        with reader_of(fake, partition_max_bytes=size) as reader:
            started = time.monotonic()
            assert values(read_all(reader)) == list(range(20))
            assert time.monotonic() - started > 0.25


def test_what_is_not_taken_is_not_decoded() -> None:
    with FakeCluster() as fake:
        fill(fake, 30)
        with reader_of(fake) as reader:
            records = reader.read(1.0)
            assert next(iter(records)).value == b"0"
            assert reader.positions[PLACE] == 30
