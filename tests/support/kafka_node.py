"""A broker in the test's own process, without sockets: real rooms over a directory, and time stands still.

A peer asks as a client does, in frames. So every answer that a test looks at was encoded in the version
that was asked for, and decoded again.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TypeVar

from tests.support.simulated_clock import SimulatedClock

from mainstem.cluster.acl_changes import AclController
from mainstem.cluster.config_changes import ConfigRules
from mainstem.cluster.controller import Controller
from mainstem.cluster.follower import MetadataFollower
from mainstem.cluster.membership import Membership, Registration, ensure_cluster_id
from mainstem.cluster.metadata_writer import MetadataWriter
from mainstem.cluster.node_config import NodeConfig
from mainstem.cluster.sqlite_store import open_sqlite_store
from mainstem.config.broker import BrokerConfig
from mainstem.config.source import Layer, Source
from mainstem.config.topic import resolve_topic_config
from mainstem.core.append_turn import AppendTurn
from mainstem.core.broker import Broker, BrokerServices
from mainstem.core.coordinator.hosting import HostedCoordinator
from mainstem.core.groups.config import GroupConfig
from mainstem.core.groups.coordinator import GroupCoordinator
from mainstem.core.groups.hosting import HostedGroups
from mainstem.core.groups.offsets_topic import ensure_offsets_topic
from mainstem.core.identity.authorizer import Authorizer
from mainstem.core.identity.principal import ANONYMOUS, Principal
from mainstem.core.image import Endpoint, TopicImage
from mainstem.core.ports import NewTopic
from mainstem.core.producer_ids import ProducerIds
from mainstem.core.quotas.clients import ClientQuotas
from mainstem.core.replicas import Replicas
from mainstem.core.transactions.config import TransactionConfig
from mainstem.core.transactions.coordinator import TRANSACTIONS_TOPIC, TransactionCoordinator
from mainstem.core.transactions.marker_writes import LocalMarkers
from mainstem.core.transactions.ports import TransactionVerifier
from mainstem.heads.kafka.access import OPEN, ListenerAccess
from mainstem.heads.kafka.dispatch import KafkaHead
from mainstem.heads.session import Part, PendingAnswer, ReceiveBuffers
from mainstem.log.directories import DirectorySettings, LogDirectories
from mainstem.log.durability import GroupCommit
from mainstem.log.log_directory import JournalSize, Owner
from mainstem.log.open_files import OpenFiles
from mainstem.log.storage import LogStorage
from mainstem.model.batch import parse_header
from mainstem.model.errors import MainstemError
from mainstem.model.records import NewRecord, build_batch
from mainstem.ports.disk import RealDisk
from mainstem.ports.random import SystemRandomness
from mainstem.server.buffers import RequestMemory
from mainstem.wire.kafka.frames import decode_response, encode_request
from mainstem.wire.kafka.message import Message

LISTENER = "kafka"
_PATIENCE_S = 20.0

M = TypeVar("M", bound=Message)


class KafkaNode:
    def __init__(
        self,
        directory: Path,
        options: Mapping[str, str] | None = None,
        verifier: TransactionVerifier | None = None,
    ) -> None:
        settings = {
            "offsets.topic.num.partitions": "3",
            "transaction.state.log.num.partitions": "3",
            "group.initial.rebalance.delay.ms": "0",
            **(options or {}),
        }
        config = BrokerConfig.from_layers([Layer(Source.STATIC_BROKER, settings, "the test")])
        self.config = NodeConfig(config)
        self.clock = SimulatedClock()
        self.authorizer: Authorizer | None = None
        self.log_paths = [str(directory / name) for name in ("logs-1", "logs-2")]
        self._directory = directory
        self._verifier = verifier
        self._steps = AsyncExitStack()

    async def start(self) -> KafkaNode:
        loop, config, steps = asyncio.get_running_loop(), self.config, self._steps
        self._directory.mkdir(parents=True, exist_ok=True)
        self.store = await open_sqlite_store(str(self._directory / "metadata.db"), self.clock)
        steps.push_async_callback(self.store.close)
        await ensure_cluster_id(self.store)
        disk = RealDisk()
        storage = LogStorage(disk, self.clock, OpenFiles(disk, 64))
        settings = DirectorySettings(self.log_paths, 1, JournalSize(1 << 20, 2), Owner("cluster", 1))
        self.directories = LogDirectories(storage, settings)
        self.directories.open(resolve_topic_config({}, config()))
        steps.push_async_callback(asyncio.to_thread, self.directories.close)
        durability = GroupCommit(
            loop, self.directories.journals, lambda path, error: self.directories.fail(path, str(error))
        )
        steps.push_async_callback(durability.close)
        self.membership = Membership(self.store, self.clock)
        self.follower = MetadataFollower(self.store)
        self.replicas = Replicas(config().node_id, self.directories, durability, config)
        self.groups = GroupCoordinator(
            self.clock,
            SystemRandomness(),
            GroupConfig.of(config()),
            partition_count=config().offsets_topic_num_partitions,
        )
        rules = ConfigRules(config.started_with)
        controller = Controller(self.store, self.follower, self.membership, rules, config)
        self.quotas = ClientQuotas.of(config(), self.clock.monotonic_ms)
        if config().authorizer_class_name:
            self.authorizer = Authorizer(
                config().super_user_names,
                allow_if_no_rule=config().allow_everyone_if_no_acl_found,
                monotonic_ms=self.clock.monotonic_ms,
            )
            self.follower.subscribe(self.authorizer.on_image)
        self.transactions = TransactionCoordinator(
            self.clock,
            TransactionConfig.of(config()),
            self.follower,
            ProducerIds(controller),
            LocalMarkers(self.replicas, self.groups, self.clock),
            partition_count=config().transaction_state_log_num_partitions,
        )
        services = BrokerServices(
            metadata=self.follower,
            admin=controller,
            replicas=self.replicas,
            directories=self.directories,
            groups=self.groups,
            quotas=self.quotas,
            transactions=self.transactions,
            turn=AppendTurn(loop.call_soon),
            clock=self.clock,
            config=config,
            acls=AclController(MetadataWriter(self.store, self.follower, self.membership), self.follower),
            authorizer=self.authorizer,
            verifier=self._verifier or self.transactions,
        )
        self.broker = Broker(services)
        self.head = KafkaHead(self.broker)
        await self._join()
        return self

    async def _join(self) -> None:
        coordinators = (HostedGroups(self.groups), HostedCoordinator(TRANSACTIONS_TOPIC, self.transactions))
        for hosted in coordinators:
            self.replicas.listen(hosted)
        for room in (
            self.config.on_image,
            self.quotas.on_image,
            *(hosted.on_image for hosted in coordinators),
            self.replicas.apply,
            self.membership.on_image,
        ):
            self.follower.subscribe(room)
        endpoint = Endpoint(LISTENER, "broker.test", 19092)
        await self.membership.join(Registration(1, "elsewhere.test", 9092, "rack-a", (endpoint,)))
        await self.follower.start()
        self._steps.push_async_callback(self._close)
        while self.follower.image.controller_id != 1:  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.001)
        await ensure_offsets_topic(self.broker)
        await self.groups.loaded()

    async def _close(self) -> None:
        await self.membership.leave()
        await self.follower.close()
        self.transactions.close()
        self.groups.close()
        self.replicas.close()
        self.broker.close()

    async def stop(self) -> None:
        await self._steps.aclose()

    # --- for tests

    def peer(
        self, client_id: str = "test", principal: Principal = ANONYMOUS, access: ListenerAccess = OPEN
    ) -> Peer:
        peer = Peer(self.head, client_id, access)
        peer.session.principal = principal  # as if it had logged in
        return peer

    async def create_topic(
        self, name: str, partition_count: int = 1, config: Mapping[str, str] | None = None
    ) -> TopicImage:
        topic = NewTopic(name, partition_count, 1, config=config or {})
        made = (await self.broker.admin.create_topics([topic]))[name]
        if isinstance(made, MainstemError):
            raise made
        return made

    def fill(self, topic: str, count: int, partition: int = 0) -> None:
        """Appends so many records, committed."""
        batch = build_batch([NewRecord(b"k", b"v", timestamp_ms=0) for _ in range(count)])
        assert parse_header(batch).record_count == count
        self.broker.partition(topic, partition).append_now(batch, lambda _: None)


class Peer:
    """A client's connection. Requests may wait beside each other; answers find theirs by their number."""

    def __init__(self, head: KafkaHead, client_id: str, access: ListenerAccess = OPEN) -> None:
        self.client_id = client_id
        self.channel = MemoryChannel(self._on_answer)
        self.session = head.sessions_of(access)(self.channel)
        self.raw_answers: list[bytes] = []  # to what no request was around
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[bytes]] = {}

    def send(self, request: Message, version: int) -> asyncio.Task[Message]:
        key = request.SCHEMA.key
        number = next(self._numbers)
        answered: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._waiting[number] = answered
        self.receive(encode_request(key, version, number, self.client_id, request))

        async def answer() -> Message:
            frame = await asyncio.wait_for(answered, _PATIENCE_S)
            found, response = decode_response(key, version, frame)
            assert found == number
            return response

        return asyncio.ensure_future(answer())

    async def ask(self, request: Message, response_type: type[M], version: int) -> M:
        response = await self.send(request, version)
        assert isinstance(response, response_type)
        return response

    def receive(self, data: bytes) -> None:
        position = 0
        while position < len(data):
            room = self.session.get_buffer()
            count = min(len(room), len(data) - position)
            room[:count] = data[position : position + count]
            self.session.received(count)
            position += count

    def disconnect(self) -> None:
        self.session.closed()

    def _on_answer(self, data: bytes) -> None:
        waiting = self._waiting.pop(int.from_bytes(data[4:8], "big"), None)
        if waiting is None:
            self.raw_answers.append(data[4:])
        else:
            waiting.set_result(data[4:])


class MemoryChannel:
    """The server's side of a connection, as far as a session sees it."""

    peer_host = "127.0.0.1"
    peer_certificate: bytes | None = None
    listener = LISTENER
    is_congested = False

    def __init__(self, on_answer: Callable[[bytes], None]) -> None:
        self.buffers: ReceiveBuffers = RequestMemory()
        self.closed_because: str | None = None
        self.is_closed = False
        self._on_answer = on_answer
        self._answers: list[PendingAnswer] = []

    def reserve(self, answer: PendingAnswer) -> None:
        self._answers.append(answer)

    def answered(self) -> None:
        while self._answers and self._answers[0].parts is not None:
            data = b"".join(_bytes_of(part) for part in self._answers.pop(0).parts or ())
            if data:
                self._on_answer(data)

    def flush(self) -> None: ...

    def pause(self) -> None: ...

    def resume(self) -> None: ...

    def close(self, reason: str | None = None) -> None:
        self.is_closed = True
        self.closed_because = reason


def _bytes_of(part: Part) -> bytes:
    return bytes(part) if isinstance(part, bytes | bytearray | memoryview) else part.read()
