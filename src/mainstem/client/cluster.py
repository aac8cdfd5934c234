"""The cluster as a client sees it: who is there, who leads what, and a connection to each."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TypeVar

from mainstem.client.addresses import Address
from mainstem.client.answer_codes import LEADER_NOT_AVAILABLE, UNKNOWN_TOPIC_OR_PARTITION
from mainstem.client.connection import Connection
from mainstem.client.errors import (
    AnswerTooLate,
    BrokerUnreachable,
    ClusterUnreachable,
    ConnectionLost,
    Refused,
    UnexpectedAnswer,
    check,
)
from mainstem.client.security import OPEN, ClientSecurity
from mainstem.model.ids import TopicId, TopicPartition
from mainstem.wire.kafka.message import Message
from mainstem.wire.kafka.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from mainstem.wire.kafka.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseTopic,
)

A = TypeVar("A", bound=Message)
T = TypeVar("T")

_PAUSE_S = 0.1


@dataclass(frozen=True, slots=True)
class PartitionView:
    index: int
    leader: int  # -1: nobody
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TopicView:
    name: str
    topic_id: TopicId
    is_internal: bool
    partitions: tuple[PartitionView, ...]  # by index


class ClusterClient:
    """Asks the right broker. Not for use by several threads at once."""

    def __init__(
        self,
        bootstrap: Sequence[Address],
        *,
        client_id: str = "mainstem",
        timeout_s: float = 30.0,
        security: ClientSecurity = OPEN,
    ) -> None:
        self.bootstrap = tuple(bootstrap)
        self.client_id = client_id
        self.timeout_s = timeout_s
        self.security = security
        self.cluster_id: str | None = None
        self._nodes: dict[int, Address] = {}
        self._controller = -1
        self._topics: dict[str, TopicView] = {}
        self._coordinators: dict[str, Address] = {}
        self._connections: dict[Address, Connection] = {}

    def __enter__(self) -> ClusterClient:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()

    # --- who is there

    @property
    def nodes(self) -> dict[int, Address]:
        if not self._nodes:
            self.refresh([])
        return dict(self._nodes)

    def refresh(self, topics: Iterable[str] | None = None) -> dict[str, TopicView | Refused]:
        """Asks anew for brokers and for these topics, or for all; a topic that is not there is its error."""
        wanted = None if topics is None else [MetadataRequestTopic(name=topic) for topic in topics]
        answer = self.ask(MetadataRequest(topics=wanted, allow_auto_topic_creation=False), MetadataResponse)
        check(answer.error_code, "cluster")
        self._nodes = {node.node_id: Address(node.host, node.port) for node in answer.brokers}
        self._controller = answer.controller_id
        self.cluster_id = answer.cluster_id
        found: dict[str, TopicView | Refused] = {}
        for topic in answer.topics:
            view = _topic_view(topic)
            name = topic.name or ""
            found[name] = view
            if isinstance(view, TopicView):
                self._topics[name] = view
            else:
                self._topics.pop(name, None)
        return found

    def topic(self, name: str, *, fresh: bool = False) -> TopicView:
        known = self._topics.get(name)
        if known is not None and not fresh:
            return known
        found = self.refresh([name]).get(name)
        if isinstance(found, TopicView):
            return found
        if found is None or found.code == UNKNOWN_TOPIC_OR_PARTITION:
            told = "there is no such topic; `mainstem topic list` names those that there are"
            raise Refused(UNKNOWN_TOPIC_OR_PARTITION, f"topic {name}", told)
        raise found

    def leader_of(self, partition: TopicPartition) -> int:
        partitions = self.topic(partition.topic).partitions
        check_partition(partition, len(partitions))
        leader = partitions[partition.partition].leader
        if leader < 0:
            raise Refused(LEADER_NOT_AVAILABLE, f"partition {partition}")
        return leader

    # --- asking

    def ask(self, request: Message, answer: type[A]) -> A:
        """Of any broker: one that we are connected to, or the first that answers.

        For what may be asked twice.
        """
        failures: list[tuple[str, str]] = []
        last: UnexpectedAnswer | None = None
        for address in dict.fromkeys((*self._connections, *self.bootstrap, *self._nodes.values())):
            try:
                return self._exchange_twice(address, request, answer)
            except BrokerUnreachable as error:
                failures += error.failures
            except (ConnectionLost, AnswerTooLate, UnexpectedAnswer) as error:
                failures.append((str(address), str(error)))
                last = error if isinstance(error, UnexpectedAnswer) else last
        if last is not None and len(failures) == 1:
            raise last
        raise ClusterUnreachable(failures)

    def ask_controller(self, request: Message, answer: type[A]) -> A:
        if self._controller not in self.nodes:
            self.refresh([])
        address = self._nodes.get(self._controller)
        return self.ask(request, answer) if address is None else self._exchange(address, request, answer)

    def ask_node(self, node_id: int, request: Message, answer: type[A]) -> A:
        return self._exchange(self.address_of(node_id), request, answer)

    def ask_coordinator(self, group: str, request: Message, answer: type[A]) -> A:
        return self._exchange(self.coordinator_of(group), request, answer)

    def address_of(self, node_id: int) -> Address:
        address = self.nodes.get(node_id)
        if address is None:
            self.refresh([])
            address = self._nodes.get(node_id)
        if address is None:
            raise Refused(LEADER_NOT_AVAILABLE, f"broker {node_id}")
        return address

    def coordinator_of(self, group: str) -> Address:
        known = self._coordinators.get(group)
        if known is None:
            answer = self.ask(FindCoordinatorRequest(key=group), FindCoordinatorResponse)
            check(answer.error_code, f"group {group}", answer.error_message)
            known = self._coordinators[group] = Address(answer.host, answer.port)
        return known

    def connection_to(self, address: Address) -> Connection:
        connection = self._connections.get(address)
        if connection is not None and connection.is_worn_out and not connection.unanswered_count:
            self.drop_connection(address)
            connection = None
        if connection is None:
            connection = self._open(address)
            self._connections[address] = connection
        return connection

    def _open(self, address: Address) -> Connection:
        return Connection(address, client_id=self.client_id, timeout_s=self.timeout_s, security=self.security)

    def drop_connection(self, address: Address) -> None:
        connection = self._connections.pop(address, None)
        if connection is not None:
            connection.close()

    def connect(self, node_id: int) -> Connection:
        """A connection to this broker that belongs to the caller."""
        address = self.address_of(node_id)
        try:
            return self._open(address)
        except BrokerUnreachable as error:
            raise self._explained(address, error) from None

    def persist(self, attempt: Callable[[], T], *, timeout_s: float | None = None) -> T:
        """Repeats `attempt` while what stops it is passing: a leader that moved, a coordinator that loads,
        a broker that is gone and from which another may take over.

        Only for what may be done twice.
        """
        deadline = time.monotonic() + (self.timeout_s if timeout_s is None else timeout_s)
        pause_s = _PAUSE_S
        while True:
            try:
                return attempt()
            except (Refused, ConnectionLost, BrokerUnreachable) as error:
                if not self._may_pass(error) or time.monotonic() + pause_s > deadline:
                    raise
            self.forget()
            time.sleep(pause_s)
            pause_s = min(pause_s * 2, 1.0)

    def _may_pass(self, error: Refused | ConnectionLost | BrokerUnreachable) -> bool:
        if isinstance(error, Refused):
            return error.is_passing
        return isinstance(error, ConnectionLost) or len(self.nodes) > 1

    def forget(self) -> None:
        """Who leads and who coordinates is asked anew the next time."""
        self._topics.clear()
        self._coordinators.clear()
        self._nodes.clear()

    def _exchange_twice(self, address: Address, request: Message, answer: type[A]) -> A:
        """Brokers close connections that are idle for long; the next use is what notices."""
        is_old = address in self._connections
        try:
            return self._exchange(address, request, answer)
        except ConnectionLost:
            if not is_old:
                raise
        return self._exchange(address, request, answer)

    def _exchange(self, address: Address, request: Message, answer: type[A]) -> A:
        try:
            return self.connection_to(address).request(request, answer)
        except BrokerUnreachable as error:
            raise self._explained(address, error) from None
        except (ConnectionLost, AnswerTooLate, UnexpectedAnswer):
            self.drop_connection(address)
            raise

    def _explained(self, address: Address, error: BrokerUnreachable) -> BrokerUnreachable:
        return BrokerUnreachable(str(address), error.reason, is_announced=address not in self.bootstrap)


def check_partition(partition: TopicPartition, partition_count: int) -> None:
    """Refuses one that the topic does not have."""
    if not 0 <= partition.partition < partition_count:
        told = f"the topic has partitions 0 to {partition_count - 1}"
        raise Refused(UNKNOWN_TOPIC_OR_PARTITION, f"partition {partition}", told)


def _topic_view(topic: MetadataResponseTopic) -> TopicView | Refused:
    if topic.error_code and not topic.partitions:
        return Refused(topic.error_code, f"topic {topic.name}")
    partitions = tuple(
        PartitionView(
            partition.partition_index,
            partition.leader_id,
            partition.leader_epoch,
            tuple(partition.replica_nodes),
            tuple(partition.isr_nodes),
        )
        for partition in sorted(topic.partitions, key=lambda partition: partition.partition_index)
    )
    return TopicView(topic.name or "", TopicId(topic.topic_id), topic.is_internal, partitions)
