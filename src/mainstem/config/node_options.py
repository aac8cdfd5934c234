"""The broker's options about itself: identity, directories, addresses, topics it makes, its own log."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from mainstem.config.option import Scope, declare
from mainstem.config.value import HostPort, Kind

_broker = partial(declare, scope=Scope.BROKER)


@dataclass(frozen=True)
class NodeOptions:
    """Who the node is, where it keeps its data and where it listens."""

    node_id: int = _broker(
        "node.id",
        Kind.INT,
        1,
        "The number of this node, unlike any other in the cluster and the same at every start.",
        minimum=0,
        short_flag="--node-id",
    )
    data_dir: str = _broker(
        "data.dir",
        Kind.STRING,
        "mainstem-data",
        "The directory for everything that the node keeps: logs, journal and metadata.",
        short_flag="--data-dir",
    )
    log_dirs: tuple[str, ...] = _broker(
        "log.dirs",
        Kind.LIST,
        (),
        "The directories for partitions, one per disk, separated by commas. A new partition goes where the "
        "fewest are. Empty: the directory logs in data.dir.",
    )
    metadata_path: str | None = _broker(
        "metadata.path",
        Kind.STRING,
        None,
        "The file of the embedded metadata store (SQLite). Empty: metadata.db in data.dir.",
        is_nullable=True,
    )
    listener_kafka: HostPort = _broker(  # noqa: RUF009
        "listener.kafka",
        Kind.HOST_PORT,
        HostPort("127.0.0.1", 9092),
        "Where Kafka clients connect. Port 0 takes a free port; an empty host or 0.0.0.0 listens on all "
        "addresses.",
        short_flag="--kafka",
    )
    advertised_kafka: HostPort | None = _broker(  # noqa: RUF009
        "advertised.kafka",
        Kind.HOST_PORT,
        None,
        "The address that Kafka clients are told to connect to, where it differs from listener.kafka.",
        is_nullable=True,
        short_flag="--advertised-kafka",
    )
    listener_admin: HostPort | None = _broker(  # noqa: RUF009
        "listener.admin",
        Kind.HOST_PORT,
        HostPort("127.0.0.1", 9640),
        "Where metrics, health and the admin API are served over HTTP. Empty turns them off.",
        is_nullable=True,
        short_flag="--admin",
    )
    broker_rack: str | None = _broker(
        "broker.rack",
        Kind.STRING,
        None,
        "The failure domain of this node; clients may prefer replicas in their own.",
        is_nullable=True,
    )
    auto_create_topics_enable: bool = _broker(
        "auto.create.topics.enable",
        Kind.BOOLEAN,
        True,
        "Whether a topic comes into being when a client asks for it by name.",
    )
    delete_topic_enable: bool = _broker(
        "delete.topic.enable", Kind.BOOLEAN, True, "Whether clients may delete topics."
    )
    num_partitions: int = _broker(
        "num.partitions",
        Kind.INT,
        1,
        "How many partitions a topic gets that does not say.",
        minimum=1,
        maximum=100_000,
    )
    default_replication_factor: int = _broker(
        "default.replication.factor",
        Kind.INT,
        1,
        "How many replicas a topic gets that does not say.",
        minimum=1,
        maximum=32_767,
    )
    event_loop: str = _broker(
        "event.loop",
        Kind.STRING,
        "auto",
        "The event loop: auto takes uvloop where it is installed and asyncio otherwise.",
        choices=("auto", "uvloop", "asyncio"),
    )
    log_level: str = _broker(
        "log.level",
        Kind.STRING,
        "info",
        "How much the broker tells of its own work on standard error.",
        choices=("debug", "info", "warning", "error"),
        short_flag="--log-level",
    )
    log_format: str = _broker(
        "log.format",
        Kind.STRING,
        "human",
        "Lines for people, or one JSON object a line.",
        choices=("human", "json"),
        short_flag="--log-format",
    )
    inter_broker_protocol_version: str = _broker(
        "inter.broker.protocol.version",
        Kind.STRING,
        "4.0-IV3",
        "The Kafka level that this broker serves, for user interfaces that ask for it.",
        is_constant=True,
    )
