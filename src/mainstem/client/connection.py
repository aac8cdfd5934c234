"""One connection to one broker: frames out, frames in, in order, with time limits and a size limit.

Requests may be sent before earlier ones are answered; answers come in the order of the requests,
and `receive` says so when they do not. The versions of both sides are compared once, when the
connection is made.

A broker that slows us down answers at once and names a time for which it will not listen. Then
`throttled_s` is above 0, and `send` waits for it to pass: who has other things to do looks first.
"""

from __future__ import annotations

import math
import select
import socket
import ssl
import struct
import time
from collections import deque
from collections.abc import Iterable
from typing import Final, NamedTuple, TypeVar

from mainstem import __version__
from mainstem.client.addresses import Address
from mainstem.client.answer_codes import UNSUPPORTED_VERSION
from mainstem.client.errors import (
    AnswerTooLate,
    BrokerUnreachable,
    ConnectionLost,
    RequestNotServed,
    UnexpectedAnswer,
    check,
)
from mainstem.client.login import log_in
from mainstem.client.security import OPEN, ClientSecurity
from mainstem.wire.errors import WireError
from mainstem.wire.kafka.apis import APIS
from mainstem.wire.kafka.frames import API_VERSIONS, decode_response, encode_request
from mainstem.wire.kafka.message import Message
from mainstem.wire.kafka.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse

A = TypeVar("A", bound=Message)

DEFAULT_MAX_FRAME_BYTES: Final = 256 * 1024 * 1024
UNPROVEN_BYTES: Final = 5 * 1024 * 1024  # set aside on the word of a size; more once that much has come
CONNECT_TIMEOUT_S: Final = 10.0
_LOGIN_USED: Final = 0.85  # of its life; then a new connection logs in
MAX_THROTTLE_S: Final = 60.0  # a longer time is not believed

# The highest version of an API whose form this client fills in, where that is not the newest: later
# ones name topics by id (Produce, Fetch, OffsetCommit, OffsetFetch) or take lists of keys.
_HIGHEST_FORM: Final = {0: 12, 1: 12, 8: 9, 9: 9, 10: 3, 20: 5}


class _Sent(NamedTuple):
    correlation_id: int
    api_key: int
    version: int
    answer: type[Message]


class Connection:
    def __init__(
        self,
        address: Address,
        *,
        client_id: str = "mainstem",
        timeout_s: float = 30.0,
        max_frame_bytes: int = DEFAULT_MAX_FRAME_BYTES,
        security: ClientSecurity = OPEN,
    ) -> None:
        self.address = address
        self._client_id = client_id
        self._timeout_s = timeout_s
        self._max_frame_bytes = max_frame_bytes
        self._sent: deque[_Sent] = deque()
        self._next_correlation_id = 1
        self._throttled_until = 0.0  # monotonic seconds
        self._socket = _connect(address, min(CONNECT_TIMEOUT_S, timeout_s), security)
        self._login_ends_s = math.inf  # monotonic: then the broker wants another one
        self._socket.settimeout(timeout_s)
        try:
            self._versions = self._negotiate()
            if security.has_login:
                self._log_in(security)
        except BaseException:
            self.close()
            raise

    @property
    def unanswered_count(self) -> int:
        return len(self._sent)

    @property
    def throttled_s(self) -> float:
        """For how long the broker does not want to hear from us."""
        return max(0.0, self._throttled_until - time.monotonic())

    @property
    def is_worn_out(self) -> bool:
        """Whether the log-in ends soon: use another connection for what comes next."""
        return time.monotonic() >= self._login_ends_s

    @property
    def has_unread_bytes(self) -> bool:
        """Whether TLS has decrypted bytes already: then the descriptor need not become readable."""
        return isinstance(self._socket, ssl.SSLSocket) and self._socket.pending() > 0

    def fileno(self) -> int:
        return self._socket.fileno()

    def close(self) -> None:
        self._sent.clear()
        self._socket.close()

    def _log_in(self, security: ClientSecurity) -> None:
        lifetime_ms = log_in(self, security)
        if lifetime_ms > 0:
            self._login_ends_s = time.monotonic() + lifetime_ms / 1000 * _LOGIN_USED

    def version_of(self, request: type[Message]) -> int:
        """The version in which both sides speak of it."""
        key = request.SCHEMA.key
        api = APIS[key]
        offered = self._versions.get(key)
        if offered is None:
            raise RequestNotServed(f"{self.address} does not serve {api.name}")
        lowest = max(offered[0], api.min_version)
        highest = min(offered[1], _HIGHEST_FORM.get(key, api.max_version), api.max_version)
        if lowest > highest:
            raise RequestNotServed(
                f"{self.address} serves {api.name} in versions {offered[0]}-{offered[1]}, "
                f"we speak {api.min_version}-{min(api.max_version, _HIGHEST_FORM.get(key, api.max_version))}"
            )
        return highest

    def request(self, request: Message, answer: type[A]) -> A:
        """Sends and waits; nothing else may be unanswered."""
        self.send(request, answer)
        return self.receive(answer)

    def send(self, request: Message, answer: type[Message] | None) -> None:
        """`answer` is None for what the broker does not answer: Produce with acks 0."""
        self._send(request, self.version_of(type(request)), answer)

    def receive(self, answer: type[A], *, timeout_s: float | None = None) -> A:
        sent = self._sent[0]
        name = APIS[sent.api_key].name
        frame = self._read_frame(name, self._timeout_s if timeout_s is None else timeout_s)
        self._sent.popleft()
        try:
            correlation_id, message = decode_response(sent.api_key, sent.version, frame)
        except WireError as error:
            raise UnexpectedAnswer(
                str(self.address), f"its answer to {name} is malformed: {error}"
            ) from error
        if correlation_id != sent.correlation_id:
            raise UnexpectedAnswer(
                str(self.address), f"answer {correlation_id} came where {sent.correlation_id} was due"
            )
        if not isinstance(message, answer):
            raise TypeError(f"{name} was answered with {type(message).__name__}, not {answer.__name__}")
        throttle_ms = getattr(message, "throttle_time_ms", 0)
        if throttle_ms > 0:
            self._throttled_until = time.monotonic() + min(throttle_ms / 1000, MAX_THROTTLE_S)
        return message

    def _send(self, request: Message, version: int, answer: type[Message] | None) -> None:
        correlation_id = self._next_correlation_id
        self._next_correlation_id = correlation_id % 0x7FFFFFFF + 1
        key = type(request).SCHEMA.key
        frame = encode_request(key, version, correlation_id, self._client_id, request)
        if self._throttled_until:
            time.sleep(self.throttled_s)
            self._throttled_until = 0.0
        try:
            self._socket.settimeout(self._timeout_s)
            self._socket.sendall(frame)
        except TimeoutError:
            raise AnswerTooLate(str(self.address), APIS[key].name, self._timeout_s) from None
        except OSError as error:
            raise ConnectionLost(str(self.address), _reason(error)) from error
        if answer is not None:
            self._sent.append(_Sent(correlation_id, key, version, answer))

    def _read_frame(self, name: str, timeout_s: float) -> memoryview:
        deadline = time.monotonic() + timeout_s
        try:
            (size,) = struct.unpack(">i", self._read_exactly(4, deadline))
            if not 4 <= size <= self._max_frame_bytes:
                raise UnexpectedAnswer(str(self.address), f"a frame of {size} bytes after {name}")
            return self._read_exactly(size, deadline)
        except TimeoutError:
            raise AnswerTooLate(str(self.address), name, timeout_s) from None
        except OSError as error:
            raise ConnectionLost(str(self.address), _reason(error)) from error

    def _read_exactly(self, size: int, deadline: float) -> memoryview:
        """Grows with what arrives, so that a size that lies costs nothing."""
        buffer = bytearray(min(size, UNPROVEN_BYTES))
        filled = 0
        while filled < size:
            if filled == len(buffer):
                buffer.extend(bytes(min(len(buffer), size - filled)))
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError
            self._socket.settimeout(left)
            with memoryview(buffer) as view:
                count = self._socket.recv_into(view[filled:])
            if count == 0:
                raise ConnectionLost(str(self.address), "the broker closed it")
            filled += count
        return memoryview(buffer)

    def _negotiate(self) -> dict[int, tuple[int, int]]:
        for version in (3, 0):
            self._send(_introduction(version), version, ApiVersionsResponse)
            answer = self._receive_versions(version)
            if answer.error_code != UNSUPPORTED_VERSION:
                break
        check(answer.error_code, f"{self.address}")
        return {api.api_key: (api.min_version, api.max_version) for api in answer.api_keys}

    def _receive_versions(self, version: int) -> ApiVersionsResponse:
        """A broker that is older than the question answers in version 0, whatever was asked."""
        sent = self._sent.popleft()
        frame = self._read_frame(APIS[API_VERSIONS].name, self._timeout_s)
        is_refusal = len(frame) >= 6 and int.from_bytes(frame[4:6], "big") == UNSUPPORTED_VERSION
        try:
            correlation_id, message = decode_response(API_VERSIONS, 0 if is_refusal else version, frame)
        except WireError as error:
            raise UnexpectedAnswer(str(self.address), str(error)) from error
        if correlation_id != sent.correlation_id or not isinstance(message, ApiVersionsResponse):
            raise UnexpectedAnswer(str(self.address), "its first answer is not the one to our first request")
        return message


def wait_readable(connections: Iterable[Connection], timeout_s: float) -> list[int]:
    """The descriptors of those that have something to read, at once or within the time."""
    poller = select.poll()
    decrypted = []
    for connection in connections:
        if connection.has_unread_bytes:
            decrypted.append(connection.fileno())
        else:
            poller.register(connection.fileno(), select.POLLIN)
    arrived = poller.poll(0 if decrypted else timeout_s * 1000)
    return decrypted + [descriptor for descriptor, _ in arrived]


def _introduction(version: int) -> ApiVersionsRequest:
    if version < 3:
        return ApiVersionsRequest()
    return ApiVersionsRequest(client_software_name="mainstem", client_software_version=__version__)


def _connect(address: Address, timeout_s: float, security: ClientSecurity) -> socket.socket:
    try:
        connection = socket.create_connection(address, timeout=timeout_s)
    except OSError as error:
        raise BrokerUnreachable(str(address), _reason(error)) from error
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if not security.has_tls:
        return connection
    try:
        return security.tls.wrap_socket(connection, server_hostname=address.host)
    except ssl.SSLCertVerificationError as error:
        connection.close()
        raise BrokerUnreachable(
            str(address), f"its certificate is not believed: {error.verify_message.rstrip('.')}"
        ) from error
    except OSError as error:
        connection.close()
        raise BrokerUnreachable(str(address), f"no TLS with it: {_reason(error)}") from error


def _reason(error: OSError) -> str:
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, ConnectionRefusedError):
        return "connection refused"
    if isinstance(error, socket.gaierror):
        return "the host name is not known"
    return (error.strerror or str(error)).lower()
