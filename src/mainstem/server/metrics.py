"""Counters of the server: plain integers, read by whoever exports them."""

from __future__ import annotations


class ServerMeters:
    __slots__ = (
        "bytes_in",
        "bytes_out",
        "cold_reads",
        "connections_idle_closed",
        "connections_open",
        "connections_refused",
        "connections_throttled",
        "connections_total",
        "sendfile_bytes",
        "tls_handshakes",
        "tls_handshakes_failed",
    )

    def __init__(self) -> None:
        self.bytes_in = 0
        self.bytes_out = 0
        self.sendfile_bytes = 0  # of bytes_out: those that never came into Python
        self.cold_reads = 0  # ranges that were not in the page cache and went through a thread
        self.connections_open = 0
        self.connections_total = 0
        self.connections_refused = 0
        self.connections_throttled = 0  # for the quota of their address
        self.connections_idle_closed = 0
        self.tls_handshakes = 0  # that succeeded
        self.tls_handshakes_failed = 0
