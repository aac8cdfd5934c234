"""How much the server takes on, from everybody and from one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from mainstem.config.broker import BrokerConfig

NO_LIMIT_BYTES: Final = 1 << 62


@dataclass(frozen=True, slots=True)
class ServerLimits:
    max_connections: int = 0x7FFFFFFF
    max_connections_per_ip: int = 0x7FFFFFFF
    idle_timeout_ms: int = 600_000  # without a finished request or a byte taken from us; <= 0: never
    request_memory_bytes: int = 64 << 20  # of all requests that are being read or answered
    free_memory_bytes: int = 16 << 20  # kept in released receive buffers
    outgoing_high_bytes: int = 1 << 20  # unsent bytes in memory above which a peer's requests wait
    outgoing_low_bytes: int = 256 << 10
    max_unfinished_handshakes: int = 1000
    login_timeout_ms: int = 10_000  # for TLS, and again for the log-in

    @classmethod
    def of(cls, config: BrokerConfig, *, most_connections: int) -> ServerLimits:
        """`most_connections`: what the process can hold, whatever the configuration allows."""
        memory_bytes = config.queued_max_request_bytes
        return cls(
            max_connections=min(config.max_connections, most_connections),
            max_connections_per_ip=config.max_connections_per_ip,
            idle_timeout_ms=config.connections_max_idle_ms,
            max_unfinished_handshakes=config.max_unfinished_handshakes,
            login_timeout_ms=config.connection_login_timeout_ms,
            request_memory_bytes=memory_bytes if memory_bytes > 0 else NO_LIMIT_BYTES,
        )


class ConnectionCount:
    """How many connections there are, altogether and per address."""

    __slots__ = ("_per_ip", "limits", "total")

    def __init__(self, limits: ServerLimits) -> None:
        self.limits = limits
        self._per_ip: dict[str, int] = {}
        self.total = 0

    def admit(self, ip: str) -> bool:
        of_ip = self._per_ip.get(ip, 0)
        if self.total >= self.limits.max_connections or of_ip >= self.limits.max_connections_per_ip:
            return False
        self.total += 1
        self._per_ip[ip] = of_ip + 1
        return True

    def leave(self, ip: str) -> None:
        self.total -= 1
        of_ip = self._per_ip[ip] - 1
        if of_ip:
            self._per_ip[ip] = of_ip
        else:
            del self._per_ip[ip]
