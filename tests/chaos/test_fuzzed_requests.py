"""Every API in every version, valid and spoiled: the broker answers or closes, and works on for all others.

A run is repeated by its seed. What the broker did not foresee is in its log as a traceback, which fails the
module (see `victim`).
"""

from __future__ import annotations

import random

import pytest
from tests.support.broker_process import BrokerProcess
from tests.support.plausible_requests import SERVED, Plausible, spoiled
from tests.support.raw_kafka import Closed, RawConnection, create_topic

from mainstem.wire.kafka.apis import APIS
from mainstem.wire.kafka.messages import metadata

Address = tuple[str, int]
SPOILED_EACH = 30  # of every API and version
PATIENCE_S = 0.2  # some requests wait for others that never come


@pytest.fixture(scope="module")
def hostile_options() -> dict[str, str]:
    return {"offsets.topic.num.partitions": "2", "group.initial.rebalance.delay.ms": "0"}


class Impatient:
    """Asks one thing after the other, on a new connection whenever the old one ended or does not answer."""

    def __init__(self, address: Address) -> None:
        self.answered = self.closed = self.given_up = 0
        self._address = address
        self._peer: RawConnection | None = None

    def ask(self, frame: bytes) -> None:
        if self._peer is None:
            self._peer = RawConnection(self._address)
            self._peer.socket.settimeout(PATIENCE_S)
        try:
            self._peer.send(frame)
            self._peer.receive_frame()
            self.answered += 1
            return
        except Closed:
            self.closed += 1
        except TimeoutError:
            self.given_up += 1
        self._peer.close()
        self._peer = None


@pytest.fixture
def plausible(address: Address, request: pytest.FixtureRequest) -> Plausible:
    name = f"fuzz-{request.node.name.rpartition('[')[2].rstrip(']')}"
    with RawConnection(address) as peer:
        create_topic(peer, name, partitions=2)
        asked = metadata.MetadataRequest(topics=[metadata.MetadataRequestTopic(name=name)])
        topic_id = peer.ask(asked, 12).topics[0].topic_id
    return Plausible(random.Random(name), name, topic_id)


@pytest.mark.usefixtures("watched")
@pytest.mark.parametrize("api", SERVED, ids=lambda api: APIS[api[0]].name)
def test_spoiled_requests(
    victim: BrokerProcess, address: Address, plausible: Plausible, api: tuple[int, int, int]
) -> None:
    key, low, high = api
    rng = random.Random(key)
    peer = Impatient(address)
    for version in range(low, high + 1):
        whole = plausible.request(key, version)
        peer.ask(whole)
        for _ in range(SPOILED_EACH):
            peer.ask(spoiled(plausible.request(key, version), rng))
        assert victim.is_running, f"seed {key}, version {version}"
    assert peer.answered + peer.closed > peer.given_up
