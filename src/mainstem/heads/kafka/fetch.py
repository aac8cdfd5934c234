"""Fetch: what is asked for and what the session remembers, read when enough is there.

    planned    the request and its session say what to read
    waiting    the broker reads, again whenever enough was committed, until the time is over; no polling
    settled    the session says what of the results is news; the frame is packed around the slices

When the connection goes while a fetch waits, the wait is given up and nothing stays registered.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from time import perf_counter_ns
from typing import Final

from mainstem.core.errors import TopicAuthorizationFailed
from mainstem.core.fetch_request import FetchDone, FetchEntry, FetchRequest
from mainstem.core.identity.acl import Operation, ResourceType
from mainstem.core.identity.authorizer import Authorizer
from mainstem.core.partition import FetchResult
from mainstem.heads.kafka.codes import ErrorCode
from mainstem.heads.kafka.context import Exchange
from mainstem.heads.kafka.errors import error_code
from mainstem.heads.kafka.fetch_envelope import (
    FIRST_WITH_HINTS,
    FIRST_WITH_TOPIC_IDS,
    read_request,
    topic_naming,
)
from mainstem.heads.kafka.fetch_response import Refusal, pack_empty, pack_response
from mainstem.heads.kafka.fetch_session import FetchPlan, SessionRefused, Told
from mainstem.heads.kafka.leader_hints import HINTED, hinted_addresses, leader_hint
from mainstem.model.batch import Buffer

REMARKS: Final = ""
KEY: Final = 1
MIN_VERSION: Final = 4
MAX_VERSION: Final = 18

_LOG = logging.getLogger(__name__)
_DENIED: Final = FetchResult(TopicAuthorizationFailed("Topic authorization failed."), -1, -1, -1, None)


class FetchExchange(Exchange):
    __slots__ = ("_isolation", "_plan", "_spent_ns", "_waiting")

    _plan: FetchPlan
    _isolation: int

    @property
    def is_long_poll(self) -> bool:
        return True

    def serve(self, data: Buffer, position: int, end: int) -> None:
        self._waiting: FetchRequest | None = None
        self._spent_ns = 0  # until the first reading was over; what waits costs nothing
        head = self.session.head
        topics_by_id = head.broker.image.topics_by_id
        envelope = read_request(data, position, end, self.version, head.topic_names, topics_by_id)
        try:
            plan = head.fetch_sessions.plan(envelope, topic_naming(self.version), topics_by_id)
        except SessionRefused as refused:
            self._refuse(refused)
            return
        self._plan = plan
        self._isolation = envelope.isolation
        max_bytes = min(envelope.max_bytes, head.max_fetch_bytes)
        if head.quotas.is_active:
            most = head.quotas.most_fetched(self.session.principal, self.session.client_id)
            max_bytes = max_bytes if most is None else min(max_bytes, most)
        entries: Sequence[FetchEntry] = plan.entries
        done: FetchDone = self._on_read
        if head.authorizer is not None:
            entries, done = self._readable(head.authorizer, entries)
            if not entries and plan.entries:
                done(())
                return
        self._waiting = head.broker.fetch(
            entries,
            min_bytes=min(envelope.min_bytes, max_bytes),
            max_bytes=max_bytes,
            max_wait_ms=envelope.max_wait_ms,
            isolation=envelope.isolation,
            done=done,
        )
        if head.quotas.limits_requests:
            self._spent_ns = perf_counter_ns() - self.started_ns

    def cancel(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self.answer(())

    # ---

    def _readable(
        self, authorizer: Authorizer, entries: Sequence[FetchEntry]
    ) -> tuple[Sequence[FetchEntry], FetchDone]:
        """What of the entries may be read, and who is told of it: of the others it is told that they may not.

        A topic id that nobody has comes without a name: that is no secret.
        """
        principal, host = self.session.principal, self.session.channel.peer_host
        denied = {
            place
            for place, entry in enumerate(entries)
            if entry.topic
            and not authorizer.allows(principal, host, Operation.READ, ResourceType.TOPIC, entry.topic)
        }
        if not denied:
            return entries, self._on_read

        def read(results: Sequence[FetchResult]) -> None:
            rest = iter(results)
            self._on_read([_DENIED if place in denied else next(rest) for place in range(len(entries))])

        return [entry for place, entry in enumerate(entries) if place not in denied], read

    def _on_read(self, results: Sequence[FetchResult]) -> None:
        try:
            if self.session.head.quotas.is_active and self._is_over_quota(results):
                self._answer_throttled()
                return
            session_id, told = self._plan.settle(results)
            self._answer_with(session_id, told)
        except SessionRefused as refused:
            self._refuse(refused)
        except Exception:
            self.fail()

    def _answer_with(self, session_id: int, told: Sequence[Told]) -> None:
        head = self.session.head
        refusals: dict[int, Refusal] = {}
        size = 0
        for place, (_, entry, result) in enumerate(told):
            if result[4] is not None:
                size += result[4].length
            elif result[0] is not None:
                refusals[place] = self._refusal(entry, result[0])
        head.meters.fetched_bytes += size
        nodes = []
        if refusals:
            hints = [refusal.leader for refusal in refusals.values() if refusal.leader is not None]
            nodes = hinted_addresses(head.broker.image, hints, self.session.channel.listener)
        version, isolation = self.version, self._isolation
        self.answer(pack_response(version, self.correlation_id, session_id, told, isolation, refusals, nodes))

    def _is_over_quota(self, results: Sequence[FetchResult]) -> bool:
        session = self.session
        quotas, principal, client_id = session.head.quotas, session.principal, session.client_id
        size = sum(result[4].length for result in results if result[4] is not None)
        self.throttle(quotas.charge_fetch(principal, client_id, size))
        if quotas.limits_requests:
            self.charge_time(self._spent_ns or perf_counter_ns() - self.started_ns)
        if not self.throttle_ms:
            return False
        quotas.take_back_fetch(principal, client_id, size)
        return True

    def _answer_throttled(self) -> None:
        """No records: the client is to ask for the same again, later."""
        session_id = self._plan.throttled()
        self.answer(
            (pack_empty(self.version, self.correlation_id, session_id, throttle_ms=self.throttle_ms),)
        )

    def _refusal(self, entry: FetchEntry, error: Exception) -> Refusal:
        code = error_code(error)
        if not entry.topic and self.version >= FIRST_WITH_TOPIC_IDS:
            code = ErrorCode.UNKNOWN_TOPIC_ID
        hint = None
        if code in HINTED and self.version >= FIRST_WITH_HINTS:
            hint = leader_hint(self.session.head.broker.image, entry.topic, entry.partition)
        if code == ErrorCode.UNKNOWN_SERVER_ERROR:
            _LOG.error("cannot read %s-%d", entry.topic, entry.partition, exc_info=error)
        return Refusal(code, hint)

    def _refuse(self, refused: SessionRefused) -> None:
        self.answer((pack_empty(self.version, self.correlation_id, error_code=refused.code),))
