"""A broker that is treated badly, and watched."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.support.broker_process import BrokerProcess
from tests.support.raw_kafka import Bystander, RawConnection, resident_bytes

GROWTH_BYTES = 300 << 20  # generous: what a test may add to the memory of the broker


@pytest.fixture(scope="module")
def hostile_options() -> dict[str, str]:
    """What a module's broker is started with besides; a module may have its own."""
    return {}


@pytest.fixture(scope="module")
def victim(
    tmp_path_factory: pytest.TempPathFactory, hostile_options: dict[str, str]
) -> Iterator[BrokerProcess]:
    data = tmp_path_factory.mktemp("victim") / "data"
    with BrokerProcess(data, {"log.level": "warning", **hostile_options}) as broker:
        yield broker
        assert broker.stop() == 0
        log = broker.log_text()
        assert "Traceback" not in log, log[log.index("Traceback") - 2_000 :][:8_000]


@pytest.fixture
def address(victim: BrokerProcess) -> tuple[str, int]:
    return victim.host, victim.port


@pytest.fixture
def peer(address: tuple[str, int]) -> Iterator[RawConnection]:
    with RawConnection(address) as connection:
        yield connection


@pytest.fixture
def watched(victim: BrokerProcess, address: tuple[str, int]) -> Iterator[BrokerProcess]:
    """The broker, while a good client works on it and its memory is looked at."""
    before = resident_bytes(victim.pid)
    with Bystander(address, "bystander"):
        yield victim
    assert victim.is_running
    assert resident_bytes(victim.pid) - before < GROWTH_BYTES
