"""Frames: the header in front of every request and response, and the size in front of both.

A request header is the API key, its version, a correlation id and the client's id, a string with a 16-bit
length in every version; APIs in a flexible version add tagged fields. A response header is the correlation
id, with tagged fields in flexible versions. The response to ApiVersions never has them: its reader does not
know yet which version it will get.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, NamedTuple

from mainstem.wire.errors import InvalidMessage, TruncatedMessage, UnsupportedVersion
from mainstem.wire.kafka.apis import APIS, request_class, response_class
from mainstem.wire.primitives import read_uvarint, skip_tagged_fields

if TYPE_CHECKING:
    from mainstem.wire.kafka.message import Message

API_VERSIONS = 18
MAX_FRAME_BYTES = 0x7FFFFFFF

_REQUEST_HEADER = struct.Struct(">hhih")
_SHORT_HEADER = struct.Struct(">hhi")
_SIZE_AND_CORRELATION = struct.Struct(">ii")
_CORRELATION = struct.Struct(">i")


class RequestHeader(NamedTuple):
    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None
    body_start: int


def decode_request_header(frame: memoryview | bytes) -> RequestHeader:
    """The header of a frame without its size.

    Of an API that is not in `APIS` as much is read as makes sense, so that the answer can carry the
    correlation id.
    """
    end = len(frame)
    if end < 8:
        raise TruncatedMessage(f"a request header in {end} bytes")
    api = APIS.get(frame[0] << 8 | frame[1])
    if api is None or end < 10:
        return _decode_foreign_header(frame, known=api is not None)
    key, version, correlation_id, length = _REQUEST_HEADER.unpack_from(frame)
    position = 10 + length if length > 0 else 10
    if position > end:
        raise TruncatedMessage(f"the client id claims {length} bytes but {end - 10} remain")
    try:
        client_id = str(frame[10:position], "utf-8") if length >= 0 else None
        if version >= api.flexible_from:
            position = _skip_tags(frame, position, end)
    except IndexError:
        raise TruncatedMessage("the request header ends before its tagged fields") from None
    except UnicodeDecodeError:
        raise InvalidMessage("the client id is not UTF-8") from None
    return RequestHeader(key, version, correlation_id, client_id, position)


def _decode_foreign_header(frame: memoryview | bytes, *, known: bool) -> RequestHeader:
    if known:
        raise TruncatedMessage("the request header ends before the client id")
    key, version, correlation_id = _SHORT_HEADER.unpack_from(frame)
    client_id, position = None, len(frame)
    if position >= 10:
        length = _REQUEST_HEADER.unpack_from(frame)[3]
        if length <= position - 10:
            position = 10 + max(length, 0)
            client_id = str(frame[10:position], "utf-8", "replace") if length >= 0 else None
    return RequestHeader(key, version, correlation_id, client_id, position)


def _skip_tags(frame: memoryview | bytes, position: int, end: int) -> int:
    count = frame[position]
    if count == 0:
        return position + 1
    count, position = read_uvarint(frame, position)
    return skip_tagged_fields(frame, position, end, count)


def _response_tags(api_key: int, version: int) -> bool:
    api = APIS.get(api_key)
    if api is None:
        raise UnsupportedVersion(f"there is no API {api_key}")
    return api_key != API_VERSIONS and version >= api.flexible_from


def _framed(head: bytes, body: bytes) -> bytes:
    size = len(head) + len(body)
    if size > MAX_FRAME_BYTES:
        raise InvalidMessage(f"a frame of {size} bytes")
    return b"".join((size.to_bytes(4, "big"), head, body))


def encode_response(api_key: int, version: int, correlation_id: int, message: Message) -> bytes:
    """Size, header and message."""
    from mainstem.wire.kafka.codec import encode

    body = encode(message, version)
    if _response_tags(api_key, version):
        body = b"\0" + body
    size = len(body) + 4
    if size > MAX_FRAME_BYTES:
        raise InvalidMessage(f"a frame of {size} bytes")
    return _SIZE_AND_CORRELATION.pack(size, correlation_id) + body


def encode_request(
    api_key: int, version: int, correlation_id: int, client_id: str | None, message: Message
) -> bytes:
    """Size, header and message."""
    from mainstem.wire.kafka.codec import encode

    api = APIS.get(api_key)
    if api is None:
        raise UnsupportedVersion(f"there is no API {api_key}")
    name = b"" if client_id is None else client_id.encode()
    try:
        head = _REQUEST_HEADER.pack(api_key, version, correlation_id, -1 if client_id is None else len(name))
    except struct.error as error:
        raise InvalidMessage(f"the request header does not hold its values: {error}") from None
    tags = b"\0" if version >= api.flexible_from else b""
    return _framed(head + name + tags, encode(message, version))


def decode_request(frame: memoryview | bytes) -> tuple[RequestHeader, Message]:
    """Header and message of a frame without its size; UnsupportedVersion for what `APIS` does not have."""
    from mainstem.wire.kafka.codec import decode

    header = decode_request_header(frame)
    if header.api_key not in APIS:
        raise UnsupportedVersion(f"there is no API {header.api_key}")
    message, _ = decode(request_class(header.api_key), header.api_version, frame, header.body_start)
    return header, message


def decode_response(api_key: int, version: int, frame: memoryview | bytes) -> tuple[int, Message]:
    """Correlation id and message of a frame without its size."""
    from mainstem.wire.kafka.codec import decode

    end = len(frame)
    if end < 4:
        raise TruncatedMessage(f"a response header in {end} bytes")
    (correlation_id,) = _CORRELATION.unpack_from(frame)
    position = 4
    if _response_tags(api_key, version):
        try:
            position = _skip_tags(frame, position, end)
        except IndexError:
            raise TruncatedMessage("the response header ends before its tagged fields") from None
    message, _ = decode(response_class(api_key), version, frame, position)
    return correlation_id, message
