"""An exchange of a cold API: decode, ask its handler, encode.

running   the handler's first step, inside `serve`
waiting   a task has the rest of it
answered  with its response, in its error form, or with nothing because the connection closes
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from time import perf_counter_ns
from typing import Any, Final

from mainstem.heads.kafka.codes import ErrorCode
from mainstem.heads.kafka.context import Exchange, RequestContext
from mainstem.heads.kafka.errors import error_code, error_message
from mainstem.heads.kafka.handler import Handler
from mainstem.heads.kafka.stepped import SteppedCoroutine
from mainstem.model.batch import Buffer
from mainstem.model.errors import MainstemError, PeerError
from mainstem.wire.errors import InvalidMessage, WireError
from mainstem.wire.kafka.apis import APIS, request_class, response_class
from mainstem.wire.kafka.codec import decode
from mainstem.wire.kafka.frames import encode_response
from mainstem.wire.kafka.message import Message, version_range

MAX_BYTES: Final = 8 << 20  # of a request
MOST_ELEMENTS: Final = 128 * 1024  # of all its arrays: one of a byte costs a thousand, answer included

_LOG = logging.getLogger(__name__)


class ColdExchange(Exchange):
    __slots__ = ("_request", "_rest", "_spent_ns", "_task")

    _request: Message

    @property
    def is_long_poll(self) -> bool:
        return self._handler.is_long_poll

    @property
    def _handler(self) -> Handler:
        handler = self.api.handler
        assert handler is not None, "the dispatch table gives every cold API its handler"
        return handler

    def serve(self, data: Buffer, position: int, end: int) -> None:
        if end - position > MAX_BYTES:
            raise InvalidMessage(f"{end - position} bytes; only Produce takes more than {MAX_BYTES}")
        body = bytes(data[position:end])
        message = request_class(self.api.key)
        request, _ = decode(message, self.version, body, most_elements=MOST_ELEMENTS)
        self.ask(request)

    def ask(self, request: Message) -> None:
        """Has the handler answer, now or later."""
        self._request = request
        self._task: asyncio.Task[Message] | None = None
        self._rest: SteppedCoroutine[Message] | None = None
        self._spent_ns = 0  # in the first step
        session = self.session
        context = RequestContext(
            session.head.broker,
            self.version,
            session.client_id,
            session.channel.peer_host,
            session.channel.listener,
            self.correlation_id,
            session.principal,
            session.head.begun_changes,
            session.login,
        )
        check = self.api.check
        if check is None or session.head.authorizer is None:
            self._run(self._handler.handle(context, self._request))
        else:
            self._run(check(context, self._request, self._handler))

    def cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()

    # ---

    def _run(self, coroutine: Coroutine[Any, Any, Message]) -> None:
        try:
            awaited = coroutine.send(None)
        except StopIteration as stop:
            self._respond(stop.value)
        except Exception as error:
            self._fail(error)
        else:
            self._spent_ns = perf_counter_ns() - self.started_ns
            self._rest = SteppedCoroutine(coroutine, awaited)
            self._task = asyncio.get_running_loop().create_task(self._rest)
            self._task.add_done_callback(self._on_task_done)

    def _on_task_done(self, task: asyncio.Task[Message]) -> None:
        self._task = None
        if task.cancelled():
            self.answer(())
            return
        error = task.exception()
        if error is None:
            self._respond(task.result())
        else:
            self._fail(error)

    def _respond(self, response: Message) -> None:
        if self.session.head.quotas.is_active:
            self._charge(response)
        try:
            data = encode_response(self.api.key, self.version, self.correlation_id, response)
        except Exception as error:
            fault = RuntimeError("the handler's response cannot be encoded")  # ours, not the client's
            fault.__cause__ = error
            self._fail(fault)
        else:
            self.answer((data,))

    def _charge(self, response: Message) -> None:
        """A handler that found its client over a quota left the time to wait in its response."""
        self.throttle(getattr(response, "throttle_time_ms", 0))
        if self.session.head.quotas.limits_requests:
            spent_ns = self._spent_ns or perf_counter_ns() - self.started_ns
            if self._rest is not None:
                spent_ns += self._rest.spent_ns
            self.charge_time(spent_ns)
        if self.throttle_ms and hasattr(response, "throttle_time_ms"):
            response.throttle_time_ms = self.throttle_ms

    def _fail(self, error: BaseException) -> None:
        """Answers in the API's own form of an error, or else by closing the connection."""
        self._log(error)
        self.api.meter.errors += 1
        try:
            response = self._refusal(error_code(error), error_message(error))
            if response is not None:
                if self.session.head.quotas.is_active:
                    self._charge(response)
                data = encode_response(self.api.key, self.version, self.correlation_id, response)
                self.answer((data,))
                return
        except WireError:
            pass  # what this version has in place of an error cannot say this one
        except Exception:
            _LOG.exception("%s: cannot answer with an error", self._name)
        self.session.give_up(f"{self._name} failed, and its response has no place for an error")
        self.answer(())

    def _refusal(self, code: ErrorCode, message: str) -> Message | None:
        refuse = self._handler.refuse
        if refuse is not None:
            return refuse(self._request, code, message)
        return top_level_refusal(self.api.key, self.version, code, message)

    @property
    def _name(self) -> str:
        return f"{APIS[self.api.key].name} v{self.version} of {self.session.channel.peer_host}"

    def _log(self, error: BaseException) -> None:
        if isinstance(error, PeerError):
            _LOG.debug("%s: %s", self._name, error)
        elif isinstance(error, MainstemError):
            _LOG.warning("%s: %s", self._name, error)
        else:
            self.session.head.meters.unexpected_errors += 1
            _LOG.error("%s failed", self._name, exc_info=error)


def top_level_refusal(key: int, version: int, code: ErrorCode, message: str) -> Message | None:
    """The response with the error at its top; None where this version has no place for it there."""
    response_type = response_class(key)
    values: dict[str, Any] = {}
    for field in response_type.SCHEMA.fields:
        low, high = version_range(field.versions)
        if low <= version <= high:
            if field.name == "error_code":
                values["error_code"] = int(code)
            elif field.name == "error_message":
                values["error_message"] = message
    return response_type(**values) if "error_code" in values else None
