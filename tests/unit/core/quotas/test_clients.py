from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from tests.support.simulated_clock import SimulatedClock

from mainstem.cluster.image_builder import EMPTY_IMAGE
from mainstem.core.errors import ThrottlingQuotaExceeded
from mainstem.core.identity.principal import ANONYMOUS, Principal
from mainstem.core.image import MetadataDelta
from mainstem.core.quotas.clients import ClientQuotas
from mainstem.core.quotas.connections import ConnectionQuotas
from mainstem.core.quotas.entity import checked_entity
from mainstem.core.quotas.rates import Windows
from mainstem.core.quotas.usage import IDLE_MS

ALICE, BOB = Principal("User", "alice"), Principal("User", "bob")
WINDOWS = Windows(3, 1000)


class World:
    def __init__(self) -> None:
        self.clock = SimulatedClock()
        self.quotas = ClientQuotas(WINDOWS, WINDOWS, self.clock.monotonic_ms)
        self.connections = ConnectionQuotas(WINDOWS, self.clock.monotonic_ms)

    def set(self, quotas: Mapping[tuple[tuple[str, str | None], ...], Mapping[str, float]]) -> None:
        image = replace(
            EMPTY_IMAGE, quotas={checked_entity(parts): limits for parts, limits in quotas.items()}
        )
        for room in (self.quotas, self.connections):
            room.on_image(image, MetadataDelta(quotas_changed=True))


@pytest.fixture
def world() -> World:
    return World()


def test_without_a_quota_nobody_is_counted(world: World) -> None:
    assert not world.quotas.is_active
    assert world.quotas.charge_produce(ALICE, "c", 1 << 40) == 0
    assert world.quotas.most_fetched(ALICE, "c") is None
    assert world.quotas.mutations(ALICE, "c", is_strict=True) is None
    assert not list(world.quotas.reports(100))


def test_a_quota_of_addresses_does_not_make_requests_count(world: World) -> None:
    world.set({(("ip", None),): {"connection_creation_rate": 1}})
    assert not world.quotas.is_active
    assert world.connections.is_active


def test_who_is_over_the_quota_waits_until_the_rate_is_the_limit(world: World) -> None:
    world.set({(("user", "alice"),): {"producer_byte_rate": 1000}})
    assert world.quotas.is_active
    assert not world.quotas.limits_requests
    assert world.quotas.charge_produce(ALICE, "c", 2000) == 0
    throttle_ms = world.quotas.charge_produce(ALICE, "other", 500)  # the clients of a user share
    assert throttle_ms == 500
    world.clock.advance(throttle_ms)
    assert world.quotas.charge_produce(ALICE, "c", 0) == 0
    assert world.quotas.charge_produce(BOB, "c", 1 << 30) == 0


def test_anonymous_is_a_user_and_no_client_id_is_the_empty_one(world: World) -> None:
    world.set({(("user", "ANONYMOUS"), ("client-id", None)): {"producer_byte_rate": 10}})
    assert world.quotas.charge_produce(ANONYMOUS, None, 1000) > 0


def test_a_fetch_that_is_not_sent_costs_nothing(world: World) -> None:
    world.set({(("client-id", "c"),): {"consumer_byte_rate": 100}})
    assert world.quotas.most_fetched(ALICE, "c") == 200
    assert world.quotas.charge_fetch(ALICE, "c", 1000) > 0
    world.quotas.take_back_fetch(ALICE, "c", 1000)
    assert world.quotas.charge_fetch(ALICE, "c", 200) == 0


def test_a_wait_for_time_is_at_most_a_window(world: World) -> None:
    world.set({(("client-id", None),): {"request_percentage": 1}})
    assert world.quotas.limits_requests
    assert world.quotas.charge_time(ALICE, "c", 20_000_000) == 0  # 2 % of a second, over two seconds
    assert world.quotas.charge_time(ALICE, "c", 10**10) == 1000


def test_strict_changes_are_refused_while_there_is_debt(world: World) -> None:
    world.set({(("user", "alice"),): {"controller_mutation_rate": 2}})
    allowance = world.quotas.mutations(ALICE, "c", is_strict=True)
    assert allowance is not None
    allowance.take(7)  # of six there are
    assert allowance.throttle_ms == 0
    with pytest.raises(ThrottlingQuotaExceeded) as refused:
        allowance.take(1)
    assert refused.value.throttle_ms == allowance.throttle_ms == 500
    world.clock.advance(500)
    again = world.quotas.mutations(ALICE, "c", is_strict=True)
    assert again is not None
    again.take(1)


def test_permissive_changes_are_made_and_make_the_client_wait(world: World) -> None:
    world.set({(("user", "alice"),): {"controller_mutation_rate": 2}})
    allowance = world.quotas.mutations(ALICE, "c", is_strict=False)
    assert allowance is not None
    allowance.take(6)
    assert allowance.throttle_ms == 0
    allowance.take(2)
    assert allowance.throttle_ms == 1000
    allowance.take(2)
    assert allowance.throttle_ms == 2000
    (report,) = world.quotas.reports(100)
    assert (report.throttled_count, report.throttled_ms) == (1, 2000)


def test_a_changed_limit_counts_from_the_next_request_on(world: World) -> None:
    world.set({(("user", "alice"),): {"producer_byte_rate": 1000}})
    assert world.quotas.charge_produce(ALICE, "c", 2000) == 0
    world.set({(("user", "alice"),): {"producer_byte_rate": 500}})
    assert world.quotas.charge_produce(ALICE, "c", 0) == 2000
    world.set({})
    assert world.quotas.charge_produce(ALICE, "c", 1 << 30) == 0
    assert not world.quotas.is_active


def test_reports_tell_what_accounts_do(world: World) -> None:
    world.set({(("user", None),): {"producer_byte_rate": 1000}})
    world.quotas.charge_produce(ALICE, "c", 4000)
    world.quotas.charge_produce(BOB, "c", 100)
    bob, alice = world.quotas.reports(100)
    assert (bob.account.user, bob.rate, bob.throttled_count) == ("bob", 50, 0)
    assert (alice.account.user, alice.rate, alice.throttled_count) == ("alice", 2000, 1)
    assert alice.throttled_ms == 2000


def test_accounts_are_bounded_and_idle_ones_are_forgotten(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(world.quotas._rates, "_most", 10)
    world.set({(("client-id", None),): {"producer_byte_rate": 1000}})
    for number in range(50):
        world.quotas.charge_produce(ALICE, f"c{number}", 1)
    assert len(list(world.quotas.reports(100))) == 10
    world.clock.advance(IDLE_MS)
    for number in range(5):
        world.quotas.charge_produce(ALICE, f"d{number}", 1)
    assert len(list(world.quotas.reports(100))) == 5


def test_connections_above_the_rate_are_held_and_not_counted(world: World) -> None:
    world.set({(("ip", "10.0.0.1"),): {"connection_creation_rate": 5}})
    delays = [world.connections.delay_ms("10.0.0.1") for _ in range(12)]
    assert delays[:10] == [0] * 10
    assert 0 < delays[10] == delays[11] <= 1000
    assert world.connections.delay_ms("10.0.0.2") == 0
    world.clock.advance(3000)
    assert world.connections.delay_ms("10.0.0.1") == 0


def test_an_address_with_a_rate_of_nothing_stays_outside(world: World) -> None:
    world.set({(("ip", None),): {"connection_creation_rate": 0}})
    assert world.connections.delay_ms("10.0.0.1") == 1000
    (report,) = world.connections.reports(100)
    assert report.throttled_count == 1
