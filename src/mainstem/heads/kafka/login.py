"""The log-in of a connection: which requests it may send, as whom, and for how long.

    greeting   ApiVersions and SaslHandshake are served, SaslAuthenticate is not yet
    proving    the mechanism is chosen, its messages are exchanged
    in         the session speaks for a user, every API is served
    out        the log-in failed: one late answer, and the connection closes

    greeting --handshake--> proving --proof--> in --handshake--> proving again --proof--> in
    proving --no proof--> out;   greeting or proving for too long --> closed

A client logs in again on a connection that it uses: while it proves itself again, it stays in. A log-in
that has run out leaves the session its name, and only the APIs of log-in: any other request closes it.

After SaslHandshake 0 the messages of the mechanism come as frames of their own, without a request around
them; after version 1 they are SaslAuthenticate requests.
"""

from __future__ import annotations

import asyncio
import enum
import logging
from typing import TYPE_CHECKING, Final

from mainstem.core.identity.authenticator import Authenticator
from mainstem.core.identity.conversation import Conversation, Step
from mainstem.core.identity.errors import LoginFailed
from mainstem.core.identity.principal import ANONYMOUS
from mainstem.heads.kafka.access import LoginRules
from mainstem.heads.kafka.codes import ErrorCode
from mainstem.ports.clock import Clock, TimerHandle
from mainstem.wire.kafka.messages.sasl_authenticate import SaslAuthenticateResponse
from mainstem.wire.kafka.messages.sasl_handshake import SaslHandshakeResponse

if TYPE_CHECKING:
    from mainstem.heads.kafka.connection import KafkaSession

_LOG = logging.getLogger(__name__)
_SHOWN_NAME_CHARACTERS: Final = 100


class LoginState(enum.Enum):
    GREETING = "greeting"
    PROVING = "proving"
    IN = "in"
    OUT = "out"


class SessionLogin:
    def __init__(self, session: KafkaSession, rules: LoginRules) -> None:
        self.state = LoginState.GREETING
        self.takes_raw_messages = False  # after SaslHandshake 0
        self.has_expired = False
        self._session = session
        self._rules = rules
        self._mechanism = ""
        self._conversation: Conversation | None = None
        self._is_answering = False
        self._waiting: asyncio.Future[None] | None = None  # what the answer to a failed log-in waits for
        self._may_repeat = False  # whether a log-in on this connection runs out
        self._timer: TimerHandle | None = self._clock.call_later(rules.timeout_ms, self._on_too_slow)
        self._ip = session.channel.peer_host
        self._is_counted = session.head.newcomers.enter(self._ip, rules.most_unfinished)
        self.is_refused = not self._is_counted  # too many others have not logged in either

    @property
    def _clock(self) -> Clock:
        return self._session.head.broker.clock

    @property
    def _authenticator(self) -> Authenticator:
        return self._rules.authenticator

    def closed(self) -> None:
        self._cancel_timer()
        self._count_out()

    def refusal_of(self, api_key: int) -> str:
        """Why an API is not served to this session now."""
        if self.has_expired:
            self._authenticator.meters.expired += 1
            return f"its log-in has run out, and API {api_key} came instead of another one"
        return f"API {api_key} came before a log-in: the listener asks for one (SASL)"

    # --- SaslHandshake

    def choose(self, mechanism: str, version: int) -> SaslHandshakeResponse:
        offered = list(self._rules.mechanisms)
        if self.state is LoginState.IN:
            if not self._may_repeat or mechanism != self._mechanism:
                return SaslHandshakeResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE, mechanisms=offered)
        elif self.state is not LoginState.GREETING:
            self._session.drain()
            return SaslHandshakeResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE, mechanisms=offered)
        if mechanism not in offered:
            self._leave()
            return SaslHandshakeResponse(error_code=ErrorCode.UNSUPPORTED_SASL_MECHANISM, mechanisms=offered)
        self._mechanism = mechanism
        self._conversation = self._authenticator.begin(mechanism, self._rules.tokens)
        self.state = LoginState.PROVING
        if version == 0:
            self.takes_raw_messages = True
            self._session.take_raw_messages()
        return SaslHandshakeResponse(mechanisms=offered)

    # --- SaslAuthenticate, or a raw message

    async def answer(self, message: bytes) -> SaslAuthenticateResponse:
        conversation = self._conversation
        if self.state is not LoginState.PROVING or conversation is None or self._is_answering:
            if self.state is not LoginState.IN:
                self._leave()
            return _refusal(ErrorCode.ILLEGAL_SASL_STATE, "this is not the moment for SaslAuthenticate")
        self._is_answering = True
        try:
            step = await conversation.respond(message)
            if step.principal is None:
                return SaslAuthenticateResponse(error_message=None, auth_bytes=step.answer)
            return self._admit(step)
        except LoginFailed as error:
            await self._send_away(conversation, error)
            return _refusal(ErrorCode.SASL_AUTHENTICATION_FAILED, f"Authentication failed: {error}")
        finally:
            self._is_answering = False

    def _admit(self, step: Step) -> SaslAuthenticateResponse:
        session = self._session
        assert step.principal is not None
        if session.principal not in (ANONYMOUS, step.principal):
            raise LoginFailed("a connection stays with the user that it began with")
        lifetime_ms = self._lifetime_ms(step)
        self._cancel_timer()
        self._count_out()
        if lifetime_ms is not None:
            self._timer = self._clock.call_later(lifetime_ms, self._on_expired)
        self._may_repeat = lifetime_ms is not None
        self._conversation = None
        self.takes_raw_messages = self.has_expired = False
        self.state = LoginState.IN
        self._authenticator.failures.succeed(self._ip, step.principal.name)
        _count(self._authenticator.meters.succeeded, self._mechanism)
        session.let_in(step.principal)
        return SaslAuthenticateResponse(
            error_message=None, auth_bytes=step.answer, session_lifetime_ms=lifetime_ms or 0
        )

    def _lifetime_ms(self, step: Step) -> int | None:
        limits = [self._rules.max_reauth_ms] if self._rules.max_reauth_ms else []
        if step.expires_at_ms is not None:
            limits.append(step.expires_at_ms - self._clock.now_ms())
        return max(1, min(limits)) if limits else None

    # --- the ends

    async def _send_away(self, conversation: Conversation, error: LoginFailed) -> None:
        """Reads no more, lets the answer wait, and has the connection close behind it."""
        self._leave()
        authenticator, ip = self._authenticator, self._ip
        _count(authenticator.meters.failed, self._mechanism)
        delay_ms = authenticator.failures.fail(ip, conversation.user, self._clock.monotonic_ms())
        failures = authenticator.failures.failures_of(ip)
        if failures & (failures - 1) == 0:  # a crowd that guesses must not fill the log
            user = conversation.user
            _LOG.warning(
                "the log-in of %s from %s by %s failed: %s (%d in a row from there)",
                "nobody" if user is None else ascii(user[:_SHOWN_NAME_CHARACTERS]),
                ip,
                self._mechanism,
                error,
                failures,
            )
        if delay_ms:
            await self._pause(delay_ms)

    async def _pause(self, delay_ms: float) -> None:
        passed = self._waiting = asyncio.get_running_loop().create_future()
        timer = self._clock.call_later(delay_ms, self.hurry)
        try:
            await passed
        finally:
            timer.cancel()

    def hurry(self) -> None:
        """Lets an answer go that waits: its time has come, or the broker stops."""
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    def _leave(self) -> None:
        self.state = LoginState.OUT
        self._conversation = None
        self._cancel_timer()
        self._session.drain()

    def _on_too_slow(self) -> None:
        self._timer = None
        self._authenticator.meters.too_slow += 1
        self._session.give_up(f"it did not log in within {self._rules.timeout_ms} ms")

    def _on_expired(self) -> None:
        self._timer = None
        self.has_expired = True
        self._session.let_out()

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _count_out(self) -> None:
        if self._is_counted:
            self._is_counted = False
            self._session.head.newcomers.leave(self._ip)


def _refusal(code: ErrorCode, message: str) -> SaslAuthenticateResponse:
    return SaslAuthenticateResponse(error_code=code, error_message=message)


def _count(meters: dict[str, int], mechanism: str) -> None:
    meters[mechanism] = meters.get(mechanism, 0) + 1
