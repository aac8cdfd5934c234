"""Who is let in, and how the configuration becomes limits."""

from __future__ import annotations

import pytest

from mainstem.config.broker import BrokerConfig
from mainstem.config.source import Layer, Source
from mainstem.server.limits import NO_LIMIT_BYTES, ConnectionCount, ServerLimits


def test_connections_are_counted_altogether_and_by_address() -> None:
    count = ConnectionCount(ServerLimits(max_connections=3, max_connections_per_ip=2))
    assert [count.admit("a"), count.admit("a"), count.admit("a")] == [True, True, False]
    assert [count.admit("b"), count.admit("b")] == [True, False]
    count.leave("a")
    assert count.admit("b")
    assert not count.admit("a")
    for ip in ("a", "b", "b"):
        count.leave(ip)
    assert count.total == 0
    assert count._per_ip == {}


@pytest.mark.parametrize(
    ("options", "most", "limits"),
    [
        ({}, 500, {"max_connections": 500, "idle_timeout_ms": 600_000, "request_memory_bytes": 256 << 20}),
        ({"max.connections": "7"}, 500, {"max_connections": 7}),
        ({"queued.max.request.bytes": "-1"}, 500, {"request_memory_bytes": NO_LIMIT_BYTES}),
        ({"connections.max.idle.ms": "-1"}, 500, {"idle_timeout_ms": -1}),
    ],
)
def test_limits_of_a_configuration(options: dict[str, str], most: int, limits: dict[str, int]) -> None:
    config = BrokerConfig.from_layers([Layer(Source.STATIC_BROKER, options, "the test")])
    found = ServerLimits.of(config, most_connections=most)
    assert {name: getattr(found, name) for name in limits} == limits
