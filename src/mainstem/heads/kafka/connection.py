"""A Kafka connection without its socket: frames in, exchanges through the dispatch table, answers out.

A frame is four bytes of size and as many bytes of request. What arrives is in one of two places:

    shared   no frame is partial: the server's common buffer is offered. Whole frames in it are copied out
             in one piece and served from there.
    own      a frame is partial: its rest is received straight into a buffer of its own, which grows as
             bytes arrive: fourfold up to what this peer has filled before, twofold beyond. What counts as
             held is what has come. So a lying size costs the liar's bytes and not our memory.

Requests are served as they come, without waiting for the answer to the one before; the channel sends
answers in the order of the requests. The session stops reading, and keeps what it has read already as
its backlog, while

- too many requests, or bytes of requests, of this connection have no answer yet,
- requests of all connections together hold too much memory,
- the peer does not read its answers,
- its client has used more than its quota: it is muted for the time that its answer told it,

and goes on from `finished`, `when_room`, `uncongested` and a timer respectively. A frame that is no
request closes the connection, with one line in the log.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from time import perf_counter_ns
from typing import TYPE_CHECKING, Final

from mainstem.core.identity.errors import CertificateNotMapped
from mainstem.core.identity.principal import ANONYMOUS, Principal
from mainstem.core.identity.principal_mapping import PrincipalMapping
from mainstem.heads.kafka.access import OPEN, ListenerAccess, LoginRules
from mainstem.heads.kafka.context import Api, Exchange
from mainstem.heads.kafka.login import SessionLogin
from mainstem.heads.session import Channel
from mainstem.model.batch import Buffer
from mainstem.ports.clock import TimerHandle
from mainstem.wire.errors import TruncatedMessage, WireError
from mainstem.wire.primitives import read_uvarint, skip_tagged_fields

if TYPE_CHECKING:
    from mainstem.heads.kafka.dispatch import KafkaHead

MAX_UNANSWERED: Final = 256  # requests of one connection
_SMALL_BYTES: Final = 8 << 10  # every connection may have as much of a partial frame
_BELIEVED_BYTES: Final = 128 << 10  # of a frame, before its peer has sent a larger one
_FLUSH_EVERY: Final = 32  # answers that wait for the end of a read
_SIZE_BYTES: Final = 4
_HEADER: Final = struct.Struct(">hhih")
_HEADER_BYTES: Final = _HEADER.size

_FOREIGN_GREETINGS: Final = (
    (b"\x16\x03", "this looks like TLS, and the listener speaks plain Kafka"),
    (b"GET ", "this looks like HTTP; the admin interface has its own port"),
    (b"POST", "this looks like HTTP; the admin interface has its own port"),
    (b"HEAD", "this looks like HTTP; the admin interface has its own port"),
    (b"PUT ", "this looks like HTTP; the admin interface has its own port"),
    (b"PRI ", "this looks like HTTP/2; the admin interface has its own port"),
    (b"AMQP", "this looks like AMQP, and the listener speaks Kafka"),
)


_OVERDRAWN: Final = "requests that are not whole yet hold all the memory that they may"


class KafkaSession:
    __slots__ = (
        "_apis",
        "_backlog",
        "_buffers",
        "_client_id_bytes",
        "_exchanges",
        "_filled",
        "_frame",
        "_frame_bytes",
        "_held_bytes",
        "_is_awaiting_room",
        "_is_closed",
        "_is_draining",
        "_is_first",
        "_is_paused",
        "_is_taking",
        "_largest_bytes",
        "_max_held_bytes",
        "_max_request_bytes",
        "_muted",
        "_muted_until_ms",
        "channel",
        "client_id",
        "head",
        "login",
        "principal",
        "produce_key_bytes",
    )

    def __init__(self, head: KafkaHead, channel: Channel, access: ListenerAccess = OPEN) -> None:
        self.head = head
        self.channel = channel
        self.client_id: str | None = None
        self.principal: Principal = ANONYMOUS  # whom the peer has shown itself to be
        self.produce_key_bytes = 0  # of the route of the last produce request
        self._client_id_bytes: Buffer = b""
        self._apis: Mapping[int, Api] = head.apis
        self._max_request_bytes = head.max_request_bytes
        self.login: SessionLogin | None = None
        self._max_held_bytes = head.max_held_bytes  # one request alone may be larger
        self._buffers = channel.buffers
        self._frame: bytearray | None = None  # of a partial frame, size field included
        self._filled = 0  # bytes of it that have come
        self._frame_bytes = 0  # of the whole frame; 4 while its size is not known
        self._largest_bytes = _BELIEVED_BYTES
        self._backlog: bytes | None = None  # read, and not served because of a pause
        self._exchanges: set[Exchange] = set()  # not answered yet
        self._held_bytes = 0
        self._is_first = True  # no request has been understood yet
        self._is_paused = False
        self._is_taking = False
        self._is_awaiting_room = False
        self._is_draining = False
        self._is_closed = False
        self._muted: TimerHandle | None = None
        self._muted_until_ms = 0.0
        if access.mapping is not None and channel.peer_certificate is not None:
            self._take_name_from(access.mapping, channel.peer_certificate)
        if access.login is not None:
            self._ask_for_login(access.login)

    def _take_name_from(self, mapping: PrincipalMapping, certificate: bytes) -> None:
        try:
            self.principal = mapping.principal_of(certificate)
        except CertificateNotMapped as error:
            self.give_up(str(error))

    # --- log-in

    def _ask_for_login(self, rules: LoginRules) -> None:
        self.login = SessionLogin(self, rules)
        self._apis = self.head.login_apis
        self._max_request_bytes = min(rules.max_request_bytes, self.head.max_request_bytes)
        if self.login.is_refused:
            self.give_up("too many connections have not logged in (max.unfinished.handshakes)")

    def take_raw_messages(self) -> None:
        self._apis = {}

    def let_in(self, principal: Principal) -> None:
        self.principal = principal
        self._apis = self.head.apis
        self._max_request_bytes = self.head.max_request_bytes

    def let_out(self) -> None:
        """The log-in has run out: nothing but another one is served."""
        self._apis = self.head.login_apis

    # --- called by the server

    def get_buffer(self) -> memoryview:
        frame = self._frame
        if frame is None:
            return self._buffers.shared
        return memoryview(frame)[self._filled : self._frame_bytes]

    def received(self, count: int) -> None:
        frame = self._frame
        if frame is None:
            self._take(bytes(self._buffers.shared[:count]))
            return
        self._filled += count
        self._buffers.charge_partial(count)
        if self._filled == self._frame_bytes:
            self._frame_filled(frame)
        elif self._filled == len(frame):
            self._grow(frame)

    def uncongested(self) -> None:
        self._go_on()

    def drain(self) -> None:
        self._is_draining = True
        self._is_paused = True
        self._backlog = None
        self.channel.pause()
        if self.login is not None:
            self.login.hurry()
        self._close_if_drained()

    def closed(self) -> None:
        self._is_closed = True
        self._backlog = None
        self._cancel_mute()
        if self.login is not None:
            self.login.closed()
        if self._frame is not None:
            self._return_frame(self._frame)
        for exchange in list(self._exchanges):
            exchange.cancel()

    @property
    def is_busy(self) -> bool:
        return bool(self._exchanges)

    # --- frames

    def _take(self, data: bytes) -> None:
        """Serves the whole frames at the start of `data` and keeps the rest."""
        self._is_taking = True
        try:
            self._take_frames(data)
        finally:
            self._is_taking = False

    def _take_frames(self, data: bytes) -> None:
        position = 0
        end = len(data)
        served = 0
        while end - position >= _SIZE_BYTES:
            size = int.from_bytes(data[position : position + _SIZE_BYTES], "big", signed=True)
            if not 0 < size <= self._max_request_bytes:
                self._refuse_size(size, data[position : position + _SIZE_BYTES])
                return
            start = position + _SIZE_BYTES
            stop = start + size
            if stop > end:
                self._keep_partial(data, position, _SIZE_BYTES + size)
                return
            self._serve(data, start, stop, None)
            position = stop
            served += 1
            if served % _FLUSH_EVERY == 0:
                self.channel.flush()
            if self._must_pause():
                self._pause(data[position:])
                return
        if position < end:
            self._keep_partial(data, position, _SIZE_BYTES)

    def _keep_partial(self, data: bytes, position: int, frame_bytes: int) -> None:
        count = len(data) - position
        if count > _SMALL_BYTES and self._buffers.is_overdrawn:
            self._close(_OVERDRAWN)
            return
        frame = self._buffers.take(self._room(count, frame_bytes))
        frame[:count] = data[position:]
        self._buffers.charge_partial(count)
        self._frame = frame
        self._filled = count
        self._frame_bytes = frame_bytes

    def _frame_filled(self, frame: bytearray) -> None:
        size = int.from_bytes(frame[:_SIZE_BYTES], "big", signed=True)
        if self._frame_bytes == _SIZE_BYTES:
            start = bytes(frame[:_SIZE_BYTES])
            self._return_frame(frame)
            if not 0 < size <= self._max_request_bytes:
                self._refuse_size(size, start)
                return
            self._keep_partial(start, 0, _SIZE_BYTES + size)
            return
        self._frame = None
        self._buffers.charge_partial(-self._filled)
        self._largest_bytes = max(self._largest_bytes, self._frame_bytes)
        self._is_taking = True
        try:
            self._serve(frame, _SIZE_BYTES, _SIZE_BYTES + size, frame)
        finally:
            self._is_taking = False
        if self._must_pause():
            self._pause(None)

    def _grow(self, frame: bytearray) -> None:
        if self._buffers.is_overdrawn:
            self._close(_OVERDRAWN)
            return
        larger = self._buffers.take(self._room(self._filled, self._frame_bytes))
        larger[: self._filled] = memoryview(frame)[: self._filled]
        self._buffers.give(frame)
        self._frame = larger

    def _room(self, filled: int, frame_bytes: int) -> int:
        """How large a buffer a frame gets of which so much is there."""
        believed = min(4 * filled, max(self._largest_bytes, 2 * filled))
        return min(frame_bytes, max(_SMALL_BYTES, believed))

    def _return_frame(self, frame: bytearray) -> None:
        self._frame = None
        self._buffers.charge_partial(-self._filled)
        self._buffers.give(frame)

    def _refuse_size(self, size: int, start: bytes) -> None:
        if self._is_first:
            for greeting, meaning in _FOREIGN_GREETINGS:
                if start.startswith(greeting):
                    self._close(meaning)
                    return
        limit = f"socket.request.max.bytes is {self.head.max_request_bytes}"
        if self._max_request_bytes < self.head.max_request_bytes:
            limit = f"before a log-in sasl.server.max.receive.size is {self._max_request_bytes}"
        self._close(f"a request of {size} bytes; {limit}")

    # --- requests

    def _serve(self, data: Buffer, start: int, stop: int, loan: bytearray | None) -> None:
        """Starts one request. `loan` is the buffer that it has for itself, if it has."""
        if self._is_closed:
            return
        try:
            exchange, body = self._begin(data, start, stop)
        except (WireError, IndexError) as error:
            self._close(f"not a Kafka request: {error}")
            if loan is not None:
                self._buffers.give(loan)
            return
        exchange.buffer = loan
        exchange.held_bytes = stop - start
        self._buffers.charge(stop - start)
        self._held_bytes += stop - start
        self._exchanges.add(exchange)
        self.channel.reserve(exchange)
        try:
            exchange.serve(data, body, stop)
        except (WireError, struct.error, IndexError, UnicodeDecodeError) as error:
            self._close(f"cannot read its request, API {exchange.api.key} v{exchange.version}: {error}")
            exchange.answer(())
        except Exception:
            exchange.fail()

    def _begin(self, data: Buffer, start: int, stop: int) -> tuple[Exchange, int]:
        """The exchange for the frame, and where its body starts."""
        if stop - start < _HEADER_BYTES:
            return self._begin_unlike(start, stop, None)
        key, version, correlation_id, id_bytes = _HEADER.unpack_from(data, start)
        api = self._apis.get(key)
        if api is None:
            return self._begin_unlike(start, stop, key)
        body = start + _HEADER_BYTES
        if id_bytes > 0:
            client_id = data[body : body + id_bytes]
            body += id_bytes
            if client_id != self._client_id_bytes:
                self._client_id_bytes = bytes(client_id)
                self.client_id = str(client_id, "utf-8", "replace")
        if version >= api.flexible_from:
            if data[body] == 0:
                body += 1
            else:
                count, body = read_uvarint(data, body)
                body = skip_tagged_fields(data, body, stop, count)
        if body > stop:
            raise TruncatedMessage("the request header is longer than the request")
        if not api.min_version <= version <= api.max_version:
            api = self._other_version(api, version)
        self._is_first = False
        return api.new_exchange(self, api, version, correlation_id, perf_counter_ns()), body

    def _begin_unlike(self, start: int, stop: int, key: int | None) -> tuple[Exchange, int]:
        """A frame that is no request as they are served now: a raw message of a log-in, or a mistake."""
        login = self.login
        if login is not None and login.takes_raw_messages:
            api = self.head.raw_message
            return api.new_exchange(self, api, 0, 0, perf_counter_ns()), start
        if key is None:
            raise TruncatedMessage(f"a request of {stop - start} bytes")
        if login is not None and key in self.head.apis:
            raise WireError(login.refusal_of(key))
        raise WireError(f"there is no API {key}")

    def _other_version(self, api: Api, version: int) -> Api:
        """As in Kafka, only ApiVersions answers to a version that is not served."""
        if api.key != self.head.version_refusal.key:
            raise WireError(f"API {api.key} has no version {version} here")
        return self.head.version_refusal

    def finished(self, exchange: Exchange) -> None:
        """The exchange got its parts: it leaves in its turn, and what it held is free."""
        self._exchanges.discard(exchange)
        self._held_bytes -= exchange.held_bytes
        self._buffers.charge(-exchange.held_bytes)
        if exchange.buffer is not None:
            self._buffers.give(exchange.buffer)
        exchange.api.meter.record(perf_counter_ns() - exchange.started_ns)
        if self._is_closed:
            return
        self.channel.answered()
        if self._is_paused and not self._is_taking:
            self._go_on()
        if self._is_draining:
            self._close_if_drained()

    # --- pauses

    def _must_pause(self) -> bool:
        return (
            len(self._exchanges) >= MAX_UNANSWERED
            or self._held_bytes >= self._max_held_bytes
            or self.channel.is_congested
            or self._buffers.is_exhausted
            or self._muted is not None
            or self._is_draining
            or self._is_closed
        )

    def _pause(self, backlog: bytes | None) -> None:
        if self._is_closed or self._is_draining:
            return
        self._backlog = backlog or None
        if not self._is_paused:
            self._is_paused = True
            self.channel.pause()
        self._await_room()

    def _await_room(self) -> None:
        if self._buffers.is_exhausted and not self._is_awaiting_room:
            self._is_awaiting_room = True
            self._buffers.when_room(self._on_room)

    def _on_room(self) -> None:
        self._is_awaiting_room = False
        self._go_on()

    def _go_on(self) -> None:
        """Serves the backlog, then reads again, as far as the reasons for the pause are gone."""
        if not self._is_paused or self._is_taking or self._is_closed:
            return
        if self._must_pause():
            self._await_room()
            return
        self._is_paused = False
        backlog, self._backlog = self._backlog, None
        if backlog is not None:
            self._take(backlog)
        if not (self._is_paused or self._is_closed):
            self.channel.resume()

    # --- quotas

    def mute(self, throttle_ms: int) -> None:
        """Reads nothing more for so long; answers leave all the same."""
        clock = self.head.broker.clock
        until_ms = clock.monotonic_ms() + throttle_ms
        if self._is_closed or (self._muted is not None and until_ms <= self._muted_until_ms):
            return
        self._cancel_mute()
        self._muted_until_ms = until_ms
        self._muted = clock.call_later(throttle_ms, self._unmute)
        if not (self._is_taking or self._is_paused):
            self._is_paused = True
            self.channel.pause()

    def _unmute(self) -> None:
        self._muted = None
        self._go_on()

    def _cancel_mute(self) -> None:
        if self._muted is not None:
            self._muted.cancel()
            self._muted = None

    # --- the end

    def _close_if_drained(self) -> None:
        if all(exchange.is_long_poll for exchange in self._exchanges):
            self.channel.close()

    def give_up(self, reason: str) -> None:
        """Closes because a request cannot be answered; answers that are ready still leave."""
        self._is_closed = True
        self.channel.close(reason)

    def _close(self, reason: str) -> None:
        self.head.meters.bad_frames += 1
        self.give_up(reason)
