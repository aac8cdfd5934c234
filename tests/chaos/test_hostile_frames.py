"""Bytes that are no requests: the broker refuses or closes, and others do not notice."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.support.broker_process import BrokerProcess
from tests.support.raw_kafka import (
    API_VERSIONS,
    FETCH,
    METADATA,
    PRODUCE,
    Closed,
    RawConnection,
    cpu_seconds,
    forget_peak,
    framed,
    header,
    outcome_of,
    peak_resident_bytes,
    request,
)

from mainstem.heads.kafka.api_list import COLD_APIS
from mainstem.heads.kafka.handler import Handler
from mainstem.wire.kafka.apis import APIS, request_class
from mainstem.wire.kafka.codec import encode
from mainstem.wire.kafka.message import version_range
from mainstem.wire.kafka.messages import api_versions, metadata
from mainstem.wire.primitives import uvarint

Address = tuple[str, int]
ENDLESS = b"\xff" * 9 + b"\x7f"  # a variable-length integer that does not fit


def sized(size: int, content: bytes = b"") -> bytes:
    return struct.pack(">i", size) + content


LYING_FRAMES: dict[str, bytes] = {
    "size 0": sized(0),
    "size -1": sized(-1, b"abc"),
    "the least size": sized(-(2**31)),
    "the greatest size": sized(2**31 - 1, b"abc"),
    "one byte above the limit": sized(104_857_601, header(METADATA, 1)),
    "no header": framed(b"\0\3"),
    "half a header": framed(header(METADATA, 1)[:7]),
    "a client id longer than the frame": framed(struct.pack(">hhih", METADATA, 1, 1, 30_000) + b"abc"),
    "tags that lie in the header": framed(header(METADATA, 9, tags=b"\1\0\xff\xff\xff\xff\x0f")),
    "endless tags in the header": framed(header(METADATA, 9, tags=ENDLESS)),
    "four billion tags": framed(header(METADATA, 9, tags=b"\xff\xff\xff\xff\x0f") + bytes(100)),
    "metadata of two billion topics": framed(header(METADATA, 1) + struct.pack(">i", 2**31 - 1)),
    "metadata of -2 topics": framed(header(METADATA, 0) + struct.pack(">i", -2)),
    "compact metadata of four billion topics": framed(header(METADATA, 9) + uvarint(2**32 - 1)),
    "a topic name longer than the frame": framed(header(METADATA, 1) + struct.pack(">ih", 1, 32_767)),
    "a topic name of -7 bytes": framed(header(METADATA, 1) + struct.pack(">ih", 1, -7)),
    "a topic name that is not UTF-8": framed(
        header(METADATA, 1) + struct.pack(">ih", 1, 4) + b"\xff\xfe\xfd\xfc"
    ),
    "an endless count": framed(header(METADATA, 9) + ENDLESS),
    "produce without a body": framed(header(PRODUCE, 7)),
    "produce of two billion topics": framed(header(PRODUCE, 7) + struct.pack(">hhii", -1, 1, 1, 2**31 - 1)),
    "produce of a topic name that lies": framed(
        header(PRODUCE, 7) + struct.pack(">hhiih", -1, 1, 1, 1, 9_000) + b"t"
    ),
    "produce of batches longer than the frame": framed(
        header(PRODUCE, 7) + struct.pack(">hhiih1sii i", -1, 1, 1, 1, 1, b"t", 1, 0, 1 << 30)
    ),
    "produce of two billion partitions": framed(
        header(PRODUCE, 7) + struct.pack(">hhiih1si", -1, 1, 1, 1, 1, b"t", 2**31 - 1)
    ),
    "compact produce of four billion topics": framed(
        header(PRODUCE, 9) + b"\0" + struct.pack(">hi", 1, 1) + uvarint(2**32 - 1)
    ),
    "compact produce that ends in its tags": framed(
        header(PRODUCE, 9) + b"\0" + struct.pack(">hi", 1, 1) + b"\1\5"
    ),
    "a transactional id longer than the frame": framed(
        header(PRODUCE, 7) + struct.pack(">hhii", 999, 1, 1, 0)
    ),
    "fetch without a body": framed(header(FETCH, 11)),
    "fetch of two billion topics": framed(
        header(FETCH, 11) + struct.pack(">iiiibiii", -1, 1, 1, 1, 0, 0, -1, 2**31 - 1)
    ),
    "fetch of two billion partitions": framed(
        header(FETCH, 11) + struct.pack(">iiiibiiih1si", -1, 1, 1, 1, 0, 0, -1, 1, 1, b"t", 2**31 - 1)
    ),
    "fetch that forgets two billion": framed(
        header(FETCH, 11) + struct.pack(">iiiibiiii", -1, 1, 1, 1, 0, 0, -1, 0, 2**31 - 1)
    ),
    "an API of next year": framed(struct.pack(">hhih", 1_000, 0, 1, -1)),
    "a negative API": framed(struct.pack(">hhih", -1, 0, 1, -1)),
    "a version of next year": framed(struct.pack(">hhih", METADATA, 99, 1, -1) + b"\0\0"),
    "a negative version": framed(struct.pack(">hhih", METADATA, -1, 1, -1) + bytes(8)),
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(64),
    "HTTP": b"GET / HTTP/1.1\r\nHost: broker\r\n\r\n",
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "AMQP": b"AMQP\0\0\x09\x01",
    "SSH": b"SSH-2.0-OpenSSH_9.6\r\n",
}


@pytest.mark.usefixtures("watched")
@pytest.mark.parametrize("name", LYING_FRAMES)
def test_a_frame_that_lies_closes_its_connection(address: Address, name: str) -> None:
    with RawConnection(address) as peer:
        assert peer.ask(api_versions.ApiVersionsRequest(), 0).error_code == 0
        peer.send(LYING_FRAMES[name])
        assert peer.is_closed_by_peer()
    assert outcome_of(address, LYING_FRAMES[name]) == "closed"  # as the first words, too


@pytest.mark.usefixtures("watched")
def test_what_came_before_the_lie_is_answered(address: Address) -> None:
    good = request(metadata.MetadataRequest(topics=[]), 9)
    with RawConnection(address) as peer:
        peer.send(good * 3 + LYING_FRAMES["no header"] + good)
        for _ in range(3):
            peer.answer(METADATA, 9)
        assert peer.is_closed_by_peer()


def test_an_unknown_version_of_api_versions_is_answered_in_version_0(address: Address) -> None:
    for version in (5, 99, 32_767, -1):
        with RawConnection(address) as peer:
            content = struct.pack(">hhih", API_VERSIONS, version, 7, 3) + b"raw" + b"\0\0\0\0"
            peer.send(framed(content))
            answer = peer.answer(API_VERSIONS, 0)
            assert answer.error_code == 35
            advertised = {api.api_key: (api.min_version, api.max_version) for api in answer.api_keys}
            assert API_VERSIONS in advertised
            # and the client asks again on the same connection
            named = api_versions.ApiVersionsRequest(client_software_name="raw", client_software_version="1")
            assert peer.ask(named, advertised[API_VERSIONS][1]).error_code == 0


@pytest.mark.usefixtures("watched")
def test_garbage_closes(address: Address) -> None:
    chance = random.Random(1)
    for _ in range(60):
        data = chance.randbytes(chance.choice([1, 3, 4, 5, 60, 3_000, 200_000]))
        with RawConnection(address) as peer:
            try:
                peer.send(data)
                peer.socket.shutdown(1)
            except (Closed, OSError):
                continue
            assert peer.is_closed_by_peer()


HUGE: dict[str, Callable[[int], bytes]] = {
    # fields that cost a few bytes each, as many as a frame of 100 MB holds
    "tags in the header": lambda size: header(METADATA, 9, tags=uvarint(size // 2)) + bytes(size),
    "tags in a produce": lambda size: (
        header(PRODUCE, 9) + b"\0" + struct.pack(">hi", 1, 1) + b"\1" + uvarint(size // 2) + bytes(size)
    ),
    "topics of a classic produce": lambda size: (
        header(PRODUCE, 7) + struct.pack(">hhii", -1, 1, 1, size // 6) + bytes(size)
    ),
    "topics of a compact produce": lambda size: (
        header(PRODUCE, 9) + b"\0" + struct.pack(">hi", 1, 1) + uvarint(size // 3) + b"\1\1\0" * (size // 3)
    ),
    "topics of a classic fetch": lambda size: (
        header(FETCH, 11) + struct.pack(">iiiibiii", -1, 1, 1, 1, 0, 0, -1, size // 6) + bytes(size)
    ),
    "topics of a compact fetch": lambda size: (
        header(FETCH, 12)
        + struct.pack(">iiiibii", -1, 1, 1, 1, 0, 0, -1)
        + uvarint(size // 3)
        + b"\1\1\0" * (size // 3)
    ),
    "forgotten topics of a classic fetch": lambda size: (
        header(FETCH, 11) + struct.pack(">iiiibiiii", -1, 1, 1, 1, 0, 0, -1, 0, size // 6) + bytes(size)
    ),
    "forgotten topics of a compact fetch": lambda size: (
        header(FETCH, 12)
        + struct.pack(">iiiibii", -1, 1, 1, 1, 0, 0, -1)
        + b"\1"
        + uvarint(size // 3)
        + b"\1\1\0" * (size // 3)
    ),
    "topics of a metadata request": lambda size: (
        header(METADATA, 9) + uvarint(size // 2) + b"\1\0" * (size // 2)
    ),
}


@pytest.mark.parametrize("name", HUGE)
def test_a_huge_array_is_refused_before_it_costs_anything(
    address: Address, watched: BrokerProcess, name: str
) -> None:
    """Other clients wait while a request is read: 60 MB must not mean seconds of work."""
    frame = framed(HUGE[name](60_000_000))
    before = cpu_seconds(watched.pid)
    assert outcome_of(address, frame) == "closed"
    assert cpu_seconds(watched.pid) - before < 2.0


DEAREST = (9, 10, 15, 19, 32)  # their answers cost most for each element: offsets, coordinators, groups, ...


def full_of(api: Handler, most: int) -> Iterator[bytes]:
    """Requests of a cold API, each with one array of so many of the smallest elements, or 8 MB of them."""
    message, version = request_class(api.key), api.max_version
    for each in message.SCHEMA.fields:
        low, high = version_range(each.versions)
        if not low <= version <= high or not each.kind.startswith("[]"):
            continue
        kind = each.kind[2:]
        element: Any = each.of() if each.of else {"string": "", "uuid": bytes(16)}.get(kind, 0)
        plain = len(encode(message(), version))
        size = max(1, (len(encode(message(**{each.name: [element] * 1_000}), version)) - plain) // 1_000)
        count = min(most, (8_300_000 - plain) // size)
        yield request(message(**{each.name: [element] * count}), version)


@pytest.mark.parametrize("api", COLD_APIS, ids=lambda api: APIS[api.key].name)
def test_too_many_small_elements_are_refused(address: Address, watched: BrokerProcess, api: Handler) -> None:
    """Decoded and answered, a byte of a request can cost a thousand of memory."""
    before = cpu_seconds(watched.pid)
    forget_peak(watched.pid)
    for frame in full_of(api, 140_000):
        assert outcome_of(address, frame) == "closed"
    assert cpu_seconds(watched.pid) - before < 2.0
    assert peak_resident_bytes(watched.pid) < 500 << 20


def test_as_many_elements_as_a_request_may_have_cost_a_bounded_amount(
    address: Address, watched: BrokerProcess
) -> None:
    forget_peak(watched.pid)
    for api in (each for each in COLD_APIS if each.key in DEAREST):
        for frame in full_of(api, 131_000):
            assert outcome_of(address, frame) == "answered", APIS[api.key].name
    assert peak_resident_bytes(watched.pid) < 700 << 20
