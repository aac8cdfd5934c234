"""A session as a conversation: bytes in, requests served, bytes out, and when it stops to read."""

from __future__ import annotations

import logging
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.heads.kafka.conversation import (
    BROKEN,
    BROKEN_LATER,
    ECHO,
    FLEXIBLE_ECHO,
    LONG_POLL,
    REFUSED_VERSION,
    Conversation,
    EchoHead,
    frame,
)

from mainstem.heads.kafka.connection import MAX_UNANSWERED
from mainstem.server.buffers import SHARED_BYTES, RequestMemory

# ---------------------------------------------------------------------------- frames


@given(
    bodies=st.lists(st.binary(max_size=400), max_size=6),
    pieces=st.integers(1, 500),
)
def test_requests_arrive_whole_however_they_are_cut(bodies: list[bytes], pieces: int) -> None:
    talk = Conversation()
    talk.receive(b"".join(frame(b"now" + body, n) for n, body in enumerate(bodies)), pieces)
    assert talk.sent == [b"%d:now" % n + body for n, body in enumerate(bodies)]
    assert (talk.memory.held_bytes, talk.memory.partial_bytes) == (0, 0)
    assert not talk.channel.is_closed


@pytest.mark.parametrize("size", [SHARED_BYTES - 30, SHARED_BYTES, 300_000, 1_000_000])
def test_large_requests_come_in_a_buffer_of_their_own(size: int) -> None:
    talk = Conversation()
    body = bytes(range(256)) * (size // 256)
    for number in range(3):
        talk.receive(frame(b"now" + body, number) + frame(b"now small", 9))
    assert talk.sent == [part for n in range(3) for part in (b"%d:now" % n + body, b"9:now small")]
    assert (talk.memory.held_bytes, talk.memory.partial_bytes) == (0, 0)


def test_answers_leave_in_the_order_of_requests() -> None:
    talk = Conversation()
    talk.receive(frame(b"first", 1) + frame(b"now", 2) + frame(b"third", 3))
    assert talk.sent == []
    talk.started[2].finish()
    assert talk.sent == []
    talk.started[0].finish()
    assert talk.sent == [b"1:first", b"2:now", b"3:third"]


def test_many_requests_in_one_read_do_not_wait_for_its_end() -> None:
    talk = Conversation()
    talk.receive(b"".join(frame(b"now", n) for n in range(100)))
    assert talk.channel.flushes == 3


@pytest.mark.parametrize("size", [0, -1, -(2**31), (1 << 20) + 1, 2**31 - 1])
def test_a_size_that_cannot_be_closes_the_connection(size: int) -> None:
    for pieces in (1, 1 << 30):
        talk = Conversation()
        talk.receive(frame(b"now", 1) + struct.pack(">i", size) + b"whatever follows", pieces)
        assert talk.sent == [b"1:now"]
        assert talk.channel.closed_because is not None
        assert "socket.request.max.bytes" in talk.channel.closed_because
        assert talk.head.meters.bad_frames == 1
        talk.session.closed()
        assert (talk.memory.held_bytes, talk.memory.partial_bytes) == (0, 0)


def test_a_lying_size_costs_what_was_sent() -> None:
    talk = Conversation(EchoHead(max_request_bytes=1 << 30))
    talk.receive(struct.pack(">i", 1 << 30) + b"a few bytes")
    assert talk.memory.partial_bytes == 15
    assert talk.session._frame is not None
    assert len(talk.session._frame) <= 256 * 1024


@pytest.mark.parametrize(
    ("greeting", "meaning"),
    [(b"\x16\x03\x01\x02\x00", "TLS"), (b"GET / HTTP/1.1\r\n", "HTTP"), (b"AMQP\0\0\t\1", "AMQP")],
)
def test_other_protocols_are_named(greeting: bytes, meaning: str) -> None:
    talk = Conversation()
    talk.receive(greeting)
    assert talk.channel.closed_because is not None
    assert meaning in talk.channel.closed_because


# ---------------------------------------------------------------------------- headers


def test_the_client_id_is_known_to_requests() -> None:
    talk = Conversation()
    talk.receive(frame(b"now", client_id="müller".encode()))
    assert talk.session.client_id == "müller"
    talk.receive(frame(b"now", client_id=None))
    assert talk.session.client_id == "müller"  # who says nothing is still the same
    talk.receive(frame(b"now", client_id=b"\xff"))
    assert talk.session.client_id == "\ufffd"


def test_tagged_fields_of_a_header_are_passed_over() -> None:
    talk = Conversation()
    talk.receive(frame(b"now", 1, FLEXIBLE_ECHO, 1, tags=b"\0"))
    talk.receive(frame(b"now", 2, FLEXIBLE_ECHO, 1, tags=b"\2\0\3abc\5\0"))
    talk.receive(frame(b"now", 3, FLEXIBLE_ECHO, 0))
    assert talk.sent == [b"1:now", b"2:now", b"3:now"]


@pytest.mark.parametrize(
    "bad",
    [
        frame(b"", key=999),
        frame(b"", key=-1),
        frame(b"", version=1),
        frame(b"", key=LONG_POLL, version=1),
        struct.pack(">ihh", 4, ECHO, 2),
        struct.pack(">ihhih", 10, ECHO, 2, 1, 500),
        frame(b"", 1, FLEXIBLE_ECHO, 1, tags=b""),
        frame(b"", 1, FLEXIBLE_ECHO, 1, tags=b"\xff\xff\xff\xff\xff\xff"),
        frame(b"", 1, FLEXIBLE_ECHO, 1, tags=b"\1\0\x7f"),
    ],
)
def test_what_is_no_request_closes_the_connection(bad: bytes) -> None:
    for pieces in (7, 1 << 30):
        talk = Conversation()
        talk.head.version_refusal = talk.head.apis[BROKEN]  # so that ECHO is like any other
        talk.receive(frame(b"now") + bad, pieces)
        assert talk.sent == [b"1:now"]
        assert talk.channel.closed_because is not None
        talk.session.closed()
        assert (talk.memory.held_bytes, talk.memory.partial_bytes) == (0, 0)


def test_one_api_answers_to_versions_that_it_does_not_have() -> None:
    talk = Conversation()
    talk.receive(frame(b"in a form of the future", version=REFUSED_VERSION) + frame(b"now"))
    assert talk.sent == [b"refused", b"1:now"]


# ---------------------------------------------------------------------------- failures


def test_a_body_that_cannot_be_read_closes_the_connection() -> None:
    talk = Conversation()
    talk.receive(frame(b"now", 1) + frame(b"", 2, BROKEN_LATER, 0) + frame(b"now", 3))
    assert talk.sent == [b"1:now"]
    assert talk.channel.closed_because is not None
    assert "cannot read its request" in talk.channel.closed_because
    assert talk.memory.held_bytes == 0


def test_an_error_that_nobody_meant_is_logged_and_closes_the_connection(
    caplog: pytest.LogCaptureFixture,
) -> None:
    talk = Conversation()
    with caplog.at_level(logging.ERROR):
        talk.receive(frame(b"", 2, BROKEN, 0))
    assert talk.channel.is_closed
    assert talk.head.meters.unexpected_errors == 1
    assert "nobody thought of this" in caplog.text


# ---------------------------------------------------------------------------- pauses


def test_too_many_unanswered_requests_stop_the_reading() -> None:
    talk = Conversation()
    count = MAX_UNANSWERED + 50
    talk.receive(b"".join(frame(b"later", n) for n in range(count)))
    assert talk.channel.is_paused
    assert len(talk.started) == MAX_UNANSWERED
    for number in range(count):
        talk.started[number].finish()
    assert not talk.channel.is_paused
    assert talk.sent == [b"%d:later" % n for n in range(count)]


def test_too_many_bytes_in_work_stop_the_reading() -> None:
    talk = Conversation(EchoHead(max_held_bytes=1000))
    talk.receive(frame(b"x" * 600, 1) + frame(b"y" * 600, 2) + frame(b"z" * 600, 3))
    assert [exchange.correlation_id for exchange in talk.started] == [1, 2]
    talk.started[0].finish()
    assert [exchange.correlation_id for exchange in talk.started] == [1, 2, 3]
    assert talk.channel.is_paused  # two of 600 bytes are in work again
    talk.started[1].finish()
    assert not talk.channel.is_paused


def test_one_request_is_always_taken_however_large() -> None:
    talk = Conversation(EchoHead(max_held_bytes=10))
    talk.receive(frame(b"now" + b"x" * 5000, 1))
    assert len(talk.sent) == 1
    assert not talk.channel.is_paused


def test_a_peer_that_does_not_read_its_answers_is_not_served() -> None:
    talk = Conversation()
    talk.channel.is_congested = True
    talk.receive(frame(b"now", 1) + frame(b"now", 2))
    assert len(talk.started) == 1
    assert talk.channel.is_paused
    talk.channel.is_congested = False
    talk.session.uncongested()
    assert len(talk.started) == 2
    assert not talk.channel.is_paused


def test_memory_that_all_share_stops_everyone_and_lets_them_go_on_in_turn() -> None:
    memory = RequestMemory(limit=1000)
    head = EchoHead()
    first, second, third = (Conversation(head, memory) for _ in range(3))
    first.receive(frame(b"x" * 1100, 1))
    second.receive(frame(b"later", 2) + frame(b"now", 3))
    third.receive(frame(b"later", 4) + frame(b"now", 5))
    assert [exchange.correlation_id for exchange in head.started] == [1, 2, 4]
    assert first.channel.is_paused
    assert second.channel.is_paused
    head.started[0].finish()
    assert [exchange.correlation_id for exchange in head.started] == [1, 2, 4, 3, 5]
    assert not any(talk.channel.is_paused for talk in (first, second, third))


def test_partial_requests_stop_nobody_else_and_cannot_grow_without_end() -> None:
    memory = RequestMemory(limit=150_000)
    head = EchoHead()
    stalled = [Conversation(head, memory) for _ in range(3)]
    for talk, count in zip(stalled, (100_000, 100_000, 5_000), strict=True):
        talk.receive(struct.pack(">i", 1 << 20) + bytes(count))
    assert memory.is_overdrawn
    assert not memory.is_exhausted
    assert not any(talk.channel.is_closed for talk in stalled)
    bystander = Conversation(head, memory)
    bystander.receive(frame(b"now", 1))
    bystander.receive(frame(b"now" + bytes(7_000), 2), pieces=1_000)
    assert len(bystander.sent) == 2
    for talk, count in ((stalled[2], 20_000), (stalled[0], 100_000)):
        talk.receive(bytes(count))
        assert talk.channel.is_closed
        talk.session.closed()
    assert memory.partial_bytes == 100_004
    late = Conversation(head, memory)
    memory.charge_partial(100_000)
    late.receive(struct.pack(">i", 1 << 20) + bytes(50_000))
    assert late.channel.is_closed
    memory.charge_partial(-100_000)
    assert memory.partial_bytes == 100_004


def test_who_sent_a_large_request_once_is_believed_only_as_far_as_bytes_come() -> None:
    talk = Conversation()
    talk.receive(frame(b"now" + bytes(1_000_000), 1))
    talk.receive(struct.pack(">i", 1_000_000) + b"no more")
    assert talk.session._frame is not None
    assert len(talk.session._frame) <= 8 << 10
    talk.receive(bytes(60_000))
    assert talk.session._frame is not None
    assert len(talk.session._frame) <= 256 << 10


# ---------------------------------------------------------------------------- buffers


def test_the_buffer_of_a_large_request_is_on_loan_until_it_is_answered() -> None:
    talk = Conversation()
    talk.receive(frame(b"x" * 200_000, 1))
    exchange = talk.started[0]
    buffer = exchange.buffer_while_serving
    assert buffer is not None
    assert talk.memory.take(len(buffer)) is not buffer
    exchange.finish()
    assert talk.memory.take(len(buffer)) is buffer


def test_a_buffer_that_the_request_withheld_is_not_used_again() -> None:
    talk = Conversation()
    talk.receive(frame(b"x" * 200_000, 1))
    exchange = talk.started[0]
    buffer = exchange.buffer_while_serving
    assert buffer is not None
    exchange.buffer = None
    exchange.finish()
    assert talk.memory.take(len(buffer)) is not buffer
    assert talk.memory.held_bytes == 0


# ---------------------------------------------------------------------------- the end


def test_a_lost_connection_cancels_what_runs_and_gives_everything_back() -> None:
    talk = Conversation()
    talk.receive(frame(b"later", 1) + frame(b"x" * 200_000, 2) + frame(b"half of it", 3)[:-4])
    assert talk.session.is_busy
    talk.session.closed()
    assert [exchange.is_cancelled for exchange in talk.started] == [True, True]
    assert not talk.session.is_busy
    assert (talk.memory.held_bytes, talk.memory.partial_bytes) == (0, 0)
    assert talk.sent == []


def test_draining_waits_for_answers_but_not_for_long_polls() -> None:
    talk = Conversation()
    talk.receive(frame(b"later", 1) + frame(b"poll", 2, LONG_POLL, 0))
    talk.session.drain()
    assert talk.channel.is_paused
    assert not talk.channel.is_closed
    talk.started[0].finish()
    assert talk.channel.is_closed
    assert talk.channel.closed_because is None
    assert talk.sent == [b"1:later"]


def test_draining_closes_an_idle_connection_at_once() -> None:
    talk = Conversation()
    talk.session.drain()
    assert talk.channel.is_closed


def test_every_answer_is_measured() -> None:
    talk = Conversation()
    talk.receive(frame(b"now") + frame(b"now"))
    meter = talk.head.apis[ECHO].meter
    assert meter.count == 2
    assert meter.total_ns > 0
