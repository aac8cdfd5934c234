"""Headers and frames, by hand and against the generated header classes."""

from __future__ import annotations

import pytest

from mainstem.wire.errors import InvalidMessage, TruncatedMessage, UnsupportedVersion
from mainstem.wire.kafka import frames
from mainstem.wire.kafka.apis import APIS, request_class, response_class
from mainstem.wire.kafka.codec import decode, encode
from mainstem.wire.kafka.frames import RequestHeader
from mainstem.wire.kafka.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from mainstem.wire.kafka.messages.metadata import MetadataRequest, MetadataResponse
from mainstem.wire.kafka.messages.request_header import RequestHeader as GeneratedHeader


@pytest.mark.parametrize("client_id", [None, "", "cli", "ä" * 100])
@pytest.mark.parametrize(("version", "header_version"), [(8, 1), (9, 2)])
def test_request_header_is_what_the_schema_says(
    client_id: str | None, version: int, header_version: int
) -> None:
    header = GeneratedHeader(
        request_api_key=3, request_api_version=version, correlation_id=-5, client_id=client_id
    )
    data = encode(header, header_version)
    for frame in (data + b"body", memoryview(data + b"body")):
        expected = RequestHeader(3, version, -5, client_id, len(data))
        assert frames.decode_request_header(frame) == expected


def test_tagged_fields_of_the_header_are_skipped() -> None:
    frame = bytes.fromhex("0003 000c 00000007 ffff 01 05 02 abcd") + b"body"
    assert frames.decode_request_header(frame) == RequestHeader(3, 12, 7, None, len(frame) - 4)


@pytest.mark.parametrize("end", range(14))
def test_a_truncated_header(end: int) -> None:
    frame = bytes.fromhex("0003 000c 00000007 0003 616263 00")
    assert frames.decode_request_header(frame).client_id == "abc"
    with pytest.raises(TruncatedMessage):
        frames.decode_request_header(frame[:end])


def test_a_client_id_that_is_no_text() -> None:
    with pytest.raises(InvalidMessage):
        frames.decode_request_header(bytes.fromhex("0003 0001 00000007 0002 c328"))


@pytest.mark.parametrize(
    ("frame", "client_id", "body_start"),
    [
        ("7fff 0000 00000009", None, 8),
        ("7fff 0000 00000009 00", None, 9),
        ("7fff 0000 00000009 ffff", None, 10),
        ("7fff 0000 00000009 0001 61 0000", "a", 11),
        ("7fff 0000 00000009 0100 61", None, 11),
        ("ffff 0000 00000009 0001 ff", "\ufffd", 11),
    ],
)
def test_an_unknown_api_keeps_its_correlation_id(frame: str, client_id: str | None, body_start: int) -> None:
    header = frames.decode_request_header(bytes.fromhex(frame))
    assert header.api_key == int.from_bytes(bytes.fromhex(frame)[:2], "big", signed=True)
    assert header[1:] == (0, 9, client_id, body_start)


def test_requests_and_responses_of_every_version_travel_in_frames() -> None:
    for api in APIS.values():
        for version in range(api.min_version, api.max_version + 1):
            request, response = request_class(api.key)(), response_class(api.key)()
            frame = frames.encode_request(api.key, version, 77, "me", request)
            assert int.from_bytes(frame[:4], "big") == len(frame) - 4
            header, found = frames.decode_request(memoryview(frame)[4:])
            assert (header[:4], found) == ((api.key, version, 77, "me"), request)
            frame = frames.encode_response(api.key, version, 78, response)
            assert int.from_bytes(frame[:4], "big") == len(frame) - 4
            assert frames.decode_response(api.key, version, frame[4:]) == (78, response)


def test_response_headers() -> None:
    assert frames.encode_response(3, 8, 1, MetadataResponse())[4:8] == b"\0\0\0\1"
    plain, flexible = (frames.encode_response(3, version, 1, MetadataResponse()) for version in (8, 9))
    assert plain[8:] == encode(MetadataResponse(), 8)
    assert flexible[8:] == b"\0" + encode(MetadataResponse(), 9)


def test_the_response_to_api_versions_never_has_tagged_fields_in_its_header() -> None:
    for version in range(5):
        frame = frames.encode_response(18, version, 1, ApiVersionsResponse())
        assert decode(ApiVersionsResponse, version, frame, 8) == (ApiVersionsResponse(), len(frame))


def test_what_is_no_api_has_no_frames() -> None:
    with pytest.raises(UnsupportedVersion):
        frames.encode_request(999, 0, 1, None, ApiVersionsRequest())
    with pytest.raises(UnsupportedVersion):
        frames.encode_response(999, 0, 1, ApiVersionsResponse())
    with pytest.raises(UnsupportedVersion):
        frames.decode_request(bytes.fromhex("03e7 0000 00000009 ffff"))


def test_a_client_id_longer_than_its_length_field() -> None:
    with pytest.raises(InvalidMessage):
        frames.encode_request(3, 1, 1, "x" * 0x8000, MetadataRequest())


def test_a_truncated_response() -> None:
    frame = frames.encode_response(3, 12, 1, MetadataResponse())[4:]
    for end in range(len(frame)):
        with pytest.raises(TruncatedMessage):
            frames.decode_response(3, 12, frame[:end])
