"""The producer: every record ends as delivered or failed, once and in order, whatever breaks."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from tests.support.fake_cluster import (
    INIT_PRODUCER_ID,
    METADATA,
    PRODUCE,
    Answer,
    FakeCluster,
    lose_answer,
    lose_request,
    pass_through,
)

from mainstem.client.cluster import ClusterClient
from mainstem.client.errors import NotDelivered, Refused
from mainstem.client.producer import Delivery, RecordProducer
from mainstem.model.ids import TopicPartition
from mainstem.model.records import NewRecord
from mainstem.wire.kafka.message import Message
from mainstem.wire.kafka.messages.produce import (
    BatchIndexAndErrorMessage,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)

PLACE = TopicPartition("t", 0)
SMALL_BATCH_BYTES = 200  # ten records or so


class Deliveries(list[Delivery]):
    @property
    def errors(self) -> list[Exception]:
        return [delivery.error for delivery in self if delivery.error is not None]

    @property
    def failed_values(self) -> list[bytes | None]:
        return [record.value for delivery in self if delivery.error for record in delivery.records]


@contextmanager
def producer_of(
    fake: FakeCluster, *, timeout_s: float = 5.0, **options: Any
) -> Iterator[tuple[RecordProducer, Deliveries]]:
    deliveries = Deliveries()
    with ClusterClient(fake.addresses, timeout_s=timeout_s) as cluster:
        producer = RecordProducer(
            cluster,
            on_delivery=deliveries.append,
            **{"batch_bytes": SMALL_BATCH_BYTES, "delivery_timeout_s": 20.0, **options},
        )
        yield producer, deliveries
        producer.close()


def values(count: int) -> list[bytes | None]:
    return [b"%04d" % number for number in range(count)]


def send_all(producer: RecordProducer, count: int, *, key: bytes | None = b"k") -> None:
    for value in values(count):
        producer.send("t", NewRecord(key, value, timestamp_ms=1))
    producer.flush()


def refuse(code: int, *indexes: int) -> Any:
    """A step that refuses all batches, because of the records at these places."""

    def step(request: ProduceRequest, _answer: Answer) -> Message:
        errors = [
            BatchIndexAndErrorMessage(batch_index=at, batch_index_error_message=f"bad {at}") for at in indexes
        ]
        return ProduceResponse(
            responses=[
                TopicProduceResponse(
                    name=topic.name,
                    partition_responses=[
                        PartitionProduceResponse(index=part.index, error_code=code, record_errors=errors)
                        for part in topic.partition_data
                    ],
                )
                for topic in request.topic_data
            ]
        )

    return step


def test_records_arrive_in_order_and_each_is_told_with_its_offset() -> None:
    with FakeCluster() as fake, producer_of(fake) as (producer, deliveries):
        send_all(producer, 100)
        assert fake.values() == values(100)
        assert producer.delivered_count == 100
        assert producer.unconfirmed_count == 0
        assert [delivery.base_offset for delivery in deliveries][:2] == [0, len(deliveries[0].records)]


def test_records_without_a_key_use_all_partitions() -> None:
    with FakeCluster(node_count=2, topics={"t": 4}) as fake, producer_of(fake) as (producer, _):
        send_all(producer, 2000, key=None)
        counts = [len(fake.values("t", number)) for number in range(4)]
        assert sum(counts) == 2000
        assert min(counts) > 0


def test_a_leader_that_moves_in_the_middle_loses_and_doubles_nothing() -> None:
    with FakeCluster(node_count=2) as fake, producer_of(fake) as (producer, deliveries):

        def move(_request: Any, answer: Answer) -> Message:
            fake.partitions[PLACE].leader = 1
            return answer()

        fake.script(PRODUCE, pass_through, pass_through, move)
        send_all(producer, 200)
        assert fake.values() == values(200)
        assert not deliveries.errors
        assert {node for node, request in fake.requests if isinstance(request, ProduceRequest)} == {0, 1}


@pytest.mark.parametrize("lose", [lose_answer, lose_request])
def test_a_connection_lost_in_the_middle_loses_and_doubles_nothing(lose: Any) -> None:
    with FakeCluster() as fake, producer_of(fake) as (producer, deliveries):
        fake.script(PRODUCE, pass_through, lose, pass_through, lose, lose)
        send_all(producer, 300)
        assert fake.values() == values(300)
        assert not deliveries.errors


def test_without_idempotence_a_lost_answer_may_double_but_never_lose() -> None:
    with FakeCluster() as fake, producer_of(fake, acks=1) as (producer, _):
        fake.script(PRODUCE, pass_through, lose_answer)
        send_all(producer, 100)
        assert fake.count(INIT_PRODUCER_ID) == 0
        assert len(fake.values()) > 100
        assert set(fake.values()) == set(values(100))


def test_a_passing_error_of_one_batch_keeps_the_order_of_those_behind_it() -> None:
    with FakeCluster() as fake, producer_of(fake) as (producer, deliveries):
        fake.script(PRODUCE, pass_through, refuse(19), pass_through, refuse(7))
        send_all(producer, 300)
        assert fake.values() == values(300)
        assert not deliveries.errors


def test_a_broker_that_forgot_the_producer_is_served_by_a_new_one() -> None:
    with FakeCluster() as fake, producer_of(fake) as (producer, deliveries):
        send_all(producer, 50)
        fake.script(PRODUCE, refuse(59))
        send_all(producer, 50)
        assert fake.values() == values(50) * 2
        assert not deliveries.errors
        assert fake.count(INIT_PRODUCER_ID) == 2


def test_bad_records_that_the_leader_names_are_refused_and_no_others() -> None:
    with FakeCluster() as fake, producer_of(fake) as (producer, deliveries):
        fake.script(PRODUCE, refuse(87, 2, 5))
        send_all(producer, 100)
        assert deliveries.failed_values == [b"0002", b"0005"]
        assert fake.values() == [value for value in values(100) if value not in (b"0002", b"0005")]
        assert all(isinstance(error, Refused) and "bad 2" in str(error) for error in deliveries.errors)
        assert (producer.delivered_count, producer.failed_count) == (98, 2)


def test_a_bad_record_that_nobody_names_is_found_by_halves() -> None:
    with FakeCluster() as fake, producer_of(fake) as (producer, deliveries):

        def too_large(request: ProduceRequest, answer: Answer) -> Message:
            has_it = any(
                b"0007" in bytes(p.records or b"") for t in request.topic_data for p in t.partition_data
            )
            told = refuse(10)(request, answer) if has_it else answer()
            assert isinstance(told, Message)
            return told

        fake.script(PRODUCE, *[too_large] * 100)
        send_all(producer, 60)
        assert deliveries.failed_values == [b"0007"]
        assert fake.values() == [value for value in values(60) if value != b"0007"]


def test_an_error_for_good_fails_the_batch_and_the_rest_goes_on() -> None:
    with FakeCluster() as fake, producer_of(fake) as (producer, deliveries):
        fake.script(PRODUCE, pass_through, refuse(29))
        send_all(producer, 100)
        failed = deliveries.failed_values
        assert 0 < len(failed) < 30
        assert fake.values() == [value for value in values(100) if value not in failed]
        assert "no permission for this topic (TOPIC_AUTHORIZATION_FAILED)" in str(deliveries.errors[0])


def test_what_cannot_be_delivered_in_time_fails_with_the_reason() -> None:
    with FakeCluster() as fake, producer_of(fake, delivery_timeout_s=1.0) as (producer, deliveries):
        producer.send("t", NewRecord(b"k", b"first"))
        producer.flush()
        fake.brokers[0].stop()
        started = time.monotonic()
        send_all(producer, 30)
        assert 0.5 < time.monotonic() - started < 5
        assert deliveries.failed_values == values(30)
        assert isinstance(deliveries.errors[0], NotDelivered)
        assert "not confirmed within 1 s: " in str(deliveries.errors[0])
        assert producer.unconfirmed_count == 0


def test_an_unreachable_leader_does_not_hold_up_the_others() -> None:
    with (
        FakeCluster(node_count=2, topics={"t": 2}) as fake,
        producer_of(fake, delivery_timeout_s=1.5) as (producer, deliveries),
    ):
        producer.send("t", NewRecord(None, b"warm"), partition=0)
        producer.flush()
        fake.announced[1] = fake.addresses[1]
        fake.brokers[1].stop()
        fake.brokers[1].is_stopped = False  # the metadata still names it
        for number in range(50):
            producer.send("t", NewRecord(None, b"%d" % number), partition=number % 2)
        producer.flush()
        assert len(fake.values("t", 0)) == 26
        assert sum(len(delivery.records) for delivery in deliveries if delivery.error) == 25


def test_a_leader_that_never_answers_is_given_up_after_the_time_limit() -> None:
    with FakeCluster() as fake, producer_of(fake, timeout_s=0.5) as (producer, deliveries):

        def sleep(_request: Any, _answer: Answer) -> None:
            time.sleep(1.5)

        fake.script(PRODUCE, sleep)
        send_all(producer, 5)
        assert fake.values() == values(5)
        assert not deliveries.errors


def test_a_throttled_producer_waits_and_loses_nothing() -> None:
    with FakeCluster() as fake, producer_of(fake) as (producer, deliveries):

        def throttle(_request: Any, answer: Answer) -> Message:
            told = answer()
            assert isinstance(told, ProduceResponse)
            told.throttle_time_ms = 300
            return told

        fake.script(PRODUCE, throttle)
        send_all(producer, 1)
        started = time.monotonic()
        send_all(producer, 20)
        assert time.monotonic() - started > 0.2
        assert len(fake.values()) == 21
        assert not deliveries.errors


def test_the_buffer_is_bounded() -> None:
    with FakeCluster() as fake, producer_of(fake, buffer_bytes=50_000) as (producer, _):
        most = 0
        for value in values(2000):
            producer.send("t", NewRecord(b"k", value))
            most = max(most, producer.unconfirmed_count)
        assert most <= 50_000 / 256 + 1
        producer.flush()
        assert fake.values() == values(2000)


def test_with_acks_0_nothing_is_waited_for() -> None:
    with FakeCluster() as fake, producer_of(fake, acks=0) as (producer, deliveries):
        send_all(producer, 100)
        assert {delivery.base_offset for delivery in deliveries} == {-1}
        deadline = time.monotonic() + 5
        while len(fake.values()) < 100 and time.monotonic() < deadline:
            time.sleep(0.01)
        assert fake.values() == values(100)


def test_topics_and_partitions_that_are_not_there_are_refused_at_once() -> None:
    with FakeCluster() as fake, producer_of(fake) as (producer, _):
        with pytest.raises(Refused, match="no such topic"):
            producer.send("absent", NewRecord(None, b""))
        with pytest.raises(Refused, match="partitions 0 to 0"):
            producer.send("t", NewRecord(None, b""), partition=1)
        assert producer.unconfirmed_count == 0
        assert fake.count(METADATA) == 2


def test_closing_reports_what_was_not_confirmed() -> None:
    with FakeCluster() as fake, producer_of(fake) as (producer, deliveries):
        producer.send("t", NewRecord(b"k", b"v"))
        producer.close()
        assert deliveries.failed_values == [b"v"]
        assert "closed before" in str(deliveries.errors[0])
        producer.close()
        assert len(deliveries) == 1
