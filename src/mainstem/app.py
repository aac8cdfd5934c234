"""The composition root: makes the rooms of a broker, ties them together, starts and stops them.

The order of a start, each step undone in reverse when the broker stops or a later step fails:

    data directory    held by its lock; one process a directory
    certificates      read, and the rules from certificates to users
    addresses         bound, so that a port that is taken is known at once; nobody can connect yet
    metadata store    opened; the cluster has its id
    log directories   opened, and recovered after an unclean stop
    membership        the node is registered under the port that it got
    metadata          the image is loaded; every room applies it: options, groups, partitions
    Kafka listeners   accept
    ready
    admin interface   its libraries are loaded only now, while clients begin to connect

Stopping begins with the clients: nothing new is accepted, requests that have begun are answered, the
connections close; then nobody is left who could miss the rooms that close behind them.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Sequence
from contextlib import AsyncExitStack
from importlib import import_module
from types import ModuleType
from typing import NamedTuple

from mainstem.admin.loop_lag import LoopLag
from mainstem.admin.node import Node, Phase
from mainstem.admission import Admission
from mainstem.cluster.acl_changes import AclController
from mainstem.cluster.config_changes import ConfigRules
from mainstem.cluster.controller import Controller
from mainstem.cluster.follower import MetadataFollower
from mainstem.cluster.membership import Membership, Registration, ensure_cluster_id
from mainstem.cluster.metadata_writer import MetadataWriter
from mainstem.cluster.node_config import NodeConfig
from mainstem.cluster.sqlite_store import SqliteMetadataStore, open_sqlite_store
from mainstem.config.broker import BrokerConfig
from mainstem.config.listeners import SHORTHAND, KafkaListener
from mainstem.config.topic import resolve_topic_config
from mainstem.config.value import HostPort
from mainstem.core.append_turn import AppendTurn
from mainstem.core.broker import Broker, BrokerServices
from mainstem.core.coordinator.hosting import HostedCoordinator
from mainstem.core.groups.config import GroupConfig
from mainstem.core.groups.coordinator import GroupCoordinator
from mainstem.core.groups.hosting import HostedGroups
from mainstem.core.housekeeping import Housekeeping
from mainstem.core.identity.authorizer import Authorizer
from mainstem.core.image import Endpoint
from mainstem.core.log_cleaner import LogCleaner
from mainstem.core.producer_ids import ProducerIds
from mainstem.core.quotas.clients import ClientQuotas, quota_windows
from mainstem.core.quotas.connections import ConnectionQuotas
from mainstem.core.replicas import Replicas
from mainstem.core.transactions.config import TransactionConfig
from mainstem.core.transactions.coordinator import TRANSACTIONS_TOPIC, TransactionCoordinator
from mainstem.core.transactions.marker_writes import LocalMarkers
from mainstem.heads.kafka.dispatch import KafkaHead
from mainstem.log.directories import DirectorySettings, LogDirectories
from mainstem.log.durability import GroupCommit
from mainstem.log.log_directory import JournalSize, Owner
from mainstem.log.open_files import OpenFiles
from mainstem.log.storage import LogStorage
from mainstem.model.errors import BrokerError
from mainstem.ports.clock import LoopClock
from mainstem.ports.disk import Disk, RealDisk, make_directory_durably
from mainstem.ports.random import SystemRandomness
from mainstem.server.addresses import SocketBuffers, bind
from mainstem.server.certificates import Certificates, CertificateWatch, TlsFiles
from mainstem.server.limits import ServerLimits
from mainstem.server.listener import Server

KAFKA_LISTENER = SHORTHAND
ADMIN_LISTENER = "admin"
DRAIN_S = 10.0  # for requests that have begun, at a stop
_DRAIN_BEFORE_GROUPS_S = 1.0  # then members who wait for each other are sent away
_OTHER_FILES = 512  # descriptors that are neither connections nor segments
_JOURNAL_ALIGNMENT = 4096
_ADMIN_BACKLOG = 128
_SHORTEST_TOKEN = 16

_log = logging.getLogger(__name__)


class StartFailed(BrokerError):
    """The broker cannot start here; `cure` says what to do."""

    def __init__(self, problem: str, cure: str) -> None:
        super().__init__(f"{problem}; {cure}")
        self.statement = problem
        self.cure = cure


class OpenListener(NamedTuple):
    """A Kafka listener with its sockets, and what decides who comes in."""

    listener: KafkaListener
    sockets: list[socket.socket]
    certificates: Certificates | None

    @property
    def bound(self) -> HostPort:
        return _address_of(self.sockets)

    @property
    def endpoint(self) -> Endpoint:
        """As its clients are told."""
        address = self.listener.advertised_address(self.bound)
        return Endpoint(self.listener.name, address.host, address.port, self.listener.protocol)


class FilePlan(NamedTuple):
    """How the descriptors of the process are shared out."""

    segments: int
    connections: int


def plan_files(limit: int, config: BrokerConfig) -> FilePlan:
    """Segments get what they ask for, up to half; connections the rest: they cannot starve the log."""
    segments = max(64, min(config.log_open_files_max, limit // 2))
    return FilePlan(segments, max(16, limit - segments - _OTHER_FILES))


class BrokerApplication:
    def __init__(self, config: BrokerConfig, *, file_limit: int) -> None:
        self.config = NodeConfig(config)
        self.phase = Phase.STARTING
        self.listeners: dict[str, HostPort] = {}  # as bound
        self.failure: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._loop = asyncio.get_running_loop()
        self._clock = LoopClock(self._loop)
        self._disk: Disk = RealDisk()
        self._files = plan_files(file_limit, config)
        self._started_ms = self._clock.now_ms()
        self._steps = AsyncExitStack()  # how to undo what was done
        self._kafka: list[OpenListener] = []  # the first is the main one
        self._admin_sockets: list[socket.socket] = []
        self._admin_token: str | None = None
        self._loading_admin: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Returns when clients are served. Raises with everything undone."""
        try:
            await self._start()
        except BaseException:
            self.phase = Phase.STOPPING
            await self._steps.aclose()
            raise

    async def stop(self) -> None:
        self.phase = Phase.STOPPING
        await self._steps.aclose()

    async def _start(self) -> None:
        self._hold_data_directory()
        self._bind()
        store = await self._open_metadata()
        await self._open_logs()
        self._make_rooms(store)
        self._make_server()
        await self._join()
        await self._follow_metadata()
        await self._accept()
        self.phase = Phase.SERVING

    # --- the places that must be ours

    def _hold_data_directory(self) -> None:
        config = self.config.started_with
        directory = os.path.abspath(config.data_dir)
        self._make_folder(directory, "data", "--data-dir")
        self._make_folder(
            os.path.dirname(os.path.abspath(config.metadata_file)), "metadata", "--metadata-path"
        )
        try:
            lock = self._disk.lock(f"{directory}/.lock")
        except BlockingIOError as error:
            raise StartFailed(
                f"the data directory {directory} is in use by another process",
                "stop that broker, or give this one another directory (--data-dir)",
            ) from error
        except OSError as error:
            raise _unusable(directory, "data", "--data-dir", error) from error
        self._steps.callback(lock.release)

    def _make_folder(self, path: str, kind: str, flag: str) -> None:
        try:
            make_directory_durably(self._disk, path)
        except OSError as error:
            raise _unusable(path, kind, flag, error) from error

    def _bind(self) -> None:
        config = self.config.started_with
        buffers = SocketBuffers(config.socket_send_buffer_bytes, config.socket_receive_buffer_bytes)
        for listener in config.kafka_listeners:
            certificates = Certificates(listener.name, _tls_files(listener)) if listener.has_tls else None
            sockets = bind(*listener.address, buffers)
            self._steps.callback(_close_all, sockets)
            self._kafka.append(OpenListener(listener, sockets, certificates))
            self.listeners[listener.name] = self._kafka[-1].bound
        if config.listener_admin is not None:
            self._admin_token = _token_in(config.admin_token_file)
            self._admin_sockets = bind(*config.listener_admin)
            self._steps.callback(_close_all, self._admin_sockets)
            self.listeners[ADMIN_LISTENER] = _address_of(self._admin_sockets)

    @property
    def kafka_address(self) -> HostPort:
        """The main one, as bound."""
        return self._kafka[0].bound

    # --- what is on disk

    async def _open_metadata(self) -> SqliteMetadataStore:
        store = await open_sqlite_store(self.config.started_with.metadata_file, self._clock)
        self._steps.push_async_callback(store.close)
        self._cluster_id = await ensure_cluster_id(store)
        return store

    async def _open_logs(self) -> None:
        config = self.config.started_with
        paths = _absolute(config.log_directories)
        storage = LogStorage(self._disk, self._clock, OpenFiles(self._disk, self._files.segments))
        settings = DirectorySettings(
            paths,
            config.num_recovery_threads_per_data_dir,
            _journal_size(config, len(paths)),
            Owner(self._cluster_id, config.node_id),
        )
        self._directories = LogDirectories(storage, settings)
        # Pushed first: what a start that fails half way has opened is closed, too.
        self._steps.push_async_callback(asyncio.to_thread, self._directories.close)
        opening = asyncio.ensure_future(
            asyncio.to_thread(self._directories.open, resolve_topic_config({}, config))
        )
        try:
            await asyncio.shield(opening)
        except asyncio.CancelledError:
            await asyncio.wait({opening})  # a thread cannot be called back, and must not meet the close
            raise

    # --- the rooms

    def _make_rooms(self, store: SqliteMetadataStore) -> None:
        config = self.config
        self._membership = Membership(store, self._clock)
        self._steps.push_async_callback(self._membership.leave)
        self._follower = MetadataFollower(store)
        self._durability = GroupCommit(self._loop, self._directories.journals, self._on_flush_failed)
        self._steps.push_async_callback(self._durability.close)
        self._replicas = Replicas(config().node_id, self._directories, self._durability, config)
        self._directories.on_directory_failed = self._on_directory_failed
        self._quotas = ClientQuotas.of(config(), self._clock.monotonic_ms)
        self._connection_quotas = ConnectionQuotas(quota_windows(config()), self._clock.monotonic_ms)
        controller = Controller(
            store, self._follower, self._membership, ConfigRules(config.started_with), config
        )
        self._authorizer = _authorizer_of(config(), self._clock)
        self._make_coordinators(ProducerIds(controller))
        services = BrokerServices(
            metadata=self._follower,
            admin=controller,
            replicas=self._replicas,
            directories=self._directories,
            groups=self._groups,
            quotas=self._quotas,
            transactions=self._transactions,
            verifier=self._transactions,
            turn=AppendTurn(self._loop.call_soon),
            clock=self._clock,
            config=config,
            acls=AclController(MetadataWriter(store, self._follower, self._membership), self._follower),
            authorizer=self._authorizer,
        )
        self._broker = Broker(services)
        self._housekeeping = Housekeeping(self._replicas, self._directories, self._clock, config)
        self._cleaner = LogCleaner(self._replicas, self._directories, self._clock, config)
        config.on_change(self._on_config_change)

    def _make_coordinators(self, producer_ids: ProducerIds) -> None:
        config = self.config()
        self._groups = GroupCoordinator(
            self._clock,
            SystemRandomness(),
            GroupConfig.of(config),
            partition_count=config.offsets_topic_num_partitions,
        )
        self._transactions = TransactionCoordinator(
            self._clock,
            TransactionConfig.of(config),
            self._follower,
            producer_ids,
            LocalMarkers(self._replicas, self._groups, self._clock),
            partition_count=config.transaction_state_log_num_partitions,
        )

    def _make_server(self) -> None:
        """What stands between sockets and the rooms."""
        config = self.config()
        self._head = KafkaHead(self._broker)
        self._admission = Admission(config, self._clock, lambda: self._follower.image.users)
        self._steps.push_async_callback(self._admission.close)
        self._server = Server(self._loop, self._limits(config))
        self._server.connection_delay_ms = self._connection_quotas.delay_ms
        self._certificates = CertificateWatch(
            [each.certificates for each in self._kafka if each.certificates is not None],
            self._clock,
            config.ssl_certificate_check_interval_ms,
        )

    def _limits(self, config: BrokerConfig) -> ServerLimits:
        return ServerLimits.of(config, most_connections=self._files.connections)

    def _on_config_change(self, config: BrokerConfig) -> None:
        self._server.update_limits(self._limits(config))
        self._groups.update_config(GroupConfig.of(config))
        self._transactions.update_config(TransactionConfig.of(config))

    # --- the cluster

    async def _join(self) -> None:
        config = self.config()
        endpoints = tuple(each.endpoint for each in self._kafka)
        main = endpoints[0]
        registration = Registration(config.node_id, main.host, main.port, config.broker_rack, endpoints)
        await self._membership.join(registration)

    async def _follow_metadata(self) -> None:
        hosted = (HostedGroups(self._groups), HostedCoordinator(TRANSACTIONS_TOPIC, self._transactions))
        for coordinator in hosted:
            self._replicas.listen(coordinator)
        if self._authorizer is not None:
            self._follower.subscribe(self._authorizer.on_image)
        for room in (
            self.config.on_image,
            self._quotas.on_image,
            self._connection_quotas.on_image,
            *(coordinator.on_image for coordinator in hosted),
            self._replicas.apply,
            self._membership.on_image,
        ):
            self._follower.subscribe(room)
        self._steps.push_async_callback(self._close_rooms)
        await self._follower.start()
        self._housekeeping.start()
        self._steps.push_async_callback(self._housekeeping.stop)
        self._cleaner.start()
        self._steps.push_async_callback(self._cleaner.stop)

    async def _close_rooms(self) -> None:
        await self._follower.close()
        self._transactions.close()
        self._groups.close()
        self._replicas.close()
        self._broker.close()

    # --- the listeners

    async def _accept(self) -> None:
        self._lag = LoopLag(self._clock)
        self._lag.start()
        self._steps.callback(self._lag.stop)
        self._steps.push_async_callback(self._stop_serving)
        accesses = [await self._admission.access_of(listener) for listener, _, _ in self._kafka]
        for (listener, sockets, certificates), access in zip(self._kafka, accesses, strict=True):
            sessions = self._head.sessions_of(access)
            await self._server.listen_on(listener.name, sockets, sessions, tls=certificates)
        self._certificates.start()
        self._steps.push_async_callback(self._certificates.stop)
        for waiting in self._admin_sockets:  # who asks at once waits for the libraries to be loaded
            waiting.listen(_ADMIN_BACKLOG)

    @property
    def has_certificates(self) -> bool:
        return any(each.certificates is not None for each in self._kafka)

    def reload_certificates(self) -> None:
        """Whether their files changed or not."""
        if self.phase is Phase.SERVING:
            self._certificates.look(is_forced=True)

    async def _stop_serving(self) -> None:
        stopping = asyncio.ensure_future(self._server.stop(DRAIN_S))
        await asyncio.wait({stopping}, timeout=_DRAIN_BEFORE_GROUPS_S)
        if not stopping.done():
            self._groups.close()  # members who wait for each other look for another coordinator
        await stopping

    async def serve_admin(self) -> None:
        """Loads the admin interface and serves it. Its libraries take a moment: called after ready."""
        if not self._admin_sockets:
            return
        application, server = await asyncio.to_thread(_load_admin)
        admin = server.AdminServer(application.make_application(self._node()))
        admin.start(self._admin_sockets)
        self._steps.push_async_callback(admin.stop)

    def _node(self) -> Node:
        return Node(
            broker=self._broker,
            metadata=self._follower,
            membership=self._membership,
            connections=self._server.meters,
            connection_quotas=self._connection_quotas,
            request_memory=self._server.buffers,
            head_meters=self._head.meters,
            commits=self._durability,
            directories=self._directories,
            housekeeping=self._housekeeping,
            cleaner=self._cleaner,
            loop_lag=self._lag,
            node_id=self.config.started_with.node_id,
            event_loop=type(self._loop).__module__.partition(".")[0],
            started_ms=self._started_ms,
            phase=lambda: self.phase,
            listeners=self.listeners,
            token=self._admin_token,
            logins=self._admission.authenticator.meters,
            certificates=[each.certificates for each in self._kafka if each.certificates is not None],
            advertised=HostPort(self._kafka[0].endpoint.host, self._kafka[0].endpoint.port),
        )

    # --- failing disks

    def _on_flush_failed(self, directory: str, error: Exception) -> None:
        """On the loop: a commit round failed."""
        self._directories.fail(directory, str(error))

    def _on_directory_failed(self, path: str, reason: str) -> None:
        """From any thread."""
        self._loop.call_soon_threadsafe(self._take_offline, path, reason)

    def _take_offline(self, path: str, reason: str) -> None:
        self._replicas.fail_directory(path, reason)
        if not self._directories.has_online and not self.failure.done():
            self.failure.set_result(f"every log directory is offline, the last one was {path}: {reason}")


def _authorizer_of(config: BrokerConfig, clock: LoopClock) -> Authorizer | None:
    if not config.authorizer_class_name:
        return None
    return Authorizer(
        config.super_user_names,
        allow_if_no_rule=config.allow_everyone_if_no_acl_found,
        monotonic_ms=clock.monotonic_ms,
    )


def _unusable(path: str, kind: str, flag: str, error: OSError) -> StartFailed:
    return StartFailed(
        f"the {kind} directory {path} cannot be used: {error.strerror}",
        f"name one that the broker may write to ({flag})",
    )


def _absolute(paths: Sequence[str]) -> list[str]:
    return [os.path.abspath(path) for path in paths]


def _journal_size(config: BrokerConfig, directory_count: int) -> JournalSize:
    """Every directory has a journal; together they take no more than `journal.max.bytes`."""
    piece_bytes = config.journal_piece_bytes // _JOURNAL_ALIGNMENT * _JOURNAL_ALIGNMENT
    return JournalSize(piece_bytes, max(2, config.journal_max_bytes // piece_bytes // directory_count))


def _token_in(path: str | None) -> str | None:
    if path is None:
        return None
    try:
        with open(path, encoding="utf-8") as file:
            token = file.readline(4096).strip()
    except (OSError, UnicodeDecodeError) as error:
        raise StartFailed(f"{path} (admin.token.file) cannot be read: {error}", "name a text file") from error
    if len(token) < _SHORTEST_TOKEN:
        problem = f"{path} (admin.token.file) has no token of {_SHORTEST_TOKEN} characters on its first line"
        raise StartFailed(problem, "make one: openssl rand -hex 32")
    return token


def _tls_files(listener: KafkaListener) -> TlsFiles:
    security = listener.security
    certificate = security.ssl_keystore_location
    assert certificate is not None, "the configuration refuses TLS without a certificate"
    return TlsFiles(
        certificate,
        security.ssl_keystore_key_location or certificate,
        security.ssl_truststore_location,
        security.ssl_key_password,
        security.ssl_client_auth,
        security.ssl_enabled_protocols,
    )


def _address_of(sockets: list[socket.socket]) -> HostPort:
    host, port, *_ = sockets[0].getsockname()
    return HostPort(host, port)


def _close_all(sockets: list[socket.socket]) -> None:
    for each in sockets:
        each.close()


def _load_admin() -> tuple[ModuleType, ModuleType]:
    return import_module("mainstem.admin.application"), import_module("mainstem.admin.http_server")
