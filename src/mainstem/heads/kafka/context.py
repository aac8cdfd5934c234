"""A request on its way through the head.

An `Exchange` is a request from its frame to its answer, and at the same time the place of its answer in
the connection's order. Hot APIs subclass it. For all others the dispatcher makes a `RequestContext` and
awaits the handler.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from mainstem.core.identity.acl import CLUSTER_NAME, Operation, ResourceType
from mainstem.core.identity.principal import Principal
from mainstem.core.quotas.mutations import MeteredChanges
from mainstem.heads.kafka.deadlines import BegunChanges
from mainstem.heads.kafka.meters import ApiMeter
from mainstem.heads.session import Part
from mainstem.model.batch import Buffer

if TYPE_CHECKING:
    from mainstem.core.broker import Broker
    from mainstem.heads.kafka.authorization.check import Run
    from mainstem.heads.kafka.connection import KafkaSession
    from mainstem.heads.kafka.handler import Handler
    from mainstem.heads.kafka.login import SessionLogin

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RequestContext:
    """What a handler may know besides the request itself."""

    broker: Broker
    version: int
    client_id: str | None
    client_host: str
    listener: str
    correlation_id: int
    principal: Principal
    begun_changes: BegunChanges  # of all clients of the head
    login: SessionLogin | None = None  # where the listener asks for one

    def changes(self, *, first_strict: int) -> MeteredChanges:
        """For changes of topics. From version `first_strict` on the client understands that its quota is used
        up; one that does not is let have its way, and waits afterwards."""
        broker = self.broker
        allowance = broker.quotas.mutations(
            self.principal, self.client_id, is_strict=self.version >= first_strict
        )
        return MeteredChanges(broker.admin, broker.image, allowance)

    def may(
        self, operation: Operation, resource_type: ResourceType, name: str, *, is_quiet: bool = False
    ) -> bool:
        """Whether whoever asks may do this. Quiet: to find out what to show, which is no attempt."""
        authorizer = self.broker.authorizer
        return authorizer is None or authorizer.allows(
            self.principal, self.client_host, operation, resource_type, name, is_quiet=is_quiet
        )

    def may_on_cluster(self, operation: Operation, *, is_quiet: bool = False) -> bool:
        return self.may(operation, ResourceType.CLUSTER, CLUSTER_NAME, is_quiet=is_quiet)


class Api(NamedTuple):
    """A line of the dispatch table."""

    key: int
    min_version: int
    max_version: int
    flexible_from: int  # first version with tagged fields in the request header
    new_exchange: Callable[..., Exchange]
    meter: ApiMeter
    handler: Handler | None = None  # of a cold API
    check: Run | None = None  # in front of the handler, where access rules are kept to


class Exchange:
    """One request and its answer."""

    __slots__ = (
        "api",
        "buffer",
        "correlation_id",
        "held_bytes",
        "parts",
        "session",
        "started_ns",
        "throttle_ms",
        "version",
    )

    def __init__(
        self, session: KafkaSession, api: Api, version: int, correlation_id: int, started_ns: int
    ) -> None:
        self.session = session
        self.api = api
        self.version = version
        self.correlation_id = correlation_id
        self.started_ns = started_ns
        self.parts: Sequence[Part] | None = None
        self.throttle_ms = 0  # how long the client is told to wait: its connection is muted meanwhile
        self.held_bytes = 0  # what this request counts in the memory of all requests
        self.buffer: bytearray | None = None  # on loan; goes back when the request is answered

    @property
    def is_long_poll(self) -> bool:
        """Whether it waits for something that may not come: a server that stops need not wait for it."""
        return False

    def serve(self, data: Buffer, position: int, end: int) -> None:
        """Decodes the body, `data[position:end]`, and answers now or later.

        `data` stays untouched until the answer.
        """
        raise NotImplementedError

    def throttle(self, throttle_ms: int) -> None:
        """The client is over a quota. Reading stops now; the answer is to tell why."""
        if throttle_ms > self.throttle_ms:
            self.throttle_ms = throttle_ms
            self.session.mute(throttle_ms)

    def charge_time(self, spent_ns: int) -> None:
        """Where time has a quota: counts what the loop spent on this request."""
        session = self.session
        self.throttle(session.head.quotas.charge_time(session.principal, session.client_id, spent_ns))

    def answer(self, parts: Sequence[Part]) -> None:
        """The whole response, size included. Called exactly once."""
        self.parts = parts
        self.session.finished(self)

    def fail(self) -> None:
        """Called where an exception that nobody meant is handled: logs it and closes the connection."""
        _LOG.exception("API %d v%d failed", self.api.key, self.version)
        self.session.head.meters.unexpected_errors += 1
        if self.parts is None:
            self.session.give_up("a request failed before it could be answered")
            self.answer(())

    def cancel(self) -> None:
        """The connection is gone. What cannot be cancelled answers later, to nobody."""
