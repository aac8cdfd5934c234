"""The batch writer: every batch once and in order, whatever gets lost on the way."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from tests.support.fake_cluster import PRODUCE, FakeCluster, lose_answer, lose_request, pass_through

from mainstem.client.batch_writer import BatchWriter
from mainstem.client.cluster import ClusterClient
from mainstem.client.errors import ClusterUnreachable, Refused
from mainstem.client.partition_queue import ProducerIdentity
from mainstem.model.batch import parse_header
from mainstem.model.compression import LZ4
from mainstem.model.ids import TopicPartition
from mainstem.model.new_columns import PackedRows
from mainstem.model.records import encode_record

PLACE = TopicPartition("t", 0)


def rows(*values: int) -> PackedRows:
    payload = b"".join(encode_record(row, 0, None, b"%d" % value) for row, value in enumerate(values))
    return PackedRows(bytearray(payload), len(values), 1_000, 1_000)


@contextmanager
def writer_to(fake: FakeCluster, *, timeout_s: float = 5.0, **options: Any) -> Iterator[BatchWriter]:
    with ClusterClient(fake.addresses, timeout_s=timeout_s) as cluster:
        writer = BatchWriter(cluster, ProducerIdentity(7, 0), **options)
        yield writer
        writer.close()


def test_all_batches_in_order_over_several_leaders() -> None:
    with FakeCluster(node_count=2, topics={"t": 3}) as fake:
        with writer_to(fake, codec=LZ4, buffer_bytes=2_000) as writer:
            for number in range(0, 300, 3):
                for partition in range(3):
                    writer.write(TopicPartition("t", partition), rows(number + partition, -1))
            writer.flush()
            assert writer.written == set(fake.partitions)
        for partition in range(3):
            expected = [value for number in range(0, 300, 3) for value in (number + partition, -1)]
            assert [int(value or b"") for value in fake.values("t", partition)] == expected


@pytest.mark.parametrize("steps", [[lose_answer], [lose_request], [lose_answer, lose_request, lose_answer]])
@pytest.mark.parametrize("good", [0, 1, 5])
def test_what_gets_lost_goes_again_once(steps: list[Any], good: int) -> None:
    with FakeCluster() as fake:
        fake.script(PRODUCE, *[pass_through] * good, *steps)
        with writer_to(fake, timeout_s=2.0) as writer:
            for number in range(20):
                writer.write(PLACE, rows(number))
            writer.flush()
        assert [int(value or b"") for value in fake.values()] == list(range(20))


def test_a_leader_that_moves_is_followed() -> None:
    with FakeCluster(node_count=2, topics={"t": 1}) as fake, writer_to(fake, timeout_s=2.0) as writer:
        for number in range(10):
            writer.write(PLACE, rows(number))
        fake.partitions[PLACE].leader = 1
        for number in range(10, 20):
            writer.write(PLACE, rows(number))
        writer.flush()
        assert [int(value or b"") for value in fake.values()] == list(range(20))


def test_what_is_refused_for_good_is_an_error_with_its_partition() -> None:
    def refuse(_request: Any, answer: Any) -> Any:
        found = answer()
        found.responses[0].partition_responses[0].error_code = 10
        return found

    with FakeCluster() as fake, writer_to(fake) as writer:
        fake.script(PRODUCE, refuse)
        writer.write(PLACE, rows(1))
        with pytest.raises(Refused, match=r"partition t-0: .*MESSAGE_TOO_LARGE"):
            writer.flush()


def test_nobody_there_is_an_error_after_patience() -> None:
    with FakeCluster() as fake, writer_to(fake, patience_s=0.3, timeout_s=1.0) as writer:
        writer.write(PLACE, rows(1))
        writer.flush()
        for broker in fake.brokers:
            broker.stop()
        writer.write(PLACE, rows(2))
        with pytest.raises(ClusterUnreachable):
            writer.flush()


def test_batches_of_a_transaction_say_so() -> None:
    with FakeCluster() as fake, writer_to(fake, transactional_id="{w}1") as writer:
        writer.write(PLACE, rows(1, 2))
        writer.write(PLACE, rows(3))
        writer.flush()
        headers = [parse_header(batch) for batch in fake.partitions[PLACE].batches]
        assert [header.is_transactional for header in headers] == [True, True]
        assert [header.base_sequence for header in headers] == [0, 2]
        asked = [request for _, request in fake.requests if type(request).__name__ == "ProduceRequest"]
        assert {request.transactional_id for request in asked} == {"{w}1"}
