"""ApiVersions: what is served, to clients of any age."""

from __future__ import annotations

import struct

import pytest
from tests.support.kafka_node import KafkaNode, Peer

from mainstem.heads.kafka.api_list import COLD_APIS
from mainstem.heads.kafka.codes import ErrorCode
from mainstem.wire.kafka.codec import decode
from mainstem.wire.kafka.extensions.api_table import FIRST_OWN_KEY
from mainstem.wire.kafka.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse

SOFTWARE = {"client_software_name": "a-client", "client_software_version": "1.2.3"}


def asked_by_hand(node: KafkaNode, version: int, body: bytes) -> bytes:
    frames: list[bytes] = []
    peer = node.peer()
    peer._on_answer = peer.channel._on_answer = frames.append  # type: ignore[method-assign]
    request = struct.pack(">hhih", 18, version, 9, -1) + body
    peer.receive(struct.pack(">i", len(request)) + request)
    [frame] = frames
    return frame


@pytest.mark.parametrize("version", range(5))
async def test_what_is_served_is_advertised(peer: Peer, version: int) -> None:
    software = SOFTWARE if version >= 3 else {}
    response = await peer.ask(ApiVersionsRequest(**software), ApiVersionsResponse, version)
    assert response.error_code == 0
    advertised = {api.api_key: (api.min_version, api.max_version) for api in response.api_keys}
    assert list(advertised) == sorted(advertised)
    served = {handler.key: (handler.min_version, handler.max_version) for handler in COLD_APIS}
    expected = {key: versions for key, versions in served.items() if key < FIRST_OWN_KEY}
    # Produce from 0 on, or librdkafka silently compresses nothing.
    assert advertised == expected | {0: (0, 13), 1: (4, 18), 18: (0, 4)}
    if version >= 3:
        (supported,), (finalized,) = response.supported_features, response.finalized_features
        assert (supported.name, supported.min_version, supported.max_version) == ("transaction.version", 2, 2)
        assert (finalized.name, finalized.max_version_level) == ("transaction.version", 2)
        assert response.finalized_features_epoch == 0


async def test_keys_of_our_own_are_told_to_our_own_clients(peer: Peer) -> None:
    software = {"client_software_name": "mainstem", "client_software_version": "1"}
    response = await peer.ask(ApiVersionsRequest(**software), ApiVersionsResponse, 4)
    ours = {api.api_key for api in response.api_keys if api.api_key >= FIRST_OWN_KEY}
    assert ours == {handler.key for handler in COLD_APIS if handler.key >= FIRST_OWN_KEY} != set()


@pytest.mark.parametrize("version", [5, 99, 32767])
async def test_a_client_of_the_future_is_told_what_to_ask_in(node: KafkaNode, version: int) -> None:
    frame = asked_by_hand(node, version, b"\0" + b"who knows what")
    assert frame[4:8] == struct.pack(">i", 9)
    response, end = decode(ApiVersionsResponse, 0, frame, 8)
    assert end == len(frame)
    assert response.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert [(api.api_key, api.min_version, api.max_version) for api in response.api_keys] == [(18, 0, 4)]


async def test_the_header_of_the_response_never_has_tagged_fields(node: KafkaNode) -> None:
    """One stray byte there made a client allocate 34 GB."""
    frame = asked_by_hand(node, 3, b"\0" + b"\2a\2" + b"1\0")
    assert frame[4:10] == struct.pack(">ih", 9, 0)  # correlation id, error


@pytest.mark.parametrize(
    "software",
    [
        {"client_software_name": "", "client_software_version": "1"},
        {"client_software_name": "a client", "client_software_version": "1"},
        {"client_software_name": "-client", "client_software_version": "1"},
        {"client_software_name": "client", "client_software_version": "1.0-"},
    ],
)
async def test_software_without_a_proper_name_is_refused(peer: Peer, software: dict[str, str]) -> None:
    response = await peer.ask(ApiVersionsRequest(**software), ApiVersionsResponse, 3)
    assert response.error_code == ErrorCode.INVALID_REQUEST
    assert response.api_keys == []
