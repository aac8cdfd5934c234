"""The node as its admin interface sees it: what the pages, the resources and the metrics read.

Everything here lives on the broker's loop, and so does the admin interface: it reads plain attributes,
never takes a lock and never sees a half-made change. What takes long gives the loop back in between
(see `slices.py`).
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from mainstem.admin.loop_lag import LoopLag
from mainstem.cluster.follower import MetadataFollower
from mainstem.cluster.membership import Membership
from mainstem.config.value import HostPort
from mainstem.core.broker import Broker
from mainstem.core.housekeeping import Housekeeping
from mainstem.core.identity.authenticator import LoginMeters
from mainstem.core.log_cleaner import LogCleaner
from mainstem.core.quotas.connections import ConnectionQuotas
from mainstem.heads.kafka.meters import HeadMeters
from mainstem.log.directories import LogDirectories
from mainstem.log.durability import CommitStatistics


class Phase(enum.Enum):
    STARTING = "starting"
    SERVING = "serving"
    STOPPING = "stopping"


class ConnectionMeters(Protocol):
    """The server's counters."""

    bytes_in: int
    bytes_out: int
    cold_reads: int
    connections_idle_closed: int
    connections_open: int
    connections_refused: int
    connections_throttled: int
    connections_total: int
    sendfile_bytes: int
    tls_handshakes: int
    tls_handshakes_failed: int


class ServedCertificate(Protocol):
    """What a TLS listener shows."""

    listener: str
    expires_at_s: float | None
    reloads: int
    failed_reloads: int


class RequestMemoryUse(Protocol):
    held_bytes: int
    limit: int


class Commits(Protocol):
    """What group commit tells of itself."""

    @property
    def pending_bytes(self) -> int: ...

    def statistics(self) -> Mapping[str, CommitStatistics]: ...


@dataclass(slots=True)
class Node:
    broker: Broker
    metadata: MetadataFollower
    membership: Membership
    connections: ConnectionMeters
    connection_quotas: ConnectionQuotas
    request_memory: RequestMemoryUse
    head_meters: HeadMeters
    commits: Commits
    directories: LogDirectories
    housekeeping: Housekeeping
    cleaner: LogCleaner
    loop_lag: LoopLag
    node_id: int
    event_loop: str
    started_ms: int
    phase: Callable[[], Phase]
    listeners: Mapping[str, HostPort] = field(default_factory=dict)  # as bound, by name
    advertised: HostPort | None = None
    token: str | None = field(default=None, repr=False)  # what every request must show, where one is set
    logins: LoginMeters = field(default_factory=LoginMeters)
    certificates: Sequence[ServedCertificate] = ()
