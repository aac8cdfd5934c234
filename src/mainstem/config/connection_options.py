"""The broker's options about connections and the size of requests and answers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from mainstem.config.option import Scope, declare
from mainstem.config.value import INT_MAX, Kind, Unit

_broker = partial(declare, scope=Scope.BROKER)
_BYTES = Unit.BYTES


@dataclass(frozen=True)
class ConnectionOptions:
    """What one client, and all of them together, may ask of the broker."""

    max_connections: int = _broker(
        "max.connections",
        Kind.INT,
        INT_MAX,
        "The most connections at a time. The limit of open files of the process binds too.",
        minimum=0,
        is_dynamic=True,
    )
    max_connections_per_ip: int = _broker(
        "max.connections.per.ip",
        Kind.INT,
        INT_MAX,
        "The most connections at a time from one address.",
        minimum=0,
        is_dynamic=True,
    )
    connections_max_idle_ms: int = _broker(
        "connections.max.idle.ms",
        Kind.LONG,
        600_000,
        "A connection without a request for this long is closed; -1 never closes one.",
        unit=Unit.MILLISECONDS,
        minimum=1,
        also=(-1,),
    )
    socket_request_max_bytes: int = _broker(
        "socket.request.max.bytes",
        Kind.INT,
        104_857_600,
        "The largest request. A connection that announces a larger one is closed before a byte of it is "
        "read.",
        unit=_BYTES,
        minimum=1024,
    )
    queued_max_request_bytes: int = _broker(
        "queued.max.request.bytes",
        Kind.LONG,
        268_435_456,
        "How many bytes of requests may be in work over all connections; beyond it the broker stops reading "
        "until answers have left. -1 sets no limit (Kafka's default: here memory stays bounded).",
        unit=_BYTES,
        minimum=1024,
        also=(-1,),
    )
    max_inflight_bytes_per_connection: int = _broker(
        "max.inflight.bytes.per.connection",
        Kind.INT,
        33_554_432,
        "How many bytes of requests one connection may have in work. One request is always taken, however "
        "large.",
        unit=_BYTES,
        minimum=1024,
    )
    socket_send_buffer_bytes: int = _broker(
        "socket.send.buffer.bytes",
        Kind.INT,
        -1,
        "The send buffer of a connection in the kernel (SO_SNDBUF); -1 leaves it to the operating system, "
        "which grows it with the load (Kafka: 102400).",
        unit=_BYTES,
        minimum=1024,
        also=(-1,),
    )
    socket_receive_buffer_bytes: int = _broker(
        "socket.receive.buffer.bytes",
        Kind.INT,
        -1,
        "The receive buffer of a connection in the kernel (SO_RCVBUF); -1 leaves it to the operating "
        "system, which grows it with the load (Kafka: 102400).",
        unit=_BYTES,
        minimum=1024,
        also=(-1,),
    )
    fetch_max_bytes: int = _broker(
        "fetch.max.bytes",
        Kind.INT,
        57_671_680,
        "The most bytes of records in one answer to a fetch, whatever the client asks for.",
        unit=_BYTES,
        minimum=1024,
    )
    max_incremental_fetch_session_cache_slots: int = _broker(
        "max.incremental.fetch.session.cache.slots",
        Kind.INT,
        1000,
        "How many fetch sessions are remembered; a client without one sends all its partitions each time.",
        minimum=0,
    )
    max_request_partition_size_limit: int = _broker(
        "max.request.partition.size.limit",
        Kind.INT,
        2000,
        "The most partitions in one answer to DescribeTopicPartitions.",
        minimum=1,
    )
