"""Produce: batches to their partitions, offsets back.

An exchange reads the envelope, hands the batches to the broker as they lie in the receive buffer, and is
called back at the end of the turn, or when the disk has them. So until then the buffer must stay, and where
any partition was refused it is not used again at all: a write that was given up may still be under way.

    acks = 0     no answer; an error closes the connection, which is how its client learns of it
    acks = 1     answered when the leader has it (with `acks.after = disk`: on its disk)
    acks = -1    answered when all in-sync replicas have it
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from time import perf_counter_ns
from typing import Final

from mainstem.core.broker import ProduceEntry
from mainstem.core.errors import TopicAuthorizationFailed
from mainstem.core.identity.acl import Operation, ResourceType
from mainstem.core.identity.authorizer import Authorizer
from mainstem.core.partition import ProduceResult
from mainstem.core.produce_request import ProduceDone
from mainstem.core.transactions.produce import ProduceTransaction
from mainstem.heads.kafka.codes import ErrorCode
from mainstem.heads.kafka.context import Exchange
from mainstem.heads.kafka.endpoints import NodeAddress
from mainstem.heads.kafka.errors import error_code, error_message
from mainstem.heads.kafka.leader_hints import hinted_addresses, leader_hint
from mainstem.heads.kafka.produce_envelope import (
    FIRST_FLEXIBLE,
    FIRST_SERVED,
    FIRST_WITH_HINTS,
    FIRST_WITH_TOPIC_IDS,
    ProduceEnvelope,
    Refusal,
    pack_response,
    read_classic,
    read_flexible,
)
from mainstem.heads.kafka.produce_routes import FIRST_ROUTED, ProduceRoute
from mainstem.model.batch import Buffer
from mainstem.model.ids import TopicPartition

REMARKS: Final = (
    "Versions 0 to 2 are advertised and refused, as by Kafka: old clients would compress nothing otherwise."
)
KEY: Final = 0
MIN_VERSION: Final = 0  # advertised, or librdkafka compresses nothing; refused below version 3
MAX_VERSION: Final = 13

FIRST_THAT_KNOWS_ABORTABLE: Final = 11
FIRST_THAT_ADDS_PARTITIONS: Final = 12  # to the transaction, by writing to them

_LOG = logging.getLogger(__name__)
_DENIED: Final = ProduceResult(-1, -1, -1, TopicAuthorizationFailed("Topic authorization failed."))
_ACKS_NONE: Final = 0
_ACKS_LEADER: Final = 1
_ACKS_ALL: Final = -1


class ProduceExchange(Exchange):
    __slots__ = ("_envelope", "_route")

    _envelope: ProduceEnvelope
    _route: ProduceRoute

    def serve(self, data: Buffer, position: int, end: int) -> None:
        session = self.session
        head = session.head
        head.meters.produced_bytes += end - position
        if head.quotas.is_active:
            self._charge()
        matched = head.produce_routes.match(data, position, end, self.version, session.produce_key_bytes)
        if matched is None:
            self._serve_unrouted(data, position, end)
            return
        route, batches = matched
        if self.version >= FIRST_WITH_TOPIC_IDS and route.topic_id not in head.broker.image.topics_by_id:
            self._serve_unrouted(data, position, end)  # the topic was deleted since
            return
        self._route = route
        topic, partition, _ = route.entry
        if head.authorizer is not None and not self._may_write(head.authorizer, topic):
            self._serve_unrouted(data, position, end)
            return
        head.broker.produce(
            (ProduceEntry(topic, partition, batches),),
            acks=route.acks,
            timeout_ms=route.timeout_ms,
            done=self._on_routed_written,
        )
        if head.quotas.limits_requests and route.acks != _ACKS_NONE:
            self.charge_time(perf_counter_ns() - self.started_ns)

    def _serve_unrouted(self, data: Buffer, position: int, end: int) -> None:
        session = self.session
        envelope = self._envelope = self._read(data, position, end)
        acks = envelope.acks
        if acks not in (_ACKS_LEADER, _ACKS_ALL, _ACKS_NONE):
            self._refuse_all(ErrorCode.INVALID_REQUIRED_ACKS, f"acks is -1, 0 or 1, not {acks}")
        elif self.version < FIRST_SERVED:
            self._refuse_all(ErrorCode.UNSUPPORTED_VERSION, "record formats before Kafka 0.11 are not served")
        elif (
            envelope.transactional_id is not None
            and session.head.authorizer is not None
            and not self._may_use(session.head.authorizer, envelope.transactional_id)
        ):
            code = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
            self._refuse_all(code, "Transactional Id authorization failed.")
        elif envelope.transactional_id is not None:
            self._serve_transactional(envelope.transactional_id)
        else:
            if len(envelope.entries) == 1 and self.version >= FIRST_ROUTED:
                self._learn_route(data, position, end)
            self._produce(None)

    def _serve_transactional(self, transactional_id: str) -> None:
        if not self.session.head.broker.serves_transactions:
            code = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
            self._refuse_all(code, "this broker does not serve transactions yet")
            return
        adds_partitions = self.version >= FIRST_THAT_ADDS_PARTITIONS
        knows_abortable = self.version >= FIRST_THAT_KNOWS_ABORTABLE
        self._produce(ProduceTransaction(transactional_id, adds_partitions, knows_abortable))

    def _produce(self, transaction: ProduceTransaction | None) -> None:
        """Hands over what may be written."""
        envelope, head = self._envelope, self.session.head
        entries: Sequence[ProduceEntry] = envelope.entries
        done: ProduceDone = self._on_written
        if head.authorizer is not None:
            entries, done = self._writable(head.authorizer, entries)
        head.broker.produce(
            entries,
            acks=envelope.acks,
            timeout_ms=envelope.timeout_ms,
            done=done,
            transaction=transaction,
        )
        if envelope.acks != _ACKS_NONE and head.quotas.limits_requests:
            self.charge_time(perf_counter_ns() - self.started_ns)

    def _charge(self) -> None:
        """Before the request is served, so that a client over its quota is not read from meanwhile."""
        session = self.session
        quotas = session.head.quotas
        self.throttle(quotas.charge_produce(session.principal, session.client_id, self.held_bytes))

    # --- access rules

    def _may_write(self, authorizer: Authorizer, topic: str) -> bool:
        session = self.session
        return authorizer.allows(
            session.principal, session.channel.peer_host, Operation.WRITE, ResourceType.TOPIC, topic
        )

    def _may_use(self, authorizer: Authorizer, transactional_id: str) -> bool:
        session = self.session
        kind = ResourceType.TRANSACTIONAL_ID
        host = session.channel.peer_host
        return authorizer.allows(session.principal, host, Operation.WRITE, kind, transactional_id)

    def _writable(
        self, authorizer: Authorizer, entries: Sequence[ProduceEntry]
    ) -> tuple[Sequence[ProduceEntry], ProduceDone]:
        """What may be written of the entries, and who is told of it; of the others, that they may not be.

        A topic id that nobody has comes without a name: that is no secret.
        """
        denied = {
            place
            for place, entry in enumerate(entries)
            if entry.topic and not self._may_write(authorizer, entry.topic)
        }
        if not denied:
            return entries, self._on_written

        def written(results: Sequence[ProduceResult]) -> None:
            rest = iter(results)
            self._on_written([_DENIED if place in denied else next(rest) for place in range(len(entries))])

        return [entry for place, entry in enumerate(entries) if place not in denied], written

    # ---

    def _read(self, data: Buffer, position: int, end: int) -> ProduceEnvelope:
        head = self.session.head
        if self.version >= FIRST_FLEXIBLE:
            topics_by_id = head.broker.image.topics_by_id
            return read_flexible(data, position, end, self.version, head.topic_names, topics_by_id)
        return read_classic(data, position, end, self.version, head.topic_names)

    def _learn_route(self, data: Buffer, position: int, end: int) -> None:
        session = self.session
        topic, partition, _ = self._envelope.entries[0]
        if session.head.broker.leads(TopicPartition(topic, partition)):
            routes = session.head.produce_routes
            session.produce_key_bytes = routes.learn(data, position, end, self.version, self._envelope)

    # ---

    def _on_routed_written(self, results: Sequence[ProduceResult]) -> None:
        result = results[0]
        if result[3] is None and self._route.acks != _ACKS_NONE and not self.throttle_ms:
            self.answer((self._route.pack_answer(self.correlation_id, result),))
            return
        self._envelope = self._route.envelope()
        self._on_written(results)

    def _on_written(self, results: Sequence[ProduceResult]) -> None:
        try:
            for result in results:
                if result[3] is not None:
                    self._answer_refusals(self._with_refusals(results))
                    return
            if self._envelope.acks == _ACKS_NONE:
                self.answer(())
                return
            self.answer((self._pack(results),))
        except Exception:
            self.fail()

    def _with_refusals(self, results: Sequence[ProduceResult]) -> list[ProduceResult | Refusal]:
        self.buffer = None  # not to be reused: see above
        return [
            result if result.error is None else self._refusal(index, result.error, result.log_start_offset)
            for index, result in enumerate(results)
        ]

    def _refusal(self, index: int, error: Exception, log_start_offset: int) -> Refusal:
        entry = self._envelope.entries[index]
        code = error_code(error)
        if not entry.topic and self.version >= FIRST_WITH_TOPIC_IDS:
            return Refusal(ErrorCode.UNKNOWN_TOPIC_ID, "no topic has this id")
        hint = None
        if code == ErrorCode.NOT_LEADER_OR_FOLLOWER and self.version >= FIRST_WITH_HINTS:
            hint = leader_hint(self.session.head.broker.image, entry.topic, entry.partition)
        if code == ErrorCode.UNKNOWN_SERVER_ERROR:
            _LOG.error("cannot write to %s-%d", entry.topic, entry.partition, exc_info=error)
        record_errors = getattr(error, "record_errors", ())
        return Refusal(code, error_message(error), log_start_offset, hint, record_errors)

    def _refuse_all(self, code: ErrorCode, message: str) -> None:
        refusal = Refusal(code, message)
        self._answer_refusals([refusal] * len(self._envelope.entries))

    def _answer_refusals(self, results: Sequence[ProduceResult | Refusal]) -> None:
        refusals = [result for result in results if isinstance(result, Refusal)]
        if self._envelope.acks == _ACKS_NONE:
            if refusals:
                self.session.give_up(f"a produce request with acks=0 failed: {refusals[0].message}")
            self.answer(())
            return
        head = self.session.head
        hints = [refusal.leader for refusal in refusals if refusal.leader is not None]
        nodes = hinted_addresses(head.broker.image, hints, self.session.channel.listener)
        self.answer((self._pack(results, nodes),))

    def _pack(self, results: Sequence[ProduceResult | Refusal], nodes: Sequence[NodeAddress] = ()) -> bytes:
        return pack_response(
            self.version, self.correlation_id, self._envelope, results, nodes, throttle_ms=self.throttle_ms
        )
