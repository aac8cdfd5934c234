"""/v1/broker, /v1/config, /v1/log-dirs, the health checks and the metrics: the node about itself."""

from __future__ import annotations

from typing import Final

import msgspec

from mainstem import __version__
from mainstem.admin.errors import UNAVAILABLE
from mainstem.admin.health import readiness
from mainstem.admin.metrics.exposition import CONTENT_TYPE
from mainstem.admin.metrics.page import metrics_page
from mainstem.admin.node import Node
from mainstem.admin.operations import OK, Answer, Call, Operation
from mainstem.config.describe import describe_broker
from mainstem.config.value import HostPort


class Live(msgspec.Struct, frozen=True):
    status: str  # "live"


class Ready(msgspec.Struct, frozen=True):
    status: str  # "ready" or "not ready"
    reasons: list[str]  # why not
    warnings: list[str]  # what is wrong without keeping clients away


class Registered(msgspec.Struct, frozen=True):
    node_id: int
    host: str
    port: int
    rack: str | None


class BrokerDetail(msgspec.Struct, frozen=True, kw_only=True):
    node_id: int
    cluster_id: str
    version: str
    phase: str
    started_ms: int
    uptime_seconds: int
    event_loop: str
    listeners: dict[str, str]  # as bound, by name
    advertised: str | None
    broker_epoch: int
    controller_id: int  # -1: none
    metadata_revision: int
    brokers: list[Registered]
    topic_count: int
    partitions_led: int
    partitions_offline: int
    group_count: int
    connection_count: int


class Setting(msgspec.Struct, frozen=True):
    name: str
    value: str | None  # None where it is not set, or must not be shown
    source: str
    changes_at_run_time: bool
    is_sensitive: bool
    doc: str


class Settings(msgspec.Struct, frozen=True):
    settings: list[Setting]


class LogDirectory(msgspec.Struct, frozen=True):
    path: str
    is_online: bool
    error: str  # empty while it is online
    total_bytes: int  # of the file system; -1 where it is not known
    usable_bytes: int
    partition_count: int
    size_bytes: int  # of the partitions


class LogDirectoryList(msgspec.Struct, frozen=True):
    log_directories: list[LogDirectory]


async def live(call: Call) -> Answer:  # noqa: ARG001
    return Answer(Live("live"))


async def ready(call: Call) -> Answer:
    found = readiness(call.node)
    status = "ready" if found.is_ready else "not ready"
    answer = Ready(status, list(found.reasons), list(found.warnings))
    return Answer(answer, OK if found.is_ready else UNAVAILABLE)


async def metrics(call: Call) -> Answer:
    return Answer(metrics_page(call.node))


async def describe(call: Call) -> Answer:
    return Answer(broker_detail(call.node))


def broker_detail(node: Node) -> BrokerDetail:
    broker, image = node.broker, node.broker.image
    return BrokerDetail(
        node_id=node.node_id,
        cluster_id=image.cluster_id,
        version=__version__,
        phase=node.phase().value,
        started_ms=node.started_ms,
        uptime_seconds=max(0, broker.clock.now_ms() - node.started_ms) // 1000,
        event_loop=node.event_loop,
        listeners={name: _text(address) for name, address in node.listeners.items()},
        advertised=None if node.advertised is None else _text(node.advertised),
        broker_epoch=node.membership.epoch,
        controller_id=image.controller_id,
        metadata_revision=image.revision,
        brokers=[Registered(b.node_id, b.host, b.port, b.rack) for b in image.brokers.values()],
        topic_count=len(image.topics),
        partitions_led=len(broker.replicas.partitions),
        partitions_offline=len(broker.replicas.failed),
        group_count=broker.groups.group_count,
        connection_count=node.connections.connections_open,
    )


def _text(address: HostPort) -> str:
    return str(address)


async def settings(call: Call) -> Answer:
    listed = [
        Setting(
            entry.name,
            entry.value,
            entry.source.name.lower(),
            not entry.read_only,
            entry.is_sensitive,
            entry.doc,
        )
        for entry in describe_broker(call.node.broker.config)
    ]
    return Answer(Settings(listed))


async def log_directories(call: Call) -> Answer:
    listed = [
        LogDirectory(
            each.path,
            each.is_online,
            each.error,
            each.total_bytes,
            each.usable_bytes,
            len(each.replicas),
            sum(replica.size_bytes for replica in each.replicas),
        )
        for each in call.node.broker.log_directories()
    ]
    return Answer(LogDirectoryList(listed))


OPERATIONS: Final = (
    Operation("GET", "/health/live", "Whether the process answers", live, {OK: Live}, tag="health"),
    Operation(
        "GET",
        "/health/ready",
        "Whether clients are served, and if not, why",
        ready,
        {OK: Ready, UNAVAILABLE: Ready},
        tag="health",
    ),
    Operation(
        "GET",
        "/metrics",
        "Figures for Prometheus",
        metrics,
        {OK: str},
        media_type=CONTENT_TYPE,
        tag="health",
    ),
    Operation("GET", "/v1/broker", "This node and its cluster", describe, {OK: BrokerDetail}),
    Operation("GET", "/v1/config", "The broker's options as they are in force", settings, {OK: Settings}),
    Operation("GET", "/v1/log-dirs", "The log directories", log_directories, {OK: LogDirectoryList}),
)
