"""What a client over its quota is told, and what is done to its connection meanwhile."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.unit.heads.kafka import test_fetch as fetching
from tests.unit.heads.kafka import test_produce as producing
from tests.unit.heads.kafka.conversation import Conversation
from tests.unit.heads.kafka.recording_broker import RecordingBroker, converse

from mainstem.core.image import MetadataDelta
from mainstem.core.quotas.entity import checked_entity

RECORDS = b"r" * 5_000


@pytest.fixture
def broker() -> RecordingBroker:
    return RecordingBroker()


@pytest.fixture
def talk(broker: RecordingBroker) -> Conversation:
    return converse(broker)


def limit(broker: RecordingBroker, client_id: str = "me", **limits: float) -> None:
    image = replace(broker.image, quotas={checked_entity([("client-id", client_id)]): limits})
    broker.quotas.on_image(image, MetadataDelta(quotas_changed=True))


# --- produce


@pytest.mark.parametrize("version", producing.VERSIONS)
def test_a_producer_over_its_quota_is_answered_at_once_and_then_not_read_from(
    talk: Conversation, broker: RecordingBroker, version: int
) -> None:
    limit(broker, producer_byte_rate=100)
    talk.receive(producing.request(version, 0, records=RECORDS))
    assert talk.channel.is_paused
    broker.produced[0].done([producing.OK])
    (response,) = producing.responses(talk, version)
    assert 39_000 < response.throttle_time_ms < 42_000  # 5,000 bytes and some at 100 a second, less 10 s
    assert response.responses[0].partition_responses[0].base_offset == producing.OK.base_offset
    broker.clock.advance(response.throttle_time_ms - 1)
    assert talk.channel.is_paused
    broker.clock.advance(1)
    assert not talk.channel.is_paused
    talk.receive(producing.request(version, 0))
    broker.produced[1].done([producing.OK])
    assert producing.responses(talk, version)[-1].throttle_time_ms < 1000


def test_a_request_that_came_with_the_one_too_many_waits_its_time(
    talk: Conversation, broker: RecordingBroker
) -> None:
    limit(broker, producer_byte_rate=100)
    talk.receive(producing.request(9, 0, records=RECORDS) + producing.request(9, 0, number=8))
    assert len(broker.produced) == 1
    broker.produced[0].done([producing.OK])
    assert len(talk.sent) == 1
    broker.clock.advance(60_000)
    assert len(broker.produced) == 2


def test_within_its_quota_nobody_waits(talk: Conversation, broker: RecordingBroker) -> None:
    limit(broker, producer_byte_rate=1_000_000)
    for number in range(3):
        talk.receive(producing.request(9, 0, records=RECORDS, number=number))
        broker.produced[-1].done([producing.OK])
    assert [response.throttle_time_ms for response in producing.responses(talk, 9)] == [0, 0, 0]
    assert not talk.channel.is_paused


def test_a_producer_that_wants_no_answer_is_slowed_down_too(
    talk: Conversation, broker: RecordingBroker
) -> None:
    limit(broker, producer_byte_rate=100, request_percentage=0.0000001)
    talk.receive(producing.request(9, 0, acks=0, records=RECORDS))
    assert talk.channel.is_paused
    broker.produced[0].done([producing.OK])
    assert talk.sent == []


def test_a_refused_request_tells_the_time_to_wait_as_well(
    talk: Conversation, broker: RecordingBroker
) -> None:
    limit(broker, producer_byte_rate=100)
    talk.receive(producing.request(9, 0, acks=5, records=RECORDS))
    (response,) = producing.responses(talk, 9)
    assert response.throttle_time_ms > 0
    assert response.responses[0].partition_responses[0].error_code


def test_a_connection_that_goes_while_it_is_muted_leaves_no_timer(
    talk: Conversation, broker: RecordingBroker
) -> None:
    limit(broker, producer_byte_rate=100)
    talk.receive(producing.request(9, 0, records=RECORDS))
    assert broker.clock.pending == 1
    talk.session.closed()
    assert broker.clock.pending == 0


def test_a_shorter_wait_does_not_end_a_longer_one(talk: Conversation, broker: RecordingBroker) -> None:
    talk.session.mute(1000)
    talk.session.mute(10)
    broker.clock.advance(500)
    assert talk.channel.is_paused
    broker.clock.advance(500)
    assert not talk.channel.is_paused


# --- fetch


@pytest.mark.parametrize("version", fetching.VERSIONS)
def test_a_consumer_over_its_quota_gets_nothing_and_asks_again_later(
    talk: Conversation, broker: RecordingBroker, version: int
) -> None:
    limit(broker, consumer_byte_rate=100)
    talk.receive(fetching.request(version, 0))
    assert broker.fetched[0].max_bytes == 1000  # what ten windows allow
    broker.fetched[0].done([fetching.found(RECORDS)])
    response = fetching.last(talk, version)
    assert response.throttle_time_ms == 40_000
    assert not fetching.partitions(response)
    assert talk.channel.is_paused
    broker.clock.advance(40_000)
    assert not talk.channel.is_paused
    talk.receive(fetching.request(version, 0))
    broker.fetched[1].done([fetching.found(b"some")])
    response = fetching.last(talk, version)
    assert response.throttle_time_ms == 0
    assert fetching.partitions(response)[0].records == b"some"


def test_a_throttled_fetch_keeps_its_session_and_its_news(
    talk: Conversation, broker: RecordingBroker
) -> None:
    talk.receive(fetching.request(12, 0, epoch=0))
    broker.fetched[0].done([fetching.found()])
    session_id = fetching.last(talk, 12).session_id
    assert session_id
    limit(broker, consumer_byte_rate=100)
    talk.receive(fetching.request(12, session_id=session_id, epoch=1))
    broker.fetched[1].done([fetching.found(RECORDS, watermark=11)])
    response = fetching.last(talk, 12)
    assert (response.session_id, response.error_code) == (session_id, 0)
    assert not fetching.partitions(response)
    broker.clock.advance(response.throttle_time_ms)
    talk.receive(fetching.request(12, session_id=session_id, epoch=2))
    broker.fetched[2].done([fetching.found(b"some", watermark=11)])
    (told,) = fetching.partitions(fetching.last(talk, 12))
    assert (told.records, told.high_watermark) == (b"some", 11)


def test_a_throttled_first_fetch_opens_no_session(talk: Conversation, broker: RecordingBroker) -> None:
    limit(broker, consumer_byte_rate=100)
    talk.receive(fetching.request(12, 0, epoch=0))
    broker.fetched[0].done([fetching.found(RECORDS)])
    assert fetching.last(talk, 12).session_id == 0
    assert len(talk.head.fetch_sessions) == 0


def test_a_throttled_fetch_of_an_old_epoch_is_refused(talk: Conversation, broker: RecordingBroker) -> None:
    talk.receive(fetching.request(12, 0, epoch=0))
    broker.fetched[0].done([fetching.found()])
    session_id = fetching.last(talk, 12).session_id
    limit(broker, consumer_byte_rate=100)
    talk.receive(fetching.request(12, session_id=session_id, epoch=1))
    talk.receive(fetching.request(12, session_id=session_id, epoch=2))
    broker.fetched[1].done([fetching.found(RECORDS)])
    assert fetching.last(talk, 12).error_code == 71  # INVALID_FETCH_SESSION_EPOCH


# --- time


def test_time_counts_for_every_api(talk: Conversation, broker: RecordingBroker) -> None:
    limit(broker, request_percentage=1e-9)
    talk.receive(fetching.request(12, 0))
    broker.fetched[0].done([fetching.found(RECORDS)])
    response = fetching.last(talk, 12)
    assert response.throttle_time_ms == 1000  # at most one window
    assert not fetching.partitions(response)


def test_time_counts_for_producers_that_are_answered(talk: Conversation, broker: RecordingBroker) -> None:
    limit(broker, request_percentage=1e-9)
    talk.receive(producing.request(9, 0))
    broker.produced[0].done([producing.OK])
    assert producing.responses(talk, 9)[0].throttle_time_ms == 1000


def test_who_has_no_quota_is_not_slowed_by_that_of_others(
    talk: Conversation, broker: RecordingBroker
) -> None:
    limit(broker, "another", producer_byte_rate=1, request_percentage=1e-9)
    talk.receive(producing.request(9, 0, records=RECORDS))
    broker.produced[0].done([producing.OK])
    assert producing.responses(talk, 9)[0].throttle_time_ms == 0
    assert not talk.channel.is_paused
